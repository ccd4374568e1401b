"""What takes the place of an entry after a decision, and what changes beside it."""

from __future__ import annotations

import re

import pytest
from werkzeug.test import TestResponse

from portal.models import AgentMemory
from tests.web.pages import Element, Page
from tests.web.visitors import Portal, Visitor


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


@pytest.fixture
def bob(portal: Portal) -> Visitor:
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    return portal.visitor(portal.personas.bob)


@pytest.fixture
def fact(portal: Portal) -> AgentMemory:
    return portal.propose(portal.personas.ada, "hours", "9 to 5")


def queue(visitor: Visitor) -> Page:
    return visitor.page("/admin/support/")


def fragment(answer: TestResponse, status: int = 200) -> Page:
    assert answer.status_code == status
    assert "<html" not in answer.text
    return Page(answer.text)


def beside(page: Page, target: str) -> str:
    """Return what a fragment puts elsewhere on the page."""
    [part] = page.find_all("hx-partial", **{"hx-target": target})
    return part.words


def focused(page: Page) -> Element:
    [found] = [part for part in page.root.walk() if "autofocus" in part.attributes]
    return found


def without_tokens(answer: TestResponse) -> str:
    """Return an answer but for the forms' tokens, which hold the second in which they were made."""
    text, count = re.subn(r'(name="csrf_token" value)="[^"]+"', r"\1", answer.text)
    assert count > 0
    return text


def buttons_of(element: Element) -> list[str]:
    return [part.words for part in element.walk() if part.tag == "button"]


# Done


@pytest.mark.usefixtures("fact")
@pytest.mark.parametrize(
    ("button", "words"),
    [
        ("Confirm hours", "Confirmed hours 9 to 5 Everybody's agent uses it from its next turn on."),
        ("Reject hours", "Rejected hours 9 to 5 No agent uses it, and its key cannot be proposed again."),
    ],
)
def test_a_receipt_takes_the_place_of_the_entry_and_has_the_focus(
    root: Visitor, button: str, words: str
) -> None:
    page = fragment(root.swap(queue(root), button))
    [receipt] = page.entries
    assert receipt.words == f"{words} Undo hours"
    assert focused(page) is receipt
    assert receipt.has_class("entry")
    assert "tabindex" in receipt.attributes


@pytest.mark.usefixtures("fact")
def test_every_count_on_the_page_changes_with_it(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "lunch", "at noon")
    portal.propose(portal.personas.ada, "fares", "by train", "travel")
    page = fragment(root.swap(queue(root), "Confirm hours"))
    assert page.title == "(1) To review: Support · Agent memory"
    assert [beside(page, f"#count-{shelf}") for shelf in ("proposed", "confirmed", "rejected")] == [
        "1",
        "1",
        "0",
    ]
    assert beside(page, "#waiting") == "2"
    assert beside(page, "#result") == "1 proposal"
    assert beside(page, "#status") == "Confirmed hours. 1 left to review."
    assert beside(page, "#alert") == ""


@pytest.mark.usefixtures("fact")
def test_the_last_one_says_that_nothing_is_left(root: Visitor) -> None:
    page = fragment(root.swap(queue(root), "Reject hours", reason="We open at 8."))
    assert beside(page, "#status") == "Rejected hours. Nothing is left to review."
    assert page.title == "To review: Support · Agent memory"
    assert "Reason: We open at 8." in page.entries[0].words


@pytest.mark.usefixtures("fact")
@pytest.mark.parametrize("button", ["Confirm hours", "Reject hours"])
def test_the_same_press_again_gives_the_receipt_again(root: Visitor, button: str) -> None:
    page = queue(root)
    once, again = root.swap(page, button), root.swap(page, button)
    assert (once.status_code, again.status_code) == (200, 200)
    assert without_tokens(once) == without_tokens(again)


