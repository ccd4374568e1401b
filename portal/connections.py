"""Connections for work on the driver itself, which the pool would slow down, and how long SQLite's wait."""

from __future__ import annotations

import sqlite3
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import DBAPIError, InvalidatePoolError

if TYPE_CHECKING:
    from sqlalchemy import Engine, PoolProxiedConnection
    from sqlalchemy.engine.interfaces import DBAPIConnection, Dialect
    from sqlalchemy.pool import ConnectionPoolEntry

SQLITE_BUSY_TIMEOUT_MS = 10_000
SQLITE_ASK_AGAIN_MS = 100
PING_AFTER_IDLE_S = 1.0

# Where a connection keeps for how long it waits, in milliseconds, and since when nobody has used it.
WAITS = "portal_waits"
IDLE_SINCE = "portal_idle_since"


class DriverConnections(ABC):
    """The connections of an engine for work on the driver itself: each is taken, used and given back.

    The last ones are kept, for the way through the pool takes longer than most statements do on SQLite, and a
    tenth of ``list`` on PostgreSQL. Safe to share between threads.
    """

    most: int
    """How many are kept while nobody uses them."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._idle: list[PoolProxiedConnection] = []
        self._is_closed = False

    @abstractmethod
    def take(self) -> PoolProxiedConnection:
        """Return a connection that nobody else uses. Where there can be none, SQLAlchemy's error says so."""

    @abstractmethod
    def give_back(self, connection: PoolProxiedConnection) -> None:
        """Let others use a connection. What is not committed is rolled back."""

    def close(self) -> None:
        """Let go of those that nobody uses now, and from now on of each that is given back."""
        self._is_closed = True
        with suppress(IndexError):
            while True:
                # Taken out first, so that nobody else takes it meanwhile.
                self._idle.pop().close()

    def _open(self) -> PoolProxiedConnection:
        try:
            return self.engine.raw_connection()
        except self.engine.dialect.loaded_dbapi.Error as exc:
            raise as_sqlalchemy_error(self.engine.dialect, None, exc, is_gone=False) from exc

    def _keep(self, connection: PoolProxiedConnection, *, is_idle: bool) -> None:
        if not is_idle or len(self._idle) >= self.most:
            connection.close()
            return
        self._idle.append(connection)
        if self._is_closed:
            self.close()


class SqliteConnections(DriverConnections):
    """Connections that are opened as the pool's are, and take no place in it."""

    most = 16

    def take(self) -> PoolProxiedConnection:
        """Return the connection that was used last, whose caches are warm, or open another."""
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._open()
            connection.detach()
            return connection

    def give_back(self, connection: PoolProxiedConnection) -> None:
        """Keep a connection, unless it is lost or its transaction is not over."""
        driver: Any = connection.dbapi_connection
        self._keep(connection, is_idle=driver is not None and not driver.in_transaction)


class PostgresConnections(DriverConnections):
    """Connections of the pool, of whose places a few are taken for good."""

    most = 4

    def take(self) -> PoolProxiedConnection:
        """Return the connection that was used last, if its server is still there, or one of the pool."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._open()
            try:
                ping_after_idleness(self.engine, connection.dbapi_connection, connection)
            except InvalidatePoolError as exc:
                connection.invalidate(exc)
            else:
                return connection

    def give_back(self, connection: PoolProxiedConnection) -> None:
        """Keep a connection, unless it is lost or its transaction is not over."""
        driver: Any = connection.driver_connection
        if driver is None:
            self._distrust_others()
        connection.info[IDLE_SINCE] = time.monotonic()
        self._keep(connection, is_idle=driver is not None and not driver.pgconn.transaction_status)

    def _distrust_others(self) -> None:
        """Have the server asked for each of the others, however short the time since it was used."""
        for other in self._idle:
            other.info[IDLE_SINCE] = -PING_AFTER_IDLE_S


def note_use(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    """Note with a connection that it was used until now."""
    record.info[IDLE_SINCE] = time.monotonic()


def ping_after_idleness(
    engine: Engine, driver: Any, record: ConnectionPoolEntry | PoolProxiedConnection, _proxy: object = None
) -> None:
    """Ask whether the server is still there, if a connection has not been used just now.

    Asking each time, as ``pool_pre_ping`` does, would double the round trips of a single read.

    :raises sqlalchemy.exc.InvalidatePoolError: it is not.
    """
    if time.monotonic() - record.info.get(IDLE_SINCE, 0) < PING_AFTER_IDLE_S:
        return
    try:
        engine.dialect.do_ping(driver)
    except engine.dialect.loaded_dbapi.Error as exc:
        raise InvalidatePoolError from exc


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
    minute), so the waiting begins anew ten times a second. More often helps nobody: each time that another
    process gets to write, it begins with cold caches.

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
