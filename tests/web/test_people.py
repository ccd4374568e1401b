"""How administrators look after people, and how those get in."""

from __future__ import annotations

import pytest
from werkzeug.test import TestResponse

from portal.models import Profile
from tests.web.pages import Page
from tests.web.visitors import HERE, Portal, Visitor

PEOPLE = "/admin/people/"
ZOE = "zoe@acme.example"


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


def page_of(profile: Profile) -> str:
    return f"{PEOPLE}{profile.id}"


def invite(root: Visitor, **fields: str) -> TestResponse:
    typed = {"email": ZOE, "name": "Zoë", **fields}
    return root.press(root.page(f"{PEOPLE}invite"), "Invite", **typed)


def link_on(answer: TestResponse) -> str:
    """Return the path of the one-time link on a page."""
    assert answer.status_code == 200
    address = Page(answer.text).find("input", name="link").attributes["value"]
    assert address.startswith(f"{HERE}/welcome/")
    return address.removeprefix(HERE)


def find(portal: Portal, profile: Profile) -> Profile:
    found = portal.personas.directory.find_person(profile.organisation, profile.id)
    assert found is not None
    return found.profile


def is_signed_in(visitor: Visitor) -> bool:
    return visitor.get("/me/").status_code == 200


# The list


def test_the_list_says_who_there_is_and_whether_they_can_sign_in(portal: Portal, root: Visitor) -> None:
    directory, personas = portal.personas.directory, portal.personas
    directory.deactivate(personas.ada)
    directory.invite(personas.acme, email=ZOE, name="Zoë")
    rows = [
        row.words for row in root.page(PEOPLE).find("ul", **{"class": "card rows"}).walk() if row.tag == "li"
    ]
    assert rows == [
        "Ada ada@acme.example Never signed in Deactivated",
        "Bob bob@acme.example Never signed in Active",
        "Root root@acme.example Last signed in just now (1 Mar 2026, 12:00) Administrator Active",
        "Zoë zoe@acme.example Never signed in One-time link good until 4 Mar 2026, 12:00 Invited",
    ]


def test_administrators_get_there_from_the_header_and_members_see_no_way(
    portal: Portal, root: Visitor
) -> None:
    assert root.page("/admin/").link("People") == PEOPLE
    assert root.page(PEOPLE).find("a", **{"aria-current": "true"}).words == "People"
    assert "People" not in portal.visitor(portal.personas.ada).page("/me/").links


def test_people_are_searched_and_listed_fifty_a_page(portal: Portal, root: Visitor) -> None:
    for number in range(50):
        portal.personas.directory.create_profile(
            portal.personas.acme, email=f"p{number:02}@acme.example", name=f"Person {number}"
        )
    first = root.page(PEOPLE)
    assert "53 people" in first.find("p", id="result").words
    second = root.page(first.link("Next page"))
    assert [heading.words for heading in second.find_all("h2")] == ["Person 48", "Person 49", "Root"]
    assert second.link("First page") == PEOPLE
    found = root.page(f"{PEOPLE}?q=PERSON+4")
    assert found.find("p", id="result").words == "11 people with “PERSON 4”, by address"
    assert "Nobody has “zz”" in root.page(f"{PEOPLE}?q=zz").root.words


# Inviting


def test_an_invitation_is_a_link_that_is_shown_once(portal: Portal, root: Visitor) -> None:
    answer = invite(root, role="administrator")
    page, path = Page(answer.text), link_on(answer)
    assert page.heading == "Hand this link to Zoë"
    assert "until 4 Mar 2026, 12:00" in page.root.words
    zoe = portal.personas.directory.find_profile(ZOE)
    assert zoe is not None
    assert (zoe.name, zoe.is_administrator, zoe.password_hash) == ("Zoë", True, None)
    token = path.rpartition("/")[2]
    assert token not in root.get(page_of(zoe)).text + root.get(PEOPLE).text


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"email": "zoe"}, "email", "Give an address such as ada@example.org"),
        ({"email": ""}, "email", "Give an address such as ada@example.org"),
        ({"email": "ADA@acme.example"}, "email", "Somebody has this address already."),
        ({"email": "eve@globex.example"}, "email", "Somebody has this address already."),
        ({"name": ""}, "name", ""),
        ({"name": "x" * 201}, "name", "Give at most 200 characters."),
        ({"role": "owner"}, "role", "Give member or administrator."),
    ],
)
def test_an_invitation_that_cannot_be_accepted_says_so_beside_the_field(
    portal: Portal, root: Visitor, fields: dict[str, str], field: str, problem: str
) -> None:
    answer = invite(root, **fields)
    page = Page(answer.text)
    assert answer.status_code == 422
    beside = page.find("p", id=f"problem-{field}")
    assert problem in beside.words
    assert page.messages == [f"Nothing was saved. {beside.words}"]
    [wrong] = [part for part in page.root.walk() if "aria-invalid" in part.attributes]
    assert (wrong.attributes["name"], wrong.attributes["aria-describedby"]) == (field, f"problem-{field}")
    # What was typed is still there.
    assert page.form("Invite").fields["name"] == fields.get("name", "Zoë")
    assert len(portal.personas.directory.find_profiles(portal.personas.acme)) == 3


