"""Who may reach what: every route for everybody, with the status written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from portal.models import AgentMemory, Profile
from tests.web.visitors import Portal, Visitor

# Only one organisation offers `claims`: `ada` is its member, `root` its administrator, `eve` is another's.
STATUSES: Final[Mapping[str, tuple[int, int, int, int]]] = {
    # route                                                      nobody  ada  root  eve
    "GET /": (302, 302, 302, 302),
    "GET /healthz": (200, 200, 200, 200),
    "GET /metrics": (404, 404, 404, 404),
    "GET /static/<path:filename>": (200, 200, 200, 200),
    "GET /sign-in": (200, 200, 200, 200),
    "POST /sign-in": (422, 422, 422, 422),
    "POST /sign-out": (302, 303, 303, 303),
    "GET /me/": (302, 200, 200, 200),
    "GET /me/export.json": (302, 200, 200, 200),
    "GET /me/export.csv": (302, 200, 200, 200),
    "GET /me/<definition:definition>/": (302, 200, 200, 404),
    "GET /me/<definition:definition>/prompt": (302, 200, 200, 404),
    "GET /me/<definition:definition>/delete-all": (302, 200, 200, 404),
    "POST /me/<definition:definition>/delete-all": (302, 303, 303, 404),
    "POST /me/<definition:definition>/memories/<memory_id:memory_id>/keep": (302, 303, 404, 404),
    "GET /me/<definition:definition>/memories/<memory_id:memory_id>/delete": (302, 200, 404, 404),
    "POST /me/<definition:definition>/memories/<memory_id:memory_id>/delete": (302, 303, 404, 404),
    "POST /preferences": (302, 303, 303, 303),
    "GET /password": (302, 200, 200, 200),
    "POST /password": (302, 422, 422, 422),
    "GET /welcome/<token:token>": (200, 200, 200, 200),
    "POST /welcome/<token:token>": (422, 422, 422, 422),
    "GET /admin/": (302, 404, 200, 200),
    "GET /admin/people/": (302, 404, 200, 200),
    "GET /admin/people/invite": (302, 404, 200, 200),
    "POST /admin/people/invite": (302, 404, 422, 422),
    # The person is `bob`.
    "GET /admin/people/<profile_id:profile_id>": (302, 404, 200, 404),
    "POST /admin/people/<profile_id:profile_id>/role": (302, 404, 303, 404),
    "POST /admin/people/<profile_id:profile_id>/link": (302, 404, 200, 404),
    "POST /admin/people/<profile_id:profile_id>/end-sessions": (302, 404, 303, 404),
    "GET /admin/people/<profile_id:profile_id>/deactivate": (302, 404, 200, 404),
    "POST /admin/people/<profile_id:profile_id>/deactivate": (302, 404, 303, 404),
    "POST /admin/people/<profile_id:profile_id>/activate": (302, 404, 303, 404),
    "GET /admin/<definition:definition>/": (302, 404, 200, 404),
    "GET /admin/<definition:definition>/confirmed": (302, 404, 200, 404),
    "GET /admin/<definition:definition>/rejected": (302, 404, 200, 404),
    "GET /admin/<definition:definition>/history": (302, 404, 200, 404),
    "GET /admin/<definition:definition>/arrivals": (204, 404, 204, 404),
    "POST /admin/<definition:definition>/decide-selected": (302, 404, 400, 404),
    "GET /admin/<definition:definition>/facts/<memory_id:memory_id>": (302, 404, 200, 404),
    "POST /admin/<definition:definition>/facts/<memory_id:memory_id>/decide": (302, 404, 303, 404),
    "POST /admin/<definition:definition>/facts/<memory_id:memory_id>/reopen": (302, 404, 409, 404),
    "GET /admin/<definition:definition>/facts/<memory_id:memory_id>/delete": (302, 404, 200, 404),
    "POST /admin/<definition:definition>/facts/<memory_id:memory_id>/delete": (302, 404, 303, 404),
}


@pytest.fixture
def memories(portal: Portal) -> Mapping[str, AgentMemory]:
    portal.personas.directory.define_agent(portal.personas.acme, name="claims")
    parking = portal.propose(portal.personas.ada, "parking", "x", "claims")
    return {
        "/keep": portal.decide(parking, "reject"),
        "/me/": portal.remember(portal.personas.ada, "tone", "x", "claims"),
        "/admin/": portal.propose(portal.personas.ada, "hours", "x", "claims"),
    }


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


def visit(visitor: Visitor, route: str, path: str) -> TestResponse:
    if route.startswith("GET"):
        return visitor.get(path)
    return visitor.post(path, action="confirm", role="member")


@pytest.mark.parametrize("route", STATUSES)
def test_access(portal: Portal, memories: Mapping[str, AgentMemory], route: str) -> None:
    people: list[Profile | None] = [None, portal.personas.ada, portal.personas.root, portal.personas.eve]
    path = path_in(portal, route, memories)
    found = {}
    # Whoever may not goes first, while there is still something to reach.
    for who in sorted(range(4), key=lambda who: STATUSES[route][who], reverse=True):
        with visit(portal.visitor(people[who]), route, path) as answer:
            found[who] = answer.status_code
    assert tuple(found[who] for who in range(4)) == STATUSES[route]


def routes_of(app: Flask) -> set[str]:
    return {
        f"{method} {rule.rule}"
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }


def test_every_route_has_a_row(portal: Portal) -> None:
    assert routes_of(portal.app) == set(STATUSES)


# Another tenant's, another person's, a wrong kind of memory's and a missing id are one and the same answer.


Choose = Callable[[Portal, Mapping[str, AgentMemory]], int]


@pytest.mark.parametrize(
    "choose",
    [
        pytest.param(
            lambda portal, _: portal.propose(portal.personas.eve, "hours", "x").id, id="other tenant"
        ),
        pytest.param(lambda _, memories: memories["/me/"].id, id="a personal memory"),
        pytest.param(
            lambda portal, _: portal.propose(portal.personas.ada, "hours", "x").id, id="other definition"
        ),
    ],
)
@pytest.mark.parametrize("route", [route for route in STATUSES if "/facts/" in route])
def test_an_administrator_finds_nothing_else_under_a_definition(
    portal: Portal, memories: Mapping[str, AgentMemory], route: str, choose: Choose
) -> None:
    path = path_of(route, memories)
    root, there = portal.visitor(portal.personas.root), str(memories["/admin/"].id)
    missing = visit(root, route, path.replace(there, "4611686018427387904"))
    found = visit(root, route, path.replace(there, str(choose(portal, memories))))
    assert (found.status_code, found.text) == (404, missing.text)


@pytest.mark.parametrize("route", [route for route in STATUSES if "/me/" in route and "memory_id" in route])
def test_nobody_finds_the_memory_of_somebody_else(
    portal: Portal, memories: Mapping[str, AgentMemory], route: str
) -> None:
    path = path_of(route, memories)
    bob = portal.visitor(portal.personas.bob)
    missing = visit(bob, route, re.sub("[0-9]+", "4611686018427387904", path))
    found = visit(bob, route, path)
    assert (found.status_code, found.text) == (404, missing.text)
    assert portal.visitor(portal.personas.ada).page("/me/claims/").keys == ["tone", "hours", "parking"]


def test_a_definition_without_an_agent_is_an_empty_page_and_stays_without(portal: Portal) -> None:
    page = portal.visitor(portal.personas.ada).page("/me/travel/")
    assert page.entries == []
    assert portal.personas.directory.find_agent(portal.personas.ada, "travel") is None
