"""Of any number of decisions at the same moment one counts, and it is about the words that were seen."""

from __future__ import annotations

from collections import Counter

import pytest

from portal.manager import AgentMemoryManager
from portal.models import ACCOUNT_SCOPE
from portal.values import Status
from tests.reliability.arena import A_MEMORY, Arena, flat, words
from tests.reliability.crowds import Outcome, manager

ROUNDS = 3

forget = AgentMemoryManager.forget
propose = AgentMemoryManager.propose_account_fact
remember = AgentMemoryManager.remember
delete_own = AgentMemoryManager.delete_own_memory
delete_all_own = AgentMemoryManager.delete_own_memories
delete = AgentMemoryManager.delete_memory
keep = AgentMemoryManager.keep_own_memory
reopen = AgentMemoryManager.reopen_account_fact

STATUS_AFTER = {"confirm": [Status.CONFIRMED], "reject": [Status.REJECTED], "delete": []}


@pytest.mark.parametrize(
    ("actions", "expected_version"),
    [(("confirm",), None), (("confirm", "reject", "delete"), 1), (("delete", "reject"), None)],
    ids=str,
)
def test_one_of_many_decisions_on_a_proposal_wins(
    arena: Arena, actions: tuple[str, ...], expected_version: int | None
) -> None:
    size = arena.crowd.size
    for number in range(ROUNDS):
        memory_id = arena.propose(arena.adas, f"key_{number}")
        # In each round somebody else's decision comes first.
        chosen = [actions[(number + caller) % len(actions)] for caller in range(size)]
        outcomes = arena.at_once(
            *([arena.decide(memory_id, action, expected_version=expected_version)] for action in chosen)
        )
        assert_one_winner(chosen, [outcome.word for (outcome,) in outcomes])
        (winner,) = (
            each for each, (outcome,) in zip(chosen, outcomes, strict=True) if outcome.word in A_MEMORY
        )
        assert [row.status for row in arena.rows(f"key_{number}")] == STATUS_AFTER[winner]


def assert_one_winner(actions: list[str], outcomes: list[str]) -> None:
    """One decision got a memory back, and every other was told what became of it."""
    won = [action for action, outcome in zip(actions, outcomes, strict=True) if outcome in A_MEMORY]
    assert len(won) == 1, outcomes
    told = "MemoryNotFound" if won == ["delete"] else "AlreadyDecided"
    assert Counter(outcomes)[told] == len(outcomes) - 1, outcomes


def test_one_of_several_proposals_under_a_key_is_confirmed(arena: Arena) -> None:
    agents = [arena.adas, arena.bobs, arena.personas.agent(arena.personas.root)]
    for number in range(ROUNDS):
        ids = [arena.propose(agent, f"key_{number}", f"words {agent.id}") for agent in agents]
        outcomes = arena.at_once(*([arena.decide(memory_id, "confirm")] for memory_id in ids))
        assert words(flat(outcomes)) == {"confirmed": 1, "KeyAlreadyConfirmed": 2}
        assert sum(row.status == Status.CONFIRMED for row in arena.rows(f"key_{number}")) == 1


@pytest.mark.parametrize("action", ["confirm", "reject"])
def test_what_is_decided_is_what_was_on_the_screen(arena: Arena, action: str) -> None:
    """While an administrator decides, the agent rewords, withdraws and forgets, and its owner deletes."""
    agent, owner = arena.adas, arena.personas.ada
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(agent, key, "seen")
        decision, *_ = arena.at_once(
            [arena.decide(memory_id, action, expected_version=1)],
            [manager(propose, agent, key, "reworded"), manager(propose, agent, key, "again")],
            [manager(remember, agent, key, "personal"), manager(forget, agent, key)],
            [manager(delete_own, memory_id, owner)],
        )
        assert_decision_stands(arena, key, decision[0])


def assert_decision_stands(arena: Arena, key: str, decision: Outcome) -> None:
    """A decision that was answered is the row; one that was refused is none."""
    decided = [row for row in arena.rows(key) if row.status in {Status.CONFIRMED, Status.REJECTED}]
    if decision.word in A_MEMORY:
        assert [(row.content, row.version) for row in decided] == [("seen", 2)]
        assert (decision.content, decision.version) == ("seen", 2)
    else:
        assert decision.word in {"MemoryNotFound", "MemoryChanged"}
        assert decided == []


