"""The floor: the same rows and the same answer by the driver alone, as somebody would write it by hand.

The floors are *told* whose agent it is and what its limits are, where the portal looks that up, and checks
that the person and the organisation are active. They write without a ceiling, a check or an event.
"""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from portal.values import new_memory_id

from bench.worlds import LIMITS, NOW, World, connect, content

HELD = "status IN ('personal', 'proposed')"
HELD_IN_ORDER = f"""
SELECT memory_key, content, status, updated_at FROM agent_memory
WHERE organisation_id = ? AND definition_id = ? AND scope_id = ? AND {HELD} ORDER BY memory_key"""
FACTS_IN_ORDER = """
SELECT memory_key, content, decided_at FROM agent_memory
WHERE organisation_id = ? AND definition_id = ? AND scope_id = 0 AND status = 'confirmed'
ORDER BY memory_key"""
BOTH_ON_POSTGRESQL = f"""
SELECT memory_key, status, content, updated_at FROM agent_memory
WHERE organisation_id = %s AND definition_id = %s AND scope_id = %s AND {HELD}
UNION ALL
SELECT memory_key, status, content, decided_at FROM agent_memory
WHERE organisation_id = %s AND definition_id = %s AND scope_id = 0 AND status = 'confirmed'"""

_TIME = "strftime('%Y-%m-%dT%H:%M:%SZ', {} / 1000000, 'unixepoch')"
JSON_IN_SQL = f"""
SELECT
    (SELECT json_group_array(json_object('key', memory_key, 'content', content, 'status', status,
                                         'updated_at', {_TIME.format("updated_at")})) FROM ({HELD_IN_ORDER})),
    (SELECT json_group_array(json_object('key', memory_key, 'content', content,
                                         'confirmed_at', {_TIME.format("decided_at")}))
     FROM ({FACTS_IN_ORDER})),
    (SELECT json_array(count(*), sum(length(content)), sum(status = 'proposed')) FROM ({HELD_IN_ORDER}))"""

UPSERT = """
INSERT INTO agent_memory (organisation_id, definition_id, scope_id, memory_key, id, status, content, version,
    stated_by_id, stated_at, created_at, updated_at, decision_reason)
VALUES ({0}, {0}, {0}, {0}, {0}, 'personal', {0}, 1, {0}, {0}, {0}, {0}, '')
ON CONFLICT (organisation_id, definition_id, scope_id, memory_key) DO UPDATE
SET content = excluded.content, updated_at = excluded.updated_at, version = agent_memory.version + 1"""
USED = f"""
SELECT count(*), sum(length(content)), count(*) FILTER (WHERE status = 'proposed') FROM agent_memory
WHERE organisation_id = ? AND definition_id = ? AND scope_id = ? AND {HELD}"""
UNDER_KEY = """
SELECT id, version, length(content) FROM agent_memory
WHERE organisation_id = ? AND definition_id = ? AND scope_id = ? AND memory_key = ?"""
REPLACE = """
UPDATE agent_memory SET content = ?, version = ?, updated_at = ?
WHERE organisation_id = ? AND id = ? AND version = ?"""
RECORD = """
INSERT INTO memory_event (organisation_id, memory_id, version, definition_id, at, action, status_before,
    status_after, actor_kind, actor_id)
VALUES (?, ?, ?, ?, ?, 'remembered', 'personal', 'personal', 'agent', ?)"""
UPSERT_ON_SQLITE = UPSERT.format("?")
UPSERT_ON_POSTGRESQL = UPSERT.format("%s")

