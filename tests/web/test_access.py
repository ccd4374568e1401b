"""Who may reach what: every route for everybody, with the status written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from portal.models import AgentMemory
from tests.quick_passwords import give_everybody_a_password
from tests.web.visitors import Portal, Visitor

PEOPLE = ("nobody", "ada", "root", "eve", "disabled", "demoted")
"""Nobody in particular; a member, an administrator, and another organisation's; and two who were signed in as
administrators when one was switched off and the other made a member."""

Statuses = tuple[int, int, int, int, int, int]

# Only one organisation offers `claims`: `ada` is its member, `root` its administrator, `eve` is another's.
STATUSES: Final[Mapping[str, Statuses]] = {
    # route                                                  nobody  ada  root  eve  disabled  demoted
    "GET /": (302, 302, 302, 302, 302, 302),
    "GET /healthz": (200, 200, 200, 200, 200, 200),
    "GET /metrics": (404, 404, 404, 404, 404, 404),
    "GET /static/<path:filename>": (200, 200, 200, 200, 200, 200),
    "GET /sign-in": (200, 200, 200, 200, 200, 200),
    "POST /sign-in": (422, 422, 422, 422, 422, 422),
    "POST /sign-out": (302, 303, 303, 303, 302, 303),
    "GET /me/": (302, 200, 200, 200, 302, 200),
    "GET /me/export.json": (302, 200, 200, 200, 302, 200),
    "GET /me/export.csv": (302, 200, 200, 200, 302, 200),
    "GET /me/<definition:definition>/": (302, 200, 200, 404, 302, 200),
    "GET /me/<definition:definition>/prompt": (302, 200, 200, 404, 302, 200),
    "GET /me/<definition:definition>/delete-all": (302, 200, 200, 404, 302, 200),
    "POST /me/<definition:definition>/delete-all": (302, 303, 303, 404, 302, 303),
    "POST /me/<definition:definition>/memories/<memory_id:memory_id>/keep": (302, 303, 404, 404, 302, 404),
    "GET /me/<definition:definition>/memories/<memory_id:memory_id>/delete": (302, 200, 404, 404, 302, 404),
    "POST /me/<definition:definition>/memories/<memory_id:memory_id>/delete": (302, 303, 404, 404, 302, 404),
    "POST /preferences": (302, 303, 303, 303, 302, 303),
    "GET /password": (302, 200, 200, 200, 302, 200),
    "POST /password": (302, 422, 422, 422, 302, 422),
    "GET /welcome/<token:token>": (200, 200, 200, 200, 200, 200),
    "POST /welcome/<token:token>": (422, 422, 422, 422, 422, 422),
    "GET /admin/": (302, 404, 200, 200, 302, 404),
    "GET /admin/people/": (302, 404, 200, 200, 302, 404),
    "GET /admin/people/invite": (302, 404, 200, 200, 302, 404),
    "POST /admin/people/invite": (302, 404, 422, 422, 302, 404),
    # The person is `bob`.
    "GET /admin/people/<profile_id:profile_id>": (302, 404, 200, 404, 302, 404),
    "POST /admin/people/<profile_id:profile_id>/role": (302, 404, 303, 404, 302, 404),
    "POST /admin/people/<profile_id:profile_id>/link": (302, 404, 200, 404, 302, 404),
    "POST /admin/people/<profile_id:profile_id>/end-sessions": (302, 404, 303, 404, 302, 404),
    "GET /admin/people/<profile_id:profile_id>/deactivate": (302, 404, 200, 404, 302, 404),
    "POST /admin/people/<profile_id:profile_id>/deactivate": (302, 404, 303, 404, 302, 404),
    "POST /admin/people/<profile_id:profile_id>/activate": (302, 404, 303, 404, 302, 404),
    "GET /admin/<definition:definition>/": (302, 404, 200, 404, 302, 404),
    "GET /admin/<definition:definition>/confirmed": (302, 404, 200, 404, 302, 404),
    "GET /admin/<definition:definition>/rejected": (302, 404, 200, 404, 302, 404),
    "GET /admin/<definition:definition>/history": (302, 404, 200, 404, 302, 404),
    "GET /admin/<definition:definition>/arrivals": (204, 404, 204, 404, 204, 404),
    "POST /admin/<definition:definition>/decide-selected": (302, 404, 400, 404, 302, 404),
    "GET /admin/<definition:definition>/facts/<memory_id:memory_id>": (302, 404, 200, 404, 302, 404),
    "POST /admin/<definition:definition>/facts/<memory_id:memory_id>/decide": (302, 404, 303, 404, 302, 404),
    "POST /admin/<definition:definition>/facts/<memory_id:memory_id>/reopen": (302, 404, 409, 404, 302, 404),
    "GET /admin/<definition:definition>/facts/<memory_id:memory_id>/delete": (302, 404, 200, 404, 302, 404),
    "POST /admin/<definition:definition>/facts/<memory_id:memory_id>/delete": (302, 404, 303, 404, 302, 404),
}

# What is somebody else's, of another kind or of another definition is for everybody what was never there.
NOT_THERE: Final[Statuses] = (302, 404, 404, 404, 302, 404)
NOT_THERE_POLLED: Final[Statuses] = (204, 404, 404, 404, 204, 404)


def of_something_else(route: str) -> Statuses:
    return NOT_THERE_POLLED if route.endswith("/arrivals") else NOT_THERE


@pytest.fixture
def memories(portal: Portal) -> Mapping[str, AgentMemory]:
    portal.personas.directory.define_agent(portal.personas.acme, name="claims")
    parking = portal.propose(portal.personas.ada, "parking", "x", "claims")
    return {
        "/keep": portal.decide(parking, "reject"),
        "/me/": portal.remember(portal.personas.ada, "tone", "x", "claims"),
        "/admin/": portal.propose(portal.personas.ada, "hours", "x", "claims"),
    }


@pytest.fixture
def people(portal: Portal, memories: Mapping[str, AgentMemory]) -> Mapping[str, Visitor]:
    """Everybody's browser. The sessions of the last two began while they were administrators."""
    personas, directory = portal.personas, portal.personas.directory
    leaving = [
        directory.create_profile(personas.acme, email=f"{name}@acme.example", name=name, role="administrator")
        for name in ("disabled", "demoted")
    ]
    give_everybody_a_password(portal.database)
    profiles = [None, personas.ada, personas.root, personas.eve, *leaving]
    visitors = {name: portal.visitor(who) for name, who in zip(PEOPLE, profiles, strict=True)}
    assert memories
    assert [visitors[name].get("/admin/claims/").status_code for name in PEOPLE[4:]] == [200, 200]
    directory.deactivate(leaving[0])
    directory.set_role(leaving[1], "member")
    return visitors


