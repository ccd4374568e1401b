"""Runs the migrations on the engine that :mod:`portal.database` hands over, in one transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, Engine

from portal.database import BEGIN
from portal.models import Base, make_indexes_partial

# Any number will do, as long as nothing else in the database locks it.
UPGRADE_LOCK = 5_291_137


def migrate(connection: Connection) -> None:
    """Bring the connection's database to the revision that was asked for."""
    make_indexes_partial(Base.metadata, connection)
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


def migrate_sqlite(connection: Connection) -> None:
    """Migrate SQLite with foreign keys off.

    A batch migration copies a table, drops it and renames the copy; with foreign keys on, the drop would
    delete the rows that refer to it. The switch is ignored inside a transaction, so it comes first.
    """
    connection.connection.driver_connection.execute("PRAGMA foreign_keys = OFF")  # type: ignore[union-attr]
    with connection.begin():
        migrate(connection)
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            message = f"the migration would leave a row of {broken[0]} without the row it refers to"
            raise RuntimeError(message)


def migrate_postgresql(connection: Connection) -> None:
    """Migrate PostgreSQL, one process at a time.

    Whatever the engine does elsewhere, here it must not commit by itself, so that a failure leaves nothing.
    """
    with connection.begin():
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({UPGRADE_LOCK})")
        migrate(connection)


def main() -> None:
    """Run the migrations with the right care for the kind of database."""
    engine: Engine = context.config.attributes["engine"]
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            migrate_sqlite(connection.execution_options(**{BEGIN: "IMMEDIATE"}))
        else:
            migrate_postgresql(connection.execution_options(isolation_level="READ COMMITTED"))


main()
