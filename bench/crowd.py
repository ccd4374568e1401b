"""Eight processes that write at the same time."""

from __future__ import annotations

import json
import multiprocessing
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier

from sqlalchemy.exc import DBAPIError

from bench.floors import SqliteFloor, floor_of
from bench.readers import agent, any_key, new_text, reading
from bench.worlds import World

WRITERS = 8
TRIES_AT_THE_CEILING = 40


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
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bench.isolation"])
    with context.Pool(WRITERS, _prepare, (context.Barrier(WRITERS),)) as pool:
        yield pool


Work = Callable[[World, int, float], Written]
"""What the process with a number does, for so many seconds."""


def at_once(pool: Pool, work: Work, world: World, seconds: float) -> Sequence[Written]:
    """Let each process do the work once, all at the same time."""
    return pool.starmap(work, [(world, number, seconds) for number in range(1, WRITERS + 1)], chunksize=1)


def _for_a_while(write: Callable[[], object], seconds: float) -> Written:
    # Connected, compiled and prepared before it counts.
    write()
    wait_for_all()
    commits = locked = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            write()
        except (DBAPIError, sqlite3.OperationalError):
            locked += 1
        else:
            commits += 1
    return Written(commits, locked)


def remember_for_a_while(world: World, number: int, seconds: float) -> Written:
    """Remember with an agent of this process's own."""
    with reading(world) as reader:
        own = agent(number)
        return _for_a_while(lambda: reader.manager.remember(own, any_key(), new_text()), seconds)


def upsert_for_a_while(world: World, number: int, seconds: float) -> Written:
    """Upsert with the driver alone."""
    with closing(floor_of(world)) as floor:
        return _for_a_while(lambda: floor.upsert(number, any_key(), new_text()), seconds)


def replace_for_a_while(world: World, number: int, seconds: float) -> Written:
    """Replace by hand what an agent of this process's own holds, on SQLite."""
    with closing(SqliteFloor(world)) as floor:
        return _for_a_while(lambda: floor.replace(number, any_key(), new_text()), seconds)


def fill_up(world: World, number: int, _seconds: float) -> Written:
    """Try to remember more than one agent may, with keys that no other process uses."""
    with reading(world) as reader:
        wait_for_all()
        words = Counter(
            json.loads(reader.manager.remember(agent(world.agents), f"own {number} {n}", "x")).get(
                "error", "kept"
            )
            for n in range(TRIES_AT_THE_CEILING)
        )
    return Written(commits=words["kept"], locked=words.total() - words["kept"] - words["limit_reached"])
