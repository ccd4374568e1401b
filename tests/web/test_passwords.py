"""Setting one's own password: with a one-time link, or with the current one."""

from __future__ import annotations

import json

import pytest
from werkzeug.test import TestResponse

from portal.models import Profile
from tests.factories import PASSWORD
from tests.log_lines import logged_lines
from tests.web.pages import Page
from tests.web.visitors import HERE, Portal, Visitor

NEW = "a password of one's own"
DEAD = "This link does not work, or not any more"


@pytest.fixture
def welcome(portal: Portal) -> str:
    """The path of the link of somebody who was invited."""
    directory, acme = portal.personas.directory, portal.personas.acme
    link = directory.invite(acme, email="zoe@acme.example", name="Zoë", by=portal.personas.root)
    return link.address(HERE).removeprefix(HERE)


def set_password(visitor: Visitor, path: str, password: str = NEW, again: str | None = None) -> int:
    page = visitor.page(path)
    answer = visitor.press(
        page, "Set the password", password=password, again=password if again is None else again
    )
    return answer.status_code


# With a link


def test_an_invited_person_sets_a_password_and_signs_in_with_it(portal: Portal, welcome: str) -> None:
    zoe = portal.visitor()
    page = zoe.page(welcome)
    assert (page.title, page.heading) == ("Set your password · Agent memory", "Set your password")
    assert "Hello Zoë." in page.root.words
    assert page.form("Set the password").fields["email"] == "zoe@acme.example"
    answer = zoe.press(page, "Set the password", password=NEW, again=NEW)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in")
    page = zoe.follow(answer)
    assert page.messages == ["Your password is set. Sign in with it."]
    # Nobody is signed in by the link itself.
    assert zoe.get("/me/").status_code == 302
    assert zoe.sign_in("zoe@acme.example", NEW).status_code == 303
    assert "Zoë · Acme" in zoe.page("/me/").root.words


def test_opening_a_link_uses_nothing_up_and_setting_a_password_does(portal: Portal, welcome: str) -> None:
    somebody = portal.visitor()
    for _ in range(3):
        assert somebody.get(welcome).status_code == 200
        assert somebody.client.head(welcome, base_url=HERE).status_code == 200
    page = somebody.page(welcome)
    assert set_password(somebody, welcome) == 303
    for answer in (somebody.get(welcome), somebody.press(page, "Set the password", password="x", again="x")):
        assert (answer.status_code, Page(answer.text).heading) == (404, DEAD)


def test_a_link_that_never_was_and_one_that_is_over_get_the_same_answer(portal: Portal, welcome: str) -> None:
    somebody = portal.visitor()
    never = somebody.get(f"/welcome/{'A' * 43}")
    portal.clock.advance(hours=72)
    over = somebody.get(welcome)
    assert (never.status_code, over.status_code, over.text) == (404, 404, never.text)


@pytest.mark.parametrize("path", ["", "x", "A" * 42, "A" * 44, "A" * 42 + "+", "A" * 42 + "%00"])
def test_what_can_be_no_token_has_no_page(portal: Portal, path: str) -> None:
    answer = portal.visitor().get(f"/welcome/{path}")
    assert (answer.status_code, Page(answer.text).heading) == (404, "There is nothing here")


@pytest.mark.parametrize(
    ("password", "again", "field", "problem"),
    [
        ("", "", "password", "Give a password; it must not be empty."),
        ("é" * 513, "é" * 513, "password", "Give at most 1,024 bytes."),
        (NEW, "", "again", "The two new passwords differ."),
        (NEW, f"{NEW} ", "again", "The two new passwords differ."),
    ],
)
def test_a_password_that_cannot_be_accepted_leaves_the_link_good(
    portal: Portal, welcome: str, password: str, again: str, field: str, problem: str
) -> None:
    zoe = portal.visitor()
    answer = zoe.press(zoe.page(welcome), "Set the password", password=password, again=again)
    page = Page(answer.text)
    assert answer.status_code == 422
    assert page.messages == [f"Nothing was saved. {problem}"]
    assert page.find("p", id=f"problem-{field}").words == problem
    assert {page.find("input", name=name).attributes["value"] for name in ("password", "again")} == {""}
    assert set_password(zoe, welcome, "x" * 1_024) == 303


def test_a_link_signs_its_person_out_everywhere_and_nobody_else(portal: Portal) -> None:
    link = portal.personas.directory.make_link(portal.personas.ada)
    ada, bob = portal.visitor(portal.personas.ada), portal.visitor(portal.personas.bob)
    # Somebody else's browser may be at hand: whoever is signed in there stays that.
    assert set_password(bob, link.address("")) == 303
    assert ada.get("/me/").status_code == 302
    assert "Bob · Acme" in bob.page("/me/").root.words


