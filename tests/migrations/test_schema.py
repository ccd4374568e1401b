"""What the migrations make is what the models say, in everything that a database knows of a schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from portal.database import Database
from portal.models import Base
from tests.databases import Databases, SqliteFiles, opened
from tests.migrations.schema import Schema, read_schema
from tests.postgres import PostgresServer


@pytest.fixture
def models_schema(databases: Databases) -> Iterator[Schema]:
    """What a database has whose tables come from the models, without a migration."""
    with databases.empty() as url:
        engine = create_engine(url)
        Base.metadata.create_all(engine)
        engine.dispose()
        with opened(url) as database:
            yield read_schema(database)


def test_the_migrations_make_what_the_models_say(database: Database, models_schema: Schema) -> None:
    assert read_schema(database) == models_schema


def test_autogenerate_finds_nothing_to_do(database: Database) -> None:
    # Defaults are compared above; Alembic on SQLite takes an empty text for something else than itself.
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


# The comparison has to see what autogenerate does not.

# The text in the file is changed and nothing else, which is enough to be seen.
REWRITE = "UPDATE sqlite_master SET sql = replace(sql, :old, :new)"
ON_SQLITE = [
    ("WITHOUT ROWID", ""),
    ("AUTOINCREMENT", ""),
    ("CHECK (id > 0)", "CHECK (id > 1)"),
    ("DEFAULT 'system'", ""),
    ("'member', ", ""),
    ("WHERE status = 'proposed'", ""),
    ("FOREIGN KEY(organisation_id, decided_by_id)", "FOREIGN KEY(decided_by_id)"),
]
ON_POSTGRESQL = [
    "DROP INDEX ix_agent_memory_queue",
    'ALTER TABLE agent_memory ALTER memory_key TYPE text COLLATE "default"',
    "ALTER TABLE agent_memory DROP CONSTRAINT ck_agent_memory_scope_follows_status",
    "ALTER TABLE profile ALTER theme DROP DEFAULT",
    "ALTER TABLE profile ALTER name DROP NOT NULL",
    "ALTER TABLE agent_memory ALTER id TYPE integer",
    "ALTER TABLE agent DROP CONSTRAINT fk_agent_organisation_id_owner_id",
]


@pytest.mark.parametrize(("old", "new"), ON_SQLITE)
def test_the_comparison_sees_on_sqlite(sqlite_files: SqliteFiles, old: str, new: str) -> None:
    with sqlite_files.migrated() as url, opened(url) as database:
        before = read_schema(database)
        run(database, "PRAGMA writable_schema = ON")
        run(database, REWRITE, old=old, new=new)
        assert read_schema(database) != before


@pytest.mark.postgres
@pytest.mark.parametrize("damage", ON_POSTGRESQL)
def test_the_comparison_sees_on_postgresql(postgres_server: PostgresServer, damage: str) -> None:
    with postgres_server.migrated() as url, opened(url) as database:
        before = read_schema(database)
        run(database, damage)
        assert read_schema(database) != before


def run(database: Database, statement: str, **parameters: str) -> None:
    database.write(lambda session: session.execute(text(statement), parameters))
