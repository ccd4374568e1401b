"""Setting one's own password: with the current one, or with a one-time link."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user

from portal.directory.links import LINK_PATH
from portal.errors import LinkNotValid
from portal.models import Profile
from portal.sign_in import SignedIn
from portal.web.auth import begin_session, say_how_long
from portal.web.forms import PasswordForm
from portal.web.services import services

accounts = Blueprint("accounts", __name__)


@accounts.get("/password")
def password_page() -> ResponseReturnValue:
    return show_password({})


@accounts.post("/password")
def change_password() -> ResponseReturnValue:
    form = PasswordForm.from_request()
    problems = form.find_problems()
    if problems:
        return show_password(problems), 422
    answer = services().sign_in.change_password(
        current_user.signed_in, form.current, form.password, request.remote_addr or ""
    )
    if isinstance(answer, SignedIn):
        begin_session(answer.token)
        flash("Your password is changed. Wherever else you were signed in, you are signed out.", "ok")
        return redirect(url_for("auth.home"), 303)
    if answer.retry_after_seconds is None:
        return show_password({"current": "This is not your current password."}), 422
    page = show_password({"current": say_how_long(answer.retry_after_seconds)})
    return page, 429, {"Retry-After": str(answer.retry_after_seconds)}


# Programs that read mail open links too, so looking at one must not use it up.
@accounts.get(f"{LINK_PATH}<token:token>")
def welcome(token: str) -> ResponseReturnValue:
    return show_welcome(token, get_link(token), {})


@accounts.post(f"{LINK_PATH}<token:token>")
def set_password(token: str) -> ResponseReturnValue:
    person, form = get_link(token), PasswordForm.from_request()
    problems = form.find_problems()
    if problems:
        return show_welcome(token, person, problems), 422
    services().directory.use_link(token, form.password)
    flash("Your password is set. Sign in with it.", "ok")
    return redirect(url_for("auth.sign_in_page"), 303)


@accounts.errorhandler(LinkNotValid)
def show_dead_link(_: LinkNotValid) -> ResponseReturnValue:
    return render_template("accounts/dead_link.html"), 404


def get_link(token: str) -> Profile:
    """Return who may set a password with a token."""
    found = services().directory.find_link(token)
    if found is None:
        raise LinkNotValid
    return found


def show_password(problems: Mapping[str, str]) -> str:
    """Return the form with what is wrong, and never with a password."""
    return render_template("accounts/password.html", problems=problems)


def show_welcome(token: str, person: Profile, problems: Mapping[str, str]) -> str:
    return render_template("accounts/welcome.html", token=token, owner=person, problems=problems)