def path_in(portal: Portal, route: str, memories: Mapping[str, AgentMemory]) -> str:
    """Return an address of a route that there is, with the person or the link that it names."""
    bob = portal.personas.bob
    path = path_of(route, memories).replace("<profile_id:profile_id>", str(bob.id))
    if "<token:token>" in path:
        path = path.replace("<token:token>", portal.personas.directory.make_link(bob).token)
    return path


def path_of(route: str, memories: Mapping[str, AgentMemory]) -> str:
    path = route.partition(" ")[2].replace("<definition:definition>", "claims")
    path = path.replace("<path:filename>", "portal.css")
    for part, memory in memories.items():
        if part in path:
            path = path.replace("<memory_id:memory_id>", str(memory.id))
    return path


def visit(visitor: Visitor, route: str, path: str, **fields: str) -> TestResponse:
    if route.startswith("GET"):
        return visitor.get(path)
    return visitor.post(path, action="confirm", role="member", **fields)


def statuses(people: Mapping[str, Visitor], route: str, path: str) -> Statuses:
    """Let everybody go to an address, and return how they were answered."""
    found = {}
    # Whoever may not goes first, while there is still something to reach.
    for name in sorted(PEOPLE, key=lambda name: STATUSES[route][PEOPLE.index(name)], reverse=True):
        # Each signs in with an address of their own, as the sixth failure of one would be answered otherwise.
        with visit(people[name], route, path, email=name) as answer:
            found[name] = answer.status_code
    nobody, ada, root, eve, disabled, demoted = (found[name] for name in PEOPLE)
    return nobody, ada, root, eve, disabled, demoted


