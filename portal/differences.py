"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True)
class Part:
    """A run of words that both texts have, or only one of them."""

    kind: Literal["same", "removed", "added"]
    text: str


def word_difference(before: str, after: str) -> Iterator[Part]:
    """Go through what both texts say, in order; what ``after`` does not say comes before what it says.

    The parts that are not ``"added"`` make up ``before``, those that are not ``"removed"`` make up
    ``after``, code point for code point.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield Part("same", "".join(old[old_start:old_end]))
            continue
        if old_start < old_end:
            yield Part("removed", "".join(old[old_start:old_end]))
        if new_start < new_end:
            yield Part("added", "".join(new[new_start:new_end]))
