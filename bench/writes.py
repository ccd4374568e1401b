"""``remember``: against one raw upsert and a peer, and by eight processes at once (P-6 to P-8)."""

from __future__ import annotations

import json
import multiprocessing
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from bench import peers
from bench.floors import PostgresFloor, SqliteFloor, floor_of
from bench.reads import Reader, agent, reading
from bench.results import Line, Table, at_least, at_most
from bench.timing import race, with_progress
from bench.worlds import LIMITS, MEMORIES_PER_AGENT, World, content
from portal.database import Database
from portal.models import AgentMemory

WRITERS = 8
WRITER_TURNS = 3
WRITING_S = 2.0
TRIES_AT_THE_CEILING = 40

REMEMBER = "`remember`"
UPSERT = "one raw upsert"


def _key() -> str:
    return f"key_number_{random.randrange(MEMORIES_PER_AGENT):02}"  # noqa: S311


def _text() -> str:
    return content(f"Said at {time.perf_counter()}")


def remember(reader: Reader) -> None:
    """Let somebody's agent replace something, which has to succeed."""
    answer = reader.manager.remember(agent(reader.draw()), _key(), _text())
    assert '"outcome":"replaced"' in answer, answer  # noqa: S101 - a refusal would be faster


def measure_sqlite(world: World, folder: Path, *, rounds: int) -> Table:
    """Compare ``remember`` with a raw upsert in the same mode, and with LangGraph's store (P-6)."""
    table = Table(
        "`remember` on SQLite",
        "`remember` checks the agent, the key, the text and three ceilings, and writes an event, with"
        " `synchronous=FULL`. LangGraph's `put` checks nothing; its file is as it ships, with a rollback journal.",
    )
    put = "LangGraph `SqliteStore.put`"
    with reading(world) as reader, peers.langgraph_sqlite(folder, 20) as store:
        floor = SqliteFloor(world)
        medians = race(
            "SQLite: remember, a raw upsert, a peer",
            {
                REMEMBER: lambda: remember(reader),
                UPSERT: lambda: floor.upsert(reader.draw(), _key(), _text()),
                put: lambda: store.put(peers.namespace(1), _key(), {"content": _text()}),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-6", REMEMBER, UPSERT, medians, at_most(3))
    table.compare("P-6", REMEMBER, put, medians, at_most(1))
    return table


def measure_postgres(world: World, *, rounds: int) -> Table:
    """Compare ``remember`` with a raw upsert (P-7)."""
    table = Table("`remember` on PostgreSQL", "Durable: `fsync` and `synchronous_commit` are on.")
    with reading(world) as reader:
        floor = PostgresFloor(world)
        medians = race(
            "PostgreSQL: remember and a raw upsert",
            {
                REMEMBER: lambda: remember(reader),
                UPSERT: lambda: floor.upsert(reader.draw(), _key(), _text()),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-7", REMEMBER, UPSERT, medians, at_most(4))
    return table


@dataclass(frozen=True)
class Written:
    """What one of several writing processes did."""

    commits: int
    locked: int
    """How often the database was locked for longer than the busy timeout."""


# Set when a process of the pool starts.
_start: Barrier


def _prepare(start: Barrier) -> None:
    global _start  # noqa: PLW0603 - a pool hands a barrier over in no other way
    _start = start


def wait_for_all() -> None:
    """Wait in a process of the pool until all of them are as far."""
    _start.wait()


@contextmanager
def writers() -> Iterator[Pool]:
    """Give eight processes that begin what they are given at the same moment."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(WRITERS, _prepare, (context.Barrier(WRITERS),)) as pool:
        yield pool


Work = Callable[[World, int], Written]


def at_once(pool: Pool, work: Work, world: World) -> Sequence[Written]:
    """Let each process do the work once, all at the same time."""
    return pool.starmap(work, [(world, number) for number in range(1, WRITERS + 1)], chunksize=1)


def _for_a_while(write: Callable[[], object]) -> Written:
    wait_for_all()
    commits = locked = 0
    end = time.monotonic() + WRITING_S
    while time.monotonic() < end:
        try:
            write()
        except (DBAPIError, sqlite3.OperationalError):
            locked += 1
        else:
            commits += 1
    return Written(commits, locked)


def remember_for_a_while(world: World, number: int) -> Written:
    """Remember with an agent of this process's own."""
    with reading(world) as reader:
        own = agent(number)
        return _for_a_while(lambda: reader.manager.remember(own, _key(), _text()))


def upsert_for_a_while(world: World, number: int) -> Written:
    """Upsert with the driver alone."""
    floor = floor_of(world)
    try:
        return _for_a_while(lambda: floor.upsert(number, _key(), _text()))
    finally:
        floor.close()


def fill_up(world: World, number: int) -> Written:
    """Try to remember more than one agent may, with keys that no other process uses."""
    with reading(world) as reader:
        wait_for_all()
        words = Counter(
            json.loads(reader.manager.remember(agent(world.agents), f"own {number} {n}", "x")).get("error", "kept")
            for n in range(TRIES_AT_THE_CEILING)
        )
    return Written(commits=words["kept"], locked=words.total() - words["kept"] - words["limit_reached"])


def measure_eight(world: World) -> Table:
    """Compare the commits of eight processes with those of eight that only upsert (P-8)."""
    kind = "SQLite" if world.url.startswith("sqlite") else "PostgreSQL"
    upserts, remembers = f"{WRITERS} processes, {UPSERT} at a time", f"{WRITERS} processes, {REMEMBER}"
    works = {upserts: upsert_for_a_while, remembers: remember_for_a_while}
    totals = dict.fromkeys(works, 0)
    locked = 0
    with writers() as pool:
        for _ in with_progress(f"{kind}: eight writers", range(WRITER_TURNS)):
            for name, work in works.items():
                done = at_once(pool, work, world)
                totals[name] += sum(each.commits for each in done)
                locked += sum(each.locked for each in done)
        filled = at_once(pool, fill_up, world)
    rates = {name: total / WRITER_TURNS / WRITING_S for name, total in totals.items()}
    table = Table(f"Eight writing processes on {kind}")
    table.lines += [
        Line("P-8", remembers, rates[remembers], upserts, rates[upserts], "commits/s", at_least(0.5)),
        Line("P-8", "memories of the agent that all filled", count_held(world), "its ceiling",
             LIMITS["memory_limit"], "memories", at_most(1)),
        Line("P-8", "“database is locked”, and other errors", locked + sum(each.locked for each in filled),
             "writes", sum(totals.values()), "times", at_most(0)),
    ]  # fmt: skip
    return table


def count_held(world: World) -> int:
    """Count what the last agent holds."""
    database = Database(world.url)
    try:
        return database.read(
            lambda session: session.scalars(
                select(func.count()).select_from(AgentMemory).where(
                    AgentMemory.organisation_id == world.organisation_of(world.agents),
                    AgentMemory.scope_id == world.agents,
                )
            ).one()
        )  # fmt: skip
    finally:
        database.dispose()
