"""One organisation with everything in it, as lines of JSON: to move it, to look at it, to hand it over.

It holds people's personal memories. Whoever runs the command can read the database anyway; no page and no
call of an administrator leads here.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from portal.database import Database
from portal.models import Agent, AgentDefinition, AgentMemory, Base, MemoryEvent, Organisation, Profile
from portal.recall import select_memories
from portal.values import Status

FORMAT: Final = 1
"""Changes when what reads an export has to change."""

KINDS: Final[Mapping[str, type[Base]]] = {
    "organisation": Organisation,
    "profile": Profile,
    "definition": AgentDefinition,
    "agent": Agent,
    "memory": AgentMemory,
    "event": MemoryEvent,
}
"""What there is in an organisation, in an order in which whatever is referred to comes first."""

OMITTED: Final[Mapping[type[Base], frozenset[str]]] = {
    # Secrets, and what follows from other columns.
    Profile: frozenset({"password_hash", "email_key"}),
    Agent: frozenset({"prompt_marker"}),
    AgentMemory: frozenset({"scope_id", "search_text"}),
}

ROWS_AT_ONCE = 1_000


def export_organisation(
    database: Database, organisation_id: int, write: Callable[[str], object], now: dt.datetime
) -> int:
    """Write everything of an organisation as of one moment, and return how many lines that were.

    Each line is a JSON object with a ``type``. The first says when it was made, the last one, ``end``, how
    many lines stand before it: an export without it is not complete. Rows come from the database as they
    are written, so that no more than a thousand are in memory.

    :param write: takes a line, with its line break.
    """
    return database.read(lambda session: _write_all(session, organisation_id, write, now))


def event_line(event: MemoryEvent) -> str:
    """Return an event as an export shows it."""
    return _line(
        "event", {column.name: getattr(event, column.name) for column in exported_columns(MemoryEvent)}
    )


def _write_all(
    session: Session, organisation_id: int, write: Callable[[str], object], now: dt.datetime
) -> int:
    lines = 0
    write(_line("export", {"format": FORMAT, "exported_at": now}))
    for kind, table in KINDS.items():
        rows = session.execute(_select(table, organisation_id), execution_options={"yield_per": ROWS_AT_ONCE})
        for row in rows.mappings():
            write(_line(kind, row))
            lines += 1
    write(_line("end", {"lines": lines + 1}))
    return lines + 2


def _select(table: type[Base], organisation_id: int) -> Select[Any]:
    columns = exported_columns(table)
    if table is AgentMemory:
        question = select_memories(*columns, organisation_id=organisation_id, statuses=tuple(Status))
    else:
        owner = table.__table__.c.id if table is Organisation else table.__table__.c.organisation_id
        question = select(*columns).where(owner == organisation_id)
    return question.order_by(*table.__table__.primary_key)


def exported_columns(table: type[Base]) -> list[ColumnElement[Any]]:
    """Return the columns of a table that an export shows."""
    return [column for column in table.__table__.columns if column.name not in OMITTED.get(table, ())]


def _line(kind: str, fields: Mapping[Any, Any]) -> str:
    text = json.dumps({"type": kind, **fields}, default=_format, ensure_ascii=False)
    # Much that reads line by line takes these two for the end of one.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "\n"


def _format(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
