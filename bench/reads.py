"""``list``: against the floor, against peers, as the database grows, and beside a writer (P-1 to P-5)."""

from __future__ import annotations

import multiprocessing
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

from portal.recall import LIST_ON_POSTGRESQL
from portal.transactions import compile_for_driver

from bench import peers
from bench.floors import PostgresFloor, SqliteFloor, floor_of
from bench.readers import Reader, agent, reading
from bench.results import Bound, Point, Table, at_least, at_most
from bench.timing import Call, Medians, race
from bench.worlds import MEMORIES_PER_AGENT, World

WRITES_A_SECOND = 1_000
WRITER_START_S = 60
PEER_AGENTS = 200
SLOW_PEER_ROUNDS = 30
BESIDE_TURNS = 6
SITTINGS = 5

LIST = "`list`"
PYTHON_FLOOR = "the driver, `json.dumps`"
SQL_FLOOR = "the driver, JSON in SQL"
SAME_SQL = "the driver, the portal's SQL"


def same_answer(reader: Reader, *answers: Callable[[int], str]) -> None:
    """Make sure that floor and portal say the same text, so that neither leaves work out."""
    for agent_id in (1, reader.world.agents):
        expected = reader.manager.list(agent(agent_id))
        assert [answer(agent_id) for answer in answers] == [expected] * len(answers)


