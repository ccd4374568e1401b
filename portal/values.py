"""What columns hold: ids, times and words."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable
from enum import StrEnum
from typing import TypeGuard

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)

MAX_ID = 2**63 - 1
"""The largest id that both databases can hold."""

Clock = Callable[[], dt.datetime]
"""What tells the time: aware, in UTC. Passed in, so that tests and demonstrations can set it."""


def utc_now() -> dt.datetime:
    """Return the time now, aware and in UTC. The default of every ``clock`` in this package."""
    return dt.datetime.now(dt.UTC)


def new_memory_id() -> int:
    """Return a random positive integer of 62 bits.

    A counter would hand the id of a deleted memory to the next one, and a form that somebody still has
    open would then act on a text that nobody has read.
    """
    return secrets.randbelow(2**62 - 1) + 1


def is_id(value: object) -> TypeGuard[int]:
    """Whether a row could have this id. Any value may be asked about, because some come from addresses."""
    return isinstance(value, int) and 0 < value <= MAX_ID


def to_microseconds(moment: dt.datetime) -> int:
    """Return an aware time as the database stores it: microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def from_microseconds(stored: int) -> dt.datetime:
    """Return a time of the database's as an aware one, in UTC."""
    return EPOCH + stored * MICROSECOND


def as_stored(value: object) -> object:
    """Return a value of one of our columns as drivers take it: times as microseconds, words as plain text."""
    if isinstance(value, dt.datetime):
        return to_microseconds(value)
    return str(value) if isinstance(value, StrEnum) else value


class Status(StrEnum):
    """What a memory is. It decides who recalls it."""

    PERSONAL = "personal"
    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


STATUS_OF = {each.value: each for each in Status}
"""The status for each word that the database holds. The enumeration itself takes several times as long."""


class Role(StrEnum):
    """What a person may do in their organisation."""

    MEMBER = "member"
    ADMINISTRATOR = "administrator"


class EventAction(StrEnum):
    """What happened to a memory."""

    REMEMBERED = "remembered"
    PROPOSED = "proposed"
    WITHDRAWN = "withdrawn"
    FORGOTTEN = "forgotten"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    REOPENED = "reopened"
    KEPT = "kept"
    DELETED = "deleted"
    ERASED = "erased"


class ActorKind(StrEnum):
    """Who did something. An agent acts for its owner, whose profile the event names."""

    AGENT = "agent"
    PROFILE = "profile"
    COMMAND_LINE = "command line"


class Theme(StrEnum):
    """How the portal looks for somebody."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
