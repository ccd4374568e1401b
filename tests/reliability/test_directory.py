"""People and agents come and go while agents write and administrators decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from portal.directory import Directory
from portal.errors import LastAdministrator, NotAnAdministrator
from portal.manager import AgentMemoryManager
from portal.models import Agent, Profile
from portal.values import Status
from tests.directory.rows import count_rows
from tests.invariants import read_state
from tests.reliability.arena import Arena, flat, words
from tests.reliability.crowds import Job, directory, manager

ROUNDS = 2

propose = AgentMemoryManager.propose_account_fact
remember = AgentMemoryManager.remember


def hire(arena: Arena, name: str, role: str = "member") -> Profile:
    personas = arena.personas
    return personas.directory.create_profile(
        personas.acme, email=f"{name}@acme.example", name=name, role=role
    )


def writes(agent: Agent, number: int = 12) -> list[Job]:
    """Return what an agent writes in a busy moment."""
    return [
        job
        for n in range(number)
        for job in (
            manager(remember, agent, f"own_{n}", f"text {n}"),
            manager(propose, agent, f"fact_{n}", f"text {n}"),
            manager(remember, agent, f"fact_{n}", f"personal {n}"),
        )
    ]


def test_of_many_first_uses_of_an_agent_one_makes_it(arena: Arena) -> None:
    for number in range(ROUNDS):
        profile = hire(arena, f"new{number}")
        before = count_rows(arena.database)["agent"]
        arena.divided([directory(Directory.agent_for, profile, "support")] * 16)
        assert count_rows(arena.database)["agent"] == before + 1


def test_the_last_administrators_cannot_demote_each_other(arena: Arena) -> None:
    for number in range(ROUNDS):
        root, other = arena.personas.root, hire(arena, f"other{number}", "administrator")
        outcomes = flat(
            arena.at_once(
                [directory(Directory.set_role, root, "member")],
                [directory(Directory.set_role, other, "member")],
            )
        )
        assert words(outcomes) == {"done": 1, LastAdministrator.__name__: 1}
        arena.personas.directory.set_role(root, "administrator")
        arena.personas.directory.set_role(other, "member")


@pytest.mark.parametrize("action", ["confirm", "reject"])
def test_somebody_is_erased_while_their_agent_writes_and_their_facts_are_decided(
    arena: Arena, action: str
) -> None:
    for number in range(ROUNDS):
        profile = hire(arena, f"leaving{number}")
        agent = arena.personas.agent(profile)
        ids = [arena.propose(agent, f"waiting_{number}_{n}") for n in range(8)]
        busy, decided, erased = arena.at_once(
            writes(agent),
            [arena.decide(memory_id, action) for memory_id in ids],
            [directory(Directory.erase_profile, profile)],
        )
        assert words(erased) == {"done": 1}
        assert set(words(busy)) <= {"created", "replaced", "inactive", "proposal_limit_reached"}
        assert set(words(decided)) <= {f"{action}ed", "MemoryNotFound"}
        assert_nothing_is_left_of(arena, profile)
    # Confirmed facts stay, because they are the account's; everything else went with its person.
    kept = {"confirm": {Status.CONFIRMED}, "reject": set()}[action]
    assert {row.status for row in arena.rows()} <= kept


def assert_nothing_is_left_of(arena: Arena, profile: Profile) -> None:
    now = read_state(arena.database)
    assert profile.id not in now.profiles
    assert all(agent.owner_id != profile.id for agent in now.agents.values())
    for memory in now.memories.values():
        assert profile.id not in {memory.stated_by_id, memory.decided_by_id, abs(memory.scope_id)}
    assert all(event.actor_id != profile.id for events in now.events.values() for event in events)


@pytest.mark.parametrize("end", ["erase_profile", "deactivate"])
def test_an_administrator_goes_while_deciding(arena: Arena, end: str) -> None:
    """Each decision was theirs to make, or is refused; none fails on the way."""
    ends: dict[str, Callable[[Any, Profile], object]] = {
        "erase_profile": Directory.erase_profile,
        "deactivate": Directory.deactivate,
    }
    method = ends[end]
    for number in range(ROUNDS):
        leaving = hire(arena, f"leaving{number}", "administrator")
        own = arena.personas.agent(leaving)
        ids = [arena.propose(agent, f"fact_{number}_{n}") for n in range(6) for agent in (arena.adas, own)]
        decisions = [arena.decide(memory_id, "confirm", by=leaving) for memory_id in ids]
        *decided, gone = arena.at_once(decisions[::2], decisions[1::2], [directory(method, leaving)])
        assert words(gone) == {"done": 1}
        outcomes = words(flat(decided))
        # Where both proposed a key, the second confirmation finds the first.
        assert set(outcomes) <= {
            "confirmed", "KeyAlreadyConfirmed", "MemoryNotFound", NotAnAdministrator.__name__
        }  # fmt: skip
        assert sum(row.status == Status.CONFIRMED for row in arena.rows()) == outcomes["confirmed"]
        for row in arena.rows():
            arena.manager.delete_memory(row.id, arena.personas.acme)


def test_a_definition_is_deleted_while_its_agents_write_and_facts_are_decided(arena: Arena) -> None:
    for number in range(ROUNDS):
        definition = arena.personas.directory.define_agent(arena.personas.acme, name="support")
        agents = [arena.personas.agent(arena.personas.ada), arena.personas.agent(arena.personas.bob)]
        ids = [arena.propose(agents[0], f"waiting_{number}_{n}") for n in range(6)]
        *busy, decided, deleted = arena.at_once(
            writes(agents[0]),
            writes(agents[1]),
            [arena.decide(memory_id, "confirm") for memory_id in ids],
            [directory(Directory.delete_definition, definition)],
        )
        assert words(deleted) == {"done": 1}
        assert set(words(flat(busy))) <= {"created", "replaced", "inactive", "proposal_limit_reached"}
        assert set(words(decided)) <= {"confirmed", "MemoryNotFound"}
        rows = count_rows(arena.database)
        assert (rows["agent"], rows["agent_memory"], rows["memory_event"]) == (0, 0, 0)


def test_an_organisation_is_deleted_while_people_join_write_and_decide(arena: Arena) -> None:
    personas = arena.personas
    ids = [arena.propose(arena.adas, f"waiting_{n}") for n in range(6)]
    join = [
        directory(Directory.create_profile, personas.acme, email=f"new{number}@acme.example", name="New")
        for number in range(6)
    ]
    first_use = [directory(Directory.agent_for, personas.bob, "travel")]
    outcomes = arena.at_once(
        [*writes(arena.adas), *first_use],
        [arena.decide(memory_id, "confirm") for memory_id in ids],
        join,
        [directory(Directory.delete_organisation, personas.acme)],
    )
    assert words(outcomes[-1]) == {"done": 1}
    assert set(words(flat(outcomes))) <= {
        "created", "replaced", "inactive", "proposal_limit_reached", "confirmed", "MemoryNotFound",
        "NotAnAdministrator", "InvalidInput", "done",
    }  # fmt: skip
    rows = count_rows(arena.database)
    assert (rows["organisation"], rows["profile"], rows["agent_memory"]) == (1, 1, 0)
