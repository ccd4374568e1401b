"""Whether a database has the schema that this version of the portal needs."""

from __future__ import annotations

from pathlib import Path

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import make_url

from portal.database import Database, migration_config

UPGRADE_FIRST = "run `portal upgrade` first"


def sqlite_path(database: Database) -> Path | None:
    """Return the file of an SQLite database, which may not exist; None on PostgreSQL."""
    return Path(str(make_url(database.url).database)) if database.is_sqlite else None


def find_schema_problem(database: Database) -> str | None:
    """Return what is wrong with the schema and what to do about it; None where nothing is.

    A file that is not there stays away.

    :raises sqlalchemy.exc.DBAPIError: the database cannot be used at all.
    """
    path = sqlite_path(database)
    if path is not None and not path.exists():
        return f"there is no database at {path}; {UPGRADE_FIRST}"
    with database.engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_revision()
    script = ScriptDirectory.from_config(migration_config())
    if current == script.get_current_head():
        return None
    if current is None:
        return f"the database has no schema; {UPGRADE_FIRST}"
    if current in {revision.revision for revision in script.walk_revisions()}:
        return f"the database has the schema of an older version; {UPGRADE_FIRST}"
    return f"the database has the schema of a newer version ({current}); install that version"
