"""What a database is asked, seen at the driver, beneath everything that could leave a statement out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event

from portal.database import Database


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """Collect every statement of this process on `database`, BEGIN and COMMIT of SQLite included."""
    seen: list[str] = []

    class SeenCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
            seen.append(str(query))
            return super().execute(query, *arguments, **options)

    def watch(connection: Any, *_: object) -> None:
        if database.is_sqlite:
            connection.set_trace_callback(seen.append)
        else:
            connection.cursor_factory = SeenCursor

    def leave(connection: Any, *_: object) -> None:
        if database.is_sqlite:
            connection.set_trace_callback(None)
        else:
            connection.cursor_factory = psycopg.Cursor

    pool = database.engine.pool
    event.listen(pool, "checkout", watch)
    event.listen(pool, "checkin", leave)
    try:
        yield seen
    finally:
        event.remove(pool, "checkout", watch)
        event.remove(pool, "checkin", leave)
