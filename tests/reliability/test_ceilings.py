"""Ceilings hold to the one, whoever writes at the same moment, and let in whatever fits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypedDict, Unpack

from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentDefinition, Organisation
from portal.values import Status
from tests.reliability.arena import CHANGES, Arena, flat, words
from tests.reliability.crowds import manager

ROUNDS = 3

forget = AgentMemoryManager.forget
propose = AgentMemoryManager.propose_account_fact
remember = AgentMemoryManager.remember


class Limits(TypedDict, total=False):
    memory_limit: int
    memory_characters: int
    proposal_limit: int
    account_fact_limit: int
    account_fact_characters: int


def limit(arena: Arena, **limits: Unpack[Limits]) -> AgentDefinition:
    return arena.personas.directory.define_agent(arena.personas.acme, name="support", **limits)


def test_an_agent_gets_exactly_as_many_memories_as_the_limit_says(arena: Arena) -> None:
    limit(arena, memory_limit=20)
    agent = arena.adas
    outcomes = arena.divided(manager(remember, agent, f"key_{number}", "x") for number in range(40))
    assert words(outcomes) == {"created": 20, "limit_reached": 20}
    assert arena.count(Status.PERSONAL) == 20


def test_an_agent_gets_exactly_as_many_characters_as_the_limit_says(arena: Arena) -> None:
    limit(arena, memory_characters=205)
    agent = arena.adas
    outcomes = arena.divided(manager(remember, agent, f"key_{number}", "x" * 10) for number in range(40))
    assert words(outcomes) == {"created": 20, "limit_reached": 20}
    assert sum(len(row.content) for row in arena.rows()) == 200


def test_an_agent_gets_exactly_as_many_proposals_as_the_limit_says(arena: Arena) -> None:
    limit(arena, proposal_limit=7)
    agent = arena.adas
    outcomes = arena.divided(manager(propose, agent, f"key_{number}", "x") for number in range(32))
    assert words(outcomes) == {"created": 7, "proposal_limit_reached": 25}
    assert arena.count(Status.PROPOSED) == 7


def test_after_one_deletion_exactly_one_more_memory_fits(arena: Arena) -> None:
    limit(arena, memory_limit=3)
    agent = arena.adas
    outcomes = arena.divided(manager(remember, agent, f"key_{number}", "x") for number in range(3))
    assert words(outcomes) == {"created": 3}
    for number in range(5):
        arena.manager.forget(agent, arena.rows()[0].memory_key)
        late = [
            manager(remember, agent, f"late_{number}_{caller}", "x") for caller in range(arena.crowd.size)
        ]
        assert words(arena.divided(late))["created"] == 1


def test_what_grows_shrinks_and_goes_at_the_same_time_leaves_the_usage_exact(arena: Arena) -> None:
    """Each agent's answers add up to what is there, and there is room for the rest and not for more."""
    limit(arena, memory_characters=300, proposal_limit=5)
    agents = [arena.adas, arena.bobs]
    jobs = []
    for number in range(60):
        agent, key = agents[number % 2], f"key_{number % 14}"
        jobs += [
            manager(remember, agent, key, "x" * (number % 60 + 1)),
            manager(propose, agent, key, "y" * (number % 40 + 1)),
            *([manager(forget, agent, key)] if number % 3 == 0 else []),
        ]
    outcomes = arena.divided(jobs)
    assert set(words(outcomes)) <= {
        *CHANGES, "unchanged", "not_found", "limit_reached", "proposal_limit_reached",
    }  # fmt: skip
    assert sum(outcome.word in CHANGES for outcome in outcomes) == arena.count_events()
    for agent in agents:
        used = json.loads(arena.manager.list(agent))["usage"]["characters"]
        assert json.loads(arena.manager.remember(agent, "rest", "z" * (300 - used)))["ok"]
        assert json.loads(arena.manager.remember(agent, "more", "z"))["error"] == "limit_reached"


def test_exactly_as_many_facts_are_confirmed_as_the_limit_says(arena: Arena) -> None:
    limit(arena, account_fact_limit=5)
    ids = [
        arena.propose(agent, f"key_{n}_{agent.id}") for n in range(8) for agent in (arena.adas, arena.bobs)
    ]
    outcomes = arena.divided(arena.decide(memory_id, "confirm") for memory_id in ids)
    assert words(outcomes) == {"confirmed": 5, "AccountFactsFull": 11}
    assert arena.count(Status.CONFIRMED) == 5


def test_the_last_room_for_a_fact_goes_to_one_of_those_who_confirm_at_once(arena: Arena) -> None:
    # Of several people, because whoever decides locks the agent of the person who stated it too.
    agents = [arena.adas, arena.bobs, arena.personas.agent(arena.personas.root)]
    for number in range(ROUNDS):
        limit(arena, account_fact_limit=number + 1)
        ids = [arena.propose(agent, f"key_{number}_{agent.id}") for agent in agents]
        outcomes = flat(arena.at_once(*([arena.decide(memory_id, "confirm")] for memory_id in ids)))
        assert words(outcomes) == {"confirmed": 1, "AccountFactsFull": 2}


def test_exactly_as_many_characters_are_confirmed_as_the_limit_says(arena: Arena) -> None:
    limit(arena, account_fact_characters=59)
    ids = [arena.propose(arena.adas, f"key_{number}", "x" * 10) for number in range(12)]
    outcomes = arena.divided(arena.decide(memory_id, "confirm") for memory_id in ids)
    assert words(outcomes) == {"confirmed": 5, "AccountFactsFull": 7}


def test_confirming_makes_room_that_its_stater_fills_exactly(arena: Arena) -> None:
    limit(arena, memory_limit=6, proposal_limit=6)
    agent = arena.adas
    ids = [arena.propose(agent, f"key_{number}") for number in range(6)]
    decisions = [arena.decide(memory_id, "confirm") for memory_id in ids]
    writes = [manager(remember, agent, f"new_{number}", "x") for number in range(24)]
    outcomes = words(arena.divided(job for pair in zip(writes, decisions * 4, strict=True) for job in pair))
    assert outcomes["confirmed"] == 6
    assert outcomes["AlreadyDecided"] == 18
    assert arena.count(Status.PERSONAL) == outcomes["created"] <= 6


@dataclass(frozen=True)
class Lower:
    """Lowers the limit of memories, and answers how many an agent holds at the moment when that is done."""

    organisation: Organisation
    agent: Agent
    memory_limit: int

    def __call__(self, database: Database) -> str:
        Directory(database).define_agent(self.organisation, name="support", memory_limit=self.memory_limit)
        held = json.loads(AgentMemoryManager(database).list(self.agent))["memories"]
        return json.dumps({"ok": True, "outcome": str(len(held))})


def test_once_a_limit_is_lowered_no_write_increases_the_excess(arena: Arena) -> None:
    agent = arena.adas
    for number in range(ROUNDS):
        limit(arena, memory_limit=100)
        writes = [manager(remember, agent, f"key_{number}_{n}", "x") for n in range(30)]
        lower = Lower(arena.personas.acme, agent, arena.count(Status.PERSONAL) + 3)
        lowered, *_ = arena.at_once([lower], writes[::3], writes[1::3], writes[2::3])
        at_that_moment = int(lowered[0].word)
        assert arena.count(Status.PERSONAL) == max(at_that_moment, lower.memory_limit)
    limit(arena, memory_limit=1_000)
