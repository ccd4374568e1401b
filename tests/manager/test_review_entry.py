"""One key of the review queue, and how many proposals wait anywhere."""

from __future__ import annotations

import pytest

from portal.counts import Count
from portal.reports import MemoryReports
from tests.manager.world import World

ALIKE = ("id", "memory_key", "content", "status", "version", "stated_at", "decided_at", "decision_reason")


def test_one_key_is_what_the_queue_has_under_it(world: World) -> None:
    world.confirmed("root")
    world.propose("bob", "lunch")
    world.rejected("ada", "parking")
    world.propose("ada", "lunch", "at noon")
    entry = world.manager.find_review_entry(world.acme, "support", "lunch")
    assert entry is not None
    assert (entry.memory_key, entry.confirmed, entry.rejected) == ("lunch", None, ())
    assert [fact.content for fact in entry.proposals] == ["text", "at noon"]


def test_an_entry_shows_what_the_queue_has(world: World) -> None:
    world.add_person("zoe")
    for name in ("ada", "bob", "root", "zoe"):
        world.propose(name, content=f"by {name}")
    world.decide("bob", action="reject", reason="Not any more")
    world.decide("root", action="confirm")
    (entry,) = world.manager.find_review_queue(world.acme, "support")
    shown = world.manager.find_review_entry(world.acme, "support", "office")
    assert shown is not None
    assert entry.confirmed is not None
    assert shown.confirmed is not None
    memories = [*entry.proposals, entry.confirmed, *entry.rejected]
    facts = [*shown.proposals, shown.confirmed, *shown.rejected]
    for memory, fact in zip(memories, facts, strict=True):
        assert [getattr(fact, name) for name in ALIKE] == [getattr(memory, name) for name in ALIKE]
        for shown_person, person in (
            (fact.stated_by, memory.stated_by),
            (fact.decided_by, memory.decided_by),
        ):
            assert (shown_person and shown_person.name) == (person and person.name)


def test_changes_of_a_text_count_while_it_waits(world: World) -> None:
    for text in "1233":
        world.propose("ada", content=text)
    world.remember("bob", content="1")
    world.remember("bob", content="2")
    world.propose("bob", content="2")
    shown = world.manager.find_review_entry(world.acme, "support", "office")
    assert shown is not None
    assert [fact.times_changed for fact in shown.proposals] == [2, 0]


@pytest.mark.parametrize("status", ["personal", "confirmed", "rejected", "nothing"])
def test_a_key_that_nobody_proposed_is_no_entry(world: World, status: str) -> None:
    if status == "personal":
        world.remember("ada")
    elif status != "nothing":
        getattr(world, status)("ada")
    assert world.manager.find_review_entry(world.acme, "support", "office") is None


def test_an_entry_stays_within_its_organisation_and_definition(world: World) -> None:
    world.propose("ada")
    for organisation, definition in ((world.personas.globex, "support"), (world.acme, "travel")):
        assert world.manager.find_review_entry(organisation, definition, "office") is None
    assert world.manager.find_review_entry(world.acme, "nowhere", "office") is None


def test_what_waits_is_counted_over_all_definitions(world: World) -> None:
    reports = MemoryReports(world.database)
    assert reports.count_waiting(world.acme) == Count(0)
    world.propose("ada")
    world.propose("ada", definition="travel")
    world.propose("eve")
    world.remember("bob")
    assert reports.count_waiting(world.acme) == Count(2)
