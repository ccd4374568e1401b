"""I-21: what was deleted is in no file of the database any more, and in no log and no event."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from portal.cli import main
from portal.database import Database
from portal.errors import MaintenanceFailed
from portal.manager import AgentMemoryManager
from portal.operations.maintenance import vacuum
from portal.operations.schema import sqlite_path
from tests.databases import opened
from tests.factories import Personas, create_personas
from tests.invariants import assert_invariants
from tests.log_lines import Lines, logged_lines
from tests.operations.worlds import find
from tests.postgres import PostgresServer

# Contents, a key, a reason, and what is only in the casefolded text that is searched.
SECRETS = (b"measles", b"shingles", b"mumps", b"vaccination_card", b"rubella")


@pytest.fixture
def personas(database: Database) -> Personas:
    return create_personas(database)


@pytest.fixture
def lines() -> Iterator[Lines]:
    with logged_lines() as found:
        yield found


def write_and_delete(database: Database, personas: Personas) -> None:
    """Let every way in be followed by every way out."""
    manager = AgentMemoryManager(database)
    ada, bob = personas.agent(personas.ada), personas.agent(personas.bob)
    manager.remember(ada, "vaccination_card", "She has had measles")
    manager.forget(ada, "vaccination_card")
    for owner in (ada, bob):
        manager.propose_account_fact(owner, "illness", "They have shingles")
        manager.remember(owner, "illness", "x")
    manager.propose_account_fact(bob, "leave", "He is away with mumps, not RUBELLA")
    fact = manager.decide_account_fact(
        find(manager, personas.acme, "leave"), personas.acme, personas.root, "reject", reason="measles again"
    )
    manager.delete_memory(fact.id, personas.acme, deleted_by=personas.root)
    manager.remember(bob, "note", "mumps, measles and shingles")
    personas.directory.erase_profile(personas.bob)


def found_in(files: Iterable[Path]) -> set[bytes]:
    contents = [path.read_bytes() for path in files if path.is_file()]
    return {secret for secret in SECRETS for content in contents if secret in content}


def test_nothing_deleted_is_in_a_file_of_sqlite(sqlite_database: Database) -> None:
    write_and_delete(sqlite_database, create_personas(sqlite_database))
    folder = Path(str(sqlite_path(sqlite_database))).parent
    assert {path.name for path in folder.iterdir()} == {"portal.db", "portal.db-wal", "portal.db-shm"}
    assert found_in(folder.iterdir()), "it was in the log"
    vacuum(sqlite_database)
    assert found_in(folder.iterdir()) == set()
    assert_invariants(sqlite_database)


def test_what_another_program_deleted_goes_from_the_file_too(sqlite_database: Database) -> None:
    personas = create_personas(sqlite_database)
    AgentMemoryManager(sqlite_database).remember(personas.agent(personas.ada), "illness", "measles")
    path = Path(str(sqlite_path(sqlite_database)))
    with closing(sqlite3.connect(path)) as other:
        # Ours overwrites what it deletes, so that its own rows would be gone without more ado.
        other.execute("PRAGMA secure_delete = OFF")
        other.execute("DELETE FROM agent_memory")
        other.commit()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert found_in([path]) == {b"measles"}
    vacuum(sqlite_database)
    assert found_in(path.parent.iterdir()) == set()


def files_of_the_cluster(server: PostgresServer) -> Iterator[Path]:
    """Yield all files of a server but its log of changes, which is the operator's to keep."""
    paths = (server.folder / "data").rglob("*")
    return (path for path in paths if "pg_wal" not in path.parts)


@pytest.mark.postgres
def test_nothing_deleted_is_in_a_table_file_of_postgresql(
    postgres_database: Database, postgres_server: PostgresServer
) -> None:
    personas = create_personas(postgres_database)
    for owner in (personas.ada, personas.bob):
        content = f"{owner.name} had mumps"
        AgentMemoryManager(postgres_database).remember(personas.agent(owner), "illness", content)
    options = {"isolation_level": "AUTOCOMMIT", "postgresql_readonly": False}
    with postgres_database.engine.connect().execution_options(**options) as connection:
        # The planner's statistics hold samples of what is in each column.
        connection.execute(text("ANALYZE"))
        write_and_delete(postgres_database, personas)
        connection.execute(text("CHECKPOINT"))
        assert found_in(files_of_the_cluster(postgres_server)) == set(SECRETS)
        vacuum(postgres_database)
        connection.execute(text("CHECKPOINT"))
        assert found_in(files_of_the_cluster(postgres_server)) == set()
        assert found_in([postgres_server.folder / "log"]) == set()
    assert_invariants(postgres_database)


def test_nothing_deleted_is_in_a_log_or_an_event(
    database: Database, personas: Personas, lines: Lines
) -> None:
    write_and_delete(database, personas)
    with database.engine.connect() as connection:
        recorded = connection.execute(text("SELECT * FROM memory_event")).all()
    written = f"{json.dumps(lines)} {recorded}".encode()
    assert len([line for line in lines if "memory_id" in line]) == len(recorded) > 10
    assert [secret for secret in SECRETS if secret in written] == []


def test_what_is_read_all_the_time_cannot_be_emptied(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_personas(sqlite_database)
    monkeypatch.setattr("portal.connections.SQLITE_BUSY_TIMEOUT_MS", 50)
    with opened(sqlite_database.url) as impatient, sqlite_database.engine.connect() as reader:
        reader.execute(text("SELECT count(*) FROM profile"))
        with pytest.raises(MaintenanceFailed, match="the log is in use"):
            vacuum(impatient)


@pytest.mark.postgres
def test_somebody_who_may_not_do_it_all_is_told(postgres_database: Database) -> None:
    entering = "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA public TO clerk"
    postgres_database.write(lambda session: session.execute(text(entering)))
    with (
        opened(postgres_database.url.replace("portal@", "clerk@")) as clerk,
        pytest.raises(MaintenanceFailed, match=r"connect as the owner of the database: .*organisation"),
    ):
        vacuum(clerk)
    leaving = "DROP OWNED BY clerk; DROP ROLE clerk"
    postgres_database.write(lambda session: session.execute(text(leaving)))


def test_the_command_says_that_it_is_done(database: Database) -> None:
    done = CliRunner().invoke(main, ["vacuum", "--database", database.url])
    assert (done.exit_code, done.output) == (0, "Nothing that was deleted is left in the database's files.\n")
