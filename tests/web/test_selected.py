"""Deciding on several proposals: what was selected is decided as it was on the screen, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from portal.models import AgentMemory
from portal.values import MAX_ID
from tests.web.pages import Page
from tests.web.visitors import Portal, Visitor

PATH = "/admin/support/decide-selected"


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


@pytest.fixture
def facts(portal: Portal) -> Sequence[AgentMemory]:
    return [portal.propose(portal.personas.ada, key, "as it was on the screen") for key in ("hours", "lunch")]


def selected(facts: Sequence[AgentMemory]) -> list[str]:
    """Return what the boxes send that were ticked."""
    return [f"{fact.id}:{fact.version}" for fact in facts]


def keys(visitor: Visitor, shelf: str = "") -> list[str]:
    # Both were proposed, and are decided, at one moment.
    return sorted(visitor.page(f"/admin/support/{shelf}").keys)


def test_what_was_changed_since_it_was_selected_is_left_out(
    portal: Portal, root: Visitor, facts: Sequence[AgentMemory]
) -> None:
    portal.propose(portal.personas.ada, "hours", "reworded")
    question = Page(root.post(PATH, action="confirm", selected=selected(facts)).text)
    assert question.heading == "Confirm this proposal?"
    assert question.form("Confirm 1").fields["selected"] == selected(facts)[1]
    assert "Left out: it was changed" in question.entries[0].words
    assert keys(root, "confirmed") == []


@pytest.mark.parametrize(("action", "shelf"), [("confirm", "confirmed"), ("reject", "rejected")])
def test_what_was_changed_since_the_question_is_not_decided(
    portal: Portal, root: Visitor, facts: Sequence[AgentMemory], action: str, shelf: str
) -> None:
    portal.propose(portal.personas.ada, "hours", "reworded")
    answer = Page(root.post(PATH, action=action, step="do", selected=selected(facts)).text)
    assert answer.heading == f"{shelf.capitalize()} 1 of 2"
    assert "This changed while you were reading" in answer.find("main").words
    assert (keys(root), keys(root, shelf)) == (["hours"], ["lunch"])


def test_the_same_press_again_is_as_good_as_done(root: Visitor, facts: Sequence[AgentMemory]) -> None:
    for _ in range(2):
        answer = Page(root.post(PATH, action="reject", step="do", selected=selected(facts)).text)
        assert answer.heading == "Rejected 2 of 2"
    again = Page(root.post(PATH, action="confirm", step="do", selected=selected(facts)).text)
    assert again.heading == "Confirmed 0 of 2"
    assert keys(root, "rejected") == ["hours", "lunch"]


@pytest.mark.parametrize(
    "values",
    [[], ["1"], ["1:1", "1:2"], [f"{MAX_ID + 1}:1"], ["1:-1"], [f"{n}:1" for n in range(1, 52)]],
    ids=["nothing", "no version", "one twice", "no id", "no number", "too many"],
)
def test_nonsense_among_them_decides_nothing(
    root: Visitor, facts: Sequence[AgentMemory], values: list[str]
) -> None:
    sent = values and [*selected(facts), *values]
    assert root.post(PATH, action="confirm", step="do", selected=sent).status_code == 400
    assert keys(root) == ["hours", "lunch"]
