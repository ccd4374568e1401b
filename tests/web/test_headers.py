"""The headers of every answer, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from werkzeug.test import TestResponse

from portal.settings import Settings
from portal.web import create_app
from portal.web.services import EXTENSION
from tests.factories import PASSWORD
from tests.web.observatory import Answer, score
from tests.web.visitors import HERE, Portal, Visitor

POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}

# A page, a redirect, errors of each kind, a text and static files.
ANSWERS = [
    ("GET", "/sign-in", {}),
    ("GET", "/me/", {}),
    ("GET", "/nowhere", {}),
    ("PUT", "/sign-in", {}),
    ("POST", "/sign-in", {}),
    ("POST", "/sign-in", {"content_type": "application/json"}),
    ("GET", "/sign-in", {"headers": {"Host": "evil.example"}}),
    ("GET", "/healthz", {}),
    ("GET", "/static/portal.css", {}),
    ("GET", "/static/nothing.css", {}),
    ("OPTIONS", "/sign-in", {}),
    ("HEAD", "/sign-in", {}),
]


@pytest.mark.parametrize(("method", "path", "options"), ANSWERS, ids=str)
def test_every_answer_has_them(portal: Portal, method: str, path: str, options: dict[str, Any]) -> None:
    client = portal.app.test_client()
    with client.open(path, method=method, base_url=HERE, **options) as answer:
        headers = answer.headers
    assert set(headers["Content-Security-Policy"].split("; ")) == POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
    assert "geolocation=()" in headers["Permissions-Policy"]
    assert "Strict-Transport-Security" not in headers


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [answer for answer in ANSWERS if "/static/portal" not in answer[1]],
    ids=str,
)
def test_no_answer_is_stored_anywhere(
    portal: Portal, method: str, path: str, options: dict[str, Any]
) -> None:
    answer = portal.app.test_client().open(path, method=method, base_url=HERE, **options)
    assert answer.headers["Cache-Control"] == "no-store"


# Static files


def fetch(visitor: Visitor, path: str, **headers: str) -> TestResponse:
    answer = visitor.get(path, headers=headers)
    answer.close()
    return answer


def test_a_static_file_may_be_kept_for_good_under_the_address_that_pages_use(portal: Portal) -> None:
    visitor = portal.visitor()
    for link in visitor.page("/sign-in").find_all("link"):
        answer = fetch(visitor, link.attributes["href"])
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert "Vary" not in answer.headers


@pytest.mark.parametrize("query", ["", "?v=", "?v=0123456789ab"])
def test_under_another_address_it_is_asked_for_again(portal: Portal, query: str) -> None:
    visitor = portal.visitor()
    answer = fetch(visitor, f"/static/portal.css{query}")
    assert answer.headers["Cache-Control"] == "no-cache"
    again = fetch(visitor, "/static/portal.css", **{"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.headers["Cache-Control"]) == (304, "no-cache")


@pytest.mark.parametrize("path", ["../portal/web/__init__.py", "%2e%2e/pyproject.toml", "/etc/passwd", "."])
def test_no_other_file_is_served(portal: Portal, path: str) -> None:
    assert portal.visitor().get(f"/static/{path}").status_code == 404


def test_the_style_sheet_stays_small(portal: Portal) -> None:
    with portal.visitor().get("/static/portal.css") as answer:
        assert len(answer.data) < 15_000


# Over HTTPS


@pytest.fixture
def https(portal: Portal, settings: Settings) -> Iterator[Visitor]:
    """A visitor of the same portal, reached over HTTPS through one proxy."""
    app = create_app(replace(settings, public_url="https://memory.example", proxy_hops=1), clock=portal.clock)
    yield Visitor(app, base_url="https://memory.example")
    app.extensions[EXTENSION].database.dispose()


def test_over_https_browsers_are_told_to_stay_there(https: Visitor) -> None:
    assert https.get("/sign-in").headers["Strict-Transport-Security"] == "max-age=63072000"


def test_over_https_the_cookie_is_bound_to_the_host(https: Visitor) -> None:
    answer = https.sign_in("ada@acme.example", PASSWORD)
    name, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert name.startswith("__Host-session=")
    assert attributes == ["Secure", "HttpOnly", "Path=/", "SameSite=Lax"]


def test_over_https_only_the_public_host_is_ours(https: Visitor) -> None:
    client = https.client
    assert client.get("/sign-in", headers={"Host": "localhost"}).status_code == 400
    assert client.get("/sign-in", headers={"Host": "memory.example"}).status_code == 200


def test_over_https_the_observatory_gives_135_of_145_points(https: Visitor) -> None:
    answers = [https.get("/sign-in"), https.sign_in("ada@acme.example"), https.get("/me/support/")]
    # The other ten are for scripts with a hash, and for hosts that browsers have in a list of their own.
    assert [score(Answer.of(answer)) for answer in answers] == [135, 135, 135]


@pytest.mark.parametrize(
    "weakened",
    [
        {"content-security-policy": "default-src 'self'"},
        {"cross-origin-resource-policy": "cross-origin"},
        {"referrer-policy": "unsafe-url"},
        {"strict-transport-security": "max-age=300"},
        {"access-control-allow-origin": "*"},
        {"x-content-type-options": ""},
    ],
    ids=lambda weakened: next(iter(weakened)),
)
def test_over_https_no_header_could_be_weaker_for_that(https: Visitor, weakened: dict[str, str]) -> None:
    answer = Answer.of(https.get("/sign-in"))
    assert score(replace(answer, headers={**answer.headers, **weakened})) < 135


@pytest.mark.parametrize("attribute", ["; Secure", "; HttpOnly", "; SameSite=Lax"])
def test_over_https_no_cookie_could_be_weaker_for_that(https: Visitor, attribute: str) -> None:
    answer = Answer.of(https.get("/sign-in"))
    [cookie] = answer.cookies
    assert score(replace(answer, cookies=[cookie.replace(attribute, "")])) < 135


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://memory.example", 422), ("http://memory.example", 400), ("https://memory.example:444", 400)],
)
def test_over_https_a_form_comes_from_the_public_address(https: Visitor, origin: str, status: int) -> None:
    fields = {"csrf_token": https.token(), "email": "x", "password": "x"}
    assert https.send("/sign-in", fields, headers={"Origin": origin}).status_code == status


def test_behind_a_proxy_each_client_has_its_own_tries(https: Visitor) -> None:
    def sign_in(client: str) -> int:
        fields = {"csrf_token": https.token(), "email": "ada@acme.example", "password": "wrong"}
        # The proxy adds the address it saw; what stands before is the client's own invention.
        headers = {"X-Forwarded-For": f"203.0.113.9, {client}"}
        return https.send("/sign-in", fields, headers=headers).status_code

    assert [sign_in("192.0.2.1") for _ in range(6)] == [422] * 5 + [429]
    assert sign_in("192.0.2.2") == 422
