"""What was measured, beside what it should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bound:
    """A goal: how large a ratio may be, or how large it has to be."""

    limit: float
    is_lower: bool = False

    def holds(self, ratio: float) -> bool:
        """Whether a ratio meets the goal."""
        return ratio >= self.limit if self.is_lower else ratio <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.is_lower else '≤'} {self.limit:g}"


def at_most(limit: float) -> Bound:
    """Return the goal that a ratio is this or smaller."""
    return Bound(limit)


def at_least(limit: float) -> Bound:
    """Return the goal that a ratio is this or larger."""
    return Bound(limit, is_lower=True)


@dataclass(frozen=True)
class Line:
    """One comparison: what was measured, what with, and the ratio of the first to the second."""

    goal: str
    """``P-1`` and so on, or empty for what is only good to know."""
    subject: str
    value: float
    other: str
    other_value: float
    unit: str = "µs"
    bound: Bound | None = None

    @property
    def ratio(self) -> float:
        """How many times the second the first is."""
        return self.value / self.other_value

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        return None if self.bound is None else self.bound.holds(self.ratio)


@dataclass
class Table:
    """Lines that belong together."""

    title: str
    note: str = ""
    lines: list[Line] = field(default_factory=list)

    def compare(
        self, goal: str, subject: str, other: str, medians: Mapping[str, float], bound: Bound | None = None
    ) -> None:
        """Add the ratio of two contenders of one race."""
        self.lines.append(Line(goal, subject, medians[subject], other, medians[other], bound=bound))


@dataclass(frozen=True)
class Point:
    """What ``list`` cost with so many memories in the database."""

    rows: int
    series: str
    microseconds: float