_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class SqliteFloor:
    """A connection of the standard library, set up as the portal's are."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.connection = sqlite3.connect(world.path, isolation_level=None)
        for setting in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL",
                        "foreign_keys = ON", "secure_delete = ON"):  # fmt: skip
            self.connection.execute(f"PRAGMA {setting}")

    def list_in_python(self, agent_id: int) -> str:
        """Answer ``list`` with two selects and ``json.dumps``."""
        place = self._world.organisation_of(agent_id)
        held = self.connection.execute(HELD_IN_ORDER, (place, place, agent_id)).fetchall()
        facts = self.connection.execute(FACTS_IN_ORDER, (place, place)).fetchall()
        return _answer(held, facts)

    def list_in_sql(self, agent_id: int) -> str:
        """Answer ``list`` with JSON that SQLite makes."""
        place = self._world.organisation_of(agent_id)
        parameters = (place, place, agent_id, place, place, place, place, agent_id)
        memories, facts, usage = self.connection.execute(JSON_IN_SQL, parameters).fetchone()
        counted = _encoder.encode(_usage(*json.loads(usage)))
        return f'{{"ok":true,"memories":{memories},"account_facts":{facts},"usage":{counted}}}'

    def upsert(self, agent_id: int, memory_key: str, text: str) -> None:
        """Store a memory in one statement, durable when this returns."""
        self.connection.execute(UPSERT_ON_SQLITE, _row(self._world, agent_id, memory_key, text))

    def replace(self, agent_id: int, memory_key: str, text: str) -> None:
        """Replace a memory as ``remember`` has to: counted, guarded by its version, and with its event."""
        place, execute = self._world.organisation_of(agent_id), self.connection.execute
        execute("BEGIN IMMEDIATE")
        memories, characters, _ = execute(USED, (place, place, agent_id)).fetchone()
        memory_id, version, length = execute(UNDER_KEY, (place, place, agent_id, memory_key)).fetchone()
        assert memories <= LIMITS["memory_limit"]
        assert characters - length + len(content(text)) <= LIMITS["memory_characters"]
        execute(REPLACE, (content(text), version + 1, NOW, place, memory_id, version))
        execute(RECORD, (place, memory_id, version + 1, place, NOW, agent_id))
        execute("COMMIT")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class PostgresFloor:
    """A connection of psycopg 3 that prepares what it runs."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.connection = connect(world.url)

    def list_in_python(self, agent_id: int) -> str:
        """Answer ``list`` with one prepared ``UNION ALL``, sorted and encoded here."""
        place = self._world.organisation_of(agent_id)
        parameters = (place, place, agent_id, place, place)
        rows = self.connection.execute(BOTH_ON_POSTGRESQL, parameters, prepare=True).fetchall()
        rows.sort()
        held = [(key, text, status, moment) for key, status, text, moment in rows if status != "confirmed"]
        facts = [(key, text, moment) for key, status, text, moment in rows if status == "confirmed"]
        return _answer(held, facts)

    def run(self, statement: str, agent_id: int) -> Sequence[Any]:
        """Run the portal's own statement, prepared, and return its rows."""
        return self.connection.execute(statement, {"agent_id": agent_id}, prepare=True).fetchall()

    def upsert(self, agent_id: int, memory_key: str, text: str) -> None:
        """Store a memory in one prepared statement, durable when this returns."""
        row = _row(self._world, agent_id, memory_key, text)
        self.connection.execute(UPSERT_ON_POSTGRESQL, row, prepare=True)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def floor_of(world: World) -> SqliteFloor | PostgresFloor:
    """Return the floor of this kind of database."""
    return SqliteFloor(world) if world.url.startswith("sqlite") else PostgresFloor(world)


def _row(world: World, agent_id: int, memory_key: str, text: str) -> tuple[int | str, ...]:
    place = world.organisation_of(agent_id)
    return place, place, agent_id, memory_key, new_memory_id(), content(text), agent_id, NOW, NOW, NOW


def _answer(held: Sequence[Sequence[Any]], facts: Sequence[Sequence[Any]]) -> str:
    memories = [
        {"key": key, "content": text, "status": status, "updated_at": _time(moment)}
        for key, text, status, moment in held
    ]
    account_facts = [
        {"key": key, "content": text, "confirmed_at": _time(moment)} for key, text, moment in facts
    ]
    characters = sum(len(text) for _, text, *_ in held)
    proposals = sum(status == "proposed" for _, _, status, _ in held)
    usage = _usage(len(held), characters, proposals)
    return _encoder.encode({"ok": True, "memories": memories, "account_facts": account_facts, "usage": usage})


def _usage(memories: int, characters: int, proposals: int) -> dict[str, int]:
    return {
        "memories": memories,
        "memory_limit": LIMITS["memory_limit"],
        "characters": characters,
        "character_limit": LIMITS["memory_characters"],
        "proposals": proposals,
        "proposal_limit": LIMITS["proposal_limit"],
    }


def _time(moment: int) -> str:
    return dt.datetime.fromtimestamp(moment // 1_000_000, dt.UTC).isoformat()[:19] + "Z"
