"""The record of what happened: an event for each change, and no key of what is nobody else's business."""

from __future__ import annotations

from typing import Any

import pytest

from portal.values import ActorKind
from tests.manager.world import World

Told = tuple[int, str, str | None, str | None, str, str | None, str | None]


def history(world: World) -> list[Told]:
    """Return all events as version, action, status before and after, who did it, and the key."""
    state = world.state()
    names = {profile.id: profile.name.lower() for profile in state.profiles.values()}
    events = [event for found in state.events.values() for event in found]
    return [
        (
            event.version,
            str(event.action),
            event.status_before and str(event.status_before),
            event.status_after and str(event.status_after),
            str(event.actor_kind),
            names.get(event.actor_id),
            event.memory_key,
        )
        for event in sorted(events, key=lambda event: (event.at, event.memory_id))
    ]


def test_a_personal_memory_leaves_events_without_a_key(world: World) -> None:
    world.remember("ada", content="Hall 1")
    world.remember("ada", content="Hall 2")
    world.remember("ada", content="Hall 2")
    world.forget("ada")
    assert history(world) == [
        (1, "remembered", None, "personal", "agent", "ada", None),
        (2, "remembered", "personal", "personal", "agent", "ada", None),
        (3, "forgotten", "personal", None, "agent", "ada", None),
    ]


