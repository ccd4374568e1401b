"""Backups that are consistent while everybody goes on writing, and the way back.

On SQLite a backup is a database file of its own, on PostgreSQL an archive of ``pg_dump``. Either holds
everything that the database holds, so it is readable by its owner only.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, delete, inspect, make_url

from portal.database import Database
from portal.errors import InvalidInput, MaintenanceFailed
from portal.models import Base
from portal.operations.schema import sqlite_path
from portal.tokens import WAYS_IN

NO_PROGRAM = """\
{} is not on the PATH; install PostgreSQL's client programs, of the server's version or a newer one \
(Debian: apt-get install postgresql-client)"""


def back_up(database: Database, file: Path) -> None:
    """Write a backup, complete and checked, as of one moment. Nobody waits for it.

    :param file: where to; nothing may be there yet. Until the backup is complete the file is empty.
    :raises portal.errors.InvalidInput: (``file``) something is there, or it cannot be created.
    :raises portal.errors.MaintenanceFailed: the database cannot be read or the file not written.
    """
    path = sqlite_path(database)
    if path is not None and not path.exists():
        raise MaintenanceFailed(f"there is no database at {path}")
    with created(file) as partial:
        if path is None:
            _run_program("pg_dump", database, "--format=custom", f"--file={partial}")
        else:
            _copy(path, partial)


def restore(database: Database, file: Path) -> None:
    """Bring a backup back into a database that is empty, and sign everybody out.

    Sessions that ended since the backup was made would otherwise be open again, and links that were used
    since could be used again.

    :param database: on SQLite a file that is not there yet, on PostgreSQL a database without our tables.
    :param file: what :func:`back_up` wrote. Its schema may be an older one: upgrade it afterwards.
    :raises portal.errors.MaintenanceFailed: the database is not empty, or the file is no such backup.
    """
    path = sqlite_path(database)
    if path is None:
        _require_no_tables(database)
        options = ("--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges")
        _run_program("pg_restore", database, *options, str(file))
    else:
        _require_no_files(path)
        _require_portal(file)
        with created(path) as partial:
            _copy(file, partial)
    _close_ways_in(database)


@contextmanager
def created(file: Path) -> Iterator[Path]:
    """Give a path to write to, and put what was written there in the place of ``file`` in one step.

    The file is created at once, empty and readable by its owner only, so that nobody else takes the name.
    When the block raises, neither stays.

    :raises portal.errors.InvalidInput: (``file``) something is there, or it cannot be created.
    """
    partial = file.with_name(f"{file.name}.partial")
    _create_private(file)
    with ExitStack() as undo:
        undo.callback(file.unlink)
        _create_private(partial)
        undo.callback(partial.unlink)
        yield partial
        _sync(partial)
        partial.replace(file)
        undo.pop_all()
    _sync(file.parent)


def _close_ways_in(database: Database) -> None:
    tables = inspect(database.engine).get_table_names()
    for way_in in WAYS_IN:
        # An older schema has not all of them.
        if way_in.__tablename__ in tables:
            database.write(lambda session, way_in=way_in: session.execute(delete(way_in)))  # type: ignore[misc]


def _create_private(file: Path) -> None:
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as exc:
        raise InvalidInput("file", f"{file} is there already; give another name") from exc
    except OSError as exc:
        raise InvalidInput("file", f"{file} cannot be created: {exc.strerror}") from exc


def _sync(path: Path) -> None:
    """Let what was written to a file, or created in a folder, survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: Path, target: Path) -> None:
    """Copy an SQLite database by its online backup, and check the copy."""
    try:
        with closing(_open_readable(source)) as original, closing(sqlite3.connect(target)) as copy:
            original.backup(copy)
            # One file that needs no others beside it, and can be read where nothing can be written.
            copy.execute("PRAGMA journal_mode = DELETE")
            [found] = copy.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as exc:
        raise MaintenanceFailed(f"{source} cannot be copied: {exc}") from exc
    if found != "ok":
        raise MaintenanceFailed(f"{source} is damaged: {found}")


def _open_readable(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)


def _require_no_files(path: Path) -> None:
    # A log that was left behind would be taken for the restored file's.
    for found in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if found.exists():
            raise MaintenanceFailed(f"{found} is there; stop the portal, and move it away first")


def _require_no_tables(database: Database) -> None:
    found = set(inspect(database.engine).get_table_names()) & set(Base.metadata.tables)
    if found:
        raise MaintenanceFailed("the database is not empty; create a new one, and restore into that")


def _require_portal(file: Path) -> None:
    if not file.exists():
        raise MaintenanceFailed(f"there is no file {file}")
    try:
        with closing(_open_readable(file)) as connection:
            connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as exc:
        raise MaintenanceFailed(f"{file} is no backup of a portal with SQLite: {exc}") from exc


def _run_program(name: str, database: Database, *arguments: str) -> None:
    """Run one of PostgreSQL's programs on a database."""
    program = shutil.which(name)
    if program is None:
        raise MaintenanceFailed(NO_PROGRAM.format(name))
    url = make_url(database.url)
    # Everybody on a machine can read the arguments of its programs, but not their environment.
    address = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    environment = os.environ | ({"PGPASSWORD": str(url.password)} if url.password else {})
    command = [program, "--no-password", f"--dbname={address.render_as_string()}", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise MaintenanceFailed(done.stderr.strip().partition("\n")[0] or f"{name} failed")
