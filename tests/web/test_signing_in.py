"""Signing in and out as a person does it, and what ends that."""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64decode

import pytest
from sqlalchemy import func, select

from portal.database import Database
from portal.models import SignInSession
from tests.factories import PASSWORD
from tests.web.pages import Page
from tests.web.visitors import Portal, Visitor

ADA = "ada@acme.example"
WRONG = "The e-mail address or the password is wrong."


def cookie_of(visitor: Visitor) -> str:
    cookie = visitor.client.get_cookie("portal_session", "127.0.0.1")
    assert cookie is not None
    return cookie.value


def content_of_cookie(visitor: Visitor) -> dict[str, object]:
    """Read what Flask signed. Anybody who holds the cookie can."""
    value = cookie_of(visitor)
    is_compressed = value.startswith(".")
    part = value.lstrip(".").split(".")[0]
    data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    content: dict[str, object] = json.loads(zlib.decompress(data) if is_compressed else data)
    return content


def is_signed_in(visitor: Visitor) -> bool:
    return visitor.get("/me/").status_code == 200


# The page


def test_the_first_page_says_what_this_is(portal: Portal) -> None:
    page = portal.visitor().page("/sign-in")
    assert page.title == "Sign in · Agent memory"
    assert "what your AI agents remember about you" in page.root.words


@pytest.mark.parametrize(("email", "start"), [(ADA, "/me/"), ("root@acme.example", "/admin/")])
def test_people_start_where_their_work_is(portal: Portal, email: str, start: str) -> None:
    visitor = portal.visitor()
    answer = visitor.sign_in(email)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    assert visitor.get("/").headers["Location"] == start


