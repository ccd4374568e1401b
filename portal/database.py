"""The database: one engine, tuned the same for the portal and for every agent runtime.

SQLite's driver would begin transactions by itself, late and deferred; eight writing processes then pass
a ceiling together or fail with "database is locked". So the driver's own control is off, and a
transaction begins here: ``BEGIN IMMEDIATE`` where something is written, ``BEGIN DEFERRED`` where
something is read, and nothing at all around a single statement.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Engine, Executable, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.orm import Session

from portal.connections import (
    SQLITE_BUSY_TIMEOUT_MS,
    WAITS,
    DriverConnections,
    PostgresConnections,
    SqliteConnections,
    as_sqlalchemy_error,
    begin_writing,
    note_use,
    ping_after_idleness,
    wait_patiently,
)
from portal.errors import InvalidInput
from portal.transactions import (
    DriverTransaction,
    PostgresTransaction,
    SqliteTransaction,
    compile_for_driver,
)

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy.engine import Connection
    from sqlalchemy.engine.interfaces import DBAPIConnection
    from sqlalchemy.pool import ConnectionPoolEntry

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

POSTGRES_STATEMENT_TIMEOUT_MS = 5_000
POSTGRES_LOCK_TIMEOUT_MS = 3_000

WRITE_ATTEMPTS = 3
# https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html
RETRIED_SQLSTATES = {"40001", "40P01"}

# https://www.sqlite.org/wal.html#walresetbug
SQLITE_WITHOUT_RESET_BUG = (3, 51, 3)
SQLITE_BACKPORTS = {(3, 44): 6, (3, 50): 7}
RESET_BUG = """\
SQLite %s can, very rarely, damage a database that several processes write to; \
use SQLite 3.51.3 or newer, or PostgreSQL."""

# Alembic keeps what it is doing in global variables. Between processes the database itself decides.
UPGRADING = threading.Lock()

# The execution option that our "begin" hook reads on SQLite.
BEGIN = "portal_begin"


@dataclass(frozen=True)
class _Engines:
    """One pool under two names, each with its own way to begin, and what works on the driver itself."""

    pid: int
    read: Engine
    write: Engine
    connections: DriverConnections
    transaction: type[DriverTransaction]

    def make_transaction(self) -> DriverTransaction:
        """Return a transaction on the driver itself, which has not begun."""
        return self.transaction(self.connections)

    def dispose(self, *, close: bool) -> None:
        """Forget every connection that nobody uses, and close it if ``close`` says so."""
        self.connections.close()
        self.read.dispose(close=close)


class Database:
    """The database behind a URL.

    Safe to share between threads. The engine is made on first use and made anew in a forked child, so a
    pre-forking server may create it before it forks. Nothing is connected, created or checked until it
    is used.

    :param url: a SQLAlchemy URL, ``sqlite:///portal.db`` or ``postgresql+psycopg://…``. A relative SQLite
        path is made absolute here, once.
    :raises portal.errors.InvalidInput: (``database_url``) it is not such a URL.
    """

    def __init__(self, url: str) -> None:
        self._url = _resolve(url)
        self._lock = threading.Lock()
        self._made: _Engines | None = None

    @property
    def url(self) -> str:
        """The URL with an absolute path, password included."""
        return self._url.render_as_string(hide_password=False)

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite rather than PostgreSQL."""
        return self._url.get_backend_name() == "sqlite"

    @property
    def engine(self) -> Engine:
        """This process's engine, for reading: it begins deferred on SQLite, read-only on PostgreSQL."""
        return self._engines.read

    @property
    def _engines(self) -> _Engines:
        engines = self._made
        if engines is None or engines.pid != os.getpid():
            with self._lock:
                engines = self._made = self._make_engines()
        return engines

    def _make_engines(self) -> _Engines:
        if self._made is not None:
            if self._made.pid == os.getpid():
                return self._made
            # PostgreSQL's connections are the parent's: to close one would end its session.
            # On SQLite whatever this process still has open counts as a lock that it does not have (POSIX
            # locks are not inherited), and the parent, closing last, would delete the log that we write:
            # https://www.sqlite.org/howtocorrupt.html#_carrying_an_open_database_across_a_fork_
            self._made.dispose(close=self.is_sqlite)
        engine = tune_engine(create_engine(self._url, **_engine_options(self._url)))
        if self.is_sqlite:
            _warn_of_reset_bug(sqlite3.sqlite_version_info)
            return _Engines(
                pid=os.getpid(),
                read=engine.execution_options(**{BEGIN: "DEFERRED"}),
                write=engine.execution_options(**{BEGIN: "IMMEDIATE"}),
                connections=SqliteConnections(engine),
                transaction=SqliteTransaction,
            )
        return _Engines(
            pid=os.getpid(),
            read=engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True),
            write=engine.execution_options(isolation_level="READ COMMITTED"),
            connections=PostgresConnections(engine),
            transaction=PostgresTransaction,
        )

    def fetch_rows(self, statement: Executable, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Run one reading statement on the driver itself and return its rows, as the driver gives them.

        For the hottest reads: compiled once and without SQLAlchemy's execution a statement costs two thirds.
        A single statement sees one state of the database by itself, so no transaction surrounds it.

        :param statement: made once, at import; all that it binds is in ``parameters``.
        """
        try:
            return self._fetch_rows(statement, parameters)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            # The server ended the connection since it was last used; reading again harms nobody.
            return self._fetch_rows(statement, parameters)

    def _fetch_rows(self, statement: Executable, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        connections = self._engines.connections
        dialect = connections.engine.dialect
        sql = compile_for_driver(statement, dialect.name)
        connection = connections.take()
        try:
            if self.is_sqlite:
                wait_patiently(connection)
            rows: list[tuple[Any, ...]] = connection.cursor().execute(sql, parameters).fetchall()
        except dialect.loaded_dbapi.Error as exc:
            is_gone = dialect.is_disconnect(exc, connection, None)
            if is_gone:
                connection.invalidate(exc)
            raise as_sqlalchemy_error(dialect, sql, exc, is_gone=is_gone) from exc
        finally:
            connections.give_back(connection)
        return rows

    def read(self, work: Callable[[Session], Result]) -> Result:
        """Call ``work`` with a session in which all reads see one state of the database.

        Objects that it returns are detached and keep what was loaded.
        """
        with Session(self._engines.read, expire_on_commit=False, autoflush=False) as session:
            return work(session)

    def read_on_driver(self, work: Callable[[DriverTransaction], Result]) -> Result:
        """Call ``work`` in one reading transaction as :meth:`read` does, but without a session.

        For pages that run only statements which are made once.
        """
        transaction = self._engines.make_transaction()
        try:
            transaction.begin_reading()
            result = work(transaction)
            transaction.commit()
        finally:
            transaction.close()
        return result

    def write(self, work: Callable[[Session], Result]) -> Result:
        """Call ``work`` with a session in one writing transaction, and return after COMMIT returned.

        When ``work`` raises, everything is rolled back. On PostgreSQL it is called again, at most three
        times in all, when the database found a deadlock or a serialisation conflict; so it must have no
        effect but through the session.
        """
        return _retry(self._write_once, work)

    def _write_once(self, work: Callable[[Session], Result]) -> Result:
        with Session(self._engines.write, expire_on_commit=False, autoflush=False) as session:
            result = work(session)
            try:
                session.commit()
            except OperationalError:
                # SQLAlchemy would pool the connection as if the transaction were over, which it may not be.
                session.invalidate()
                raise
            return result

    def write_on_driver(self, work: Callable[[DriverTransaction], Result]) -> Result:
        """Call ``work`` in one writing transaction as :meth:`write` does, but without a session.

        For the hottest writes, whose statements are made once.
        """
        return _retry(self._write_on_driver_once, work)

    def _write_on_driver_once(self, work: Callable[[DriverTransaction], Result]) -> Result:
        transaction = self._engines.make_transaction()
        try:
            transaction.begin()
            result = work(transaction)
            transaction.commit()
        finally:
            transaction.close()
        for call in transaction.when_committed:
            call()
        return result

    def upgrade(self, revision: str = "head") -> None:
        """Create the schema, or bring it up to date, in one transaction.

        Calling it again changes nothing. A new SQLite file is readable by its owner only.
        """
        # Alembic is most of what importing this module would cost, and an agent runtime never needs it.
        from alembic import command  # noqa: PLC0415

        if self.is_sqlite:
            _create_private_file(Path(str(self._url.database)))
        engine = tune_engine(create_engine(self._url, **_engine_options(self._url, for_migrations=True)))
        try:
            with UPGRADING:
                command.upgrade(migration_config(engine), revision)
        finally:
            engine.dispose()

    def dispose(self) -> None:
        """Close every pooled connection of this process. The next use opens new ones."""
        with self._lock:
            if self._made is not None:
                self._made.dispose(close=self.is_sqlite or self._made.pid == os.getpid())
                self._made = None


def _retry(attempt: Callable[[Callable[[Any], Result]], Result], work: Callable[[Any], Result]) -> Result:
    """Write, and write anew where PostgreSQL could not serialise it with what others wrote."""
    for remaining in reversed(range(WRITE_ATTEMPTS)):
        try:
            return attempt(work)
        except DBAPIError as error:
            if not remaining or _sqlstate(error) not in RETRIED_SQLSTATES:
                raise
    raise AssertionError  # pragma: no cover


def tune_engine(engine: Engine) -> Engine:
    """Give an engine this product's settings for its kind of database, and return it."""
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "begin", _begin)
    else:
        # One that was made just now is not asked: where that failed twice, SQLAlchemy would not say why.
        event.listen(engine, "connect", note_use)
        event.listen(engine, "checkin", note_use)
        event.listen(engine, "checkout", partial(ping_after_idleness, engine))
    return engine