@pytest.mark.usefixtures("fact")
@pytest.mark.parametrize("button", ["Confirm hours", "Reject hours"])
def test_undo_brings_the_proposal_back_with_the_focus(root: Visitor, button: str) -> None:
    receipt = fragment(root.swap(queue(root), button))
    page = fragment(root.swap(receipt, "Undo hours"))
    [entry] = page.entries
    assert focused(page) is entry
    assert {"Confirm hours", "Reject hours"} <= set(buttons_of(entry))
    assert beside(page, "#status") == "Undone hours. 1 left to review."
    assert queue(root).keys == ["hours"]
    fragment(root.swap(page, button))
    assert queue(root).keys == []


@pytest.mark.usefixtures("fact")
def test_undo_needs_no_script(root: Visitor) -> None:
    message = root.follow(root.press(queue(root), "Confirm hours"))
    answer = root.press(message, "Undo hours")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/support/")
    after = root.follow(answer)
    assert after.messages == ["Undone hours. It waits for review again, at its old place."]
    assert after.keys == ["hours"]


def test_a_deleted_proposal_has_a_receipt_without_undo(root: Visitor, fact: AgentMemory) -> None:
    form = queue(root).form("Confirm hours")
    page = fragment(
        root.send(
            form.action,
            {**form.fields, "action": "delete"},
            headers={"HX-Request": "true", "HX-Request-Type": "partial"},
        )
    )
    assert page.entries[0].words.startswith("Deleted hours 9 to 5 The proposal is gone.")
    assert buttons_of(page.entries[0]) == []
    assert str(fact.id) in page.entries[0].attributes["id"]


# Groups


