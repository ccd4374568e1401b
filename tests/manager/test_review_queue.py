"""The review queue: one entry for each key, with everything that an administrator decides about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from portal.errors import InvalidInput
from portal.models import AgentMemory
from portal.pages import Page
from portal.review_queue import ReviewEntry
from tests.manager.twins import read_all_pages
from tests.manager.world import World, contents


def queue(world: World, **more: Any) -> Page[ReviewEntry[AgentMemory]]:
    return world.manager.find_review_queue(world.acme, "support", **more)


def keys(entries: Sequence[ReviewEntry[AgentMemory]]) -> list[str]:
    return [entry.memory_key for entry in entries]


@pytest.fixture
def busy(world: World) -> World:
    """Three keys, two of which have several proposals; the oldest of each came in the order b, a, c."""
    world.propose("ada", "b", "b by Ada")
    world.propose("bob", "a", "a by Bob")
    world.propose("ada", "c", "c by Ada")
    world.propose("root", "b", "b by Root")
    world.propose("ada", "a", "a by Ada")
    world.propose("bob", "b", "b by Bob")
    return world


def test_an_entry_has_all_proposals_of_its_key_the_oldest_first(busy: World) -> None:
    entries = queue(busy)
    assert keys(entries) == ["b", "a", "c"]
    assert [contents(entry.proposals) for entry in entries] == [
        ["b by Ada", "b by Root", "b by Bob"],
        ["a by Bob", "a by Ada"],
        ["c by Ada"],
    ]
    assert (entries.total, entries.total_is_capped, entries.after) == (3, False, None)


@pytest.mark.parametrize(
    ("sort", "expected"),
    [("oldest", ["b", "a", "c"]), ("newest", ["c", "a", "b"]), ("key", ["a", "b", "c"])],
)
@pytest.mark.parametrize("limit", [1, 2, 3, None])
def test_a_group_stands_where_its_oldest_proposal_stands_and_is_never_split(
    busy: World, sort: str, expected: list[str], limit: int | None
) -> None:
    pages = read_all_pages(partial(queue, busy, sort=sort, limit=limit))
    assert keys(pages) == expected
    sizes = {entry.memory_key: len(entry.proposals) for entry in pages}
    assert sizes == {"a": 2, "b": 3, "c": 1}


def test_the_total_counts_keys(busy: World) -> None:
    assert queue(busy, limit=1).total == 3


@pytest.mark.parametrize("sort", ["", "Oldest", "content", "stated_at", None])
def test_another_sort_is_refused(world: World, sort: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        queue(world, sort=sort)
    assert refusal.value.field == "sort"


def test_a_cursor_is_good_for_its_sort_only(busy: World) -> None:
    for sort, other in (("oldest", "newest"), ("newest", "key"), ("key", "oldest")):
        after = queue(busy, sort=sort, limit=1).after
        assert keys(queue(busy, sort=other, limit=1, after=after)) == keys(queue(busy, sort=other, limit=1))


def test_an_entry_has_the_fact_in_use_and_what_was_rejected_the_newest_decision_first(world: World) -> None:
    for name in ("ada", "bob", "root"):
        world.propose(name, content=f"by {name}")
    world.add_person("zoe")
    world.propose("zoe", content="by zoe")
    world.decide("bob", action="reject", reason="Wrong")
    world.decide("ada", action="reject")
    world.decide("root", action="confirm")
    (entry,) = queue(world)
    assert contents(entry.proposals) == ["by zoe"]
    assert entry.confirmed is not None
    assert entry.confirmed.content == "by root"
    assert contents(entry.rejected) == ["by ada", "by bob"]
    # All of it is complete without a session.
    assert entry.proposals[0].stated_by is not None
    assert entry.confirmed.decided_by is not None
    assert entry.rejected[1].stated_by is not None
    people = entry.proposals[0].stated_by, entry.confirmed.decided_by, entry.rejected[1].stated_by
    assert [person.name for person in people] == ["Zoe", "Root", "Bob"]
    assert entry.rejected[1].decision_reason == "Wrong"


def test_a_key_without_a_proposal_is_not_in_the_queue(world: World) -> None:
    world.confirmed("ada", "confirmed")
    world.rejected("ada", "rejected")
    world.remember("ada", "personal")
    world.propose("ada", "elsewhere", definition="travel")
    world.propose("eve", "abroad")
    assert keys(queue(world)) == []
    assert queue(world, limit=5).total == 0


def test_facts_of_other_definitions_and_tenants_are_in_no_entry(world: World) -> None:
    where = world.personas.globex
    world.propose("ada")
    world.propose("ada", definition="travel")
    world.propose("bob", definition="travel")
    for memory in world.manager.find_proposed_account_facts(world.acme, "travel"):
        action = "confirm" if memory.stated_by_id == world.person("ada").id else "reject"
        world.manager.decide_account_fact(memory.id, world.acme, world.root, action)
    world.propose("eve")
    (abroad,) = world.manager.find_proposed_account_facts(where, "support")
    world.manager.decide_account_fact(abroad.id, where, world.person("eve"), "confirm")
    for limit in (None, 10):
        (entry,) = queue(world, limit=limit)
        assert (len(entry.proposals), entry.confirmed, entry.rejected) == (1, None, ())


def test_a_search_finds_a_key_whole_where_one_of_its_proposals_matches(busy: World) -> None:
    for limit in (None, 5):
        page = queue(busy, search="ROOT", limit=limit)
        assert keys(page) == ["b"]
        assert contents(page[0].proposals) == ["b by Ada", "b by Root", "b by Bob"]
        assert page.total == 1


def test_a_search_looks_at_proposals_only(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("bob", content="Hall 2")
    world.decide("bob", action="reject", reason="Hall 2 is gone")
    assert keys(queue(world, search="Hall 1")) == ["office"]
    assert keys(queue(world, search="Hall 2")) == []


@pytest.mark.parametrize("action", ["confirm", "reject", "delete"])
@pytest.mark.parametrize("limit", [1, 2])
def test_deciding_whole_groups_between_pages_neither_skips_nor_repeats(
    world: World, action: str, limit: int
) -> None:
    for key in "abcde":
        world.propose("ada", key)
        world.propose("bob", key)
    seen: list[str] = []
    after, is_first = None, True
    while is_first or after is not None:
        page = queue(world, limit=limit, after=after)
        seen += keys(page)
        for entry in page:
            world.decide("ada", entry.memory_key, action)
            world.decide("bob", entry.memory_key, "delete")
        after, is_first = page.after, False
    assert seen == list("abcde")


def test_a_group_whose_oldest_proposal_was_decided_moves_back_to_the_next_oldest(busy: World) -> None:
    first = queue(busy, limit=1)
    busy.decide("ada", "b", "reject")
    assert keys(queue(busy, limit=5, after=first.after)) == ["a", "c", "b"]
    assert contents(queue(busy)[2].proposals) == ["b by Root", "b by Bob"]


def test_equal_times_stand_by_id(world: World) -> None:
    moment = world.clock.now
    for key in "abcdef":
        for name in ("ada", "bob"):
            world.clock.now = moment
            world.propose(name, key)
    entries = read_all_pages(partial(queue, world, limit=2))
    heads = [entry.proposals[0].id for entry in entries]
    assert heads == sorted(heads)
    assert all(entry.proposals[0].id < entry.proposals[1].id for entry in entries)
    assert len(entries) == 6
