"""The lists of memories: what is on them, in which order, and how they are turned page by page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import insert

from portal.errors import InvalidInput
from portal.models import AgentMemory
from portal.pages import COUNT_CAP, Page
from portal.values import new_memory_id
from tests.factories import Clock
from tests.manager.twins import read_all_pages
from tests.manager.world import World, contents

Find = Callable[..., Page[AgentMemory]]

SHELVES: dict[str, Callable[[World], Find]] = {
    "proposed": lambda world: world.manager.find_proposed_account_facts,
    "confirmed": lambda world: world.manager.find_confirmed_account_facts,
    "rejected": lambda world: world.manager.find_rejected_account_facts,
}
every_shelf = pytest.mark.parametrize("status", SHELVES)


def find(world: World, status: str, **more: Any) -> Page[AgentMemory]:
    return SHELVES[status](world)(world.acme, "support", **more)


def ids(memories: Sequence[AgentMemory]) -> list[int]:
    return [memory.id for memory in memories]


def put(world: World, status: str, key: str, name: str = "ada", content: str = "text") -> None:
    """Put a fact on a shelf."""
    assert world.propose(name, key, content)["ok"]
    if status != "proposed":
        world.decide(name, key, {"confirmed": "confirm", "rejected": "reject"}[status])


@every_shelf
def test_a_shelf_has_the_facts_of_one_status_definition_and_organisation(world: World, status: str) -> None:
    world.remember("ada", "personal")
    for each in SHELVES:
        put(world, each, each)
    world.propose("ada", "elsewhere", definition="travel")
    world.propose("eve", "abroad")
    assert [memory.memory_key for memory in find(world, status)] == [status]


def test_proposals_come_in_the_order_in_which_they_became_proposals(world: World) -> None:
    world.remember("ada", "was_personal")
    for key in ("b", "c", "a"):
        world.propose("ada", key)
    world.propose("ada", "b", "reworded")
    world.propose("bob", "c", "competing")
    world.propose("ada", "was_personal", "now proposed")
    page = find(world, "proposed")
    assert contents(page) == ["reworded", "text", "text", "competing", "now proposed"]
    assert [memory.memory_key for memory in page] == ["b", "c", "a", "c", "was_personal"]


def test_confirmed_facts_come_by_key_in_code_points(world: World) -> None:
    for key in ("zebra", "ärger", "b_1", "b1", "a"):
        put(world, "confirmed", key)
    assert [memory.memory_key for memory in find(world, "confirmed")] == ["a", "b1", "b_1", "zebra", "ärger"]


def test_rejected_facts_come_with_the_newest_decision_first(world: World) -> None:
    for key in ("a", "b", "c"):
        world.propose("ada", key)
    for key in ("b", "c", "a"):
        world.decide("ada", key, "reject")
    assert [memory.memory_key for memory in find(world, "rejected")] == ["a", "c", "b"]


def test_a_reopened_proposal_is_at_its_old_place(world: World) -> None:
    for key in ("a", "b", "c"):
        world.propose("ada", key)
    decided = world.decide("ada", "b", "confirm")
    world.clock.advance(days=1)
    world.manager.reopen_account_fact(decided.id, world.acme, world.root)
    assert [memory.memory_key for memory in find(world, "proposed")] == ["a", "b", "c"]


def test_a_withdrawn_proposal_that_is_proposed_again_waits_anew(world: World) -> None:
    for key in ("a", "b"):
        world.propose("ada", key)
    world.remember("ada", "a")
    world.propose("ada", "a")
    assert [memory.memory_key for memory in find(world, "proposed")] == ["b", "a"]


def test_own_memories_come_by_key_with_the_held_one_before_the_rejected_one(world: World) -> None:
    world.rejected("ada", "office", "Hall 1")
    world.remember("ada", "office", "Hall 2")
    world.remember("ada", "zebra", "z")
    world.propose("ada", "ärger", "ä")
    world.rejected("ada", "apple", "a")
    world.confirmed("ada", "confirmed", "everybody's")
    world.remember("ada", "elsewhere", definition="travel")
    world.rejected("bob", "bobs", "b")
    page = world.manager.find_own_memories(world.acme, world.person("ada"), "support")
    assert [(memory.content, memory.status) for memory in page] == [
        ("a", "rejected"),
        ("Hall 2", "personal"),
        ("Hall 1", "rejected"),
        ("z", "personal"),
        ("ä", "proposed"),
    ]
    assert page.total == 5


def test_ones_own_in_another_organisation_is_nothing(world: World) -> None:
    world.remember("ada")
    find_own = world.manager.find_own_memories
    assert list(find_own(world.personas.globex, world.person("ada"), "support")) == []
    assert list(find_own(world.acme, world.person("eve"), "support")) == []


@pytest.mark.parametrize("name", ["nothing", "", "Support", "sup\x00port", "\ud800", "x" * 10_000])
def test_a_definition_that_does_not_exist_has_empty_lists(world: World, name: str) -> None:
    world.propose("ada")
    manager, where = world.manager, world.acme
    for page in (
        manager.find_proposed_account_facts(where, name),
        manager.find_confirmed_account_facts(where, name),
        manager.find_rejected_account_facts(where, name, limit=5),
        manager.find_own_memories(where, world.person("ada"), name),
        manager.find_review_queue(where, name),
    ):
        assert (list(page), page.total, page.total_is_capped, page.after) == ([], 0, False, None)
    assert manager.delete_own_memories(world.person("ada"), name) == 0
    assert world.row("ada").status == "proposed"


@every_shelf
def test_what_is_found_is_complete_without_a_session(world: World, status: str) -> None:
    put(world, status, "office", content="Hall 1")
    (found,) = find(world, status)
    assert found.stated_by is not None
    assert found.stated_by.name == "Ada"
    assert (found.decided_by and found.decided_by.name) == (None if status == "proposed" else "Root")
    assert found.stated_at == dt.datetime(2026, 3, 1, 12, 0, 1, tzinfo=dt.UTC)
    assert (found.decided_at is None) == (status == "proposed")
    assert (found.content, found.decision_reason, found.status) == ("Hall 1", "", status)
    assert found.created_at.tzinfo is found.updated_at.tzinfo is dt.UTC


def test_what_is_found_of_ones_own_is_complete_without_a_session(world: World) -> None:
    world.remember("ada", "seat")
    world.rejected("ada", reason="We moved")
    rejected, personal = world.manager.find_own_memories(world.acme, world.person("ada"), "support")
    assert rejected.decided_by is not None
    assert (rejected.decided_by.name, rejected.decision_reason) == ("Root", "We moved")
    assert (personal.decided_by, personal.stated_by and personal.stated_by.name) == (None, "Ada")


# Pages: a sequence with `total`, and `after` where there is more.

KEYS = ("a", "b", "c", "d", "e")


@every_shelf
@pytest.mark.parametrize("limit", [1, 2, 4, 5, 6, 1_000])
def test_pages_one_after_the_other_have_everything_once(world: World, status: str, limit: int) -> None:
    for key in KEYS:
        put(world, status, key)
    everything = find(world, status)
    first = find(world, status, limit=limit)
    assert len(first) == min(limit, 5)
    assert (first.total, first.total_is_capped) == (5, False)
    assert (first.after is None) == (limit >= 5)
    pages = read_all_pages(lambda after: find(world, status, limit=limit, after=after))
    assert ids(pages) == ids(everything)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_pages_of_ones_own_have_everything_once(world: World, limit: int) -> None:
    for key in KEYS:
        world.rejected("ada", key)
        world.remember("ada", key)
    find_own, ada = world.manager.find_own_memories, world.person("ada")
    everything = find_own(world.acme, ada, "support")
    assert len(everything) == 10
    pages = read_all_pages(lambda after: find_own(world.acme, ada, "support", limit=limit, after=after))
    assert ids(pages) == ids(everything)


@every_shelf
def test_equal_times_are_paged_by_id(world: World, clock: Clock, status: str) -> None:
    moment = clock.now
    for key in KEYS:
        clock.now = moment
        put(world, status, key)
    everything = find(world, status)
    assert len({memory.decided_at for memory in everything}) == 1
    pages = read_all_pages(lambda after: find(world, status, limit=2, after=after))
    assert ids(pages) == ids(everything)
    if status != "confirmed":
        assert ids(pages) == sorted(ids(pages), reverse=status == "rejected")


@pytest.mark.parametrize("action", ["confirm", "reject", "delete"])
def test_deciding_between_two_pages_neither_skips_nor_repeats(world: World, action: str) -> None:
    for key in "abcdef":
        world.propose("ada", key)
    first = find(world, "proposed", limit=2)
    for memory in (first[0], first[1]):
        world.decide("ada", memory.memory_key, action)
    world.decide("ada", "c", action)
    world.propose("bob", "new")
    second = find(world, "proposed", limit=2, after=first.after)
    assert [memory.memory_key for memory in second] == ["d", "e"]
    third = find(world, "proposed", limit=2, after=second.after)
    assert [memory.memory_key for memory in third] == ["f", "new"]
    assert (third.after, third.total) == (None, 4)


def test_reopening_between_two_pages_of_rejected_facts_neither_skips_nor_repeats(world: World) -> None:
    for key in "abcd":
        world.rejected("ada", key)
    first = find(world, "rejected", limit=2)
    assert [memory.memory_key for memory in first] == ["d", "c"]
    for memory in first:
        world.manager.reopen_account_fact(memory.id, world.acme, world.root)
    second = find(world, "rejected", limit=2, after=first.after)
    assert [memory.memory_key for memory in second] == ["b", "a"]


@every_shelf
def test_without_a_limit_a_page_holds_everything_whatever_cursor_comes_with_it(
    world: World, status: str
) -> None:
    for key in KEYS:
        put(world, status, key)
    first = find(world, status, limit=2)
    everything = find(world, status, after=first.after)
    assert (len(everything), everything.total, everything.after) == (5, 5, None)
    own = world.manager.find_own_memories
    part = own(world.acme, world.person("ada"), "support", limit=1)
    all_own = own(world.acme, world.person("ada"), "support", after=part.after)
    assert len(all_own) == all_own.total == len(own(world.acme, world.person("ada"), "support"))


@every_shelf
def test_a_cursor_is_good_for_its_question_only(world: World, status: str) -> None:
    for key in KEYS:
        put(world, status, key)
        put(world, status, f"other_{key}", "bob")
    page_one = find(world, status, limit=3)
    strangers = [
        find(world, status, limit=3, search="t").after,
        SHELVES[status](world)(world.personas.globex, "support", limit=3).after,
        find(world, "proposed" if status != "proposed" else "rejected", limit=3).after,
        world.manager.find_review_queue(world.acme, "support", limit=3).after,
        world.manager.find_own_memories(world.acme, world.person("ada"), "support", limit=3).after,
    ]
    garbled = ["", "nonsense", "=", "é", "\x00", "\ud800", "W10", f"{page_one.after}x", "A" * 9_999]
    for after in [*strangers, *garbled]:
        assert ids(find(world, status, limit=3, after=after)) == ids(page_one)
    assert ids(find(world, status, limit=3, after=page_one.after)) != ids(page_one)


@pytest.mark.parametrize("limit", [0, -1, 10_001, 2**70, 1.5, True, "5"])
def test_a_limit_that_is_no_number_of_entries_is_refused(world: World, limit: Any) -> None:
    manager, where = world.manager, world.acme
    for call in (
        lambda: manager.find_proposed_account_facts(where, "support", limit=limit),
        lambda: manager.find_own_memories(where, world.person("ada"), "support", limit=limit),
        lambda: manager.find_review_queue(where, "support", limit=limit),
    ):
        with pytest.raises(InvalidInput) as refusal:
            call()
        assert refusal.value.field == "limit"


def fill(world: World, status: str, number: int) -> None:
    """Put many facts on a shelf at once, straight into the table."""
    agent = world.agent("ada")
    now = world.clock.now
    decision = {} if status == "proposed" else {"decided_at": now, "decided_by_id": world.root.id}
    row = {
        "organisation_id": agent.organisation_id,
        "definition_id": agent.definition_id,
        "scope_id": {"proposed": agent.owner_id, "confirmed": 0, "rejected": -agent.owner_id}[status],
        "status": status,
        "content": "text",
        "version": 1,
        "stated_by_id": agent.owner_id,
        "stated_at": now,
        "created_at": now,
        "updated_at": now,
        "decision_reason": "",
        "decided_at": None,
        "decided_by_id": None,
    } | decision
    rows = [
        row | {"id": new_memory_id(), "memory_key": f"key_{each}", "search_text": f"key_{each}\x1ftext"}
        for each in range(number)
    ]
    world.database.write(lambda session: session.execute(insert(AgentMemory), rows))


@every_shelf
def test_counting_stops_at_the_cap_where_there_is_a_limit(world: World, status: str) -> None:
    world.set_limits(account_fact_limit=2_000)
    fill(world, status, COUNT_CAP)
    page = find(world, status, limit=10)
    assert (page.total, page.total_is_capped) == (1_000, False)
    put(world, status, "more", "bob")
    page = find(world, status, limit=10)
    assert (page.total, page.total_is_capped) == (1_000, True)
    assert find(world, status, limit=10, search="key_").total_is_capped is False
    everything = find(world, status)
    assert (len(everything), everything.total, everything.total_is_capped) == (1_001, 1_001, False)


def test_finding_writes_nothing(world: World) -> None:
    put(world, "confirmed", "a")
    put(world, "rejected", "b")
    put(world, "proposed", "c")
    before = world.state()
    for status in SHELVES:
        find(world, status, search="t", limit=1)
    world.manager.find_own_memories(world.acme, world.person("ada"), "support")
    world.manager.find_review_queue(world.acme, "support")
    world.list("ada")
    assert world.state() == before
