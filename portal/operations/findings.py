"""What a check has to say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be. No secret is in its words."""

    problem: str
    """What is wrong; with how to mend it after a semicolon, where ``remedy`` is empty."""
    remedy: str = ""
    is_fault: bool = True
    """Whether a portal must not be served like this; otherwise it is a warning."""

    def __str__(self) -> str:
        """Return the line that is printed."""
        words = f"{self.problem}; {self.remedy}" if self.remedy else self.problem
        return f"{'error' if self.is_fault else 'warning'}: {words}"


def warning(problem: str, remedy: str = "") -> Finding:
    """Return a finding with which a portal may be served all the same."""
    return Finding(problem, remedy, is_fault=False)