def test_a_facts_whole_life_is_told_under_its_key(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("ada", content="Hall 2")
    fact = world.decide("ada", action="reject")
    world.clock.advance(seconds=1)
    world.manager.reopen_account_fact(fact.id, world.acme, world.root)
    world.decide("ada", action="confirm")
    world.clock.advance(seconds=1)
    world.manager.delete_memory(fact.id, world.acme, deleted_by=world.root)
    assert history(world) == [
        (1, "proposed", None, "proposed", "agent", "ada", "office"),
        (2, "proposed", "proposed", "proposed", "agent", "ada", "office"),
        (3, "rejected", "proposed", "rejected", "profile", "root", "office"),
        (4, "reopened", "rejected", "proposed", "profile", "root", "office"),
        (5, "confirmed", "proposed", "confirmed", "profile", "root", "office"),
        (6, "deleted", "confirmed", None, "profile", "root", "office"),
    ]


def test_events_say_when_and_in_which_scope(world: World) -> None:
    world.propose("ada", definition="travel")
    ((event,),) = world.state().events.values()
    agent = world.agent("ada", "travel")
    assert (event.organisation_id, event.definition_id) == (agent.organisation_id, agent.definition_id)
    assert event.at == world.clock.now
    assert event.actor_id == world.person("ada").id


def test_a_memory_that_becomes_a_proposal_is_told_from_then_on(world: World) -> None:
    world.remember("ada")
    world.propose("ada")
    assert [(action, key) for _, action, *_, key in history(world)] == [
        ("remembered", None),
        ("proposed", "office"),
    ]


def test_a_withdrawn_proposal_takes_its_key_from_its_events(world: World) -> None:
    world.propose("ada")
    world.remember("ada")
    assert history(world) == [
        (1, "proposed", None, "proposed", "agent", "ada", None),
        (2, "withdrawn", "proposed", "personal", "agent", "ada", None),
    ]


def take_back(world: World, how: str) -> None:
    ada = world.person("ada")
    if how == "forgotten":
        world.forget("ada")
    elif how == "deleted":
        world.manager.delete_own_memory(world.row("ada").id, ada)
    elif how == "deleted with all":
        world.manager.delete_own_memories(ada)
    else:
        world.personas.directory.erase_profile(ada)


TAKEN_BACK = ["forgotten", "deleted", "deleted with all", "erased"]


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_a_proposal_that_is_gone_before_anybody_decided_takes_its_key_from_its_events(
    world: World, how: str
) -> None:
    world.propose("bob")
    world.propose("ada")
    world.propose("ada", content="reworded")
    take_back(world, how)
    told = history(world)
    assert [(each[1], each[6]) for each in told] == [
        ("proposed", "office"),
        ("proposed", None),
        ("proposed", None),
        (how.split(maxsplit=1)[0], None),
    ]


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_a_proposal_that_was_decided_and_reopened_leaves_its_key(world: World, how: str) -> None:
    fact = world.rejected("ada")
    world.clock.advance(seconds=1)
    world.manager.reopen_account_fact(fact.id, world.acme, world.root)
    take_back(world, how)
    assert [(action, key) for _, action, *_, key in history(world)] == [
        ("proposed", "office"),
        ("rejected", "office"),
        ("reopened", "office"),
        (how.split(maxsplit=1)[0], "office"),
    ]


@pytest.mark.parametrize("how", TAKEN_BACK)
def test_what_was_decided_before_a_withdrawal_keeps_no_key(world: World, how: str) -> None:
    fact = world.rejected("ada")
    world.manager.reopen_account_fact(fact.id, world.acme, world.root)
    world.remember("ada")
    world.propose("ada")
    take_back(world, how)
    assert {key for *_, key in history(world)} == {None}


def test_an_administrator_who_deletes_a_proposal_decides_on_it(world: World) -> None:
    world.propose("ada", "a")
    world.decide("ada", "a", "delete")
    world.propose("ada", "b")
    world.manager.delete_memory(world.row("ada", "b").id, world.acme, deleted_by=world.root)
    deletions = [told for told in history(world) if told[1] == "deleted"]
    assert deletions == [
        (2, "deleted", "proposed", None, "profile", "root", "a"),
        (2, "deleted", "proposed", None, "profile", "root", "b"),
    ]


def test_the_command_line_is_named_as_such(world: World) -> None:
    world.remember("ada", "a")
    world.confirmed("ada", "b")
    for key in ("a", "b"):
        world.clock.advance(seconds=1)
        world.manager.delete_memory(world.row("ada", key).id, world.acme)
    assert [told for told in history(world) if told[1] == "deleted"] == [
        (2, "deleted", "personal", None, "command line", None, None),
        (3, "deleted", "confirmed", None, "command line", None, "b"),
    ]


def test_keeping_is_told_of_the_new_memory_alone(world: World) -> None:
    rejected = world.rejected("ada")
    world.clock.advance(seconds=1)
    kept = world.manager.keep_own_memory(rejected.id, world.person("ada"))
    (event,) = world.state().events[kept.organisation_id, kept.id]
    assert (event.action, event.actor_kind, event.memory_key) == ("kept", ActorKind.PROFILE, None)
    assert len(world.state().events[rejected.organisation_id, rejected.id]) == 2


def test_deleting_ones_own_is_told_as_the_persons_act(world: World) -> None:
    world.remember("ada", "a")
    world.remember("ada", "b", definition="travel")
    world.manager.delete_own_memory(world.row("ada", "a").id, world.person("ada"))
    world.manager.delete_own_memories(world.person("ada"))
    deletions = [told for told in history(world) if told[1] == "deleted"]
    assert deletions == [(2, "deleted", "personal", None, "profile", "ada", None)] * 2


def test_erasing_is_told_with_nobody_named(world: World) -> None:
    world.remember("ada", "a")
    world.rejected("ada", "b")
    world.confirmed("ada", "c")
    world.personas.directory.erase_profile(world.person("ada"))
    told = history(world)
    assert sorted(each[1:3] for each in told if each[1] == "erased") == [
        ("erased", "personal"),
        ("erased", "rejected"),
    ]
    assert {each[5] for each in told} == {None, "root"}
    # The confirmed fact is the account's: nothing changed about it, so nothing is told.
    assert [each[1] for each in told if each[6] == "c"] == ["proposed", "confirmed"]


def test_no_event_holds_a_content(world: World) -> None:
    world.confirmed("ada", content="unmistakable")
    world.manager.delete_memory(world.row("ada").id, world.acme, deleted_by=world.root)
    for found in world.state().events.values():
        for event in found:
            assert "unmistakable" not in str(event._asdict())


def test_a_refused_call_leaves_no_event(world: World) -> None:
    world.confirmed("bob")
    before = history(world)
    refused: list[Any] = [world.remember("ada"), world.propose("ada"), world.forget("ada", "nothing")]
    assert not any(answer["ok"] for answer in refused)
    assert history(world) == before


def test_a_clock_that_was_turned_back_does_not_turn_a_memory_back(world: World) -> None:
    world.propose("ada", content="Hall 1")
    first = world.clock.now
    world.clock.advance(days=-1)
    world.propose("ada", content="Hall 2")
    fact = world.decide("ada")
    assert (world.row("ada").updated_at, fact.version) == (first, 3)
    (events,) = world.state().events.values()
    assert [event.at for event in events] == [first] * 3
