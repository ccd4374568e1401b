"""Eight processes do everything at once, and what all of them were told can be true together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from portal.database import Database
from tests.factories import create_personas
from tests.invariants import State, assert_invariants, read_state
from tests.reliability.arena import assert_file_is_sound
from tests.reliability.crowds import Processes
from tests.reliability.hammer import LIMITS, Hammer, Line, read_history, swing
from tests.reliability.history import find_faults
from tests.reliability.test_controls import DriverDefaults
from tests.scale import FULL, SCALE

CALLS = 40_000 if SCALE >= FULL else 1_000
CONTROL_CALLS = 400
PROCESSES = 8


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(size=PROCESSES) as crowd:
        yield crowd


@dataclass(frozen=True)
class Smithy:
    """Where the hammers fall, and what is found there afterwards."""

    database: Database
    processes: Processes
    folder: Path

    def hammers(self, calls: int) -> list[Hammer]:
        personas = create_personas(self.database)
        personas.directory.define_agent(personas.acme, name="support", **LIMITS)
        agents = [personas.agent(owner) for owner in (personas.ada, personas.bob, personas.root)]
        return [
            Hammer(self.folder, number, calls // PROCESSES, agents, personas.acme, personas.root)
            for number in range(PROCESSES)
        ]

    def faults(self, hammers: list[Hammer], kind: type[Database] = Database) -> list[str]:
        swing(self.processes, self.database, hammers, kind)
        return find_faults(read_history(self.folder), read_state(self.database))


@pytest.fixture
def smithy(database: Database, processes: Processes, tmp_path: Path) -> Smithy:
    return Smithy(database, processes, tmp_path)


def test_eight_processes_break_no_promise(smithy: Smithy) -> None:
    hammers = smithy.hammers(CALLS)
    assert smithy.faults(hammers) == []
    history = read_history(smithy.folder)
    assert len(history) == CALLS // PROCESSES * PROCESSES
    # All that can happen did, or the rest would say little.
    assert {line.word for line in history} >= EVERYTHING
    assert_invariants(smithy.database)
    assert_file_is_sound(smithy.database)


EVERYTHING = {
    *("created", "replaced", "forgotten", "list", "not_found", "limit_reached", "proposal_limit_reached"),
    *("already_confirmed", "already_rejected", "done"),
}


# The same with a precaution left out: the checker has to see it.


def test_with_the_drivers_own_transactions_it_sees_faults(
    sqlite_database: Database, processes: Processes, tmp_path: Path
) -> None:
    smithy = Smithy(sqlite_database, processes, tmp_path)
    assert smithy.faults(smithy.hammers(CONTROL_CALLS), DriverDefaults) != []


def test_with_decisions_in_two_steps_it_sees_several_winners(smithy: Smithy) -> None:
    hammers = [replace(hammer, decides_in_two_steps=True) for hammer in smithy.hammers(CONTROL_CALLS)]
    assert any(fault.startswith("I-9") for fault in smithy.faults(hammers))


# And each kind of fault in a history that was made up.


def line(number: int, call: str, word: str, content: str | None = None, **more: Any) -> Line:
    """Return a call that takes the whole of one moment."""
    told: dict[str, Any] = {"caller": 0, "subject": 1, "key": "key", "version": 1} | more
    return Line(began=2 * number, ended=2 * number + 1, call=call, word=word, content=content, **told)


def reading(*contents: str, **usage: int) -> dict[str, Any]:
    facts = [{"key": "key", "content": content} for content in contents]
    return {"memories": facts, "account_facts": [], "usage": usage}


FULL_USAGE = {"memories": 7, "memory_limit": 6, "characters": 0, "character_limit": 1}

HISTORIES: Mapping[str, tuple[list[Line], str]] = {
    "an error": ([line(1, "remember", "fault: database is locked", "a")], "error"),
    "a key twice": ([line(1, "list", "list", reading=reading("a", "a"))], "I-3"),
    "too many": (
        [line(1, "list", "list", reading=reading(**FULL_USAGE, proposals=0, proposal_limit=1))],
        "I-4",
    ),
    "two winners": ([line(1, "confirm", "done"), line(2, "reject", "done")], "I-9"),
    "a decision without an event": ([line(1, "confirm", "done")], "I-9"),
    "a lost update": ([line(1, "remember", "created", "a"), line(2, "remember", "created", "b")], "I-10"),
    "a stale value": (
        [
            line(1, "remember", "created", "a"),
            line(2, "remember", "replaced", "b", version=2),
            line(3, "list", "list", reading=reading("a")),
        ],
        "I-10: 0 read a value that was overwritten",
    ),
    "a value from nowhere": (
        [line(1, "list", "list", reading=reading("z"))],
        "I-10: 0 read what nobody had written",
    ),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_the_checker_sees(name: str) -> None:
    history, fault = HISTORIES[name]
    nothing = State({}, {}, {}, {}, {}, {})
    assert any(found.startswith(fault) for found in find_faults(history, nothing))
