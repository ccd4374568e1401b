"""What importing the manager costs, and what a memory takes in a file (P-10 and P-11)."""

from __future__ import annotations

import statistics
import subprocess
import sys

from bench.results import Line, Table, at_most
from bench.timing import with_progress
from bench.worlds import World

UNWANTED = ("flask", "werkzeug", "regex", "confusable_homoglyphs")
TIMED_IMPORT = """
import sys, time
begun = time.perf_counter()
import {module}
print(time.perf_counter() - begun, *(name for name in {unwanted!r} if name in sys.modules))
"""
BYTES_PER_MEMORY = 350


def measure_imports(*, rounds: int) -> Table:
    """Import the manager and SQLAlchemy's ORM, taking turns, each time in a fresh interpreter (P-10)."""
    ours, floor = "`import portal.manager`", "`import sqlalchemy.orm`"
    modules = {ours: "portal.manager", floor: "sqlalchemy.orm"}
    durations: dict[str, list[float]] = {name: [] for name in modules}
    loaded: set[str] = set()
    for _ in with_progress("Imports", range(rounds)):
        for name, module in modules.items():
            duration, *unwanted = _import(module).split()
            durations[name].append(float(duration) * 1_000)
            loaded.update(unwanted)
    table = Table(
        "Importing", f"Loaded by the manager of {', '.join(UNWANTED)}: {', '.join(loaded) or 'none'}."
    )
    medians = {name: statistics.median(found) for name, found in durations.items()}
    table.lines.append(Line("P-10", ours, medians[ours], floor, medians[floor], "ms", at_most(1.2)))
    return table


def _import(module: str) -> str:
    program = TIMED_IMPORT.format(module=module, unwanted=UNWANTED)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return done.stdout


def measure_size(world: World, rows: int) -> Table:
    """Divide the size of a file by the memories in it (P-11)."""
    table = Table(
        "Size of a SQLite file", "Contents of 115 characters; account facts and people are in it, events not."
    )
    size = world.path.stat().st_size / rows
    table.lines.append(
        Line("P-11", f"a memory, of {rows:,}", size, "the goal", BYTES_PER_MEMORY, "bytes", at_most(1))
    )
    return table
