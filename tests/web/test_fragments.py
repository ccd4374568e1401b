"""What htmx is told where a browser without it gets another page."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest

from portal.models import AgentMemory
from tests.web.pages import Page
from tests.web.visitors import FRAGMENT, Portal, Visitor

STATIC = Path(__file__).parents[2] / "static"


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


@pytest.fixture
def fact(portal: Portal) -> AgentMemory:
    return portal.propose(portal.personas.ada, "hours", "9 to 5")


def decide_path(fact: AgentMemory) -> str:
    return f"/admin/support/facts/{fact.id}/decide"


def alert_of(fragment: str) -> str:
    """Return what a fragment says in the alert region."""
    [alert] = Page(fragment).find_all("hx-partial", **{"hx-target": "#alert"})
    return alert.words


def test_htmx_is_the_very_file_that_was_published() -> None:
    digest = hashlib.sha384((STATIC / "vendor" / "htmx-4.0.1.min.js").read_bytes()).digest()
    expected = "Qp9rdC8H7EqOoX+nR0P3RPG2Noji+qdwJlGpfzwQJsfOpp3sGwIdSP9xO3+UlEhn"
    assert base64.b64encode(digest).decode() == expected
    assert "Zero-Clause BSD" in (STATIC / "vendor" / "htmx-LICENSE.txt").read_text()


def test_our_own_script_and_style_are_small() -> None:
    assert (STATIC / "portal.js").stat().st_size < 3_000
    assert (STATIC / "portal.css").stat().st_size < 15_000


def test_htmx_swaps_no_error_by_itself_and_keeps_no_history(root: Visitor) -> None:
    config = json.loads(root.page("/admin/").find("meta", name="htmx-config").attributes["content"])
    assert config == {
        "noSwap": [204, 304, "4xx", "5xx"],
        "history": False,
        "defaultTimeout": 15_000,
        "extensions": "none",
        "includeIndicatorCSS": False,
    }


def test_every_page_has_empty_regions_for_what_is_announced(portal: Portal, root: Visitor) -> None:
    for page in (root.page("/admin/"), root.page("/me/"), portal.visitor().page("/sign-in")):
        assert page.find("div", id="status", role="status").words == ""
        assert page.find("div", id="alert", role="alert").words == ""


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"HX-Request": "true"},
        {"HX-Request": "true", "HX-Request-Type": "full"},
        {"HX-Request": "partial"},
    ],
    ids=str,
)
def test_only_a_partial_request_of_htmx_gets_a_fragment(root: Visitor, headers: dict[str, str]) -> None:
    whole = root.get("/admin/nowhere/", headers=headers)
    part = root.get("/admin/nowhere/", headers=FRAGMENT)
    assert (whole.status_code, part.status_code) == (404, 404)
    assert "<html" in whole.text
    assert "<html" not in part.text
    assert {"HX-Request", "HX-Request-Type"} <= set(whole.vary) & set(part.vary)


def test_what_is_not_there_is_no_longer_here(root: Visitor) -> None:
    answer = root.get("/admin/support/facts/1", headers=FRAGMENT)
    [entry] = Page(answer.text).entries
    assert (answer.status_code, entry.words.startswith("No longer here.")) == (404, True)
    assert entry.attributes.keys() >= {"tabindex", "autofocus"}
    assert alert_of(answer.text) == ""


def test_a_member_gets_the_same_404(portal: Portal, fact: AgentMemory) -> None:
    answer = portal.visitor(portal.personas.ada).send(
        decide_path(fact), {"csrf_token": "x"}, headers=FRAGMENT
    )
    assert answer.status_code == 400
    ada = portal.visitor(portal.personas.ada)
    answer = ada.send(decide_path(fact), {"csrf_token": ada.token()}, headers=FRAGMENT)
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"headers": FRAGMENT | {"Origin": "https://evil.example"}}, 400),
        ({"headers": FRAGMENT, "content_type": "text/plain"}, 415),
        ({"headers": FRAGMENT, "data": {"action": "x" * 70_000}}, 413),
    ],
)
def test_what_is_refused_is_said_in_the_alert_region(
    root: Visitor, fact: AgentMemory, options: dict[str, object], status: int
) -> None:
    answer = root.client.post(
        decide_path(fact),
        **({"data": {}} | options),
        base_url=root.base_url,
    )
    assert answer.status_code == status
    assert "Nothing was saved." in alert_of(answer.text)
    assert Page(answer.text).entries == []


def test_a_stale_token_is_renewed_everywhere_so_that_the_second_press_works(
    root: Visitor, fact: AgentMemory
) -> None:
    page = root.page("/admin/support/")
    form = page.form("Confirm hours").fields
    answer = root.send(decide_path(fact), {**form, "action": "confirm", "csrf_token": "x"}, headers=FRAGMENT)
    assert answer.status_code == 400
    assert "Nothing was saved. It is fresh now" in alert_of(answer.text)
    [renewed] = Page(answer.text).find_all("hx-partial", **{"hx-target": "input[name=csrf_token]"})
    assert renewed.attributes["hx-swap"] == "outerHTML"
    [token] = [part.attributes["value"] for part in renewed.walk() if part.tag == "input"]
    again = root.send(decide_path(fact), {**form, "action": "confirm", "csrf_token": token}, headers=FRAGMENT)
    assert again.status_code < 400


@pytest.mark.usefixtures("fact")
def test_whoever_was_signed_out_is_led_to_the_door_and_told(portal: Portal) -> None:
    browser = portal.visitor(portal.personas.root)
    page = browser.page("/admin/support/?q=9")
    portal.clock.advance(hours=1)
    answer = browser.swap(page, "Confirm hours")
    assert (answer.status_code, answer.text) == (401, "")
    door = browser.page(answer.headers["HX-Redirect"])
    assert door.messages == ["You were signed out, so nothing was saved. Sign in and try again."]
    assert door.form("Sign in").fields["next"] == "/admin/support/?q=9"


def test_a_page_of_somebody_else_is_loaded_anew(portal: Portal, fact: AgentMemory) -> None:
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    browser = portal.visitor(portal.personas.root)
    page = browser.page("/admin/support/?q=9")
    browser.sign_in("bob@acme.example")
    answer = browser.swap(page, "Confirm hours")
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (409, "/admin/support/?q=9")
    after = browser.page(answer.headers["HX-Redirect"])
    assert after.messages == ["Nothing was saved: somebody else had signed in when that page was made."]
    assert after.keys == [fact.memory_key]


def test_a_fault_says_its_number_and_swaps_nothing(portal: Portal, root: Visitor) -> None:
    portal.app.config["PROPAGATE_EXCEPTIONS"] = False
    portal.app.view_functions["administrators.queue"] = lambda definition: str(1 // len(definition[:0]))
    answer = root.get("/admin/support/", headers=FRAGMENT)
    assert answer.status_code == 500
    assert "give the number" in alert_of(answer.text)
    assert Page(answer.text).entries == []
