"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from operator import eq
from typing import Literal

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Part:
    """A run of words that both texts have, or only one of them."""

    kind: Literal["same", "removed", "added"]
    text: str


# Whoever reviews sees most entries of a page again after each decision.
@lru_cache(maxsize=256)
def word_difference(before: str, after: str) -> tuple[Part, ...]:
    """Return what both texts say, in order; what ``after`` does not say comes before what it says.

    The parts that are not ``"added"`` make up ``before``, those that are not ``"removed"`` make up
    ``after``, code point for code point.
    """
    return tuple(_parts(before, after))


def _parts(before: str, after: str) -> Iterator[Part]:
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    # What both begin and end with is most of a text that was corrected, and looking for it is quick.
    start = _count_common(old, new)
    end = _count_common(old[start:][::-1], new[start:][::-1])
    if start:
        yield Part("same", "".join(old[:start]))
    yield from _between(old[start : len(old) - end], new[start : len(new) - end])
    if end:
        yield Part("same", "".join(old[-end:]))


def _count_common(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the words with which both begin."""
    return sum(1 for _ in takewhile(bool, map(eq, old, new)))


def _between(old: Sequence[str], new: Sequence[str]) -> Iterator[Part]:
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield Part("same", "".join(old[old_start:old_end]))
            continue
        if old_start < old_end:
            yield Part("removed", "".join(old[old_start:old_end]))
        if new_start < new_end:
            yield Part("added", "".join(new[new_start:new_end]))