# One person


def test_a_role_is_given_and_taken(portal: Portal, root: Visitor) -> None:
    ada = portal.personas.ada
    answer = root.press(root.page(page_of(ada)), "Make an administrator Ada")
    page = root.follow(answer)
    assert page.messages == ["They are an administrator from their next click on."]
    assert find(portal, ada).is_administrator
    assert root.press(page, "Make a member Ada").headers["Location"] == page_of(ada)
    assert not find(portal, ada).is_administrator


def test_deactivating_asks_first_and_can_be_undone(portal: Portal, root: Visitor) -> None:
    ada, visitor = portal.personas.ada, portal.visitor(portal.personas.ada)
    question = root.page(root.page(page_of(ada)).link("Deactivate… Ada"))
    assert question.heading == "Deactivate Ada?"
    assert is_signed_in(visitor)
    page = root.follow(root.press(question, "Deactivate Ada"))
    assert (page.messages, find(portal, ada).active) == (
        ["They are deactivated: signed out, and their agents are refused."],
        False,
    )
    assert not is_signed_in(visitor)
    # Whoever is kept out gets no link.
    assert "Make a link Ada" not in page.main_buttons
    page = root.follow(root.press(page, "Let in again Ada"))
    assert (page.messages, find(portal, ada).active) == (
        ["They can sign in again, and their agents work again."],
        True,
    )


def test_all_sessions_of_somebody_end(portal: Portal, root: Visitor) -> None:
    browsers = [portal.visitor(portal.personas.ada) for _ in range(2)]
    bob = portal.visitor(portal.personas.bob)
    page = root.follow(root.press(root.page(page_of(portal.personas.ada)), "End all sessions Ada"))
    assert page.messages == ["They are signed out everywhere."]
    assert [is_signed_in(browser) for browser in [*browsers, bob]] == [False, False, True]


def test_a_newer_link_ends_the_older_one(portal: Portal, root: Visitor) -> None:
    older = link_on(invite(root))
    zoe = portal.personas.directory.find_profile(ZOE)
    assert zoe is not None
    newer = link_on(root.press(root.page(page_of(zoe)), "Make a link Zoë"))
    somebody = portal.visitor()
    assert (somebody.get(older).status_code, somebody.get(newer).status_code) == (404, 200)


# Oneself, and what is refused


@pytest.mark.parametrize(("step", "fields"), [("role", {"role": "member"}), ("deactivate", {}), ("link", {})])
def test_nobody_locks_themselves_out(
    portal: Portal, root: Visitor, step: str, fields: dict[str, str]
) -> None:
    me = portal.personas.root
    page = root.page(page_of(me))
    assert page.main_buttons == ["End all sessions Root"]
    answer = root.post(f"{page_of(me)}/{step}", **fields)
    assert answer.status_code == 409
    assert Page(answer.text).messages[0].startswith("Nothing was saved. This is you.")
    assert find(portal, me).is_administrator
    assert is_signed_in(root)


def test_whoever_ends_their_own_sessions_signs_in_again(portal: Portal, root: Visitor) -> None:
    answer = root.press(root.page(page_of(portal.personas.root)), "End all sessions Root")
    assert root.get(answer.headers["Location"]).headers["Location"].startswith("/sign-in?next=/admin/people/")


def test_a_link_for_somebody_who_was_deactivated_meanwhile_is_refused(portal: Portal, root: Visitor) -> None:
    page = root.page(page_of(portal.personas.ada))
    portal.personas.directory.deactivate(portal.personas.ada)
    answer = root.press(page, "Make a link Ada")
    assert answer.status_code == 409
    assert Page(answer.text).messages == ["Nothing was saved. They are deactivated. Let them in again first."]


def test_whoever_is_no_administrator_any_more_changes_nothing(portal: Portal, root: Visitor) -> None:
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    page = root.page(page_of(portal.personas.ada))
    portal.personas.directory.set_role(portal.personas.root, "member")
    assert root.press(page, "Make an administrator Ada").status_code == 404
    assert not find(portal, portal.personas.ada).is_administrator


@pytest.mark.parametrize("role", ["", "owner", "Member", ["member", "member"]], ids=str)
def test_a_role_that_our_form_never_sends_is_refused(portal: Portal, root: Visitor, role: object) -> None:
    answer = root.send(f"{page_of(portal.personas.ada)}/role", {"csrf_token": root.token(), "role": role})
    assert answer.status_code == 400


@pytest.mark.parametrize("step", ["", "/deactivate"])
def test_people_of_others_and_nobody_are_the_same_404(portal: Portal, root: Visitor, step: str) -> None:
    answers = [
        root.get(f"{PEOPLE}{profile_id}{step}")
        for profile_id in (portal.personas.eve.id, 4_611_686_018_427_387_904)
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].text == answers[1].text


def test_a_form_after_the_session_ended_leads_back_to_the_list(portal: Portal, root: Visitor) -> None:
    page = root.page(page_of(portal.personas.ada))
    portal.clock.advance(hours=1)
    answer = root.press(page, "Make an administrator Ada")
    assert answer.headers["Location"] == "/sign-in?next=/admin/people/"
