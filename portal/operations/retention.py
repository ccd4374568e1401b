"""Letting the record of what happened go after a time."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import cast

from sqlalchemy import CursorResult, delete, select, tuple_
from sqlalchemy.orm import Session

from portal.database import Database
from portal.models import MemoryEvent, Organisation

EVENTS_AT_ONCE = 5_000

Position = tuple[int, int]
"""A memory's id and a version: where an event stands in its organisation."""


def delete_events(database: Database, before: dt.datetime, *, at_once: int = EVENTS_AT_ONCE) -> int:
    """Delete the events of every organisation that are older, and return how many there were.

    Each transaction looks at a few thousand events, so others get on in between. Interrupted and called
    again, it goes on with what is left. Memories stay; what their histories say begins later.

    :param before: an aware time; what happened at it or later stays.
    :param at_once: how many events a transaction looks at.
    """
    organisations = database.read(lambda session: session.scalars(select(Organisation.id)).all())
    return sum(_delete_of(database, organisation, before, at_once) for organisation in organisations)


def _delete_of(database: Database, organisation_id: int, before: dt.datetime, at_once: int) -> int:
    deleted = 0
    position: Position | None = (0, 0)
    while position is not None:
        step = partial(
            _delete_some,
            organisation_id=organisation_id,
            before=before,
            position=position,
            at_once=at_once,
        )
        number, position = database.write(step)
        deleted += number
    return deleted


def _delete_some(
    session: Session, *, organisation_id: int, before: dt.datetime, position: Position, at_once: int
) -> tuple[int, Position | None]:
    """Delete what is older of the next events, and return how many, and where to go on."""
    place = tuple_(MemoryEvent.memory_id, MemoryEvent.version)
    ahead = (MemoryEvent.organisation_id == organisation_id, place > position)
    in_order = select(MemoryEvent.memory_id, MemoryEvent.version).where(*ahead)
    in_order = in_order.order_by(MemoryEvent.memory_id, MemoryEvent.version)
    last = session.execute(in_order.offset(at_once - 1).limit(1)).first()
    older = delete(MemoryEvent).where(*ahead, MemoryEvent.at < before)
    if last is not None:
        older = older.where(place <= last)
    done = session.execute(older, execution_options={"synchronize_session": False})
    return cast("CursorResult[object]", done).rowcount, None if last is None else (last[0], last[1])