def migration_config(engine: Engine | None = None) -> Config:
    """Return the configuration with which Alembic finds our migrations and uses ``engine``."""
    from alembic.config import Config  # noqa: PLC0415 - as in Database.upgrade

    config = Config()
    config.set_main_option("script_location", "portal:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["engine"] = engine
    return config


def constraint_name(error: DBAPIError) -> str:
    """Return the name of the constraint that was violated, or on SQLite ``table.column, …``.

    SQLite tells no name of a unique constraint; its columns identify one just as well.
    """
    diagnostic = getattr(error.orig, "diag", None)
    if diagnostic is not None:
        return str(diagnostic.constraint_name)
    return str(error.orig).rpartition("constraint failed: ")[2]


def _resolve(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as exc:
        problem = "this is not a database URL; use for example sqlite:///portal.db"
        raise InvalidInput("database_url", problem) from exc
    if parsed.drivername in {"postgresql", "postgresql+psycopg"}:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in {"sqlite", "sqlite+pysqlite"}:
        raise InvalidInput("database_url", "use sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME")
    if parsed.database in {None, "", ":memory:"}:
        problem = "name a file, as in sqlite:///portal.db: a database in memory cannot be shared"
        raise InvalidInput("database_url", problem)
    return parsed.set(database=str(Path(str(parsed.database)).absolute()))


def _engine_options(url: URL, *, for_migrations: bool = False) -> dict[str, Any]:
    # Errors are logged, and parameters hold what people said.
    options: dict[str, Any] = {"hide_parameters": True}
    if url.get_backend_name() == "sqlite":
        return options | {"creator": partial(_connect_to_file, str(url.database))}
    # A migration may rewrite a large table, and must wait for whoever uses it.
    statement_timeout = 0 if for_migrations else POSTGRES_STATEMENT_TIMEOUT_MS
    lock_timeout = 0 if for_migrations else POSTGRES_LOCK_TIMEOUT_MS
    settings = [
        # What is read is in memory, or on a disk without moving parts. An option of the URL counts more.
        "-c random_page_cost=1.1",
        str(url.query.get("options", "")),
        "-c timezone=UTC",
        f"-c statement_timeout={statement_timeout}",
        f"-c lock_timeout={lock_timeout}",
    ]
    # A connection begins a transaction only where one is asked for; a single statement needs none.
    options |= {"isolation_level": "AUTOCOMMIT", "max_overflow": 20}
    return options | {"connect_args": {"options": " ".join(settings)}}


def _connect_to_file(path: str) -> sqlite3.Connection:
    """Connect to a file that is there; only ``upgrade`` makes one, readable by its owner only."""
    # isolation_level None takes transaction control from the driver.
    return sqlite3.connect(
        f"file:{quote(path)}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )


def _set_pragmas(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    # The page size counts only for a file that has no table yet. 8 KiB hold the longest content.
    cursor.execute("PRAGMA page_size = 8192")
    # What follows may have to wait; later each use says for how long.
    cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_TIMEOUT_MS}")
    record.info[WAITS] = SQLITE_BUSY_TIMEOUT_MS
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # What somebody deletes is overwritten in the file, not only unlinked.
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    mode = connection.get_execution_options().get(BEGIN, "DEFERRED")
    pooled = connection.connection
    if mode != "IMMEDIATE":
        wait_patiently(pooled)
        connection.exec_driver_sql(f"BEGIN {mode}")
        return
    try:
        begin_writing(pooled)
    except sqlite3.OperationalError:
        # Asked by SQLAlchemy, so that it fails with an error of SQLAlchemy's.
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def has_reset_bug(version: tuple[int, int, int]) -> bool:
    """Tell whether this version of SQLite has the WAL-reset bug, against which only another one helps."""
    first_without = SQLITE_BACKPORTS.get(version[:2])
    is_backported = first_without is not None and version[2] >= first_without
    return version < SQLITE_WITHOUT_RESET_BUG and not is_backported


@cache
def _warn_of_reset_bug(version: tuple[int, int, int]) -> None:
    """Say it once in a process."""
    if has_reset_bug(version):
        logger.warning(RESET_BUG, ".".join(map(str, version)), extra={"action": "sqlite_reset_bug"})


def _create_private_file(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except OSError as exc:
        raise InvalidInput("database_url", f"the file {path} cannot be created: {exc.strerror}") from exc


def _sqlstate(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)
