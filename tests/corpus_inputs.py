"""The corpus of bad inputs, with its values written out.

Each entry says on which surface the input arrives (`key`, `content`, `q=`, `login?next=` …) and what is
expected of the product. The category is the first word of the corpus's heading: `K4` for "K4 invisible".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import pytest

CORPUS = Path(__file__).parent / "corpus" / "bad_inputs.json"


@dataclass(frozen=True, slots=True)
class BadInput:
    id: str
    category: str
    surface: str
    value: str
    expectation: str

    @property
    def is_refused(self) -> bool:
        return self.expectation.startswith("refuse")


def bad_inputs(surface: str, category: str = "") -> Sequence[BadInput]:
    """Return the entries of a surface, in the corpus's order; with a category, only those."""
    entries = [_read(entry) for entry in json.loads(CORPUS.read_text(encoding="ascii"))]
    found = [each for each in entries if each.surface == surface and category in {"", each.category}]
    # A misspelt surface would otherwise make a test without cases, which passes.
    assert found, f"the corpus has nothing for {surface!r} {category!r}"
    return found


def cases(surface: str, category: str = "") -> Sequence[Any]:
    """Return the same entries as parameters of a test, each under its id."""
    return [pytest.param(entry, id=entry.id) for entry in bad_inputs(surface, category)]


def _read(entry: Mapping[str, Any]) -> BadInput:
    value = entry["value"]
    if "repeat" in entry:
        unit, times = entry["repeat"]
        value = entry.get("prefix", "") + unit * times
    return BadInput(entry["id"], entry["cat"].split()[0], entry["surface"], value, entry["expect"])


class EvilText(str):
    """A text whose every method lies or breaks; its characters are all that may count."""

    __slots__ = ()

    def _break(self, *_: object) -> NoReturn:
        raise RuntimeError("a method of the caller's object ran")

    __str__ = __repr__ = __format__ = __len__ = __iter__ = __getitem__ = _break
    __contains__ = __eq__ = __hash__ = __add__ = __mod__ = _break
    casefold = isascii = isprintable = replace = startswith = strip = _break


class Impostor:
    """No text, whatever it says about its class."""

    @property  # type: ignore[misc]
    def __class__(self) -> type[str]:  # type: ignore[override]  # The lie is the point.
        return str

    def __str__(self) -> str:
        return "text"


class Unclassed:
    """An object that breaks when asked for its class."""

    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("a method of the caller's object ran")


NOT_TEXT: Mapping[str, object] = {
    "None": None,
    "False": False,
    "0": 0,
    "1": 1,
    "1.5": 1.5,
    "inf": float("inf"),
    "2**70": 2**70,
    "b'bytes'": b"bytes",
    "bytearray": bytearray(b"bytes"),
    "['a']": ["a"],
    "{'a':1}": {"a": 1},
    "{'a'}": {"a"},
    "object()": object(),
    "lambda": lambda: "text",
    "Decimal('1')": Decimal(1),
    "str itself": str,
    "impostor": Impostor(),
    "unclassed": Unclassed(),
}
"""Values that are no text, by the corpus's names for them, and a few that only pretend."""
