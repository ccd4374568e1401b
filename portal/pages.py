"""Pages of a long list, by keyset: a page begins where the last one ended, whatever happened in between.

Deciding rows while paging therefore neither skips nor repeats one, and the thousandth page costs what the
first one costs.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from portal.errors import InvalidInput
from portal.values import MAX_ID

Entry_co = TypeVar("Entry_co", covariant=True)

COUNT_CAP = 1_000
"""Counting stops here, so that a page costs the same whatever waits."""

MAX_LIMIT = 10_000
"""The longest page; as many values as both databases bind in one statement."""

Position = tuple[int | str, ...]
"""The values that a list is ordered by, of its last entry shown."""


@dataclass(frozen=True)
class Page(Sequence[Entry_co], Generic[Entry_co]):
    """Some entries of a list, and where it goes on.

    ``total`` counts the whole list that the question has; with ``total_is_capped`` there are more.
    ``after`` is the opaque cursor of the next page, None on the last one.
    """

    entries: tuple[Entry_co, ...] = ()
    total: int = 0
    total_is_capped: bool = False
    after: str | None = None

    @overload
    def __getitem__(self, index: int) -> Entry_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry_co]: ...
    def __getitem__(self, index: int | slice) -> Entry_co | Sequence[Entry_co]:
        """Return an entry of this page, or several."""
        return self.entries[index]

    def __len__(self) -> int:
        """Return how many entries are on this page."""
        return len(self.entries)


@dataclass(frozen=True)
class Question:
    """What a list was asked for. A cursor is good for the same question only."""

    name: str
    parts: tuple[int | str, ...]
    kinds: tuple[type, ...]
    """The types of a position, in the order of the list."""

    @property
    def _digest(self) -> str:
        text = json.dumps([self.name, *self.parts])
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()

    def cursor(self, position: Position) -> str:
        """Return the cursor that goes on after ``position``."""
        text = json.dumps([self._digest, *position], ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def position(self, cursor: str | None, *, limit: int | None) -> Position | None:
        """Return the position in a cursor, or None where it does not decode or is another question's.

        Without a limit a page holds everything, so it begins nowhere.
        """
        if limit is None:
            return None
        try:
            padded = f"{cursor or ''}{'=' * (-len(cursor or '') % 4)}".encode("ascii")
            digest, *position = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        except (binascii.Error, UnicodeError, ValueError, TypeError, RecursionError):
            return None
        if digest != self._digest or [type(value) for value in position] != list(self.kinds):
            return None
        return tuple(position) if all(_fits(value) for value in position) else None


def _fits(value: int | str) -> bool:
    """Whether a value can be compared with a column's. A forged cursor may hold anything."""
    if isinstance(value, int):
        return abs(value) <= MAX_ID
    return "\0" not in value and value.isprintable()


def check_limit(limit: int | None) -> int | None:
    """Return how many entries a page may have.

    :raises portal.errors.InvalidInput: it is neither None nor a whole number from 1 to ``MAX_LIMIT``.
    """
    if limit is not None and (type(limit) is not int or not 1 <= limit <= MAX_LIMIT):
        raise InvalidInput("limit", f"give a whole number from 1 to {MAX_LIMIT:,}, or None for everything")
    return limit


def cut_page(
    question: Question,
    entries: Sequence[Entry_co],
    positions: Iterable[Position],
    *,
    limit: int | None,
    total: int,
) -> Page[Entry_co]:
    """Make a page of at most ``limit`` entries out of up to one more.

    :param positions: the position of each entry.
    :param total: how many entries the question has, counted to at most one beyond the cap.
    """
    after = None
    if limit is not None and len(entries) > limit:
        after = question.cursor(list(positions)[limit - 1])
        entries = entries[:limit]
    is_capped = limit is not None and total > COUNT_CAP
    return Page(tuple(entries), min(total, COUNT_CAP) if is_capped else total, is_capped, after)