def measure_sqlite_floor(world: World, *, rounds: int) -> Table:
    """Compare ``list`` with plain ``sqlite3`` on the same file (P-1)."""
    table = Table("`list` on SQLite and the floor")
    with reading(world) as reader:
        floor = SqliteFloor(world)
        same_answer(reader, floor.list_in_python, floor.list_in_sql)
        medians = race(
            "SQLite: list and the floor",
            {
                LIST: reader.list,
                PYTHON_FLOOR: lambda: floor.list_in_python(reader.draw()),
                SQL_FLOOR: lambda: floor.list_in_sql(reader.draw()),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-1", LIST, PYTHON_FLOOR, medians, at_most(0.8))
    table.compare("P-1", LIST, SQL_FLOOR, medians, at_most(1.6))
    return table


def measure_postgres_floor(world: World, *, rounds: int) -> Table:
    """Compare ``list`` with prepared psycopg 3 on the same tables (P-5)."""
    table = Table("`list` on PostgreSQL and the floor")
    statement = compile_for_driver(LIST_ON_POSTGRESQL, "postgresql")
    with reading(world) as reader:
        floor = PostgresFloor(world)
        same_answer(reader, floor.list_in_python)
        medians = race(
            "PostgreSQL: list and the floor",
            {
                LIST: reader.list,
                PYTHON_FLOOR: lambda: floor.list_in_python(reader.draw()),
                SAME_SQL: lambda: floor.run(statement, reader.draw()),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-5", LIST, PYTHON_FLOOR, medians, at_most(1.3))
    table.compare("", LIST, SAME_SQL, medians)
    return table


def measure_growth(worlds: Mapping[int, World], *, rounds: int) -> tuple[Table, Sequence[Point]]:
    """Compare ``list`` in databases of several sizes (P-2)."""
    kind = "SQLite" if next(iter(worlds.values())).url.startswith("sqlite") else "PostgreSQL"
    table = Table(f"`list` on {kind} as the database grows")
    points = []
    with ExitStack() as stack:
        readers = {rows: stack.enter_context(reading(world)) for rows, world in worlds.items()}
        floors = {rows: floor_of(world) for rows, world in worlds.items()}
        for active_only, who in ((True, "active"), (False, "random")):
            calls: dict[str, Call] = {}
            for rows, reader in readers.items():
                calls[f"{rows:,} rows, {who} agents"] = _lister(reader, active_only=active_only)
            medians = _race_in_sittings(
                f"{kind}: list as it grows, {who} agents", calls, readers.values(), rounds=rounds
            )
            smallest, *larger = calls
            for name, rows in zip(larger, list(worlds)[1:], strict=True):
                bound = _growth_bound(rows, active_only=active_only)
                table.compare("P-2" if bound else "", name, smallest, medians, bound)
            series = f"{kind}, {who} agents"
            points += [Point(rows, series, medians[name]) for rows, name in zip(worlds, calls, strict=True)]
        medians = race(
            f"{kind}: the floor as it grows",
            {str(rows): _floor_lister(reader, floors[rows]) for rows, reader in readers.items()},
            rounds=rounds,
        )
        points += [Point(rows, f"{kind}, the driver alone", medians[str(rows)]) for rows in worlds]
        for floor in floors.values():
            floor.close()
    return table, points


def _growth_bound(rows: int, *, active_only: bool) -> Bound | None:
    """Return the goal, which is one for a million rows, and another for more."""
    if rows < 1_000_000:
        return None
    if rows > 1_000_000:
        return at_most(1.5)
    return at_most(1.1 if active_only else 1.3)


def _lister(reader: Reader, *, active_only: bool) -> Call:
    return lambda: reader.list(active_only=active_only)


def _floor_lister(reader: Reader, floor: SqliteFloor | PostgresFloor) -> Call:
    return lambda: floor.list_in_python(reader.draw())


def measure_peers(world: World, folder: Path, *, agents: int, rounds: int) -> Table:
    """Compare ``list`` on SQLite with what other local stores answer for the same items (P-4)."""
    table = Table(
        "`list` on SQLite and peers",
        f"""\
{agents * peers.ITEMS:,} items in LangGraph's and mem0's stores; one person's {peers.ITEMS} in the file of
the MCP server, which has nobody else's. The peers hand over objects, the portal the JSON text.""",
    )
    langgraph, mem0, mcp = (
        "LangGraph `SqliteStore.search`",
        "mem0 `get_all`, local store",
        "MCP memory server",
    )
    with reading(world) as reader, peers.langgraph_sqlite(folder, agents) as store:
        floor = SqliteFloor(world)
        quick = race(
            "SQLite: list and LangGraph",
            {
                LIST: reader.list,
                langgraph: lambda: peers.search_langgraph(store, random.randint(1, agents)),
                SQL_FLOOR: lambda: floor.list_in_sql(reader.draw()),
            },
            rounds=rounds,
        )
        floor.close()
        memory, server = peers.Mem0(folder, agents), peers.McpMemoryServer(folder)
        slow = race(
            "SQLite: list, mem0 and the MCP server",
            {
                LIST: reader.list,
                mem0: lambda: memory.get_all(random.randint(1, agents)),
                mcp: server.read_graph,
            },
            rounds=SLOW_PEER_ROUNDS,
            warm_up=3,
        )
        memory.close()
        server.close()
    table.compare("P-4", langgraph, LIST, quick, at_least(5))
    table.compare("", langgraph, SQL_FLOOR, quick)
    table.compare("P-4", mem0, LIST, slow, at_least(100))
    table.compare("P-4", mcp, LIST, slow, at_least(4))
    return table


def _race_in_sittings(
    title: str, calls: Mapping[str, Call], readers: Iterable[Reader], *, rounds: int
) -> Medians:
    """Race with new connections several times, and return the median of each contender's medians.

    The server's process behind a connection is a tenth faster or slower than the next, as its memory lies.
    """
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(SITTINGS):
        for reader in readers:
            reader.manager.dispose()
        for name, median in race(title, calls, rounds=rounds // SITTINGS).items():
            found[name].append(median)
    return {name: statistics.median(medians) for name, medians in found.items()}


def measure_postgres_peer(world: World, url: str, *, agents: int, rounds: int) -> Table:
    """Compare ``list`` on PostgreSQL with LangGraph's store on the same server (P-5)."""
    table = Table("`list` on PostgreSQL and a peer", f"{agents * peers.ITEMS:,} items in LangGraph's store.")
    langgraph = "LangGraph `PostgresStore.search`"
    statement = compile_for_driver(LIST_ON_POSTGRESQL, "postgresql")
    with reading(world) as reader, peers.langgraph_postgres(url, agents) as store:
        floor = PostgresFloor(world)
        medians = race(
            "PostgreSQL: list and LangGraph",
            {
                LIST: reader.list,
                langgraph: lambda: peers.search_langgraph(store, random.randint(1, agents)),
                SAME_SQL: lambda: floor.run(statement, reader.draw()),
            },
            rounds=rounds,
        )
        floor.close()
    table.compare("P-5", langgraph, LIST, medians, at_least(3))
    table.compare("", langgraph, SAME_SQL, medians)
    return table


def measure_beside_writer(world: World, *, rounds: int) -> Table:
    """Compare ``list`` while another process commits with ``list`` while nobody does (P-3)."""
    with reading(world) as reader, writer_beside(world) as writer:
        names = {True: "`list` beside a writer", False: "`list` alone"}
        seen: dict[str, list[float]] = {name: [] for name in names.values()}
        for _ in range(BESIDE_TURNS):
            for is_writing, name in names.items():
                writer.let(write=is_writing)
                taken = race(name, {name: reader.list}, rounds=rounds // BESIDE_TURNS)
                seen[name].append(taken[name])
        rate = writer.rate()
    assert rate > WRITES_A_SECOND / 2
    table = Table(
        "`list` on SQLite beside a writer",
        f"Another process committed {rate:,.0f} upserts a second meanwhile.",
    )
    beside, alone = names[True], names[False]
    medians = {name: sorted(found)[len(found) // 2] for name, found in seen.items()}
    table.compare("P-3", beside, alone, medians, at_most(1.2))
    return table


@dataclass
class Writer:
    """A process that commits a thousand times a second whenever it is let."""

    _may_write: Event
    _commits: Synchronized[int]
    _writing_s: float = 0.0
    _since: float = 0.0

    def let(self, *, write: bool) -> None:
        """Let it write from now on, or let it rest."""
        if write:
            self._since = time.monotonic()
            self._may_write.set()
        elif self._may_write.is_set():
            self._may_write.clear()
            self._writing_s += time.monotonic() - self._since

    def rate(self) -> float:
        """Return how many commits a second it made while it was let."""
        return self._commits.value / self._writing_s


@contextmanager
def writer_beside(world: World) -> Iterator[Writer]:
    """Start a process that writes into a world's file, and end it afterwards."""
    context = multiprocessing.get_context("spawn")
    is_ready, may_write, commits = context.Event(), context.Event(), context.Value("l", 0)
    arguments = (world, is_ready, may_write, commits)
    process = context.Process(target=_commit_steadily, args=arguments, daemon=True)
    process.start()
    try:
        if not is_ready.wait(WRITER_START_S):
            raise RuntimeError("the process that writes beside did not start")
        yield Writer(may_write, commits)
    finally:
        process.terminate()
        process.join()


def _commit_steadily(world: World, is_ready: Event, may_write: Event, commits: Synchronized[int]) -> None:
    """Commit a thousand small upserts a second, which this process does not wait for the disk to have."""
    floor = SqliteFloor(world)
    floor.connection.execute("PRAGMA synchronous = OFF")
    is_ready.set()
    due = time.monotonic()
    while may_write.wait():
        due = max(due, time.monotonic() - 0.05) + 1 / WRITES_A_SECOND
        owner, number = random.randint(1, world.agents), random.randrange(MEMORIES_PER_AGENT)
        floor.upsert(owner, f"key_number_{number:02}", f"Commit {commits.value}")
        commits.value += 1
        time.sleep(max(0.0, due - time.monotonic()))
