"""What htmx is given in place of an entry of somebody's own page, and what is renewed around it."""

from __future__ import annotations

import pytest
from werkzeug.test import TestResponse

from portal.models import AgentMemory
from tests.web.pages import Element, Page
from tests.web.visitors import FRAGMENT, Portal, Visitor

LIST = "/me/support/?q=o"
DELETE, KEEP = "Delete for good tone", "Keep it for my agent hours"


@pytest.fixture
def ada(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.ada)


@pytest.fixture
def tone(portal: Portal) -> AgentMemory:
    return portal.remember(portal.personas.ada, "tone", "short")


@pytest.fixture
def rejected(portal: Portal) -> AgentMemory:
    hours = portal.propose(portal.personas.ada, "hours", "9 to 5 o'clock")
    return portal.decide(hours, "reject", "We open at 8.")


def partials(fragment: Page) -> dict[str, Element]:
    """Return what a fragment puts elsewhere, by where."""
    return {part.attributes["hx-target"]: part for part in fragment.find_all("hx-partial")}


def main_entry(fragment: Page) -> Element:
    """Return what takes the place of the entry: the one element that goes nowhere else."""
    [entry] = [
        child for child in fragment.root.children if isinstance(child, Element) and child.tag == "article"
    ]
    return entry


def read(answer: TestResponse, status: int = 200) -> Page:
    assert answer.status_code == status
    assert "<html" not in answer.text
    assert {"HX-Request", "HX-Request-Type"} <= set(answer.vary)
    return Page(answer.text)


def ask(ada: Visitor, memory: AgentMemory) -> Page:
    """Press "Delete…" within the list."""
    return read(ada.get(f"/me/support/memories/{memory.id}/delete?q=o", headers=FRAGMENT))


def test_the_question_takes_the_place_of_the_entry_and_the_focus(ada: Visitor, tone: AgentMemory) -> None:
    entry = main_entry(ask(ada, tone))
    assert entry.attributes["id"] == f"memory-{tone.id}"
    assert entry.attributes.keys() >= {"tabindex", "autofocus", "aria-labelledby"}
    assert "short Delete this? Your agent forgets it with its next turn." in entry.words


def test_somebody_can_go_back_from_the_question(ada: Visitor, tone: AgentMemory) -> None:
    [back] = [link for link in ask(ada, tone).find_all("a") if link.words == "Keep it tone"]
    assert (back.attributes["href"], back.attributes["hx-vals"]) == (LIST, '{"step": "back"}')
    query = {"q": "o", "step": "back"}
    answer = ada.get(f"/me/support/memories/{tone.id}/delete", query_string=query, headers=FRAGMENT)
    [entry] = read(answer).entries
    [again] = [link for link in entry.walk() if link.tag == "a"]
    # htmx finds the focus again by the id.
    assert again.attributes["id"] == back.attributes["id"]
    assert again.attributes["href"] == f"/me/support/memories/{tone.id}/delete?q=o"


def test_a_deleted_memory_leaves_a_receipt_and_the_numbers_follow(
    portal: Portal, ada: Visitor, tone: AgentMemory
) -> None:
    portal.remember(portal.personas.ada, "shoes", "size 40")
    fragment = read(ada.swap(ask(ada, tone), DELETE))
    receipt, renewed = main_entry(fragment), partials(fragment)
    assert receipt.words == "Deleted tone. Your agent forgets it with its next turn."
    assert receipt.attributes.keys() >= {"id", "tabindex", "autofocus"}
    assert renewed["#status"].words == "Deleted tone. Your agent holds 1 of 100 memories now."
    assert renewed["#alert"].words == ""
    assert renewed["#usage"].words == "1 of 100 memories, 7 of 20,000 characters"
    assert renewed["#count-personal"].words == "1"
    assert "Delete all 1…" in renewed["#delete-all"].words


def test_everything_that_is_renewed_is_on_the_page(ada: Visitor, tone: AgentMemory) -> None:
    there = {f"#{part.attributes['id']}" for part in ada.page(LIST).root.walk() if "id" in part.attributes}
    assert partials(read(ada.swap(ask(ada, tone), DELETE))).keys() <= there


def test_deleting_again_finds_nothing_and_says_so_in_place(ada: Visitor, tone: AgentMemory) -> None:
    question = ask(ada, tone)
    ada.swap(question, DELETE)
    assert main_entry(read(ada.swap(question, DELETE), 404)).words.startswith("No longer here.")
    answer = ada.get(f"/me/support/memories/{tone.id}/delete", headers=FRAGMENT)
    assert main_entry(read(answer, 404)).words.startswith("No longer here.")


