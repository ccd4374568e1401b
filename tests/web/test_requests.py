"""What every request has to pass, and in which order."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from itsdangerous import TimestampSigner

from portal.models import AgentMemory
from tests.web.pages import Page
from tests.web.visitors import HERE, Portal, Visitor

NOTHING_SAVED = "Nothing was saved."


@pytest.fixture
def fact(portal: Portal) -> AgentMemory:
    return portal.propose(portal.personas.ada, "hours", "9 to 5")


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


def decide_path(fact: AgentMemory) -> str:
    return f"/admin/support/facts/{fact.id}/decide"


def still_waits(root: Visitor, fact: AgentMemory) -> bool:
    return fact.memory_key in root.page("/admin/support/").keys


# Host


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "a b", "x" * 300, "@127.0.0.1"])
@pytest.mark.parametrize("path", ["/sign-in", "/nowhere", "/static/portal.css"])
def test_a_host_that_is_not_ours_is_refused(portal: Portal, host: str, path: str) -> None:
    answer = portal.app.test_client().get(path, headers={"Host": host})
    assert answer.status_code == 400
    assert host not in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8001", "127.0.0.1", "[::1]:8000"])
def test_on_plain_http_this_machine_has_several_names(portal: Portal, host: str) -> None:
    assert portal.app.test_client().get("/sign-in", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["10.0.0.7:8000", "evil.example", "a b", ""])
def test_health_is_told_by_any_name(portal: Portal, host: str) -> None:
    answer = portal.app.test_client().get("/healthz", headers={"Host": host})
    assert (answer.status_code, answer.text, answer.mimetype) == (200, "ok", "text/plain")


def test_health_needs_no_cookie_and_gives_none(portal: Portal) -> None:
    answer = portal.app.test_client().get("/healthz", base_url=HERE)
    assert "Set-Cookie" not in answer.headers
    assert "Vary" not in answer.headers


# Method, size, type


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "TRACE"])
def test_deciding_takes_a_post(root: Visitor, fact: AgentMemory, method: str) -> None:
    answer = root.client.open(decide_path(fact), method=method, base_url=HERE)
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"OPTIONS", "POST"}


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        pytest.param(b'{"action": "confirm"}', "application/json", 415, id="JSON"),
        pytest.param(b"5", "application/json", 415, id="a JSON number"),
        pytest.param(b"action=confirm", "text/plain", 415, id="plain text"),
        pytest.param(b"action=confirm", "", 415, id="no type"),
        pytest.param(b"a=" + b"x" * 65_535, "application/x-www-form-urlencoded", 413, id="too large"),
        pytest.param(b"x" * 65_537, "application/json", 413, id="too large and JSON"),
    ],
)
def test_a_body_is_a_form_of_at_most_64_kib(
    root: Visitor, fact: AgentMemory, body: bytes, content_type: str, status: int
) -> None:
    answer = root.client.post(decide_path(fact), data=body, content_type=content_type, base_url=HERE)
    assert answer.status_code == status
    assert still_waits(root, fact)


def test_a_form_has_at_most_fifty_parts(root: Visitor, fact: AgentMemory) -> None:
    parts = {"csrf_token": root.token(), "action": "confirm"} | {f"field-{n}": "x" for n in range(49)}
    answer = root.send(decide_path(fact), parts, content_type="multipart/form-data")
    assert answer.status_code == 413
    parts.popitem()
    assert root.send(decide_path(fact), parts, content_type="multipart/form-data").status_code == 303


# Origin


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:8000"},
        {"Origin": "http://127.0.0.1:9000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": HERE},
    ],
    ids=str,
)
def test_a_form_from_elsewhere_is_refused(
    root: Visitor, fact: AgentMemory, headers: Mapping[str, str]
) -> None:
    fields = {"csrf_token": root.token(), "action": "confirm"}
    assert root.send(decide_path(fact), fields, headers=headers).status_code == 400
    assert still_waits(root, fact)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": HERE}, {"Sec-Fetch-Site": "same-origin"}, {"Referer": "https://evil.example/"}, {}],
    ids=str,
)
def test_a_form_of_ours_is_not(root: Visitor, fact: AgentMemory, headers: Mapping[str, str]) -> None:
    fields = {"csrf_token": root.token(), "action": "confirm"}
    assert root.send(decide_path(fact), fields, headers=headers).status_code == 303


def test_a_page_from_elsewhere_may_link_here(root: Visitor) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    assert root.get("/admin/", headers=headers).status_code == 200


# CSRF


def test_each_form_on_each_page_has_a_token(portal: Portal, root: Visitor, fact: AgentMemory) -> None:
    memory = portal.remember(portal.personas.root, "tone", "short")
    paths = ["/sign-in", "/me/", "/me/support/", f"/me/support/memories/{memory.id}/delete", "/admin/"]
    paths += ["/me/support/delete-all", "/me/support/prompt", "/password"]
    person = f"/admin/people/{portal.personas.ada.id}"
    paths += ["/admin/people/", "/admin/people/invite", person, f"{person}/deactivate"]
    paths += ["/admin/support/", f"/admin/support/facts/{fact.id}", f"/admin/support/facts/{fact.id}/delete"]
    for path in paths:
        for form in root.page(path).forms:
            if form.method == "post":
                assert form.fields["csrf_token"], path
                assert form.action == "/sign-in" or form.fields["as"] == str(portal.personas.root.id)


@pytest.mark.parametrize(
    "token", [{}, {"csrf_token": ""}, {"csrf_token": "x"}], ids=["none", "empty", "made up"]
)
def test_without_a_good_token_nothing_is_saved(
    root: Visitor, fact: AgentMemory, token: Mapping[str, str]
) -> None:
    answer = root.send(f"{decide_path(fact)}?q=9", {**token, "action": "confirm"})
    page = Page(answer.text)
    assert answer.status_code == 400
    assert NOTHING_SAVED in page.root.words
    assert page.link("Go back") == "/admin/support/?q=9"
    assert still_waits(root, fact)


def test_a_token_counts_in_the_form_only(root: Visitor, fact: AgentMemory) -> None:
    token = root.token()
    in_query = root.send(f"{decide_path(fact)}?csrf_token={token}", {"action": "confirm"})
    in_header = root.send(decide_path(fact), {"action": "confirm"}, headers={"X-CSRFToken": token})
    assert (in_query.status_code, in_header.status_code) == (400, 400)


def test_a_token_of_another_browser_is_not_good(portal: Portal, root: Visitor, fact: AgentMemory) -> None:
    foreign = portal.visitor(portal.personas.eve).token()
    assert root.send(decide_path(fact), {"csrf_token": foreign, "action": "confirm"}).status_code == 400


def test_signing_in_needs_a_token_too(portal: Portal) -> None:
    fields = {"email": "ada@acme.example", "password": "x"}
    assert portal.visitor().send("/sign-in", fields).status_code == 400


def test_no_form_goes_without_a_token(portal: Portal, root: Visitor, fact: AgentMemory) -> None:
    named = {
        "definition": "support",
        "memory_id": fact.id,
        "profile_id": portal.personas.ada.id,
        "token": portal.personas.directory.make_link(portal.personas.ada).token,
    }
    addresses = portal.app.url_map.bind("127.0.0.1:8000")
    paths = [
        addresses.build(rule.endpoint, {name: named[name] for name in rule.arguments}, method="POST")
        for rule in portal.app.url_map.iter_rules()
        if "POST" in (rule.methods or ())
    ]
    assert len(paths) > 15
    assert {path: root.send(path, {}).status_code for path in paths} == dict.fromkeys(paths, 400)


def test_a_token_is_as_old_as_its_session(
    root: Visitor, fact: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that was left open over the holidays still works, if somebody is signed in."""
    page = root.page("/admin/support/")
    now = int(time.time()) + 10 * 24 * 3600
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _: now)
    assert root.press(page, "Confirm hours").status_code == 303
    assert not still_waits(root, fact)


