"""One key of the review queue, and how many proposals wait anywhere."""

from __future__ import annotations

import pytest

from portal.counts import Count
from portal.reports import MemoryReports
from tests.manager.world import World, contents


def test_one_key_is_what_the_queue_has_under_it(world: World) -> None:
    world.confirmed("root")
    world.propose("bob", "lunch")
    world.rejected("ada", "parking")
    world.propose("ada", "lunch", "at noon")
    entry = world.manager.find_review_entry(world.acme, "support", "lunch")
    assert entry is not None
    assert (entry.memory_key, entry.confirmed, entry.rejected) == ("lunch", None, ())
    assert contents(entry.proposals) == ["text", "at noon"]


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
