"""Backups hold one moment of everything, and come back as they were."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import func, select, text

from portal.cli import main
from portal.database import Database
from portal.errors import InvalidInput, MaintenanceFailed
from portal.manager import AgentMemoryManager
from portal.models import OneTimeLink, SignInSession
from portal.operations.backup import back_up, restore
from portal.operations.schema import find_schema_problem, sqlite_path
from tests.databases import Databases, opened
from tests.factories import Personas
from tests.installation import clean_environment
from tests.invariants import assert_invariants, read_state
from tests.operations.worlds import furnish


@pytest.fixture
def personas(database: Database) -> Personas:
    return furnish(database)


@pytest.fixture
def elsewhere(databases: Databases) -> Iterator[Database]:
    """A database of the same kind with nothing in it."""
    with databases.empty() as url, opened(url) as found:
        yield found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "portal.backup"


@pytest.mark.usefixtures("personas")
def test_everything_comes_back_as_it_was(database: Database, elsewhere: Database, file: Path) -> None:
    back_up(database, file)
    restore(elsewhere, file)
    assert read_state(elsewhere) == read_state(database)
    assert_invariants(elsewhere)


@pytest.mark.usefixtures("personas")
def test_nobody_gets_in_without_a_password_after_a_restore(
    database: Database, elsewhere: Database, file: Path, personas: Personas
) -> None:
    personas.directory.make_link(personas.bob)
    back_up(database, file)
    restore(elsewhere, file)
    for table in (SignInSession, OneTimeLink):
        counting = select(func.count()).select_from(table)
        assert database.read(lambda session: session.scalar(counting)) == 1  # noqa: B023
        assert elsewhere.read(lambda session: session.scalar(counting)) == 0  # noqa: B023


def test_a_backup_of_an_older_schema_comes_back(
    databases: Databases, elsewhere: Database, file: Path
) -> None:
    with databases.empty() as url, opened(url) as older:
        older.upgrade("0001")
        back_up(older, file)
    restore(elsewhere, file)
    assert find_schema_problem(elsewhere) is not None
    elsewhere.upgrade()
    assert find_schema_problem(elsewhere) is None


def test_a_backup_made_while_others_write_holds_one_moment(
    database: Database, elsewhere: Database, file: Path, personas: Personas
) -> None:
    manager, stop = AgentMemoryManager(database), threading.Event()
    agents = [personas.agent(profile, "travel") for profile in (personas.ada, personas.bob)]

    def write(number: int) -> None:
        round_number = 0
        while not stop.is_set():
            manager.remember(agents[number], f"note_{round_number % 9}", "x" * (round_number % 500 + 1))
            round_number += 1

    writers = [threading.Thread(target=write, args=[number]) for number in range(2)]
    for writer in writers:
        writer.start()
    try:
        back_up(database, file)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    restore(elsewhere, file)
    assert_invariants(elsewhere)
    assert read_state(elsewhere) != read_state(database)


@pytest.mark.usefixtures("personas")
def test_a_restored_database_goes_on(database: Database, elsewhere: Database, file: Path) -> None:
    back_up(database, file)
    restore(elsewhere, file)
    elsewhere.upgrade()
    before = read_state(elsewhere)
    agent = next(iter(before.agents.values()))
    manager = AgentMemoryManager(elsewhere)
    found = manager.get_agent(agent.id)
    assert found is not None
    assert '"created"' in manager.remember(found, "after_the_fire", "Everything is here")
    assert_invariants(elsewhere, before)


# What is refused, and leaves nothing behind


@pytest.mark.usefixtures("personas")
def test_a_backup_is_readable_by_its_owner_only(database: Database, file: Path) -> None:
    umask = os.umask(0)
    try:
        back_up(database, file)
    finally:
        os.umask(umask)
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]


def test_a_backup_overwrites_nothing(database: Database, file: Path) -> None:
    file.write_text("precious")
    with pytest.raises(InvalidInput, match="is there already"):
        back_up(database, file)
    assert file.read_text() == "precious"


def test_a_backup_into_a_folder_that_is_not_there_is_refused(database: Database, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be created: No such file or directory"):
        back_up(database, tmp_path / "nowhere" / "file")


def test_a_backup_of_what_is_not_there_leaves_nothing(elsewhere: Database, tmp_path: Path) -> None:
    gone = Database(elsewhere.url.replace("test_", "nothing_").replace("portal.db", "nothing.db"))
    with pytest.raises(MaintenanceFailed, match=r"there is no database|does not exist"):
        back_up(gone, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_restored_over_what_is_there(database: Database, file: Path, personas: Personas) -> None:
    back_up(database, file)
    before = read_state(database)
    with pytest.raises(MaintenanceFailed, match=r"is there; stop|is not empty"):
        restore(database, file)
    assert read_state(database) == before
    assert personas.directory.find_profile("ada@acme.example") is not None


@pytest.mark.parametrize("content", [b"", b"This is a shopping list.\n" * 100])
def test_what_is_no_backup_is_not_restored(elsewhere: Database, file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(MaintenanceFailed):
        restore(elsewhere, file)
    path = sqlite_path(elsewhere)
    assert path is None or not path.exists()


def test_a_file_that_is_not_there_is_not_restored(elsewhere: Database, file: Path) -> None:
    with pytest.raises(MaintenanceFailed, match=r"there is no file|could not open"):
        restore(elsewhere, file)


# Each database has troubles of its own


def test_a_sqlite_backup_is_one_file_that_needs_no_other(sqlite_database: Database, file: Path) -> None:
    furnish(sqlite_database)
    back_up(sqlite_database, file)
    with closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_another_programs_sqlite_file_is_not_restored(sqlite_database: Database, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE shopping (item TEXT)")
    target = Database(f"sqlite:///{tmp_path}/new.db")
    with pytest.raises(MaintenanceFailed, match="is no backup of a portal"):
        restore(target, tmp_path / "other.db")
    assert not (tmp_path / "new.db").exists()
    assert sqlite_database.is_sqlite


def test_a_damaged_sqlite_file_is_noticed(sqlite_database: Database, file: Path) -> None:
    furnish(sqlite_database)
    sqlite_database.dispose()
    path = sqlite_path(sqlite_database)
    assert path is not None
    content = bytearray(path.read_bytes())
    content[8_192 * 4 : 8_192 * 5] = b"\xff" * 8_192
    path.write_bytes(content)
    with pytest.raises(MaintenanceFailed, match=r"is damaged|malformed"):
        back_up(sqlite_database, file)
    assert not file.exists()


def test_a_log_that_was_left_behind_is_not_taken_for_the_restored_files(
    sqlite_database: Database, file: Path, tmp_path: Path
) -> None:
    back_up(sqlite_database, file)
    (tmp_path / "new.db-wal").write_bytes(b"of another time")
    with pytest.raises(MaintenanceFailed, match=r"new\.db-wal is there"):
        restore(Database(f"sqlite:///{tmp_path}/new.db"), file)


@pytest.mark.postgres
def test_without_postgresqls_programs_the_message_says_what_to_install(
    postgres_database: Database, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(file.parent))
    with pytest.raises(MaintenanceFailed, match=r"pg_dump is not on the PATH; install .*postgresql-client"):
        back_up(postgres_database, file)
    assert not file.exists()


@pytest.mark.postgres
def test_a_password_stands_in_no_argument(
    postgres_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pg_dump"
    program.write_text('#!/bin/sh\necho "$@" "but $PGPASSWORD in the environment" >&2\nexit 1\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with_password = Database(postgres_database.url.replace("portal@", "portal:hunter2@"))
    with pytest.raises(MaintenanceFailed) as refusal:
        back_up(with_password, tmp_path / "file")
    arguments, _, environment = str(refusal.value).partition(" but ")
    assert "--dbname=postgresql://portal@" in arguments
    assert "hunter2" not in arguments
    assert environment == "hunter2 in the environment"


# The commands


def run(database: Database, *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, env={"PORTAL_DATABASE_URL": database.url})


@pytest.mark.usefixtures("personas")
def test_the_commands_say_what_they_did(database: Database, elsewhere: Database, file: Path) -> None:
    made = run(database, "backup", str(file))
    assert made.output == f"Backed up to {file}, {file.stat().st_size:,} bytes.\n"
    assert run(elsewhere, "restore", str(file)).output.startswith("Restored. Erase again whoever was erased")
    again = run(database, "backup", str(file))
    assert (again.exit_code, again.output.count("\n")) == (2, 1)


def test_a_backup_of_an_older_version_is_to_be_upgraded(
    database: Database, elsewhere: Database, file: Path
) -> None:
    database.write(lambda session: session.execute(text("DELETE FROM alembic_version")))
    assert run(database, "backup", str(file)).exit_code == 0
    assert (
        "Note: the database has no schema; run `portal upgrade` first."
        in run(elsewhere, "restore", str(file)).output
    )


LIMITED = """
import resource, signal, sys
from portal.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, 4_096))
main(["backup", sys.argv[1], "--database", sys.argv[2]])
"""


@pytest.mark.usefixtures("personas")
def test_a_disk_that_is_full_leaves_no_half_backup(database: Database, file: Path) -> None:
    # Python would leave half of each module that it compiles.
    command = [sys.executable, "-B", "-c", LIMITED, str(file), database.url]
    with database.engine.connect():
        done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert list(file.parent.iterdir()) == []
