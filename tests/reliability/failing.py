"""A database that fails from the n-th call on, as seen by the driver: nothing above it knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import event

from portal.database import Database

# The first sets a number in this process; where the second fails, a new connection is made instead.
NOT_COUNTED = ("PRAGMA busy_timeout", "SELECT 1")


@dataclass
class Faults:
    """Which call is going to fail.

    Calls are everything that goes to the database: statements, BEGIN and COMMIT. A ROLLBACK is let through,
    as it comes after a failure.
    """

    fails_at: int = 0
    """The number of the first call that fails, 0 for none."""
    loses_answer: bool = False
    """Whether a COMMIT that is to fail happens first, so that only its answer is lost."""
    calls: int = 0
    failed_call: str = ""
    committed: bool = False
    before_commit: Callable[[], None] = lambda: None

    def aim_at(self, number: int) -> None:
        """Let the call with this number fail, counted from now."""
        self.fails_at, self.calls, self.failed_call, self.committed = number, 0, "", False

    @property
    def has_struck(self) -> bool:
        return 0 < self.fails_at <= self.calls

    def strike(self, connection: Any) -> None:
        """Fail as the driver does: SQLite's file cannot be written, or the server is gone."""
        if isinstance(connection, sqlite3.Connection):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")


class FailingConnection:
    """A driver's connection whose calls are counted. Whatever else it is asked goes to the real one."""

    def __init__(self, connection: Any, faults: Faults) -> None:
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_faults", faults)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._connection, name, value)

    def cursor(self, *arguments: Any, **options: Any) -> FailingCursor:
        return FailingCursor(self, self._connection.cursor(*arguments, **options))

    def execute(self, statement: Any, *arguments: Any) -> Any:
        return self.call(str(statement), lambda: self._connection.execute(statement, *arguments))

    def commit(self) -> None:
        self.call("COMMIT", self._connection.commit)

    def call(self, statement: str, go: Callable[[], Any]) -> Any:
        """Let a call through, or fail in its place; a lost answer comes after it."""
        faults = self._faults
        if statement.startswith(NOT_COUNTED):
            return go()
        faults.calls += 1
        if faults.calls == faults.fails_at:
            faults.failed_call = statement
        ends = statement.startswith("COMMIT")
        if ends:
            faults.before_commit()
        if faults.has_struck and not (ends and faults.loses_answer):
            faults.strike(self._connection)
        result = go()
        faults.committed |= ends
        if faults.has_struck:
            faults.strike(self._connection)
        return result


class FailingCursor:
    def __init__(self, connection: FailingConnection, cursor: Any) -> None:
        self._connection, self._cursor = connection, cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)

    def execute(self, statement: Any, *arguments: Any, **options: Any) -> Any:
        self._connection.call(str(statement), lambda: self._cursor.execute(statement, *arguments, **options))
        return self

    def executemany(self, statement: Any, *arguments: Any, **options: Any) -> Any:
        return self._connection.call(
            str(statement), lambda: self._cursor.executemany(statement, *arguments, **options)
        )


@contextmanager
def failing(database: Database) -> Iterator[Faults]:
    """Let calls of this database fail, on the connections that are made from now on."""
    faults = Faults()

    def wrap(connection: Any, record: Any) -> None:
        record.dbapi_connection = FailingConnection(connection, faults)

    database.dispose()
    pool = database.engine.pool
    event.listen(pool, "connect", wrap)
    yield faults
    faults.aim_at(0)
    event.remove(pool, "connect", wrap)
    database.dispose()
