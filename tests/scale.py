"""How large the harnesses are: a tenth of their full size, unless the environment says otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

FULL = 10

SCALE = int(os.environ.get("PORTAL_TEST_SCALE", "1"))
"""In tenths: 1 in an ordinary run, 10 in `make test-reliability`."""


def at_scale(full_size: int, *, least: int = 1) -> int:
    """Return how many of something there are at this scale, at full size as many as it is told."""
    return max(least, full_size * SCALE // FULL)


def sample(items: Iterable[Item], *, one_in: int) -> Sequence[Item]:
    """Return all of them at full size, and otherwise one in so many."""
    return list(items)[:: 1 if SCALE >= FULL else one_in]