def test_a_confirmed_fact_survives_whatever_the_agent_does_meanwhile(arena: Arena) -> None:
    agent, owner = arena.adas, arena.personas.ada
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(agent, key, "seen")
        arena.manager.decide_account_fact(memory_id, arena.personas.acme, arena.personas.root, "confirm")
        outcomes = arena.at_once(
            [manager(remember, agent, key, "other"), manager(forget, agent, key)],
            [manager(propose, agent, key, "other"), manager(delete_all_own, owner)],
            [manager(delete_own, memory_id, owner)],
        )
        assert words(flat(outcomes)) == {"already_confirmed": 3, "MemoryNotFound": 1, "done": 1}
        assert [row.content for row in arena.rows(key)] == ["seen"]


@pytest.mark.parametrize("first", ["confirm", "reject"])
def test_what_is_reopened_while_its_stater_proposes_again_is_held_once(arena: Arena, first: str) -> None:
    personas, agent = arena.personas, arena.adas
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(agent, key, "first")
        arena.manager.decide_account_fact(memory_id, personas.acme, personas.root, first)
        reopened, proposed = arena.at_once(
            [manager(reopen, memory_id, personas.acme, personas.root)],
            [manager(propose, agent, key, "second")],
        )
        closed = {"confirm": "already_confirmed", "reject": "already_rejected"}[first]
        # Either the key was still closed, or the proposal that came back got the new words.
        assert (reopened[0].word, proposed[0].word) in {("proposed", closed), ("proposed", "replaced")}
        content = {closed: "first", "replaced": "second"}[proposed[0].word]
        assert [(row.status, row.content) for row in arena.rows(key)] == [(Status.PROPOSED, content)]


def test_what_is_reopened_while_its_stater_remembers_or_keeps_is_held_once(arena: Arena) -> None:
    personas, agent = arena.personas, arena.adas
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(agent, key, "first")
        arena.manager.decide_account_fact(memory_id, personas.acme, personas.root, "reject")
        outcomes = flat(
            arena.at_once(
                [manager(reopen, memory_id, personas.acme, personas.root)],
                [manager(remember, agent, key, "second")],
                [manager(keep, memory_id, personas.ada)],
            )
        )
        assert outcomes[0].word in {"proposed", "KeyTaken"}
        assert sum(row.scope_id == personas.ada.id for row in arena.rows(key)) == 1
        is_rejected = [row.status for row in arena.rows(key) if row.scope_id == -personas.ada.id]
        assert is_rejected == ([Status.REJECTED] if outcomes[0].word == "KeyTaken" else [])


def test_of_many_undos_and_deletions_of_a_decided_fact_one_counts(arena: Arena) -> None:
    personas = arena.personas
    for number in range(ROUNDS):
        memory_id = arena.propose(arena.adas, f"key_{number}")
        arena.manager.decide_account_fact(memory_id, personas.acme, personas.root, "confirm")
        undo = manager(reopen, memory_id, personas.acme, personas.root, expected_version=2)
        remove = manager(delete, memory_id, personas.acme, deleted_by=personas.root, expected_version=2)
        outcomes = words(flat(arena.at_once([undo], [remove], [undo], [remove])))
        # Deleted first, there is nothing to undo; undone first, it is a proposal, and of another version.
        assert outcomes in (
            {"done": 1, "MemoryNotFound": 3},
            {"proposed": 1, "NotDecided": 1, "MemoryChanged": 2},
        )


def test_a_rejection_under_a_key_closes_it_to_whoever_proposes_after_it(arena: Arena) -> None:
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(arena.adas, key)
        rejected, proposed = arena.at_once(
            [arena.decide(memory_id, "reject")],
            [manager(propose, arena.bobs, key, "bob's words")],
        )
        assert rejected[0].word == Status.REJECTED
        # Bob's proposal came before the rejection, and stays; or after it, and was refused.
        is_there = [row.status for row in arena.rows(key) if row.scope_id == arena.personas.bob.id]
        assert (proposed[0].word, is_there) in (("created", [Status.PROPOSED]), ("already_rejected", []))


def test_a_fact_confirmed_meanwhile_refuses_or_was_not_there_yet(arena: Arena) -> None:
    for number in range(ROUNDS):
        key = f"key_{number}"
        memory_id = arena.propose(arena.adas, key, "account")
        confirmed, remembered = arena.at_once(
            [arena.decide(memory_id, "confirm")],
            [manager(remember, arena.bobs, key, "bob's own")],
        )
        assert confirmed[0].word == Status.CONFIRMED
        assert arena.find(ACCOUNT_SCOPE, key).content == "account"
        own = [row.content for row in arena.rows(key) if row.scope_id == arena.personas.bob.id]
        assert (remembered[0].word, own) in (("created", ["bob's own"]), ("already_confirmed", []))
