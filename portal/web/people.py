"""The people of an organisation, as its administrators look after them."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from portal.directory import NewLink, Person
from portal.errors import InvalidInput, NameTaken, OwnAccess
from portal.values import Role
from portal.web.addresses import pager_links
from portal.web.auth import administrators_only, me
from portal.web.errors import Words, show_http_error
from portal.web.forms import InvitationForm, at_most_one, problems_of
from portal.web.lookups import get_person
from portal.web.services import services

PEOPLE_A_PAGE = 50

LIST = "people.index"

ROLE_CHANGED = {
    Role.ADMINISTRATOR: "They are an administrator from their next click on.",
    Role.MEMBER: "They are a member from their next click on.",
}

REFUSALS = {
    OwnAccess: Words(
        "This is you", "So that nobody locks themselves out, only another administrator can do this."
    ),
    InvalidInput: Words("They are deactivated", "Let them in again first."),
}

people = Blueprint("people", __name__, url_prefix="/admin/people")


@people.get("/")
@administrators_only
def index() -> ResponseReturnValue:
    search = request.args.get("q", "")
    page = services().directory.find_people(
        me().organisation, search=search, limit=PEOPLE_A_PAGE, after=request.args.get("after")
    )
    links = pager_links(LIST, None, page.after)
    return render_template("people/index.html", page=page, search=search, **links)


@people.get("/invite")
@administrators_only
def invite_page() -> ResponseReturnValue:
    return show_invitation(InvitationForm(), {})


@people.post("/invite")
@administrators_only
def invite() -> ResponseReturnValue:
    form = InvitationForm.from_request()
    try:
        link = services().directory.invite(
            me().organisation, email=form.email, name=form.name, role=form.role, by=me()
        )
    except InvalidInput as refusal:
        return show_invitation(form, problems_of(refusal)), 422
    except NameTaken:
        return show_invitation(form, {"email": "Somebody has this address already."}), 422
    return show_link(link)


@people.get("/<profile_id:profile_id>")
@administrators_only
def person(profile_id: int) -> ResponseReturnValue:
    return show_person(get_person(profile_id))


@people.post("/<profile_id:profile_id>/role")
@administrators_only
def change_role(profile_id: int) -> ResponseReturnValue:
    found, role = get_person(profile_id), at_most_one("role")
    if role not in list(Role):
        abort(400)
    services().directory.set_role(found.profile, role, by=me())
    return done(found, ROLE_CHANGED[Role(role)])


@people.post("/<profile_id:profile_id>/link")
@administrators_only
def make_link(profile_id: int) -> ResponseReturnValue:
    return show_link(services().directory.make_link(get_person(profile_id).profile, by=me()))


@people.post("/<profile_id:profile_id>/end-sessions")
@administrators_only
def end_sessions(profile_id: int) -> ResponseReturnValue:
    found = get_person(profile_id)
    services().directory.end_sessions(found.profile, by=me())
    return done(found, "They are signed out everywhere.")


@people.get("/<profile_id:profile_id>/deactivate")
@administrators_only
def deactivate_page(profile_id: int) -> ResponseReturnValue:
    return render_template("people/deactivate.html", person=get_person(profile_id))


@people.post("/<profile_id:profile_id>/deactivate")
@administrators_only
def deactivate(profile_id: int) -> ResponseReturnValue:
    found = get_person(profile_id)
    services().directory.deactivate(found.profile, by=me())
    return done(found, "They are deactivated: signed out, and their agents are refused.")


@people.post("/<profile_id:profile_id>/activate")
@administrators_only
def activate(profile_id: int) -> ResponseReturnValue:
    found = get_person(profile_id)
    services().directory.activate(found.profile, by=me())
    return done(found, "They can sign in again, and their agents work again.")


@people.errorhandler(OwnAccess)
@people.errorhandler(InvalidInput)
def show_refusal(refusal: OwnAccess | InvalidInput) -> ResponseReturnValue:
    """Answer why a person is as they were, with how they stand now."""
    profile_id = (request.view_args or {})["profile_id"]
    found = services().directory.find_person(me().organisation, profile_id)
    if found is None:
        return show_http_error(NotFound())
    return show_person(found, REFUSALS[type(refusal)]), 409


def done(person: Person, text: str) -> ResponseReturnValue:
    """Answer that something was done, on the person's page."""
    flash(text, "ok")
    return redirect(url_for("people.person", profile_id=person.profile.id), 303)


def show_invitation(form: InvitationForm, problems: Mapping[str, str]) -> str:
    return render_template("people/invite.html", form=form, problems=problems)


def show_person(person: Person, notice: Words | None = None) -> str:
    """Return a person's page, with why nothing was saved where that is so."""
    return render_template("people/person.html", person=person, notice=notice)


def show_link(link: NewLink) -> str:
    """Return the page with a link on it: the only place where it is ever shown, so there is no redirect."""
    address = link.address(services().settings.public_url)
    return render_template("people/link.html", link=link, address=address)