# For whom the page was made


def test_a_page_made_for_somebody_else_saves_nothing(portal: Portal, fact: AgentMemory) -> None:
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    browser = portal.visitor(portal.personas.root)
    page = browser.page("/admin/support/?q=9")
    browser.sign_in("bob@acme.example")
    answer = browser.press(page, "Confirm hours")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/support/?q=9")
    after = browser.follow(answer)
    assert after.messages == ["Nothing was saved: somebody else had signed in when that page was made."]
    assert after.keys == [fact.memory_key]


@pytest.mark.parametrize("values", ["0", "x", "", ["1", "2"]], ids=str)
def test_for_whom_has_to_be_the_one_who_is_signed_in(
    portal: Portal, root: Visitor, fact: AgentMemory, values: Any
) -> None:
    answer = root.post(decide_path(fact), action="confirm", **{"as": values})
    assert answer.headers["Location"] == "/admin/support/"
    assert still_waits(root, fact)
    assert str(portal.personas.root.id) not in values


def test_left_out_it_means_whoever_is_signed_in(root: Visitor, fact: AgentMemory) -> None:
    root.post(decide_path(fact), action="confirm")
    assert not still_waits(root, fact)


# The order: each of these breaks everything from its place on, and the first decides.


@pytest.mark.parametrize(
    ("who", "host", "path", "content_type", "origin", "status"),
    [
        ("nobody", "evil.example", "/nowhere", "text/plain", "https://evil.example", 400),
        ("nobody", "127.0.0.1:8000", "/nowhere", "text/plain", "https://evil.example", 404),
        (
            "nobody",
            "127.0.0.1:8000",
            "/admin/support/facts/1/decide",
            "text/plain",
            "https://evil.example",
            415,
        ),
        ("nobody", "127.0.0.1:8000", "/admin/support/facts/1/decide", None, "https://evil.example", 400),
        ("nobody", "127.0.0.1:8000", "/admin/support/facts/1/decide", None, HERE, 302),
        ("ada", "127.0.0.1:8000", "/admin/support/facts/1/decide", None, HERE, 400),
    ],
    ids=["host", "route", "type", "origin", "sign-in", "CSRF"],
)
def test_checks_run_in_one_order(
    portal: Portal, who: str, host: str, path: str, content_type: str | None, origin: str, status: int
) -> None:
    visitor = portal.visitor(portal.personas.ada if who == "ada" else None)
    answer = visitor.client.post(
        path,
        data=b"action=nonsense&action=nonsense",
        content_type=content_type or "application/x-www-form-urlencoded",
        headers={"Host": host, "Origin": origin},
    )
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("who", "memory_id", "status"),
    [("ada", None, 404), ("root", 1, 404), ("root", None, 400)],
    ids=["role", "object", "fields"],
)
def test_views_go_on_in_that_order(
    portal: Portal, fact: AgentMemory, who: str, memory_id: int | None, status: int
) -> None:
    visitor = portal.visitor(getattr(portal.personas, who))
    path = f"/admin/support/facts/{memory_id or fact.id}/decide"
    assert visitor.post(path, action="nonsense", version="99").status_code == status


# Proxies


def test_without_proxies_what_they_would_say_counts_for_nothing(root: Visitor) -> None:
    headers = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Prefix": "//evil", "X-Original-URL": "/me/"}
    answer = root.get("/admin", headers=headers | {"X-Forwarded-Proto": "https"})
    assert answer.status_code == 200
    assert "evil" not in answer.text


def test_addresses_never_name_the_host(portal: Portal) -> None:
    visitor = portal.visitor(portal.personas.ada)
    for path in ("/", "/me", "//me/", "/me//support/"):
        assert "127.0.0.1" not in visitor.get(path).headers.get("Location", "")
