"""The connections on which the driver works by itself: who gets one, and what becomes of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from psycopg.errors import DivisionByZero
from sqlalchemy import PoolProxiedConnection, text
from sqlalchemy.exc import DBAPIError

from portal.connections import DriverConnections, PostgresConnections, SqliteConnections
from portal.database import Database
from portal.transactions import DriverTransaction, fetch_in

WAITS = text("PRAGMA busy_timeout")
END_ALL_OTHERS = text("""\
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()""")


# SQLite: connections beside the pool.


@pytest.fixture
def kept(sqlite_database: Database) -> Iterator[SqliteConnections]:
    connections = SqliteConnections(sqlite_database.engine)
    yield connections
    connections.close()


def driver_of(connection: PoolProxiedConnection) -> sqlite3.Connection:
    driver: Any = connection.dbapi_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def is_open(driver: sqlite3.Connection) -> bool:
    try:
        driver.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return False
    return True


def test_the_connection_that_was_given_back_last_is_taken_first(kept: SqliteConnections) -> None:
    first, second = kept.take(), kept.take()
    assert driver_of(first) is not driver_of(second)
    kept.give_back(first)
    kept.give_back(second)
    assert kept.take() is second
    assert kept.take() is first


def test_one_that_is_kept_is_set_up_as_the_pools_are_and_takes_no_place_among_them(
    kept: SqliteConnections,
) -> None:
    taken = [kept.take() for _ in range(20)]
    assert kept.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    assert {driver_of(each).execute("PRAGMA synchronous").fetchone() for each in taken} == {(2,)}
    for each in taken:
        kept.give_back(each)


def test_no_more_are_kept_than_may_be(kept: SqliteConnections) -> None:
    taken = [kept.take() for _ in range(SqliteConnections.most + 2)]
    drivers = [driver_of(each) for each in taken]
    for each in taken:
        kept.give_back(each)
    assert list(map(is_open, drivers)) == [True] * SqliteConnections.most + [False] * 2


def test_one_whose_transaction_is_not_over_is_closed_and_what_it_wrote_is_gone(
    kept: SqliteConnections,
) -> None:
    connection = kept.take()
    driver = driver_of(connection)
    driver.execute("BEGIN IMMEDIATE")
    driver.execute("DELETE FROM alembic_version")
    kept.give_back(connection)
    assert not is_open(driver)
    other = driver_of(kept.take())
    assert other.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    other.close()


def test_whoever_is_still_at_work_when_the_others_are_closed_is_closed_afterwards(
    kept: SqliteConnections,
) -> None:
    idle, at_work = kept.take(), kept.take()
    drivers = driver_of(idle), driver_of(at_work)
    kept.give_back(idle)
    kept.close()
    assert list(map(is_open, drivers)) == [False, True]
    kept.give_back(at_work)
    assert list(map(is_open, drivers)) == [False, False]


def test_a_database_lets_go_of_what_it_kept(sqlite_database: Database) -> None:
    def driver(work: DriverTransaction) -> Any:
        return driver_of(work._pooled)  # noqa: SLF001 - which one it is cannot be seen from outside

    first = sqlite_database.read_on_driver(driver)
    assert sqlite_database.write_on_driver(driver) is first
    sqlite_database.dispose()
    assert not is_open(first)
    assert sqlite_database.read_on_driver(driver) is not first


def test_a_connection_that_somebody_closed_is_replaced(sqlite_database: Database) -> None:
    def close(work: DriverTransaction) -> None:
        driver_of(work._pooled).close()  # noqa: SLF001 - nothing of ours does this
        fetch_in(work, WAITS, {})

    with pytest.raises(DBAPIError) as refusal:
        sqlite_database.read_on_driver(close)
    assert refusal.value.connection_invalidated
    assert sqlite_database.read_on_driver(lambda work: fetch_in(work, WAITS, {})) == [(10_000,)]
    assert sqlite_database.fetch_rows(WAITS, {}) == [(10_000,)]


# PostgreSQL: connections of the pool, which has a limit.


@pytest.fixture
def few(postgres_database: Database) -> Iterator[PostgresConnections]:
    connections = PostgresConnections(postgres_database.engine)
    yield connections
    connections.close()


def take_and_give_back(connections: DriverConnections, number: int) -> list[PoolProxiedConnection]:
    taken = [connections.take() for _ in range(number)]
    for each in taken:
        connections.give_back(each)
    return taken


def run(connection: PoolProxiedConnection, statement: str) -> list[tuple[Any, ...]]:
    driver: Any = connection.driver_connection
    rows: list[tuple[Any, ...]] = driver.execute(statement).fetchall()
    return rows


def checked_out(connections: DriverConnections) -> int:
    pool: Any = connections.engine.pool
    count: int = pool.checkedout()
    return count


@pytest.mark.postgres
def test_a_few_places_of_the_pool_are_kept_and_given_back_in_the_end(few: PostgresConnections) -> None:
    *_, last = take_and_give_back(few, PostgresConnections.most + 2)
    assert checked_out(few) == PostgresConnections.most
    assert few.take() is not last  # which went back to the pool, because enough were kept
    few.close()
    # One of them is still in use.
    assert checked_out(few) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("failure", ["SELECT 1", "SELECT 1 / 0"])
def test_a_transaction_that_is_not_over_is_rolled_back_by_the_pool(
    few: PostgresConnections, failure: str
) -> None:
    connection = few.take()
    driver: Any = connection.driver_connection
    driver.execute("BEGIN")
    driver.execute("DELETE FROM alembic_version")
    with suppress(DivisionByZero):
        driver.execute(failure)
    few.give_back(connection)
    assert checked_out(few) == 0
    again = few.take()
    assert again.driver_connection is driver
    assert run(again, "SELECT count(*) FROM alembic_version") == [(1,)]


@pytest.mark.postgres
def test_where_one_connection_is_lost_the_others_are_asked_before_they_are_used(
    postgres_database: Database,
) -> None:
    database = postgres_database

    def read(depth: int) -> None:
        """Hold as many connections at a time as ``depth`` says."""
        if depth:
            database.read_on_driver(lambda _: read(depth - 1))

    read(3)
    [(own,)] = database.fetch_rows(text("SELECT pg_backend_pid()"), {})
    with database.engine.connect() as other:
        ended = other.scalar(END_ALL_OTHERS)
    assert ended == 3
    # The first finds out by failing, which a read may do once.
    [(now,)] = database.fetch_rows(text("SELECT pg_backend_pid()"), {})
    assert now != own