def test_what_is_kept_leaves_a_receipt_and_appears_above(ada: Visitor, rejected: AgentMemory) -> None:
    fragment = read(ada.swap(ada.page(LIST), KEEP))
    receipt, renewed = main_entry(fragment), partials(fragment)
    assert receipt.attributes["id"] == f"memory-{rejected.id}"
    assert "Kept. Your agent uses it from its next turn on, and nobody else's does." in receipt.words
    assert "9 to 5 o'clock Noted just now" in renewed["#personal"].words
    assert renewed["#count-personal"].words == "1"
    assert renewed["#status"].words == "Kept hours. Your agent holds 1 of 100 memories now."


@pytest.mark.usefixtures("rejected")
def test_keeping_again_gives_the_same_receipt(ada: Visitor) -> None:
    page = ada.page(LIST)
    first, second = (read(ada.swap(page, KEEP)) for _ in range(2))
    assert main_entry(first).words == main_entry(second).words


@pytest.mark.usefixtures("rejected")
def test_a_proposal_that_keeping_replaces_leaves_its_section(portal: Portal, ada: Visitor) -> None:
    portal.manager.reopen_account_fact(ada_hours(portal).id, portal.personas.acme, portal.personas.root)
    portal.decide(ada_hours(portal), "reject")
    portal.remember(portal.personas.ada, "hours", "to be replaced o")
    renewed = partials(read(ada.swap(ada.page(LIST), KEEP)))
    assert "to be replaced" not in renewed["#personal"].words
    assert (renewed["#count-personal"].words, renewed["#count-proposed"].words) == ("1", "0")


def ada_hours(portal: Portal) -> AgentMemory:
    personas = portal.personas
    [found] = portal.manager.find_own_memories(personas.acme, personas.ada, "support")
    return found


def test_deleting_what_was_kept_offers_to_keep_it_again(
    portal: Portal, ada: Visitor, rejected: AgentMemory
) -> None:
    kept = portal.manager.keep_own_memory(rejected.id, portal.personas.ada)
    fragment = read(ada.swap(ask(ada, kept), "Delete for good hours"))
    assert KEEP in partials(fragment)[f"#memory-{rejected.id}"].words


def test_a_key_with_an_account_fact_changes_this_entry_only(portal: Portal, ada: Visitor) -> None:
    other = portal.propose(portal.personas.bob, "hours", "8 to 4")
    portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5 o'clock"), "reject")
    page = ada.page(LIST)
    portal.decide(other, "confirm")
    fragment = read(ada.swap(page, KEEP), 409)
    entry = main_entry(fragment)
    assert partials(fragment).keys() <= {"#alert"}
    assert entry.attributes.keys() >= {"tabindex", "autofocus"}
    assert "Nothing was saved. Its key has an account fact." in entry.words
    assert "8 to 4" in entry.words
    portal.manager.delete_memory(other.id, portal.personas.acme)
    assert "Kept." in main_entry(read(ada.swap(fragment, KEEP))).words


@pytest.mark.usefixtures("rejected", "tone")
def test_what_has_no_room_changes_this_entry_only(portal: Portal, ada: Visitor) -> None:
    portal.personas.directory.define_agent(portal.personas.acme, name="support", memory_limit=1)
    entry = main_entry(read(ada.swap(ada.page(LIST), KEEP), 409))
    assert "Nothing was saved. Your agent has no room for this." in entry.words


@pytest.mark.parametrize("button", [DELETE, KEEP])
def test_without_a_good_token_the_second_press_works(
    ada: Visitor, tone: AgentMemory, rejected: AgentMemory, button: str
) -> None:
    page = ask(ada, tone) if button == DELETE else ada.page(LIST)
    refused = read(ada.swap(page, button, csrf_token="stale"), 400)
    assert refused.entries == []
    assert "Nothing was saved" in partials(refused)["#alert"].words
    token = partials(refused)["input[name=csrf_token]"].children[0]
    assert isinstance(token, Element)
    read(ada.swap(page, button, csrf_token=token.attributes["value"]))
    assert rejected.status == "rejected"


def test_somebody_who_was_signed_out_is_led_to_the_door(
    portal: Portal, ada: Visitor, tone: AgentMemory
) -> None:
    question = ask(ada, tone)
    portal.clock.advance(hours=9)
    answer = ada.swap(question, DELETE)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, "/sign-in?next=/me/support/?q%3Do")
