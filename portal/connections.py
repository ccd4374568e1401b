"""Connections of the driver's own, for work that SQLAlchemy's would slow down, and how long SQLite waits."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from sqlalchemy import Engine, PoolProxiedConnection
    from sqlalchemy.engine.interfaces import Dialect

SQLITE_BUSY_TIMEOUT_MS = 10_000
SQLITE_ASK_AGAIN_MS = 100
SQLITE_IDLE_CONNECTIONS = 16

# Where a connection keeps for how long it waits, in milliseconds.
WAITS = "portal_waits"


class DriverConnections:
    """The connections of an engine's pool: one is taken for a piece of work, and given back afterwards.

    Safe to share between threads.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def take(self) -> PoolProxiedConnection:
        """Return a connection that nobody else uses. Where there can be none, SQLAlchemy's error says so."""
        try:
            return self.engine.raw_connection()
        except self.engine.dialect.loaded_dbapi.Error as exc:
            raise as_sqlalchemy_error(self.engine.dialect, None, exc, is_gone=False) from exc

    def give_back(self, connection: PoolProxiedConnection) -> None:
        """Let others use a connection. What is not committed is rolled back."""
        connection.close()

    def close(self) -> None:
        """Close those that nobody uses, as far as they are not the pool's."""


class KeptConnections(DriverConnections):
    """Connections that are opened as the pool's are, but do not go back there.

    On SQLite the way through the pool would take longer than most statements, between two writes of a process
    at that, where another one waits for its turn.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._idle: list[PoolProxiedConnection] = []
        self._is_closed = False

    def take(self) -> PoolProxiedConnection:
        """Return the connection that was used last, whose caches are warm, or open another."""
        try:
            return self._idle.pop()
        except IndexError:
            connection = super().take()
            connection.detach()
            return connection

    def give_back(self, connection: PoolProxiedConnection) -> None:
        """Keep a connection, unless its transaction is not over, or enough of them are kept."""
        driver: Any = connection.dbapi_connection
        if driver is None:
            return
        if driver.in_transaction or self._is_closed or len(self._idle) >= SQLITE_IDLE_CONNECTIONS:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close those that nobody uses now, and from now on each that is given back."""
        self._is_closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def as_sqlalchemy_error(dialect: Dialect, sql: str | None, error: Any, *, is_gone: bool) -> DBAPIError:
    """Return the driver's error as SQLAlchemy raises it."""
    found: Any = DBAPIError.instance(
        sql, None, error, dialect.loaded_dbapi.Error, connection_invalidated=is_gone
    )
    return found  # type: ignore[no-any-return]


def begin_writing(connection: PoolProxiedConnection) -> None:
    """Begin on SQLite as soon as nobody else writes, or fail when the time is up.

    SQLite itself asks less and less often, at last ten times a second. Among busy writers whoever has waited
    long is then passed by newcomers until the time is up (with eight of them it happened within half a
    minute), so the waiting begins anew again and again.

    :raises sqlite3.OperationalError: others wrote all the time, or the file cannot be written to.
    """
    _wait_at_most(connection, SQLITE_ASK_AGAIN_MS)
    driver: Any = connection.dbapi_connection
    give_up_at = time.monotonic() + SQLITE_BUSY_TIMEOUT_MS / 1_000
    while True:
        try:
            driver.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            # The lowest byte says what it is, the others why, as while the log of a crash is recovered.
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= give_up_at:
                raise
        else:
            return


def wait_patiently(connection: PoolProxiedConnection) -> None:
    """Let a connection to SQLite that may just have written wait for locks as long as any other.

    Whoever uses one that others used and does not begin to write says so first.
    """
    _wait_at_most(connection, SQLITE_BUSY_TIMEOUT_MS)


def _wait_at_most(connection: PoolProxiedConnection, milliseconds: int) -> None:
    # It is noted with the connection, because to tell SQLite again costs as much as a short statement.
    if connection.info.get(WAITS) != milliseconds:
        driver: Any = connection.dbapi_connection
        driver.execute(f"PRAGMA busy_timeout = {milliseconds}")
        connection.info[WAITS] = milliseconds
