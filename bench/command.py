"""The command: what is measured on which database, in which order."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import click

from bench import footprint, isolation, pages, profiles, readers, reads, report, writes
from bench.results import Point, Table
from bench.worlds import (
    World,
    connect,
    durable_postgres,
    fill,
    fill_queue,
    temporary_folder,
)

PAGE = Path("docs/benchmarks.md")
PLOT = Path("docs/benchmarks.svg")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
"""The bench writes between these marks; around them the page is written by people."""


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    rows: Sequence[int]
    waiting: Sequence[int]
    rounds: int
    write_rounds: int
    page_rounds: int
    import_rounds: int
    peer_agents: int
    writer_turns: int
    writing_s: float


QUICK = Plan(
    (10_000,),
    (1_000,),
    rounds=300,
    write_rounds=100,
    page_rounds=10,
    import_rounds=3,
    peer_agents=20,
    writer_turns=1,
    writing_s=0.5,
)
FULL = Plan(
    (10_000, 100_000, 1_000_000), (1_000, 100_000), rounds=2_000, write_rounds=1_000, page_rounds=40,
    import_rounds=15, peer_agents=200, writer_turns=6, writing_s=2.0,
)  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """Where tables are collected, each printed as soon as it is there."""

    tables: list[Table]

    def append(self, table: Table) -> None:
        """Keep a table and print it."""
        self.tables.append(table)
        click.echo(report.tables_as_markdown([table]) + "\n")


@dataclass
class Findings:
    """Everything that one run found."""

    sqlite: list[Table] = field(default_factory=list)
    postgres: list[Table] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    shares: dict[str, Mapping[str, float]] = field(default_factory=dict)
    ways: Sequence[isolation.Isolation] = ()
    postgres_version: str = ""

    def as_markdown(self) -> str:
        """Return the measured part of the page."""
        return "\n\n".join((
            report.describe_machine(self.postgres_version),
            "## SQLite",
            report.tables_as_markdown(self.sqlite),
            "## PostgreSQL",
            report.tables_as_markdown(self.postgres),
            "### Exact ceilings, three ways",
            report.ways_as_markdown(self.ways),
            "## What the time is made of",
            report.shares_as_markdown(self.shares),
        ))  # fmt: skip


@click.command()
@click.option("--quick", is_flag=True, help="10,000 rows and few rounds; prints, writes no file.")
@click.option(
    "--rows", type=int, multiple=True, help="Sizes to measure instead, e.g. --rows 5000000 beside others."
)
def main(*, quick: bool, rows: tuple[int, ...]) -> None:
    """Measure the portal, the floor beneath it and other stores, on SQLite and PostgreSQL."""
    # The warning about an old SQLite is for those who keep something in it.
    logging.disable(logging.WARNING)
    plan = QUICK if quick else FULL
    sizes = sorted(rows or plan.rows)
    findings = Findings()
    with temporary_folder() as folder:
        measure_sqlite(findings, plan, sizes, folder)
    measure_postgres(findings, plan, sizes)
    click.echo(report.ways_as_markdown(findings.ways) + "\n\n" + report.shares_as_markdown(findings.shares))
    if not quick:
        PLOT.write_text(report.plot(findings.points))
        PAGE.write_text(replace_measured(PAGE.read_text(), findings.as_markdown()))


def measure_sqlite(findings: Findings, plan: Plan, sizes: Sequence[int], folder: Path) -> None:
    """Measure everything on SQLite."""
    worlds = {rows: fill(f"sqlite:///{folder / f'{rows}.db'}", rows) for rows in sizes}
    smallest, largest = worlds[sizes[0]], worlds[sizes[-1]]
    found = Shown(findings.sqlite)
    found.append(footprint.measure_size(largest, sizes[-1]))
    found.append(reads.measure_sqlite_floor(smallest, rounds=plan.rounds))
    growth, points = reads.measure_growth(worlds, rounds=plan.rounds)
    found.append(growth)
    findings.points += points
    found.append(reads.measure_peers(smallest, folder, agents=plan.peer_agents, rounds=plan.rounds // 4))
    found.append(reads.measure_beside_writer(smallest, rounds=plan.rounds))
    found.append(writes.measure_sqlite(smallest, folder, rounds=plan.write_rounds))
    findings.shares |= profile(smallest, "SQLite")
    found.append(writes.measure_eight(smallest, turns=plan.writer_turns, seconds=plan.writing_s))
    queues = [fill_queue(f"sqlite:///{folder / f'queue-{waiting}.db'}", waiting) for waiting in plan.waiting]
    found.append(pages.measure_queue("SQLite", queues, rounds=plan.page_rounds))
    found.append(pages.measure_portal(queues[0], rounds=plan.page_rounds))
    found.append(footprint.measure_imports(rounds=plan.import_rounds))


def measure_postgres(findings: Findings, plan: Plan, sizes: Sequence[int]) -> None:
    """Measure everything on PostgreSQL."""
    with ExitStack() as stack:
        server = stack.enter_context(durable_postgres())
        worlds = {rows: fill(stack.enter_context(server.empty()), rows) for rows in sizes}
        peer_url = stack.enter_context(server.empty())
        smallest = worlds[sizes[0]]
        with connect(smallest.url) as connection:
            findings.postgres_version = str(connection.info.parameter_status("server_version"))
        found = Shown(findings.postgres)
        found.append(reads.measure_postgres_floor(smallest, rounds=plan.rounds))
        growth, points = reads.measure_growth(worlds, rounds=plan.rounds)
        found.append(growth)
        findings.points += points
        found.append(
            reads.measure_postgres_peer(smallest, peer_url, agents=plan.peer_agents, rounds=plan.rounds // 4)
        )
        found.append(writes.measure_postgres(smallest, rounds=plan.write_rounds))
        findings.shares |= profile(smallest, "PostgreSQL")
        found.append(writes.measure_eight(smallest, turns=plan.writer_turns, seconds=plan.writing_s))
        findings.ways = isolation.measure_isolation(
            smallest, rounds=plan.write_rounds, seconds=plan.writing_s
        )
        queues = [fill_queue(stack.enter_context(server.empty()), waiting) for waiting in plan.waiting]
        found.append(pages.measure_queue("PostgreSQL", queues, rounds=plan.page_rounds))


def profile(world: World, kind: str) -> dict[str, Mapping[str, float]]:
    """Return what the time of the two calls that matter most is made of."""
    with readers.reading(world) as reader:
        return {
            f"`list`, {kind}": profiles.profile(reader.list, calls=500),
            f"`remember`, {kind}": profiles.profile(lambda: writes.remember(reader), calls=200),
        }


def replace_measured(page: str, measured: str) -> str:
    """Return a page with what was measured between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{measured}\n\n{END}{after}"
