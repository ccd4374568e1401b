"""What a database is asked, seen at the driver, beneath everything that could leave a statement out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import psycopg
from sqlalchemy import event

from portal.database import Database


class Statement(str):
    """A statement's text, with the values that it binds; SQLite tells the text with the values in it."""

    __slots__ = ("parameters",)

    parameters: Any

    def __new__(cls, text: str, parameters: Any = ()) -> Self:
        made = super().__new__(cls, text)
        made.parameters = parameters
        return made


@contextmanager
def statements(database: Database) -> Iterator[list[Statement]]:
    """Collect every statement of this process on `database`, BEGIN and COMMIT of SQLite included."""
    seen: list[Statement] = []

    class SeenCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            seen.append(Statement(str(query), params))
            return super().execute(query, params, **options)

    def watch(connection: Any, *_: object) -> None:
        if database.is_sqlite:
            connection.set_trace_callback(lambda text: seen.append(Statement(text)))
        else:
            connection.cursor_factory = SeenCursor

    # What is open now would not be watched, and what is watched now ends here.
    database.dispose()
    pool = database.engine.pool
    event.listen(pool, "checkout", watch)
    try:
        yield seen
    finally:
        event.remove(pool, "checkout", watch)
        database.dispose()
