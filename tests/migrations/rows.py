"""Rows for each revision, in plain columns, because the models know the newest schema only.

A revision that adds a table, or a column that is worth filling, gets an entry of its own here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import MetaData, Row, insert, select
from sqlalchemy.orm import Session

from portal.database import Database

AT = 1_772_366_400_000_000
"""A time as the database keeps it: the first of March 2026 at noon, in microseconds."""

Rows = Mapping[str, Sequence[Mapping[str, object]]]


def _profile(profile_id: int, organisation_id: int, name: str, role: str) -> dict[str, object]:
    email = f"{name}@{organisation_id}.Example"
    return {
        "id": profile_id,
        "organisation_id": organisation_id,
        "email": email,
        "email_key": email.casefold(),
        "name": name,
        "role": role,
        "active": True,
        "created_at": AT,
    }


def _definition(definition_id: int, organisation_id: int) -> dict[str, object]:
    return {
        "id": definition_id,
        "organisation_id": organisation_id,
        "name": "support",
        "title": "Support",
        "description": "",
        "memory_limit": 100,
        "memory_characters": 20_000,
        "proposal_limit": 20,
        "account_fact_limit": 100,
        "account_fact_characters": 20_000,
        "created_at": AT,
    }


def _memory(memory_id: int, status: str, *, scope_id: int, version: int) -> dict[str, object]:
    is_decided = status in {"confirmed", "rejected"}
    content = f"Grüße, {status}: 日本語 🇩🇪"
    return {
        "organisation_id": 1,
        "definition_id": 1,
        "scope_id": scope_id,
        "memory_key": f"{status}_key",
        "id": memory_id,
        "status": status,
        "content": content,
        "search_text": None if status == "personal" else f"{status}_key\x1f{content}".casefold(),
        "version": version,
        "stated_by_id": 1,
        "stated_at": AT,
        "created_at": AT,
        "updated_at": AT + version - 1,
        "decided_by_id": 2 if is_decided else None,
        "decided_at": AT + version - 1 if is_decided else None,
        "decision_reason": "Because." if is_decided else "",
    }


def _event(
    memory_id: int, version: int, action: str, before: str | None, after: str | None
) -> dict[str, object]:
    is_decision = action in {"confirmed", "rejected"}
    return {
        "organisation_id": 1,
        "memory_id": memory_id,
        "version": version,
        "definition_id": 1,
        "at": AT + version - 1,
        "action": action,
        "status_before": before,
        "status_after": after,
        "memory_key": None,
        "actor_kind": "profile" if is_decision else "agent",
        "actor_id": 2 if is_decision else 1,
    }


# The parents come first; they are inserted in this order.
ROWS: Mapping[str, Rows] = {
    "0001": {
        "organisation": [
            {"id": 1, "name": "Acme", "slug": "acme", "active": True, "created_at": AT},
            {"id": 2, "name": "Globex", "slug": "globex", "active": False, "created_at": AT},
        ],
        "profile": [
            _profile(1, 1, "Ada", "member"),
            _profile(2, 1, "Root", "administrator"),
            _profile(3, 2, "Eve", "administrator"),
        ],
        "agent_definition": [_definition(1, 1), _definition(2, 2)],
        "agent": [
            {
                "id": 1,
                "organisation_id": 1,
                "owner_id": 1,
                "definition_id": 1,
                "prompt_marker": "a",
                "created_at": AT,
            },
            {
                "id": 2,
                "organisation_id": 2,
                "owner_id": 3,
                "definition_id": 2,
                "prompt_marker": "b",
                "created_at": AT,
            },
        ],
        "agent_memory": [
            _memory(11, "personal", scope_id=1, version=1),
            _memory(12, "proposed", scope_id=1, version=1),
            _memory(13, "confirmed", scope_id=0, version=2),
            _memory(2**62 - 1, "rejected", scope_id=-1, version=2),
        ],
        "memory_event": [
            _event(11, 1, "remembered", None, "personal"),
            _event(12, 1, "proposed", None, "proposed"),
            _event(13, 1, "proposed", None, "proposed"),
            _event(13, 2, "confirmed", "proposed", "confirmed"),
            _event(2**62 - 1, 1, "proposed", None, "proposed"),
            _event(2**62 - 1, 2, "rejected", "proposed", "rejected"),
        ],
        "sign_in_session": [
            {
                "token_digest": b"\x01" * 32,
                "organisation_id": 1,
                "profile_id": 2,
                "created_at": AT,
                "seen_at": AT,
            },
        ],
        "sign_in_throttle": [{"subject": b"\x02" * 32, "failures": 3, "failed_at": AT}],
    },
    "0002": {
        "one_time_link": [
            {"organisation_id": 1, "profile_id": 1, "token_digest": b"\x03" * 32, "expires_at": AT + 1},
        ],
    },
}

Snapshot = dict[str, list[dict[str, Any]]]


def insert_rows(database: Database, revision: str) -> None:
    """Insert what belongs to a revision, whose schema the database has at this moment."""

    def work(session: Session) -> None:
        tables = _reflect(session)
        for name, rows in ROWS.get(revision, {}).items():
            session.execute(insert(tables.tables[name]), rows)

    database.write(work)


def read_rows(database: Database) -> Snapshot:
    """Return all rows of all tables, except for Alembic's own, each table in the order of its text."""

    def work(session: Session) -> Snapshot:
        tables = _reflect(session).sorted_tables
        return {table.name: _in_order(session.execute(select(table)).all()) for table in tables}

    return database.read(work)


def only_columns_of(before: Snapshot, now: Snapshot) -> Snapshot:
    """Return those columns of what is there now that were there before."""
    return {
        name: [{column: row[column] for column in columns} for row in now[name]]
        for name, columns in ((name, rows[0].keys() if rows else ()) for name, rows in before.items())
    }


def _reflect(session: Session) -> MetaData:
    tables = MetaData()
    tables.reflect(session.connection(), only=lambda name, _: name != "alembic_version")
    return tables


def _in_order(rows: Sequence[Row[Any]]) -> list[dict[str, Any]]:
    return sorted((row._asdict() for row in rows), key=str)
