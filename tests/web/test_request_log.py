"""A line for each request: what was asked for, for whom, and nothing that came with it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.factories import PASSWORD
from tests.log_lines import Lines, logged_lines
from tests.web.visitors import HERE, Portal


@pytest.fixture
def lines() -> Iterator[Lines]:
    with logged_lines() as found:
        yield found


def requests_in(lines: Lines) -> Lines:
    return [line for line in lines if line["message"] == "request"]


def test_a_request_is_a_line_with_the_ids_of_who_asked_and_for_what(portal: Portal, lines: Lines) -> None:
    root = portal.personas.root
    fact = portal.propose(portal.personas.ada, "hours", "9 to 5")
    visitor = portal.visitor(root)
    lines.clear()
    answer = visitor.get(f"/admin/support/facts/{fact.id}?from=elsewhere")

    [line] = requests_in(lines)
    assert line.pop("duration_ms") >= 0
    assert line.pop("time")
    assert line == {
        "level": "info",
        "logger": "portal.web.request_log",
        "message": "request",
        "request_id": answer.headers["X-Request-ID"],
        "action": "request",
        "method": "GET",
        "endpoint": "administrators.fact",
        "status": 200,
        "organisation_id": root.organisation_id,
        "profile_id": root.id,
        "memory_id": fact.id,
    }


def test_each_request_has_an_id_of_its_own_whatever_it_brings(portal: Portal, lines: Lines) -> None:
    for _ in range(3):
        portal.app.test_client().get("/healthz", headers={"X-Request-ID": "mine"})
    ids = {line["request_id"] for line in requests_in(lines)}
    assert len(ids) == 3
    assert "mine" not in ids


def test_a_change_is_logged_with_the_id_of_the_request_that_made_it(portal: Portal, lines: Lines) -> None:
    fact = portal.propose(portal.personas.ada, "hours", "9 to 5")
    root = portal.visitor(portal.personas.root)
    lines.clear()
    root.post(f"/admin/support/facts/{fact.id}/decide", action="confirm")
    [change] = [line for line in lines if line["message"] == "memory changed"]
    request = requests_in(lines)[-1]
    assert (change["action"], change["memory_id"]) == ("confirmed", fact.id)
    assert change["request_id"] == request["request_id"]


def test_nothing_that_somebody_wrote_is_in_the_log(portal: Portal, lines: Lines) -> None:
    ada, root = portal.visitor(portal.personas.ada), portal.visitor(portal.personas.root)
    fact = portal.propose(portal.personas.ada, "her_illness", "She has measles")
    ada.get("/me/support/?q=measles")
    root.get("/admin/support/?q=measles")
    root.post(f"/admin/support/facts/{fact.id}/decide", action="reject", reason="measles are private")
    ada.sign_in("ada@acme.example", "measles")
    ada.get("/measles/her_illness")
    root.post("/admin/support/facts/1/decide", action="measles")
    written = json.dumps(lines)
    assert len(requests_in(lines)) > 10
    for secret in ("measles", "illness", "@acme", PASSWORD, "portal_session", "csrf"):
        assert secret not in written


@pytest.mark.parametrize(
    ("method", "path", "headers", "expected"),
    [
        ("GET", "/nowhere", {}, {"status": 404, "method": "GET"}),
        ("GET", "/sign-in", {"Host": "evil.example"}, {"status": 400, "endpoint": "auth.sign_in_page"}),
        ("POST", "/sign-in", {}, {"status": 400, "endpoint": "auth.sign_in"}),
        ("BREW", "/sign-in", {}, {"status": 405, "method": "other"}),
    ],
)
def test_what_is_refused_is_logged_too(
    portal: Portal,
    lines: Lines,
    method: str,
    path: str,
    headers: dict[str, str],
    expected: dict[str, object],
) -> None:
    portal.app.test_client().open(path, method=method, base_url=HERE, headers=headers)
    [line] = requests_in(lines)
    assert expected.items() <= line.items()
    assert "profile_id" not in line


def test_what_is_logged_between_requests_has_no_id(portal: Portal, lines: Lines) -> None:
    portal.app.test_client().get("/healthz")
    portal.remember(portal.personas.ada, "tone", "Warm")
    assert "request_id" not in lines[-1]
