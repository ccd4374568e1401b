"""What people do with what their own agents hold about them."""

from __future__ import annotations

import pytest

from portal.errors import KeyAlreadyConfirmed, MemoriesFull, MemoryNotFound
from tests.manager.world import World


def test_owners_delete_one_of_their_own(world: World) -> None:
    world.remember("ada", "seat")
    world.propose("ada", "office")
    world.remember("ada", "stays")
    for key in ("seat", "office"):
        world.manager.delete_own_memory(world.row("ada", key).id, world.person("ada"))
    assert [memory["key"] for memory in world.list("ada")["memories"]] == ["stays"]
    with pytest.raises(MemoryNotFound):
        world.manager.delete_own_memory(world.row("ada", "stays").id + 1, world.person("ada"))


def test_account_facts_are_not_their_staters_to_delete(world: World) -> None:
    for fact in (world.confirmed("ada", "seat"), world.rejected("ada", "office")):
        with pytest.raises(MemoryNotFound):
            world.manager.delete_own_memory(fact.id, world.person("ada"))
    assert world.manager.delete_own_memories(world.person("ada")) == 0
    assert len(world.state().memories) == 2


@pytest.mark.parametrize("stranger", ["bob", "root", "eve"])
def test_nobody_deletes_or_keeps_what_is_anothers(world: World, stranger: str) -> None:
    world.remember("ada", "seat")
    rejected = world.rejected("ada")
    world.agent(stranger)
    before = world.state()
    with pytest.raises(MemoryNotFound):
        world.manager.delete_own_memory(world.row("ada", "seat").id, world.person(stranger))
    with pytest.raises(MemoryNotFound):
        world.manager.keep_own_memory(rejected.id, world.person(stranger))
    assert world.manager.delete_own_memories(world.person(stranger)) == 0
    assert world.state() == before


def test_somebody_inactive_owns_nothing(world: World) -> None:
    world.remember("ada", "seat")
    rejected = world.rejected("ada")
    ada, manager = world.person("ada"), world.manager
    world.personas.directory.deactivate(ada)
    with pytest.raises(MemoryNotFound):
        manager.delete_own_memory(world.row("ada", "seat").id, ada)
    with pytest.raises(MemoryNotFound):
        manager.keep_own_memory(rejected.id, ada)
    assert manager.delete_own_memories(ada) == 0
    world.personas.directory.activate(ada)
    assert manager.delete_own_memories(ada) == 1


def test_everything_that_all_agents_hold_is_deleted_and_counted(world: World) -> None:
    world.remember("ada", "seat")
    world.propose("ada", "office")
    world.remember("ada", "seat", definition="travel")
    world.rejected("ada", "rejected")
    world.remember("bob", "seat")
    assert world.manager.delete_own_memories(world.person("ada")) == 3
    assert (world.list("ada")["memories"], world.list("ada", "travel")["memories"]) == ([], [])
    assert len(world.list("bob")["memories"]) == 1
    assert world.row("ada", "rejected").status == "rejected"
    assert world.manager.delete_own_memories(world.person("ada")) == 0


def test_one_agents_memories_are_deleted_by_its_definition(world: World) -> None:
    for definition in ("support", "travel"):
        world.remember("ada", "seat", definition=definition)
        world.remember("ada", "office", definition=definition)
    assert world.manager.delete_own_memories(world.person("ada"), "travel") == 2
    assert len(world.list("ada")["memories"]) == 2
    assert world.list("ada", "travel")["memories"] == []


def test_what_was_touched_after_the_page_was_made_survives(world: World) -> None:
    world.remember("ada", "untouched")
    world.remember("ada", "reworded", "before")
    world.propose("ada", "repeated")
    page_made_at = world.clock.advance(seconds=10)
    world.remember("ada", "reworded", "after")
    world.remember("ada", "new")
    world.propose("ada", "repeated")
    ada = world.person("ada")
    # What says the same again is not touched.
    assert world.manager.delete_own_memories(ada, "support", as_of=page_made_at) == 2
    assert [memory["key"] for memory in world.list("ada")["memories"]] == ["new", "reworded"]
    assert world.manager.delete_own_memories(ada, as_of=world.clock.now) == 2


def test_a_rejected_fact_is_kept_as_a_personal_memory(world: World) -> None:
    rejected = world.rejected("ada", content="Hall 1", reason="Not for everybody")
    world.clock.advance(days=1)
    kept = world.manager.keep_own_memory(rejected.id, world.person("ada"))
    assert kept.id != rejected.id
    assert (kept.status, kept.memory_key, kept.content, kept.version) == ("personal", "office", "Hall 1", 1)
    assert (kept.decided_by, kept.decided_at, kept.decision_reason) == (None, None, "")
    assert kept.stated_by is not None
    assert (kept.stated_by.name, kept.created_at) == ("Ada", world.clock.now)
    assert world.row("ada", status="rejected").decision_reason == "Not for everybody"
    assert world.list("ada")["memories"][0]["content"] == "Hall 1"


def test_keeping_again_changes_nothing(world: World) -> None:
    rejected = world.rejected("ada")
    kept = world.manager.keep_own_memory(rejected.id, world.person("ada"))
    before = world.state()
    again = world.manager.keep_own_memory(rejected.id, world.person("ada"))
    assert (again.id, again.version) == (kept.id, 1)
    assert world.state() == before


def test_keeping_replaces_what_the_agent_holds_under_the_key(world: World) -> None:
    rejected = world.rejected("ada", content="Hall 1")
    world.remember("ada", content="Hall 2")
    kept = world.manager.keep_own_memory(rejected.id, world.person("ada"))
    assert (kept.id, kept.content, kept.version) == (world.row("ada", status="personal").id, "Hall 1", 2)


def test_a_confirmed_key_keeps_a_rejected_fact_from_being_kept(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("bob", content="Hall 2")
    rejected = world.decide("ada", action="reject")
    world.decide("bob", action="confirm")
    with pytest.raises(KeyAlreadyConfirmed) as refusal:
        world.manager.keep_own_memory(rejected.id, world.person("ada"))
    assert (refusal.value.memory.content, refusal.value.confirmed.content) == ("Hall 1", "Hall 2")
    assert refusal.value.confirmed.stated_by is not None
    assert refusal.value.confirmed.stated_by.name == "Bob"


@pytest.mark.parametrize(
    ("limits", "has_room"),
    [
        ({"memory_limit": 1}, False),
        ({"memory_limit": 2}, True),
        ({"memory_characters": 10}, False),
        ({"memory_characters": 11}, True),
        ({"proposal_limit": 0}, True),
    ],
    ids=str,
)
def test_what_is_kept_needs_room_like_any_memory(
    world: World, limits: dict[str, int], *, has_room: bool
) -> None:
    rejected = world.rejected("ada", content="Hall 1")
    world.remember("ada", "seat", "aisle")
    world.personas.directory.define_agent(world.acme, name="support", **limits)  # type: ignore[arg-type]
    before = world.state()
    if has_room:
        assert world.manager.keep_own_memory(rejected.id, world.person("ada")).content == "Hall 1"
        return
    with pytest.raises(MemoriesFull) as refusal:
        world.manager.keep_own_memory(rejected.id, world.person("ada"))
    assert refusal.value.memory.id == rejected.id
    assert world.state() == before
