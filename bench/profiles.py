"""What the time of a call is made of: how much of it each library spends in its own code."""

from __future__ import annotations

import cProfile
import pstats
from collections import defaultdict
from collections.abc import Callable, Mapping

SHARES = {
    "/sqlalchemy/orm/": "SQLAlchemy's ORM",
    "/sqlalchemy/": "SQLAlchemy",
    "/psycopg": "psycopg, and waiting for the server",
    "/portal/": "the portal",
    "/json/": "JSON",
    "'sqlite3.": "SQLite and the disk",
    "psycopg": "psycopg, and waiting for the server",
}
ELSE = "Python's own functions"


def profile(call: Callable[[], object], *, calls: int) -> Mapping[str, float]:
    """Return the share of each library in the time of a call, the largest first.

    The profiler charges each call of a function, so Python is shown larger than it is.
    """
    profiler = cProfile.Profile()
    call()
    with profiler:
        for _ in range(calls):
            call()
    spent: defaultdict[str, float] = defaultdict(float)
    for (path, _, function), (_, _, own_s, _, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        spent[_library(f"{path} {function}")] += own_s
    total = sum(spent.values())
    return {name: own_s / total for name, own_s in sorted(spent.items(), key=lambda item: -item[1])}


def _library(place: str) -> str:
    return next((name for part, name in SHARES.items() if part in place), ELSE)
