"""How to keep a ceiling exact on PostgreSQL, and what each way costs: the measurement behind ADR 6.

Three ways to do the same by psycopg alone: count what an agent holds, and store one more if it fits.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from portal.values import new_memory_id
from psycopg import Connection, IsolationLevel, errors

from bench.crowd import Written, at_once, wait_for_all, writers
from bench.floors import UPSERT_ON_POSTGRESQL
from bench.timing import MICROSECONDS, with_progress
from bench.worlds import NOW, World, connect

ROOMY = 1_000
TIGHT = 60
"""A ceiling that ten more memories reach."""

OWN, SHARED, FULL = "own", "shared", "full"

COUNT = (
    "SELECT count(*) FROM agent_memory WHERE organisation_id = %s AND definition_id = %s AND scope_id = %s"
)
LOCK = "SELECT 1 FROM agent WHERE id = %s FOR NO KEY UPDATE"
INSERT, _, ON_CONFLICT = UPSERT_ON_POSTGRESQL.partition("ON CONFLICT")
TARGET, VALUES = INSERT.split("VALUES")
CONDITIONAL = f"""{TARGET} SELECT %s, %s, %s, %s::text, %s, 'personal', %s::text, 1, %s, %s, %s, %s, ''
WHERE ({COUNT}) < %s
ON CONFLICT {ON_CONFLICT}"""


@dataclass(frozen=True)
class Write:
    """Something to store."""

    organisation_id: int
    owner_id: int
    memory_key: str
    ceiling: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it is counted."""
        return self.organisation_id, self.organisation_id, self.owner_id

    @property
    def row(self) -> tuple[object, ...]:
        """What is stored."""
        return (*self.place, self.memory_key, new_memory_id(), "x", self.owner_id, NOW, NOW, NOW)


Client = Connection[Any]
Way = Callable[[Client, Write], int]
"""Writes, if it fits, and returns how often it had to begin again."""


def by_row_lock(client: Client, write: Write) -> int:
    """Lock the agent's row, then count, then write, as the portal does."""
    with client.transaction():
        client.execute(LOCK, [write.owner_id], prepare=True)
        _count_and_write(client, write)
    return 0


def by_serializable(client: Client, write: Write) -> int:
    """Count and write, and begin again whenever PostgreSQL finds that somebody else did the same."""
    client.isolation_level = IsolationLevel.SERIALIZABLE
    retries = 0
    while True:
        try:
            with client.transaction():
                _count_and_write(client, write)
        except errors.SerializationFailure:
            retries += 1
        else:
            return retries


def by_one_statement(client: Client, write: Write) -> int:
    """Count and write in one statement under READ COMMITTED."""
    client.execute(CONDITIONAL, (*write.row, *write.place, write.ceiling), prepare=True)
    return 0


def _count_and_write(client: Client, write: Write) -> None:
    [held] = client.execute(COUNT, write.place, prepare=True).fetchone() or (0,)
    if held < write.ceiling:
        client.execute(UPSERT_ON_POSTGRESQL, write.row, prepare=True)


WAYS: dict[str, Way] = {
    "lock the agent's row": by_row_lock,
    "SERIALIZABLE, retried": by_serializable,
    "one statement, READ COMMITTED": by_one_statement,
}


@dataclass(frozen=True)
class Isolation:
    """What one way costs and keeps."""

    way: str
    alone_us: float
    own_agents_per_s: float
    one_agent_per_s: float
    retries_per_write: float
    excess: int
    """Memories beyond the ceiling after all had tried at once."""


def measure_isolation(world: World, *, rounds: int, seconds: float) -> Sequence[Isolation]:
    """Measure each way: one client, eight on agents of their own, eight on one agent, eight at a ceiling."""
    found = []
    with writers() as pool:
        for number, (name, way) in enumerate(with_progress("PostgreSQL: exact ceilings", WAYS.items())):
            own = at_once(pool, _Job(name, OWN), world, seconds)
            shared = at_once(pool, _Job(name, SHARED), world, seconds)
            # Each way fills up an agent of its own; the last one is full already.
            full = _Job(name, FULL, owner_id=world.agents - 1 - number)
            at_once(pool, full, world, seconds)
            commits = sum(done.commits for done in shared)
            found.append(
                Isolation(
                    way=name,
                    alone_us=_alone(world, way, rounds),
                    own_agents_per_s=sum(done.commits for done in own) / seconds,
                    one_agent_per_s=commits / seconds,
                    retries_per_write=sum(done.locked for done in shared) / commits,
                    excess=_held(world, full.owner_id) - TIGHT,
                )
            )
    return found


@dataclass(frozen=True)
class _Job:
    """What each of eight processes does in one way."""

    way: str
    where: str
    owner_id: int = 1

    def __call__(self, world: World, number: int, seconds: float) -> Written:
        write, owner_id = WAYS[self.way], number if self.where == OWN else self.owner_id
        with closing(connect(world.url)) as client:
            wait_for_all()
            if self.where == FULL:
                keys = [f"own_{number}_{n}" for n in range(TIGHT)]
                return Written(
                    len(keys), sum(write(client, _write(world, owner_id, key, TIGHT)) for key in keys)
                )
            commits = retries = 0
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                retries += write(
                    client, _write(world, owner_id, f"key_number_{random.randrange(50):02}", ROOMY)
                )
                commits += 1
        return Written(commits, retries)


def _write(world: World, owner_id: int, key: str, ceiling: int) -> Write:
    return Write(world.organisation_of(owner_id), owner_id, key, ceiling)


def _alone(world: World, way: Way, rounds: int) -> float:
    with closing(connect(world.url)) as client:
        durations = []
        for n in range(rounds):
            begun = time.perf_counter()
            way(client, _write(world, 1, f"key_number_{n % 50:02}", ROOMY))
            durations.append((time.perf_counter() - begun) * MICROSECONDS)
    return sorted(durations)[rounds // 2]


def _held(world: World, owner_id: int) -> int:
    with closing(connect(world.url)) as client:
        [held] = client.execute(COUNT, _write(world, owner_id, "", 0).place).fetchone() or (0,)
        return int(held)
