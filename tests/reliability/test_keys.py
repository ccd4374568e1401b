"""One key, many writers: one row, and every acknowledged version of it happened."""

from __future__ import annotations

from portal.manager import AgentMemoryManager
from portal.values import Status
from tests.reliability.arena import Arena, flat, words
from tests.reliability.crowds import manager

ROUNDS = 3

keep = AgentMemoryManager.keep_own_memory
propose = AgentMemoryManager.propose_account_fact
remember = AgentMemoryManager.remember


def test_the_first_write_of_a_key_from_many_sides_makes_one_row(arena: Arena) -> None:
    agent = arena.adas
    for number in range(ROUNDS):
        # Spellings of one key, so that nothing but the canonical form makes them meet.
        keys = [f"Home Town {number}", f"home-town-{number}", f"HOME_TOWN_{number}", f"home.town.{number}"]
        outcomes = flat(arena.at_once(*([manager(remember, agent, key, "Lübeck")] for key in keys)))
        assert words(outcomes) == {"created": 1, "unchanged": 3}
        assert [row.version for row in arena.rows(f"home_town_{number}")] == [1]


def test_a_first_memory_and_a_first_proposal_make_one_row(arena: Arena) -> None:
    agent = arena.adas
    for number in range(ROUNDS):
        remembered, proposed = arena.at_once(
            [manager(remember, agent, f"key_{number}", "text")],
            [manager(propose, agent, f"key_{number}", "text")],
        )
        # The last call decides what a fact is.
        assert (remembered[0].word, proposed[0].word) in {("created", "replaced"), ("replaced", "created")}
        expected = {"created": Status.PROPOSED, "replaced": Status.PERSONAL}[remembered[0].word]
        assert [(row.status, row.version) for row in arena.rows(f"key_{number}")] == [(expected, 2)]


def test_the_agent_and_its_owner_fill_a_key_once(arena: Arena) -> None:
    personas, agent = arena.personas, arena.adas
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(agent, key, "turned down")
        arena.manager.decide_account_fact(memory_id, personas.acme, personas.root, "reject")
        kept, remembered = arena.at_once(
            [manager(keep, memory_id, personas.ada)], [manager(remember, agent, key, "remembered")]
        )
        assert kept[0].word == Status.PERSONAL
        last = {"created": "turned down", "replaced": "remembered"}[remembered[0].word]
        held = [row.content for row in arena.rows(key) if row.scope_id == personas.ada.id]
        assert held == [last]


def test_no_acknowledged_version_of_a_memory_is_lost(arena: Arena) -> None:
    agent = arena.adas
    jobs = [manager(remember, agent, "key", f"text {number}") for number in range(40)]
    outcomes = arena.divided(jobs)
    assert words(outcomes) == {"created": 1, "replaced": 39}
    by_version = {outcome.version: outcome.content for outcome in outcomes}
    assert by_version.keys() == set(range(1, 41))
    assert [(row.version, row.content) for row in arena.rows("key")] == [(40, by_version[40])]


def test_each_agent_writes_its_own_row_under_the_same_key(arena: Arena) -> None:
    agents = [arena.adas, arena.bobs, arena.personas.agent(arena.personas.root)]
    jobs = [manager(remember, agent, "key", f"of {agent.id}") for agent in agents for _ in range(10)]
    assert words(arena.divided(jobs)) == {"created": 3, "unchanged": 27}
    assert {(row.stated_by_id, row.content) for row in arena.rows("key")} == {
        (agent.owner_id, f"of {agent.id}") for agent in agents
    }
