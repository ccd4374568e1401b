"""Getting rid of what deleted rows leave behind in the database's files."""

from __future__ import annotations

from sqlalchemy import Connection, Engine

from portal.connections import wait_patiently
from portal.database import Database
from portal.errors import MaintenanceFailed
from portal.models import Base


def vacuum(database: Database) -> None:
    """Rewrite the database, so that nothing that was deleted is in its files any more.

    It needs room for a copy. On SQLite others go on reading, and writers wait; on PostgreSQL one table after
    the other is closed to everybody.

    :raises portal.errors.MaintenanceFailed: somebody was reading all the time, so that what was deleted may
        still be in SQLite's log; or PostgreSQL lets only the owner of the database do all of it.
    """
    if database.is_sqlite:
        _vacuum_sqlite(database.engine)
    else:
        _vacuum_postgres(database.engine)


def _vacuum_sqlite(engine: Engine) -> None:
    connection = engine.raw_connection()
    try:
        wait_patiently(connection)
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        # The log still holds pages as they were. This writes it back and cuts it to nothing.
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [is_busy, *_] = cursor.fetchone() or [1]
    finally:
        connection.close()
    if is_busy:
        raise MaintenanceFailed("the log is in use, so it was not emptied; try again")


def _vacuum_postgres(engine: Engine) -> None:
    outside_of_transactions = {"isolation_level": "AUTOCOMMIT", "postgresql_readonly": False}
    with engine.connect().execution_options(**outside_of_transactions) as connection:
        _lift_time_limits(connection)
        refusals: list[str] = []
        connection.connection.add_notice_handler(lambda notice: refusals.append(notice.message_primary))
        # An ordinary VACUUM leaves deleted rows in their pages until something else needs the room. The
        # planner's statistics come last: they hold samples of what is, or was, in each column.
        for table in (*(table.name for table in Base.metadata.sorted_tables), "pg_statistic"):
            connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table}")
        # The connection must not go back to the others as it is now.
        connection.invalidate()
    if refusals:
        raise MaintenanceFailed(f"connect as the owner of the database: {refusals[0]}")


def _lift_time_limits(connection: Connection) -> None:
    for limit in ("statement_timeout", "lock_timeout"):
        connection.exec_driver_sql(f"SET {limit} = 0")
