"""The corpus of bad inputs, as far as it goes through pages: no answer is ever a fault of ours.

Where an entry of the corpus is a description rather than a value, a table here says what is sent for it;
entries that have a test of their own are named in that table too, so that none is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from werkzeug.exceptions import NotFound

from portal.models import AgentMemory
from portal.values import MAX_ID
from tests.corpus_inputs import BadInput, bad_inputs, cases
from tests.databases import BOTH_KINDS, Databases, databases_of_kind
from tests.factories import PASSWORD
from tests.web.pages import Page
from tests.web.visitors import HERE, Portal, Visitor

ADA = "ada@acme.example"
MEBIBYTE = 2**20


@pytest.fixture(scope="session", params=BOTH_KINDS)
def databases(request: pytest.FixtureRequest) -> Databases:
    """Both kinds: what one of them stores, compares or refuses the other may not."""
    return databases_of_kind(request)


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


@pytest.fixture
def fact(portal: Portal) -> AgentMemory:
    return portal.propose(portal.personas.ada, "hours", "9 to 5")


def test_ids_that_are_none_find_nothing(root: Visitor, fact: AgentMemory) -> None:
    for bad in bad_inputs("/x/<id>", "I1"):
        for pattern in (
            "/admin/support/facts/{}",
            "/admin/support/facts/{}/delete",
            "/me/support/memories/{}/delete",
        ):
            for value in (bad.value, quote(bad.value, safe="")):
                answer = root.get(pattern.format(value))
                assert answer.status_code == 404, f"{bad.id} {answer.request.path}"
    assert root.get(f"/admin/support/facts/{fact.id}").status_code == 200


def test_an_id_that_no_row_could_have_has_no_route(portal: Portal) -> None:
    routes = portal.app.url_map.bind("127.0.0.1")
    for pattern in ("/admin/support/facts/{}", "/me/support/memories/{}/delete", "/admin/people/{}"):
        assert MAX_ID in routes.match(pattern.format(MAX_ID))[1].values()
        with pytest.raises(NotFound):
            routes.match(pattern.format(MAX_ID + 1))


def test_queries_that_nobody_asked_for_are_ignored(portal: Portal, root: Visitor, fact: AgentMemory) -> None:
    portal.propose(portal.personas.eve, "foreign", "x")
    for bad in bad_inputs("query", "I2"):
        name, _, value = bad.value.partition("=")
        for query in (
            bad.value,
            urlencode({name: value}),
            urlencode({"after": value}),
            urlencode({"status": value}),
        ):
            assert root.page(f"/admin/support/?{query}").keys == [fact.memory_key], bad.id
            assert root.page(f"/admin/support/confirmed?{query}").keys == [], bad.id
            assert root.page(f"/me/support/?{query}").keys == [], bad.id


@pytest.mark.usefixtures("fact")
def test_a_cursor_that_does_not_decode_is_page_one(root: Visitor) -> None:
    shelves = [f"/admin/support/{name}" for name in ("", "confirmed", "rejected", "history")]
    for path in (*shelves, "/admin/people/", "/me/support/"):
        first = root.page(path)
        for after in ("é", "=", "e30", "W10", "\0", "9" * 5_000):
            page = root.page(f"{path}?{urlencode({'after': after})}")
            assert (page.heading, page.keys) == (first.heading, first.keys), (path, after)


# Searching

TEXTS = [
    "100 % sure",
    "snake_case",
    "a back\\slash and \\% and \"quotes\" and 'more'",
    "a'-- drop",
    "[a-z] and ^a",
    "%00",
    "İstanbul, Straße, 😀",
    "<script>alert(1)</script>",
    "plain",
]


def test_a_search_is_literal_and_the_same_on_each_database(portal: Portal, root: Visitor) -> None:
    keys = {f"fact_{number}": text for number, text in enumerate(TEXTS)}
    for key, text in keys.items():
        portal.propose(portal.personas.ada, key, text)
        portal.clock.advance(seconds=1)
    for bad in bad_inputs("q="):
        expected = [key for key, text in keys.items() if bad.value.casefold() in f"{key}\n{text}".casefold()]
        answer = root.get("/admin/support/", query_string={"q": bad.value})
        assert (answer.status_code, Page(answer.text).keys) == (200, expected), bad.id


@pytest.mark.parametrize("raw", ["%00", "%ff", "%ed%a0%80", "%", "+" * 10_000])
def test_a_search_that_is_no_text_finds_nothing(root: Visitor, fact: AgentMemory, raw: str) -> None:
    for path in ("/admin/support/", "/admin/support/confirmed", "/admin/support/rejected", "/me/support/"):
        assert fact.memory_key not in root.page(f"{path}?q={raw}").keys, path


# Deciding

FORMS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "F-319": ({}, 400),
    "F-321": ({"action": "CONFIRM"}, 400),
    "F-323": ({"action": "confirm\0"}, 400),
    "F-326": ({"action": ["confirm", "reject"]}, 400),
    "F-342": ({"action": "confirm", "version": "0"}, 409),
    "F-344": ({"action": "confirm", "version": "2"}, 409),
    "F-345": ({"action": "confirm", "version": "-1"}, 400),
    "F-346": ({"action": "confirm", "version": "abc"}, 400),
    # There is no digest here: the version stands for the text, and fields that nobody asked for are ignored.
    "F-348": ({"action": "confirm"}, 303),
    "F-349": ({"action": "confirm", "digest": "x"}, 303),
    "F-360": ({"action": "reject", "status": "confirmed", "tenant_id": "2"}, 303),
    # A proposal may be deleted.
    "F-325": ({"action": "delete"}, 303),
}
FORMS_ELSEWHERE = {
    "F-328": "test_deciding: an action in the address",
    "F-329": "test_requests: JSON",
    "F-331": "test_requests: a JSON number",
    "F-334": "test_requests: too large",
    "F-335": "test_requests: parts",
    "F-339": "test_requests: without a good token",
    "F-340": "test_requests: a token counts in the form only",
    "F-350": "test_deciding: the same press again",
    "F-351": "test_deciding: changed meanwhile",
    "F-352": "test_deciding: deleted meanwhile",
    "F-353": "test_deciding: decided meanwhile",
    "F-354": "test_deciding: a key with a confirmed fact",
    "F-355": "test_signing_in: a role that is taken away",
    "F-357": "test_deciding: a second person",
    "F-358": "test_requests: deciding takes a POST",
    "F-359": "test_requests: deciding takes a POST",
}


@pytest.mark.parametrize("case", FORMS)
def test_a_bad_form_decides_nothing(root: Visitor, fact: AgentMemory, case: str) -> None:
    fields, status = FORMS[case]
    answer = root.post(f"/admin/support/facts/{fact.id}/decide", **fields)
    assert answer.status_code == status
    assert (root.page("/admin/support/").keys == []) is (status == 303)


def test_every_bad_form_is_sent_somewhere() -> None:
    assert FORMS.keys() | FORMS_ELSEWHERE.keys() == {bad.id for bad in bad_inputs("POST", "F")}


# Where to go after signing in


@pytest.mark.parametrize("bad", cases("login?next="))
def test_no_destination_is_anybody_elses(portal: Portal, bad: BadInput) -> None:
    visitor = portal.visitor()
    query = urlencode({"next": bad.value[:5_000]}, errors="surrogatepass")
    page = visitor.page(f"/sign-in?{query}")
    assert page.form("Sign in").fields["next"] == ""
    fields = {**page.form("Sign in").fields, "email": ADA, "password": PASSWORD, "next": bad.value[:5_000]}
    answer = visitor.client.post(
        "/sign-in",
        data=urlencode(fields, errors="surrogatepass"),
        content_type="application/x-www-form-urlencoded",
        base_url=HERE,
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


# Headers

HEADERS: Mapping[str, tuple[Mapping[str, str], int]] = {
    "H-402": ({"Host": ""}, 400),
    "H-403": ({"Host": "a b"}, 400),
    "H-404": ({"Host": "x" * 300}, 400),
    "H-406": ({"X-Forwarded-Host": "evil"}, 200),
    "H-407": ({"X-Forwarded-For": "1.1.1.1, 2.2.2.2"}, 200),
    "H-409": ({"X-Forwarded-Proto": "http"}, 200),
    "H-410": ({"X-Forwarded-Prefix": "//evil"}, 200),
    "H-412": ({"X-Original-URL": "/admin"}, 200),
    "H-414": ({"Cookie": "portal_session=.eJ"}, 302),
    "H-415": ({"Cookie": f"portal_session={'A' * 8000}"}, 302),
    "H-416": ({"Cookie": "portal_session=x; portal_session=y"}, 302),
    "H-417": ({"Cookie": "remember_token=1|\xe9"}, 302),
    "H-418": ({"Cookie": f"remember_token=1|{'0' * 128}"}, 302),
    "H-419": ({"Cookie": "; ".join(f"c{number}=x" for number in range(200))}, 302),
    "H-420": ({}, 200),
    "H-421": ({"Referer": "https://evil/"}, 200),
    "H-423": ({"Origin": "https://evil"}, 200),
    "H-426": ({"HX-Current-URL": "javascript:1", "HX-Request": "true"}, 200),
    "H-428": ({"User-Agent": "x" * 65_536}, 200),
    "H-430": ({"Content-Type": "text/plain"}, 200),
    "H-431": ({"Content-Type": "application/x-www-form-urlencoded; charset=utf-7"}, 200),
    "H-432": ({"Content-Length": "-1"}, 200),
    "H-433": ({"Transfer-Encoding": "chunked", "Content-Length": "5"}, 200),
    "H-435": ({"If-None-Match": "*"}, 200),
    "H-436": ({}, 405),
}


@pytest.mark.parametrize("case", HEADERS)
def test_no_header_changes_who_somebody_is_or_where_links_lead(
    portal: Portal, root: Visitor, case: str
) -> None:
    headers, status = HEADERS[case]
    cookie = root.client.get_cookie("portal_session", "127.0.0.1")
    assert cookie is not None
    client = portal.app.test_client(use_cookies=False)
    method = "TRACE" if status == 405 else "GET"
    sent = {"Host": "127.0.0.1:8000", "Cookie": f"portal_session={cookie.value}", **headers}
    answer = client.open("/me/", method=method, headers=sent)
    assert answer.status_code == status
    assert "evil" not in answer.text
    assert answer.headers.get("Location", "/sign-in?next=/me/") == "/sign-in?next=/me/"


@pytest.mark.parametrize("case", ["H-430", "H-431", "H-432", "H-433", "H-406", "H-423"])
def test_a_form_with_a_bad_header_signs_nobody_in(portal: Portal, case: str) -> None:
    visitor = portal.visitor()
    fields = urlencode({"csrf_token": visitor.token(), "email": ADA, "password": "wrong"})
    sent = {"Content-Type": "application/x-www-form-urlencoded", **HEADERS[case][0]}
    answer = visitor.client.post("/sign-in", data=fields, headers=sent, base_url=HERE)
    assert 400 <= answer.status_code < 500


def test_every_header_is_sent_somewhere() -> None:
    assert HEADERS.keys() == {bad.id for bad in bad_inputs("request", "H")}


# Signing in

SIGN_INS: Mapping[str, tuple[str, str, int]] = {
    "L-441": ("off@acme.example", PASSWORD, 422),
    "L-442": ("eve@globex.example", PASSWORD, 422),
    "L-443": ("unusable@acme.example", PASSWORD, 422),
    "L-445": ("\uff41da@acme.example", PASSWORD, 422),
    "L-446": (f"{ADA} ", PASSWORD, 422),
    "L-449": ("x" * MEBIBYTE, PASSWORD, 413),
    "L-450": (ADA, "x" * MEBIBYTE, 413),
    "L-451": (ADA, f"{PASSWORD}\0", 422),
    "L-452": (ADA, "\ud800", 422),
    "L-454": (ADA, "e\u0301", 422),
    "L-455": ("", "", 422),
}
SIGN_INS_ELSEWHERE = {
    "L-456": "test_signing_in: the sixth try",
    "L-458": "test_sign_in: failures from elsewhere or for others",
    "L-459": "test_signing_in: signing in again",
    "L-461": "test_requests: signing in needs a token too",
    "L-463": "test_sign_in: twenty tries at once",
}


@pytest.mark.parametrize("case", SIGN_INS)
def test_a_bad_sign_in_is_refused_like_any_other(portal: Portal, case: str) -> None:
    directory, acme = portal.personas.directory, portal.personas.acme
    directory.deactivate(
        directory.create_profile(acme, email="off@acme.example", name="Off", password=PASSWORD)
    )
    directory.deactivate_organisation(portal.personas.globex)
    directory.create_profile(acme, email="unusable@acme.example", name="Unusable")
    visitor = portal.visitor()
    email, password, status = SIGN_INS[case]
    fields = {"csrf_token": visitor.token(), "email": email, "password": password}
    answer = visitor.client.post(
        "/sign-in",
        data=urlencode(fields, errors="surrogatepass"),
        content_type="application/x-www-form-urlencoded",
        base_url=HERE,
    )
    assert answer.status_code == status
    assert "Location" not in answer.headers


def test_every_bad_sign_in_is_tried_somewhere() -> None:
    assert SIGN_INS.keys() | SIGN_INS_ELSEWHERE.keys() == {bad.id for bad in bad_inputs("POST", "L")}
