"""``remember``: against one raw upsert and a peer, and by eight processes at once (P-6 to P-8)."""

from __future__ import annotations

from pathlib import Path

from portal.database import Database
from portal.models import AgentMemory
from sqlalchemy import func, select

from bench import peers
from bench.crowd import (
    WRITERS,
    at_once,
    fill_up,
    remember_for_a_while,
    replace_for_a_while,
    upsert_for_a_while,
    writers,
)
from bench.floors import PostgresFloor, SqliteFloor
from bench.readers import Reader, agent, any_key, new_text, reading
from bench.results import Line, Table, at_least, at_most
from bench.timing import race, with_progress
from bench.worlds import LIMITS, World

REMEMBER = "`remember`"
UPSERT = "one raw upsert"
BY_HAND = "the least that keeps the promises, by hand"


def remember(reader: Reader) -> None:
    """Let somebody's agent replace something, which has to succeed."""
    answer = reader.manager.remember(agent(reader.draw()), any_key(), new_text())
    assert '"outcome":"replaced"' in answer, answer


def measure_sqlite(world: World, folder: Path, *, rounds: int) -> Table:
    """Compare ``remember`` with a raw upsert in the same mode, and with LangGraph's store (P-6)."""
    table = Table(
        "`remember` on SQLite",
        """\
`remember` checks the agent, the key, the text and three ceilings, and writes an event, with
`synchronous=FULL`. By hand, the driver counts what is held, replaces the row if its version is the one that
it read, and writes the event. LangGraph's `put` checks nothing; its file is as it ships, with a rollback
journal.""",
    )
    put = "LangGraph `SqliteStore.put`"
    with reading(world) as reader, peers.langgraph_sqlite(folder, 20) as store:
        floor = SqliteFloor(world)
        medians = race(
            "SQLite: remember, a raw upsert, a peer",
            {
                REMEMBER: lambda: remember(reader),
                UPSERT: lambda: floor.upsert(reader.draw(), any_key(), new_text()),
                BY_HAND: lambda: floor.replace(reader.draw(), any_key(), new_text()),
                put: lambda: store.put(peers.namespace(1), any_key(), {"content": new_text()}),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-6", REMEMBER, UPSERT, medians, at_most(3))
    table.compare("P-6", REMEMBER, put, medians, at_most(1))
    table.compare("", BY_HAND, UPSERT, medians)
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
                UPSERT: lambda: floor.upsert(reader.draw(), any_key(), new_text()),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-7", REMEMBER, UPSERT, medians, at_most(4))
    return table


def measure_eight(world: World, *, turns: int, seconds: float) -> Table:
    """Compare the commits of eight processes with those of eight that only upsert (P-8)."""
    kind = "SQLite" if world.url.startswith("sqlite") else "PostgreSQL"
    upserts, remembers = f"{WRITERS} processes, {UPSERT} at a time", f"{WRITERS} processes, {REMEMBER}"
    works = {upserts: upsert_for_a_while, remembers: remember_for_a_while}
    by_hand = f"{WRITERS} processes, {BY_HAND}"
    if kind == "SQLite":
        works[by_hand] = replace_for_a_while
    totals = dict.fromkeys(works, 0)
    locked = 0
    with writers() as pool:
        for _ in with_progress(f"{kind}: eight writers", range(turns)):
            for name, work in works.items():
                done = at_once(pool, work, world, seconds)
                totals[name] += sum(each.commits for each in done)
                locked += sum(each.locked for each in done)
        filled = at_once(pool, fill_up, world, seconds)
    rates = {name: total / turns / seconds for name, total in totals.items()}
    table = Table(f"Eight writing processes on {kind}")
    table.lines += [
        Line("P-8", remembers, rates[remembers], upserts, rates[upserts], "commits/s",
             # Eight clients of a server on this machine share its cores with it.
             at_least(0.5) if kind == "SQLite" else None),
        Line("P-8", "memories of the agent that all filled", count_held(world), "its ceiling",
             LIMITS["memory_limit"], "memories", at_most(1)),
        Line("P-8", "“database is locked”, and other errors", locked + sum(each.locked for each in filled),
             "writes", sum(totals.values()), "times", at_most(0)),
    ]  # fmt: skip
    if by_hand in rates:
        table.lines.append(Line("", by_hand, rates[by_hand], upserts, rates[upserts], "commits/s"))
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
