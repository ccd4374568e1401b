"""How templates show times, numbers and texts."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Flask

from portal.counts import Count
from portal.hints import has_marks, show_marks
from portal.web.services import services

# Known to every template without an import, which would cost a row of a long list more than the row itself.
MACROS_OF_ROWS = ("decide", "facts", "forms")

FOLDED_LINES = 10
FOLDED_CHARACTERS = 800
EXCERPT_CHARACTERS = 100

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
SECONDS_END = len("2026-11-29T18:04:11")

MINUTE_S = 60
HOUR_S = 60 * MINUTE_S
DAY_S = 24 * HOUR_S
# The average lengths in our calendar.
MONTH_S = 30.44 * DAY_S
YEAR_S = 365.25 * DAY_S

_UNITS = [(YEAR_S, "year"), (MONTH_S, "month"), (DAY_S, "day"), (HOUR_S, "hour"), (MINUTE_S, "minute")]


def init_app(app: Flask) -> None:
    """Give the templates of the application these filters, tests and functions."""
    filters: dict[str, Any] = {
        "ago": ago,
        "counted": counted,
        "excerpt": excerpt,
        "exact": exact,
        "grouped": grouped,
        "machine": machine,
        "marked": show_marks,
        "times": times,
    }
    app.jinja_env.filters.update(filters)
    app.jinja_env.tests.update({"long": is_long, "marked": has_marks})
    app.jinja_env.globals["time_now"] = time_now
    for name in MACROS_OF_ROWS:
        app.jinja_env.globals[name] = app.jinja_env.get_template(f"macros/{name}.html").module


def time_now() -> dt.datetime:
    """Return the time now, aware and in UTC, as the clock of the application tells it."""
    return services().clock()


def ago(moment: dt.datetime, now: dt.datetime) -> str:
    """Say how long ago something was, as in "3 hours ago"."""
    seconds = (now - moment).total_seconds()
    for length, unit in _UNITS:
        number = int(seconds // length)
        if number >= 1:
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def exact(moment: dt.datetime) -> str:
    """Say when something was, to the minute, as in "29 Nov 2026, 18:04"."""
    month = MONTHS[moment.month - 1]
    return f"{moment.day} {month} {moment.year}, {moment.hour:02}:{moment.minute:02}"


def machine(moment: dt.datetime) -> str:
    """Say when something was, for programs."""
    return f"{moment.isoformat()[:SECONDS_END]}Z"


def grouped(number: int) -> str:
    """Write a number with its thousands apart."""
    return f"{number:,}"


def counted(count: Count) -> str:
    """Write a count, with a plus sign where there are more."""
    return f"{count.number:,}{'+' if count.is_capped else ''}"


def times(number: int) -> str:
    """Say how often, as in "twice"."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def is_long(text: str) -> bool:
    """Whether a content is shown folded."""
    return len(text) > FOLDED_CHARACTERS or text.count("\n") >= FOLDED_LINES


def excerpt(text: str) -> str:
    """Return the beginning of a long content: its first lines, cut where they are long."""
    lines = text[:EXCERPT_CHARACTERS].split("\n", 4)[:4]
    return "\n".join(lines).rstrip()