@pytest.mark.parametrize("closed", ["person", "organisation"])
def test_a_link_of_whoever_is_kept_out_is_dead(portal: Portal, welcome: str, closed: str) -> None:
    directory = portal.personas.directory
    zoe = directory.find_profile("zoe@acme.example")
    assert zoe is not None
    somebody = portal.visitor()
    page = somebody.page(welcome)
    if closed == "person":
        directory.deactivate(zoe)
    else:
        directory.deactivate_organisation(portal.personas.acme)
    assert somebody.get(welcome).status_code == 404
    assert somebody.press(page, "Set the password", password=NEW, again=NEW).status_code == 404


def test_a_link_needs_a_good_token_in_the_form_too(portal: Portal, welcome: str) -> None:
    somebody = portal.visitor()
    fields = {"password": NEW, "again": NEW}
    assert somebody.send(welcome, fields).status_code == 400
    headers = {"Origin": "https://evil.example"}
    fields["csrf_token"] = somebody.token()
    assert somebody.send(welcome, fields, headers=headers).status_code == 400
    assert somebody.get(welcome).status_code == 200


def test_a_link_is_kept_nowhere_and_told_to_nobody(portal: Portal, welcome: str) -> None:
    token = welcome.rpartition("/")[2]
    with logged_lines() as lines:
        somebody = portal.visitor()
        answer = somebody.get(welcome)
        somebody.get(f"{welcome}?q={token}")
        assert set_password(somebody, welcome) == 303
        somebody.get(welcome)
        somebody.sign_in("zoe@acme.example", NEW)
    assert (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"]) == ("no-store", "same-origin")
    assert [line["endpoint"] for line in lines if line["message"] == "request"].count("accounts.welcome") == 4
    assert "person_link_used" in [line["action"] for line in lines]
    written = json.dumps(lines)
    for secret in (token, NEW, "zoe"):
        assert secret not in written


def test_nobody_is_sent_to_a_link_after_signing_in(portal: Portal, welcome: str) -> None:
    answer = portal.visitor().post("/sign-in", email="ada@acme.example", password=PASSWORD, next=welcome)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


# With the current one


def change(visitor: Visitor, current: str = PASSWORD, new: str = NEW, again: str = NEW) -> TestResponse:
    page = visitor.page("/password")
    return visitor.press(page, "Change the password", current=current, password=new, again=again)


@pytest.mark.parametrize("who", ["ada", "root"])
def test_everybody_changes_their_own_password(portal: Portal, who: str) -> None:
    profile: Profile = getattr(portal.personas, who)
    here, elsewhere = portal.visitor(profile), portal.visitor(profile)
    before = here.page("/me/").form("Sign out").fields["csrf_token"]
    assert here.page("/me/").link("Change your password") == "/password"
    answer = change(here)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    page = here.page("/me/")
    assert page.messages == [
        "Your password is changed. Wherever else you were signed in, you are signed out."
    ]
    # A new session, with tokens of its own.
    assert page.form("Sign out").fields["csrf_token"] != before
    assert elsewhere.get("/me/").status_code == 302
    assert portal.visitor().sign_in(profile.email, PASSWORD).status_code == 422
    assert portal.visitor().sign_in(profile.email, NEW).status_code == 303


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"current": "wrong"}, "current", "This is not your current password."),
        ({"current": ""}, "current", "This is not your current password."),
        ({"new": "", "again": ""}, "password", "Give a password; it must not be empty."),
        ({"again": "another"}, "again", "The two new passwords differ."),
    ],
)
def test_a_change_that_cannot_be_made_says_why_and_changes_nothing(
    portal: Portal, fields: dict[str, str], field: str, problem: str
) -> None:
    ada = portal.visitor(portal.personas.ada)
    answer = change(ada, **fields)
    page = Page(answer.text)
    assert (answer.status_code, page.messages) == (422, [f"Nothing was saved. {problem}"])
    assert page.find("p", id=f"problem-{field}").words == problem
    assert PASSWORD not in answer.text + str(answer.headers)
    assert portal.visitor().sign_in("ada@acme.example").status_code == 303


def test_guesses_at_the_current_password_are_counted_with_those_at_the_door(portal: Portal) -> None:
    ada = portal.visitor(portal.personas.ada)
    for _ in range(5):
        assert change(ada, "wrong").status_code == 422
    answer = change(ada)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert Page(answer.text).messages == [
        "Nothing was saved. That was tried too often. Wait a minute, then try again."
    ]
    assert portal.visitor().sign_in("ada@acme.example").status_code == 429
