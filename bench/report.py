"""The page that says what was measured: tables in Markdown, and one plot."""

from __future__ import annotations

import datetime as dt
import math
import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path

from bench.isolation import Isolation
from bench.results import Line, Point, Table

PACKAGES = (
    "sqlalchemy", "flask", "psycopg", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres",
    "mem0ai", "qdrant-client",
)  # fmt: skip
HEADER = """\
| goal | measured | | beside | | ratio | wanted | met |
|---|---|--:|---|--:|--:|---|---|"""

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 40, 60
COLOURS = ("#0b6e4f", "#08a045", "#777777", "#1d4e89", "#4a90d9", "#b0b0b0")


def tables_as_markdown(tables: Sequence[Table]) -> str:
    """Return tables, each under its title."""
    return "\n\n".join(_table(table) for table in tables)


def _table(table: Table) -> str:
    note = f"{table.note}\n\n" if table.note else ""
    return f"### {table.title}\n\n{note}{HEADER}\n" + "\n".join(map(_line, table.lines))


def _line(line: Line) -> str:
    met = {True: "yes", False: "**no**", None: ""}[line.is_met]
    cells = (
        line.goal,
        line.subject,
        f"{_number(line.value)} {line.unit}",
        line.other,
        f"{_number(line.other_value)} {line.unit}",
        f"{line.ratio:.2f}",
        str(line.bound or ""),
        met,
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2f}"


def shares_as_markdown(shares: Mapping[str, Mapping[str, float]]) -> str:
    """Return what the time of each call is made of, as a table."""
    lines = [
        f"| {call} | {', '.join(f'{name} {share:.0%}' for name, share in parts.items() if share >= 0.01)} |"
        for call, parts in shares.items()
    ]
    return "| call | made of |\n|---|---|\n" + "\n".join(lines)


def ways_as_markdown(ways: Sequence[Isolation]) -> str:
    """Return what each way to keep a ceiling costs, and whether it keeps it."""
    header = """\
| way | one client | eight, own agents | eight, one agent | begun again per write | beyond the ceiling |
|---|--:|--:|--:|--:|--:|"""
    return "\n".join((header, *map(_way, ways)))


def _way(way: Isolation) -> str:
    cells = (
        way.way,
        f"{way.alone_us:,.0f} µs",
        f"{way.own_agents_per_s:,.0f}/s",
        f"{way.one_agent_per_s:,.0f}/s",
        f"{way.retries_per_write:.2f}",
        str(way.excess),
    )
    return f"| {' | '.join(cells)} |"


def describe_machine(postgres_version: str) -> str:
    """Return where and with what this was measured."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    kernel = ".".join(platform.release().split(".")[:2])
    return f"""\
Measured on {dt.datetime.now(dt.UTC).date()} on {os.cpu_count()} cores of {_processor()}
with {memory_gib:.0f} GiB,
{platform.system()} {kernel}; Python {platform.python_version()}, SQLite {sqlite3.sqlite_version},
PostgreSQL {postgres_version}; {packages}."""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def plot(points: Sequence[Point]) -> str:
    """Return the cost of ``list`` against the number of memories as an SVG document."""
    series = list(dict.fromkeys(point.series for point in points))
    rows = sorted({point.rows for point in points})
    highest = max(point.microseconds for point in points) * 1.1
    parts = [_grid(highest), *(_tick(_x(number, rows), f"{number:,}") for number in rows)]
    for place, name in enumerate(series):
        own = [point for point in points if point.series == name]
        places = [(_x(point.rows, rows), _y(point.microseconds, highest)) for point in own]
        parts.append(_curve(name, places, COLOURS[place % len(COLOURS)], place))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"
 font-family="sans-serif" font-size="12">
<title>What list costs as the database grows</title>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
<text x="{LEFT}" y="22" font-size="14">One list, in µs (median), against the memories in the database</text>
{chr(10).join(parts)}
</svg>
"""


def _x(number: int, rows: Sequence[int]) -> float:
    if len(rows) == 1:
        return LEFT
    low, high = math.log10(rows[0]), math.log10(rows[-1])
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(number) - low) / (high - low)


def _y(microseconds: float, highest: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * microseconds / highest


def _grid(highest: float) -> str:
    step = 10 ** math.floor(math.log10(highest))
    step = step if highest / step >= 3 else step / 4
    lines = []
    for number in range(int(highest / step) + 1):
        y = _y(number * step, highest)
        lines += [
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number * step:,.0f}</text>',
        ]
    return "\n".join(lines)


def _tick(x: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{label}</text>'


def _curve(name: str, places: Sequence[tuple[float, float]], colour: str, number: int) -> str:
    route = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    y = TOP + 20 * number
    return "".join((
        f'<polyline points="{route}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}',
        f'<path d="M{WIDTH - RIGHT + 15} {y}h20" stroke="{colour}" stroke-width="3"/>',
        f'<text x="{WIDTH - RIGHT + 42}" y="{y + 4}">{escape(name)}</text>',
    ))  # fmt: skip
