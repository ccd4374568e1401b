"""Transactions on the driver itself, of statements that are made once, at import.

What an agent's calls and the page of the review queue run is compiled once and handed to the driver:
SQLAlchemy's execution would cost more than the database does. :func:`fetch_in` and :func:`change_in` do so
in a session's transaction. A :class:`DriverTransaction` does without the session too, whose beginning and
end cost as much again.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Executable, event, make_url
from sqlalchemy.orm import Session

from portal.connections import DriverConnections, as_sqlalchemy_error, begin_writing, wait_patiently

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

# Where a session keeps the driver's connection of its transaction.
DRIVER = "portal_driver"


class DriverTransaction(ABC):
    """One transaction, on a connection taken for it. It fails with the errors of SQLAlchemy."""

    def __init__(self, connections: DriverConnections) -> None:
        self.dialect = connections.engine.dialect
        self.when_committed: list[Callable[[], None]] = []
        self._connections = connections
        self._pooled = connections.take()

    @abstractmethod
    def begin(self) -> None:
        """Begin to write."""

    @abstractmethod
    def begin_reading(self) -> None:
        """Begin to read, all of it from one state of the database."""

    @abstractmethod
    def lock(self, statement: Executable, parameters: Mapping[str, Any]) -> None:
        """Lock rows until the end, at the latest before the next statement that fetches or changes."""

    @abstractmethod
    def send(self, sql: str, parameters: Mapping[str, Any]) -> None:
        """Run a statement of which nobody needs to know what it did, at the latest when this commits."""

    @abstractmethod
    def run(self, sql: str, parameters: Mapping[str, Any]) -> Any:
        """Run a statement and return a cursor with what it did, until the next one runs."""

    @abstractmethod
    def commit(self) -> None:
        """Return once everything is durable."""

    def close(self) -> None:
        """Give the connection back. What was not committed is rolled back."""
        self._connections.give_back(self._pooled)

    def translate(self, sql: str, error: Exception) -> DBAPIError:
        """Return the driver's error as SQLAlchemy's, having let go of a connection that is lost."""
        is_gone = self.dialect.is_disconnect(error, self._pooled, None)  # type: ignore[arg-type]
        if is_gone:
            self._pooled.invalidate(error)
        return as_sqlalchemy_error(self.dialect, sql, error, is_gone=is_gone)


class SqliteTransaction(DriverTransaction):
    """A transaction that has the file's one lock from its beginning, where it writes."""

    def __init__(self, connections: DriverConnections) -> None:
        super().__init__(connections)
        driver: Any = self._pooled.dbapi_connection
        self._cursor = driver.cursor()

    def begin(self) -> None:
        """Begin as soon as nobody else writes."""
        try:
            begin_writing(self._pooled)
        except sqlite3.Error as exc:
            raise self.translate("BEGIN IMMEDIATE", exc) from exc

    def begin_reading(self) -> None:
        """Begin; what it reads first is the state that it reads."""
        wait_patiently(self._pooled)
        self.run("BEGIN DEFERRED", {})

    def lock(self, statement: Executable, parameters: Mapping[str, Any]) -> None:
        """Do nothing: who writes is alone."""

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Any:
        """Run a statement and return the cursor, on which the next statement runs too."""
        try:
            return self._cursor.execute(sql, parameters)
        except sqlite3.Error as exc:
            raise self.translate(sql, exc) from exc

    send = run

    def commit(self) -> None:
        """Commit."""
        self.run("COMMIT", {})


