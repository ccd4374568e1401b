"""The same races with a precaution left out: they have to go wrong, or the harness could not see it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import CursorResult, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from portal.connections import SqliteConnections
from portal.database import Database, _Engines
from portal.manager import AgentMemoryManager
from portal.transactions import SqliteTransaction
from portal.values import Status
from tests.databases import SqliteFiles, opened
from tests.factories import Personas, create_personas
from tests.reliability.arena import Arena, flat, words
from tests.reliability.crowds import Outcome, Processes, manager

ROUNDS = 20
"""A fault that needs bad luck has this many chances."""
LIMIT = 10

LOOKS_FOR_S = 0.02
"""Longer than a thread of Python keeps the others waiting, so that they look too where there is one core."""


class LateTransaction(SqliteTransaction):
    """One that the driver begins by itself, when something is changed."""

    def begin(self) -> None:
        pass

    def commit(self) -> None:
        self._pooled.commit()


class DriverDefaults(Database):
    """SQLite as its driver would have it, which begins transactions by itself, late and deferred."""

    def _make_engines(self) -> _Engines:
        engine = create_engine(self._url)
        return _Engines(os.getpid(), engine, engine, SqliteConnections(engine), LateTransaction)


class DeferredTransaction(SqliteTransaction):
    """One that begins as for reading."""

    def begin(self) -> None:
        self.run("BEGIN DEFERRED", {})


class DeferredWrites(Database):
    """SQLite with our own `BEGIN`, but for writes the same as for reads."""

    def _make_engines(self) -> _Engines:
        made = super()._make_engines()
        return replace(made, write=made.read, transaction=DeferredTransaction)


@pytest.fixture
def sqlite_database(sqlite_files: SqliteFiles) -> Iterator[Database]:
    with sqlite_files.migrated() as url, opened(url) as database:
        yield database


@dataclass(frozen=True)
class Filling:
    """Processes that fill one agent's memory together, over and over until something goes wrong."""

    database: Database
    personas: Personas
    processes: Processes

    def held_at_most(self, kind: type[Database], *, rounds: int = ROUNDS) -> int:
        """Return how many memories an agent came to hold under a limit of ten."""
        most = 0
        for number in range(rounds):
            name = f"round-{number}"
            self.personas.directory.define_agent(self.personas.acme, name=name, memory_limit=LIMIT)
            agent = self.personas.agent(self.personas.ada, name)
            size = self.processes.size
            parts = [
                [manager(AgentMemoryManager.remember, agent, f"key_{part}_{n}", "x") for n in range(LIMIT)]
                for part in range(size)
            ]
            self.processes.run(self.database.url, parts, kind)
            held = json.loads(AgentMemoryManager(self.database).list(agent))["memories"]
            most = max(most, len(held))
            if most > LIMIT:
                break
        return most


@pytest.fixture
def filling(sqlite_database: Database, processes: Processes) -> Filling:
    return Filling(sqlite_database, create_personas(sqlite_database), processes)


def test_with_the_drivers_own_transactions_a_ceiling_breaks_or_the_database_is_locked(
    filling: Filling,
) -> None:
    try:
        assert filling.held_at_most(DriverDefaults) > LIMIT
    except OperationalError as error:
        assert "database is locked" in str(error)  # noqa: PT017 - either is the fault


def test_with_writes_that_begin_deferred_the_database_is_locked(filling: Filling) -> None:
    with pytest.raises(OperationalError, match="database is locked"):
        filling.held_at_most(DeferredWrites)


def test_as_we_begin_them_neither_happens(filling: Filling) -> None:
    assert filling.held_at_most(Database, rounds=4) == LIMIT


@dataclass(frozen=True)
class LookThenReject:
    """Rejects a proposal in two steps, of which the second may or may not look again."""

    memory_id: int
    looks_again: bool

    def __call__(self, database: Database) -> str:
        is_mine = self._sees_a_proposal(database) and database.write(self._reject) == 1
        return json.dumps({"ok": is_mine, "outcome": "rejected", "error": "late"})

    def _sees_a_proposal(self, database: Database) -> bool:
        status = text("SELECT status FROM agent_memory WHERE id = :id")
        question = {"id": self.memory_id}
        seen: str = database.read(lambda session: session.execute(status, question).scalar_one())
        time.sleep(LOOKS_FOR_S)
        return seen == Status.PROPOSED

    def _reject(self, session: Session) -> int:
        guard = {True: "status = 'proposed'", False: "TRUE"}[self.looks_again]
        statement = f"""
            UPDATE agent_memory SET status = 'rejected', scope_id = -stated_by_id, decided_at = 1
            WHERE id = :id AND {guard}"""  # noqa: S608 - one of the two above
        result = session.execute(text(statement), {"id": self.memory_id})
        assert isinstance(result, CursorResult)
        return result.rowcount


def most_winners(arena: Arena, *, looks_again: bool) -> int:
    """Return how many of all callers at once rejected one proposal, in the worst of the rounds."""
    most = 0
    for number in range(ROUNDS):
        memory_id = arena.propose(arena.adas, f"key_{number}")
        job = LookThenReject(memory_id, looks_again)
        outcomes: list[Outcome] = flat(arena.at_once(*[[job]] * arena.crowd.size))
        most = max(most, words(outcomes)["rejected"])
        if most > 1:
            break
    return most


@pytest.fixture
def unchecked(database: Database, crowd: Processes) -> Arena:
    """An arena in which the record may stay behind, because the jobs go past the manager."""
    return Arena(database, create_personas(database), crowd)


def test_without_a_guard_in_the_update_several_callers_win(unchecked: Arena) -> None:
    assert most_winners(unchecked, looks_again=False) > 1


def test_with_a_guard_in_the_update_one_wins(unchecked: Arena) -> None:
    assert most_winners(unchecked, looks_again=True) == 1