def test_a_group_is_drawn_again_whole_with_the_receipt_where_the_proposal_was(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    portal.clock.advance(minutes=1)
    portal.propose(portal.personas.bob, "hours", "8 to 4")
    portal.clock.advance(minutes=1)
    portal.propose(portal.personas.root, "hours", "10 to 6")
    page = fragment(root.swap(queue(root), "Confirm hours, proposal 2"))
    group, first, receipt, last = page.entries
    assert group.has_class("entry")
    assert focused(page) is receipt
    assert receipt.words.startswith("Confirmed hours 8 to 4")
    assert str(fact.id) in first.attributes["id"]
    for other in (first, last):
        assert "Its key has a confirmed fact, so this cannot be confirmed." in other.words
        assert "Compared with the fact in use:" in other.words
    assert beside(page, "#status") == "Confirmed hours. 2 left to review."
    undone = fragment(root.swap(page, "Undo hours"))
    assert "Confirm hours, proposal 2" in undone.form("Reject hours, proposal 2").buttons
    assert focused(undone).words.startswith("Proposal 2")


@pytest.mark.usefixtures("fact")
def test_the_other_one_stays_when_one_is_rejected(portal: Portal, root: Visitor) -> None:
    portal.clock.advance(minutes=1)
    portal.propose(portal.personas.bob, "hours", "8 to 4")
    page = fragment(root.swap(queue(root), "Reject hours, proposal 1"))
    _, receipt, other = page.entries
    assert receipt.words.startswith("Rejected hours 9 to 5")
    assert "Confirm hours, proposal 2" in buttons_of(other)
    assert "Rejected before" in other.words
    assert beside(page, "#result") == "1 proposal"


# Not done


def test_what_changed_meanwhile_is_drawn_again_with_a_fresh_form(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    page = queue(root)
    portal.propose(portal.personas.ada, "hours", "8 to 4")
    conflict = fragment(root.swap(page, "Confirm hours"), 409)
    [entry] = conflict.entries
    assert entry.words.startswith("Nothing was saved. This changed while you were reading.")
    assert "8 to 4" in entry.words
    assert "Text changed once" in entry.words
    assert focused(conflict).words.startswith("Nothing was saved.")
    assert conflict.form("Confirm hours").fields["version"] == str(fact.version + 1)
    fragment(root.swap(conflict, "Confirm hours"))


@pytest.mark.usefixtures("fact")
@pytest.mark.parametrize(("theirs", "tag"), [("Confirm hours", "Confirmed"), ("Reject hours", "Rejected")])
def test_what_somebody_else_decided_says_who_and_what(
    root: Visitor, bob: Visitor, theirs: str, tag: str
) -> None:
    page = queue(root)
    bob.press(queue(bob), theirs)
    conflict = fragment(root.swap(page, "Confirm hours"), 409)
    [entry] = conflict.entries
    assert "This was decided already." in entry.words
    assert f"{tag} by Bob just now" in entry.words
    assert buttons_of(entry) == []
    assert beside(conflict, "#count-proposed") == "0"


@pytest.mark.usefixtures("fact")
def test_a_key_that_was_confirmed_meanwhile_shows_both_texts_and_what_differs(
    portal: Portal, root: Visitor
) -> None:
    page = queue(root)
    portal.account_fact(portal.personas.bob, "hours", "9 to 6")
    conflict = fragment(root.swap(page, "Confirm hours"), 409)
    group, in_use, proposed = conflict.entries
    assert group.words.startswith("Nothing was saved. This key has a confirmed fact.")
    assert "9 to 6" in in_use.words
    assert "Its key has a confirmed fact, so this cannot be confirmed." in proposed.words
    [difference] = [part for part in proposed.walk() if part.has_class("diff")]
    assert difference.words == "9 to removed: 6 added: 5"
    assert buttons_of(proposed) == ["Reject hours, proposal 1"]


@pytest.mark.usefixtures("fact")
def test_a_deletion_meanwhile_leaves_a_note_and_honest_counts(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    page = queue(root)
    portal.manager.delete_own_memory(fact.id, portal.personas.ada)
    gone = fragment(root.swap(page, "Confirm hours"), 404)
    assert gone.entries[0].words.startswith("No longer here.")
    assert focused(gone) is gone.entries[0]
    assert beside(gone, "#count-proposed") == "0"


@pytest.mark.usefixtures("fact")
def test_a_reason_that_cannot_be_stays_in_its_field(root: Visitor) -> None:
    page = fragment(root.swap(queue(root), "Reject hours", reason="\ue000"), 422)
    [field] = page.find_all("textarea")
    assert focused(page) is field
    assert field.text.removeprefix("\n") == "\ue000"
    assert len(page.classed("problem")) == 1
    fragment(root.swap(page, "Reject hours", reason="We open at 8."))


def test_undo_of_what_is_a_proposal_again_is_no_undo(root: Visitor, fact: AgentMemory) -> None:
    receipt = fragment(root.swap(queue(root), "Confirm hours"))
    root.swap(receipt, "Undo hours")
    again = fragment(root.swap(receipt, "Undo hours"), 409)
    assert "There is nothing to undo. It waits for review." in again.entries[0].words
    assert str(fact.id) in again.entries[0].attributes["id"]


@pytest.mark.usefixtures("fact")
def test_undo_may_find_nobody_to_give_it_back_to(portal: Portal, root: Visitor) -> None:
    receipt = fragment(root.swap(queue(root), "Confirm hours"))
    portal.personas.directory.erase_profile(portal.personas.ada)
    page = fragment(root.swap(receipt, "Undo hours"), 409)
    assert "The person who stated it was erased since." in page.entries[0].words


@pytest.mark.usefixtures("fact")
def test_undo_may_find_another_fact_in_its_place(portal: Portal, root: Visitor) -> None:
    receipt = fragment(root.swap(queue(root), "Reject hours"))
    portal.remember(portal.personas.ada, "hours", "8 to 4")
    page = fragment(root.swap(receipt, "Undo hours"), 409)
    assert "has recorded another fact under its key since." in page.entries[0].words


@pytest.mark.usefixtures("fact")
def test_undo_may_find_no_room(portal: Portal, root: Visitor) -> None:
    receipt = fragment(root.swap(queue(root), "Confirm hours"))
    portal.personas.directory.define_agent(portal.personas.acme, name="support", memory_limit=0)
    page = fragment(root.swap(receipt, "Undo hours"), 409)
    assert "has no room for it any more." in page.entries[0].words