class PostgresTransaction(DriverTransaction):
    """A transaction in few round trips: what needs no answer waits for the next statement that needs one.

    All that waited and that statement are then sent at once, and run one after the other, each with a
    snapshot of its own: https://www.psycopg.org/psycopg3/docs/advanced/pipeline.html
    """

    def __init__(self, connections: DriverConnections) -> None:
        super().__init__(connections)
        self._waiting: list[tuple[str, Mapping[str, Any]]] = []

    def begin(self) -> None:
        """Begin with the first statement. READ COMMITTED, because each has to see what it waited for."""
        self.send("BEGIN ISOLATION LEVEL READ COMMITTED", {})

    def begin_reading(self) -> None:
        """Begin with the first statement, whose state of the database all of them read."""
        self.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", {})

    def lock(self, statement: Executable, parameters: Mapping[str, Any]) -> None:
        """Lock rows just before the next statement runs."""
        self.send(compile_for_driver(statement, self.dialect.name), parameters)

    def send(self, sql: str, parameters: Mapping[str, Any]) -> None:
        """Run a statement just before the next one whose result is needed, or the commit."""
        self._waiting.append((sql, parameters))

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Any:
        """Run what waited and this statement, and return its cursor."""
        waiting, self._waiting = self._waiting, []
        connection: Any = self._pooled.driver_connection
        try:
            if not waiting:
                return connection.execute(sql, parameters)
            with connection.pipeline():
                for earlier in waiting:
                    connection.execute(*earlier)
                return connection.execute(sql, parameters)
        except self.dialect.loaded_dbapi.Error as exc:
            raise self.translate(sql, exc) from exc

    def commit(self) -> None:
        """Commit, with what waited."""
        self.run("COMMIT", {})


Work: TypeAlias = Session | DriverTransaction
"""A transaction in which something is read and written, with a session or without."""


def backend_of(work: Work) -> str:
    """Return the kind of database that a transaction is of, ``sqlite`` or ``postgresql``."""
    dialect = work.get_bind().dialect if isinstance(work, Session) else work.dialect
    return dialect.name


def fetch_in(work: Work, statement: Executable, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a reading statement on the driver itself and return its rows, as the driver gives them.

    :param statement: made once, at import; all that it binds is in ``parameters``.
    :param parameters: values as the driver takes them and the columns hold them; no type converts them.
    """
    rows: list[tuple[Any, ...]] = _run_in(work, statement, parameters).fetchall()
    return rows


def change_in(work: Work, statement: Executable, parameters: Mapping[str, Any]) -> int:
    """Run a writing statement on the driver itself and return how many rows it changed.

    :param parameters: as in :func:`fetch_in`.
    """
    changed: int = _run_in(work, statement, parameters).rowcount
    return changed


def send_in(work: Work, statement: Executable, parameters: Mapping[str, Any]) -> None:
    """Run a writing statement on the driver itself, at the latest when the transaction commits.

    :param parameters: as in :func:`fetch_in`.
    """
    if isinstance(work, Session):
        _run_in_session(work, statement, parameters)
    else:
        work.send(compile_for_driver(statement, work.dialect.name), parameters)


def after_commit(work: Work, call: Callable[[], None]) -> None:
    """Let something happen once the transaction is durable, and not if it is rolled back."""
    if isinstance(work, Session):
        event.listen(work, "after_commit", lambda _: call(), once=True)
    else:
        work.when_committed.append(call)


def _run_in(work: Work, statement: Executable, parameters: Mapping[str, Any]) -> Any:
    if isinstance(work, Session):
        return _run_in_session(work, statement, parameters)
    return work.run(compile_for_driver(statement, work.dialect.name), parameters)


def _run_in_session(session: Session, statement: Executable, parameters: Mapping[str, Any]) -> Any:
    pooled = session.info.get(DRIVER)
    if pooled is None:
        # Kept for the next statement: asking a session for its connection costs as much as a short statement.
        pooled = session.info[DRIVER] = session.connection().connection
    dialect = session.get_bind().dialect
    sql = compile_for_driver(statement, dialect.name)
    try:
        return pooled.cursor().execute(sql, parameters)
    except dialect.loaded_dbapi.Error as exc:
        is_gone = dialect.is_disconnect(exc, pooled, None)
        if is_gone:
            session.connection().invalidate(exc)
        raise as_sqlalchemy_error(dialect, sql, exc, is_gone=is_gone) from exc


@lru_cache(maxsize=1_024)
def compile_for_driver(statement: Executable, backend: str) -> str:
    """Return the SQL of a statement in the words of a driver, which binds by name."""
    if backend == "sqlite":
        dialect = make_url("sqlite://").get_dialect()(paramstyle="named")  # type: ignore[call-arg]
    else:
        dialect = make_url("postgresql+psycopg://").get_dialect()()
    return str(statement.compile(dialect=dialect))  # type: ignore[attr-defined]