@pytest.mark.parametrize("route", STATUSES)
def test_access(
    portal: Portal, people: Mapping[str, Visitor], memories: Mapping[str, AgentMemory], route: str
) -> None:
    assert statuses(people, route, path_in(portal, route, memories)) == STATUSES[route]


def routes_of(app: Flask) -> set[str]:
    return {
        f"{method} {rule.rule}"
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def test_every_route_has_a_row(portal: Portal) -> None:
    assert routes_of(portal.app) == set(STATUSES)


# Another tenant's, another person's, a wrong kind of memory's and a missing id are one and the same answer.


MISSING = 4611686018427387904

Choose = Callable[[Portal, Mapping[str, AgentMemory]], int]

ELSEWHERE: Mapping[str, Choose] = {
    "missing": lambda _, __: MISSING,
    "another tenant's": lambda portal, _: portal.propose(portal.personas.eve, "hours", "x").id,
    "another definition's": lambda portal, _: portal.propose(portal.personas.ada, "hours", "x").id,
    "another person's": lambda portal, _: portal.remember(portal.personas.bob, "tone", "x", "claims").id,
}


def test_what_is_somewhere_else_is_there_for_nobody(
    portal: Portal, people: Mapping[str, Visitor], memories: Mapping[str, AgentMemory]
) -> None:
    ids = {name: choose(portal, memories) for name, choose in ELSEWHERE.items()}
    for route in (route for route in STATUSES if "<memory_id" in route):
        own = path_of(route, memories)
        missing = visit(people["root"], route, re.sub("[0-9]+", str(MISSING), own))
        for name, memory_id in ids.items():
            path = re.sub("[0-9]+", str(memory_id), own)
            assert statuses(people, route, path) == NOT_THERE, (name, route)
            assert visit(people["root"], route, path).text == missing.text, (name, route)


def test_a_definition_that_is_missing_or_anothers_is_there_for_nobody(
    portal: Portal, people: Mapping[str, Visitor], memories: Mapping[str, AgentMemory]
) -> None:
    portal.personas.directory.define_agent(portal.personas.globex, name="theirs")
    for route in (route for route in STATUSES if "<definition" in route):
        own = path_of(route, memories)
        missing = visit(people["root"], route, own.replace("claims", "missing"))
        theirs = visit(people["root"], route, own.replace("claims", "theirs"))
        assert theirs.text.replace("theirs", "missing") == missing.text, route
        assert statuses(people, route, own.replace("claims", "missing")) == of_something_else(route)


def test_an_administrator_finds_no_personal_memory_under_a_definition(
    people: Mapping[str, Visitor], memories: Mapping[str, AgentMemory]
) -> None:
    for route in (route for route in STATUSES if "/facts/" in route):
        path = path_of(route, memories)
        personal = path.replace(str(memories["/admin/"].id), str(memories["/me/"].id))
        missing = path.replace(str(memories["/admin/"].id), str(MISSING))
        found = visit(people["root"], route, personal)
        assert (found.status_code, found.text) == (404, visit(people["root"], route, missing).text)
    assert people["ada"].page("/me/claims/").keys == ["tone", "hours", "parking"]


def test_nobody_finds_the_memory_of_somebody_else(
    portal: Portal, people: Mapping[str, Visitor], memories: Mapping[str, AgentMemory]
) -> None:
    bob = portal.visitor(portal.personas.bob)
    for route in (route for route in STATUSES if "/me/" in route and "memory_id" in route):
        path = path_of(route, memories)
        missing = visit(bob, route, re.sub("[0-9]+", str(MISSING), path))
        found = visit(bob, route, path)
        assert (found.status_code, found.text) == (404, missing.text)
    assert people["ada"].page("/me/claims/").keys == ["tone", "hours", "parking"]


def test_a_definition_without_an_agent_is_an_empty_page_and_stays_without(portal: Portal) -> None:
    page = portal.visitor(portal.personas.ada).page("/me/travel/")
    assert page.entries == []
    assert portal.personas.directory.find_agent(portal.personas.ada, "travel") is None