@pytest.mark.parametrize(
    ("email", "password"),
    [
        pytest.param(ADA, "wrong", id="wrong password"),
        pytest.param("nobody@acme.example", PASSWORD, id="unknown address"),
        pytest.param("bob@acme.example", PASSWORD, id="switched off"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_whatever_is_wrong_the_answer_is_the_same(portal: Portal, email: str, password: str) -> None:
    portal.personas.directory.deactivate(portal.personas.bob)
    answer = portal.visitor().sign_in(email, password)
    page = Page(answer.text)
    assert (answer.status_code, page.messages) == (422, [WRONG])
    assert page.form("Sign in").fields["email"] == email
    assert page.form("Sign in").fields["password"] == ""


def test_the_problem_is_told_with_the_fields(portal: Portal) -> None:
    page = Page(portal.visitor().sign_in(ADA, "wrong").text)
    [problem] = page.find_all("p", role="alert")
    described = [field.attributes.get("aria-describedby") for field in page.find_all("input", required="")]
    assert described == [problem.attributes["id"]] * 2


def test_the_sixth_try_is_told_how_long_to_wait(portal: Portal) -> None:
    visitor = portal.visitor()
    for _ in range(5):
        assert visitor.sign_in(ADA, "wrong").status_code == 422
    answer = visitor.sign_in(ADA)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert Page(answer.text).messages == ["That was tried too often. Wait a minute, then try again."]


# The cookie


def test_the_cookie_holds_the_token_the_seed_of_csrf_and_nothing_else(portal: Portal) -> None:
    ada = portal.visitor(portal.personas.ada)
    ada.page("/me/")
    assert content_of_cookie(ada).keys() == {"_user_id", "csrf_token"}


def test_the_cookie_is_for_this_host_and_no_script(portal: Portal) -> None:
    answer = portal.visitor().sign_in(ADA)
    name, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert name.startswith("portal_session=")
    assert attributes == ["HttpOnly", "Path=/", "SameSite=Lax"]


def test_signing_in_takes_nothing_over_from_the_cookie_that_was_there(portal: Portal) -> None:
    visitor = portal.visitor()
    before = visitor.token()
    visitor.sign_in(ADA)
    after = visitor.page("/me/").form("Sign out").fields["csrf_token"]
    assert before != after
    assert visitor.send("/sign-out", {"csrf_token": before}).status_code == 400


def test_signing_in_again_ends_the_session_before(portal: Portal, database: Database) -> None:
    visitor = portal.visitor(portal.personas.ada)
    copied = Visitor(portal.app)
    copied.client.set_cookie("portal_session", cookie_of(visitor), domain="127.0.0.1")
    assert "You are signed in as Ada" in visitor.page("/sign-in").messages[0]
    visitor.sign_in("bob@acme.example")
    assert "Bob · Acme" in visitor.page("/me/").root.words
    assert not is_signed_in(copied)
    rows = select(func.count()).select_from(SignInSession)
    assert database.read(lambda session: session.scalar(rows)) == 1


def test_the_cookie_of_flask_login_is_never_read(portal: Portal) -> None:
    visitor = portal.visitor()
    ada = portal.visitor(portal.personas.ada)
    for value in (f"1|{'0' * 128}", "1|é", "|", f"{content_of_cookie(ada)['_user_id']}|x"):
        visitor.client.set_cookie("remember_token", value, domain="127.0.0.1")
        assert visitor.get("/me/").status_code == 302
    ada.client.set_cookie("remember_token", "1|é", domain="127.0.0.1")
    assert is_signed_in(ada)


# What ends it


def test_signing_out_makes_a_copied_cookie_worthless(portal: Portal) -> None:
    ada = portal.visitor(portal.personas.ada)
    copied = Visitor(portal.app)
    copied.client.set_cookie("portal_session", cookie_of(ada), domain="127.0.0.1")
    assert is_signed_in(copied)
    answer = ada.press(ada.page("/me/"), "Sign out")
    assert answer.headers["Clear-Site-Data"] == '"cache", "storage"'
    assert ada.follow(answer).messages == ["You are signed out."]
    assert not is_signed_in(ada)
    assert not is_signed_in(copied)


def test_a_person_who_is_switched_off_is_out_at_the_next_request(portal: Portal) -> None:
    ada = portal.visitor(portal.personas.ada)
    portal.personas.directory.deactivate(portal.personas.ada)
    assert not is_signed_in(ada)


def test_a_new_password_signs_out_everywhere(portal: Portal) -> None:
    ada = portal.visitor(portal.personas.ada)
    portal.personas.directory.set_password(portal.personas.ada, "another one")
    assert not is_signed_in(ada)


def test_a_role_that_is_taken_away_is_gone_at_the_next_request(portal: Portal) -> None:
    portal.personas.directory.set_role(portal.personas.ada, "administrator")
    ada = portal.visitor(portal.personas.ada)
    queue = ada.page("/admin/support/")
    assert "Review 0" in queue.links
    portal.personas.directory.set_role(portal.personas.ada, "member")
    assert ada.get("/admin/support/").status_code == 404
    assert "Review 0" not in ada.page("/me/").links


def test_an_administrator_who_is_idle_for_half_an_hour_is_asked_again(portal: Portal) -> None:
    root = portal.visitor(portal.personas.root)
    for _ in range(3):
        portal.clock.advance(minutes=29)
        assert root.get("/admin/").status_code == 200
    portal.clock.advance(minutes=30)
    assert root.get("/admin/").headers["Location"] == "/sign-in?next=/admin/"


def test_nobody_stays_signed_in_for_more_than_twelve_hours(portal: Portal) -> None:
    ada = portal.visitor(portal.personas.ada)
    for _ in range(11):
        portal.clock.advance(hours=1)
        assert is_signed_in(ada)
    portal.clock.advance(hours=1)
    assert not is_signed_in(ada)


# The way back


def test_after_signing_in_people_are_where_they_wanted_to_be(portal: Portal) -> None:
    visitor = portal.visitor()
    asked = visitor.get("/me/support/?q=a%26b&status=personal")
    assert asked.status_code == 302
    page = visitor.follow(asked)
    answer = visitor.press(page, "Sign in", email=ADA, password=PASSWORD)
    assert answer.headers["Location"] == "/me/support/?q=a%26b&status=personal"


def test_a_form_sent_after_the_session_ended_leads_back_to_its_list(portal: Portal) -> None:
    root, fact = portal.visitor(portal.personas.root), portal.propose(portal.personas.ada, "hours", "x")
    page = root.page("/admin/support/?q=x")
    portal.clock.advance(hours=1)
    answer = root.press(page, "Confirm hours")
    assert answer.headers["Location"] == "/sign-in?next=/admin/support/?q%3Dx"
    page = root.follow(answer)
    assert page.messages == ["You were signed out, so nothing was saved. Sign in and try again."]
    back = root.press(page, "Sign in", email="root@acme.example", password=PASSWORD)
    assert root.follow(back).keys == [fact.memory_key]


@pytest.mark.parametrize(
    "target",
    [
        "",
        "/",
        "/me/",
        "/me/support/?q=%2F%2Fevil.example#x",
        "/admin/support/facts/1",
    ],
)
def test_a_page_of_ours_is_a_way_back(portal: Portal, target: str) -> None:
    visitor = portal.visitor()
    answer = visitor.post("/sign-in", email=ADA, password=PASSWORD, next=target)
    assert answer.headers["Location"] == (target or "/")


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/me/\r\nSet-Cookie: x=1",
        "/me/?q=\r\nSet-Cookie: x=1",
        "/me/?q=é",
        "https://evil.example/",
        "javascript:alert(1)",
        "me/",
        "/me/é",
        "/sign-in",
        "/sign-out",
        "/healthz",
        "/static/portal.css",
        "/admin/support/facts/1/decide",
        "/nowhere",
        "/me/?q=" + "x" * 512,
    ],
)
def test_anything_else_is_not(portal: Portal, target: str) -> None:
    answer = portal.visitor().post("/sign-in", email=ADA, password=PASSWORD, next=target)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
