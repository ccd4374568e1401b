"""How a duration is measured: contenders take turns, and the median counts."""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import click

Call = Callable[[], object]
Medians = dict[str, float]
Item = TypeVar("Item")

WARM_UP_CALLS = 20
MICROSECONDS = 1_000_000


def race(title: str, contenders: Mapping[str, Call], *, rounds: int, warm_up: int = WARM_UP_CALLS) -> Medians:
    """Let each contender act once a round, and return the median of each in microseconds.

    Each round has an order of its own: whoever acts after another one finds the caches as that one left them.

    :param title: what the progress bar says.
    :param rounds: how often each is timed; it is called ``warm_up`` times before, untimed.
    """
    for call in contenders.values():
        for _ in range(warm_up):
            call()
    durations: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in with_progress(title, range(rounds)):
        for name in random.sample(list(contenders), len(contenders)):
            durations[name].append(seconds(contenders[name]) * MICROSECONDS)
    return {name: statistics.median(found) for name, found in durations.items()}


def seconds(call: Call) -> float:
    """Return how long one call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def with_progress(title: str, items: Iterable[Item], *, length: int | None = None) -> Iterable[Item]:
    """Go through items, and show on a terminal how far it is; elsewhere only the title is printed."""
    with click.progressbar(items, length=length, label=f"{title:<44}", file=sys.stderr, width=24) as bar:
        yield from bar
