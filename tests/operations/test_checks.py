"""`portal check`: silent on a good setting, and a line with a remedy for each fault."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import event, text

from portal.cli import main
from portal.database import Database
from portal.operations.checks import check_database, check_settings
from portal.operations.findings import Finding
from portal.operations.schema import sqlite_path
from tests.databases import opened

KEY = "a3N0b3AgdGhlIHByZXNzZXMsIHRoaXMgaXMgYSBrZXk"

GOOD = {
    "PORTAL_SECRET_KEY": KEY,
    "PORTAL_PUBLIC_URL": "https://memory.example.org",
    "PORTAL_PROXY_HOPS": "1",
}

WITHOUT_RESET_BUG = (3, 51, 3)


def check(database: Database, *command: str, **variables: str) -> Result:
    environment = GOOD | {"PORTAL_DATABASE_URL": database.url} | variables
    return CliRunner().invoke(main, command or ["check"], env=environment)


def faults(findings: Iterator[Finding]) -> list[str]:
    return [finding.problem for finding in findings if finding.is_fault]


def warnings(findings: Iterator[Finding]) -> list[str]:
    return [finding.problem for finding in findings if not finding.is_fault]


def file_of(database: Database) -> Path:
    path = sqlite_path(database)
    assert path is not None
    return path


# A good setting


@pytest.mark.postgres
def test_a_good_setting_with_postgresql_is_silent(postgres_database: Database) -> None:
    result = check(postgres_database)
    assert (result.output, result.exit_code) == ("", 0)


def test_a_good_setting_with_sqlite_is_silent_but_for_the_librarys_own_bug(sqlite_database: Database) -> None:
    assert list(check_database(sqlite_database, sqlite_version=WITHOUT_RESET_BUG)) == []
    result = check(sqlite_database)
    assert [line for line in result.output.splitlines() if "3.51.3 or newer" not in line] == []
    assert result.exit_code == 0


def test_on_this_machine_alone_nothing_but_a_key_has_to_be_set() -> None:
    local = check_settings({"PORTAL_SECRET_KEY": KEY}, bind="127.0.0.1:8000")
    assert list(local) == []


# Settings


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"PORTAL_SECRET_KEY": ""}, "PORTAL_SECRET_KEY: this has to be set; make one with"),
        ({"PORTAL_SECRET_KEY": KEY[:31]}, "PORTAL_SECRET_KEY: this is too short or a placeholder; make one"),
        ({"PORTAL_SECRET_KEY": "changeme" * 8}, "PORTAL_SECRET_KEY: this is too short or a placeholder"),
        ({"PORTAL_SECRET_KEY_FALLBACKS": "dev"}, "PORTAL_SECRET_KEY_FALLBACKS: this is too short or a pl"),
        ({"PORTAL_METRICS_TOKEN": "metrics"}, "PORTAL_METRICS_TOKEN: this is too short or a placeholder"),
        ({"PORTAL_PUBLIC_URL": ""}, "PORTAL_PUBLIC_URL: this is not set"),
        ({"PORTAL_PUBLIC_URL": "http://memory.example.org"}, "PORTAL_PUBLIC_URL: over plain http"),
        ({"PORTAL_PUBLIC_URL": "http://10.0.0.7:8000"}, "PORTAL_PUBLIC_URL: over plain http"),
        ({"PORTAL_PROXY_HOPS": "many"}, "PORTAL_PROXY_HOPS: give a whole number"),
        ({"PORTAL_LOG_LEVEL": "debug"}, "PORTAL_LOG_LEVEL: give one of"),
    ],
)
def test_a_setting_that_will_not_do_is_named(changed: dict[str, str], problem: str) -> None:
    [found] = faults(check_settings(GOOD | changed))
    assert found.startswith(problem)


def test_all_faults_are_named_at_once() -> None:
    found = faults(check_settings({"PORTAL_PROXY_HOPS": "many"}))
    assert [problem.partition(":")[0] for problem in found] == [
        "PORTAL_SECRET_KEY",
        "PORTAL_PROXY_HOPS",
        "PORTAL_PUBLIC_URL",
    ]


@pytest.mark.parametrize(
    ("variables", "bind"),
    [
        pytest.param({"PORTAL_PROXY_HOPS": "0"}, None, id="https needs a proxy"),
        pytest.param(
            {"PORTAL_PUBLIC_URL": "http://localhost", "PORTAL_PROXY_HOPS": ""}, "unix:/run/x", id="a socket"
        ),
    ],
)
def test_a_proxy_behind_which_all_clients_look_alike_is_warned_of(
    variables: dict[str, str], bind: str | None
) -> None:
    [found] = check_settings(GOOD | variables, bind=bind)
    assert not found.is_fault
    assert "all clients look alike" in found.problem
    assert "usually 1" in found.remedy


def test_a_slip_in_a_variables_name_is_warned_of() -> None:
    [found] = check_settings(GOOD | {"PORTAL_PROXY_HOP": "2", "PORTAL_SERVICE_HOST": "10.0.0.1"})
    assert (
        str(found) == "warning: PORTAL_PROXY_HOP is no setting; if you mean PORTAL_PROXY_HOPS, call it that"
    )


@pytest.mark.parametrize("bind", ["0.0.0.0:8000", "[::]:8000", "10.0.0.7:80", "unix:/run/portal.sock"])
def test_whoever_lets_others_in_has_to_say_under_which_name(bind: str) -> None:
    [found] = faults(check_settings({"PORTAL_SECRET_KEY": KEY}, bind=bind))
    assert found.startswith("PORTAL_PUBLIC_URL: this is not set")


# Database


def test_a_url_that_is_none_is_named(sqlite_database: Database) -> None:
    result = check(sqlite_database, PORTAL_DATABASE_URL="mysql://nowhere")
    assert "error: PORTAL_DATABASE_URL: use sqlite:///FILE or postgresql+psycopg://" in result.output
    assert result.exit_code == 1


def test_a_file_that_cannot_be_read_is_named_once(sqlite_database: Database) -> None:
    result = check(sqlite_database, "check", PORTAL_DATABASE_URL="", PORTAL_DATABASE_URL_FILE="/nowhere/url")
    problem = "error: PORTAL_DATABASE_URL_FILE: the file /nowhere/url cannot be read as text\n"
    assert (result.output, result.exit_code) == (problem, 1)


def test_a_database_without_a_schema_is_named(database_url: str) -> None:
    with opened(database_url) as empty:
        [found] = faults(check_database(empty))
    assert "run `portal upgrade` first" in found


def test_looking_for_a_database_does_not_create_it(tmp_path: Path) -> None:
    assert len(faults(check_database(Database(f"sqlite:///{tmp_path}/portal.db")))) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("revision", "problem"),
    [("9999", "the schema of a newer version (9999); install that version"), ("", "has no schema")],
)
def test_a_schema_that_is_not_this_versions_is_named(database: Database, revision: str, problem: str) -> None:
    replacing = text("UPDATE alembic_version SET version_num = :revision").bindparams(revision=revision)
    removing = text("DELETE FROM alembic_version")
    database.write(lambda session: session.execute(replacing if revision else removing))
    [found] = faults(check_database(database))
    assert problem in found


def test_a_server_that_does_not_answer_is_one_line() -> None:
    nobody = Database("postgresql+psycopg://nobody:hunter2@127.0.0.1:1/nothing")
    [found] = faults(check_database(nobody))
    assert found.startswith("the database cannot be used: connection")
    assert "\n" not in found
    assert "hunter2" not in found


def test_a_file_that_is_no_database_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "portal.db"
    path.write_text("This is a shopping list.\n" * 100)
    path.chmod(0o600)
    [found] = faults(check_database(Database(f"sqlite:///{path}")))
    assert found == "the database cannot be used: file is not a database"


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644])
def test_a_file_that_others_can_reach_is_named(sqlite_database: Database, suffix: str, mode: int) -> None:
    # The files beside it are there while somebody is connected.
    with sqlite_database.engine.connect():
        path = Path(f"{file_of(sqlite_database)}{suffix}")
        path.chmod(mode)
        [found] = check_database(sqlite_database, sqlite_version=WITHOUT_RESET_BUG)
    assert str(found) == (f"error: {path} can be read by everybody on this machine; run: chmod 600 {path}")


def test_a_file_that_its_group_can_reach_is_warned_of(sqlite_database: Database) -> None:
    file_of(sqlite_database).chmod(0o660)
    [found] = check_database(sqlite_database, sqlite_version=WITHOUT_RESET_BUG)
    assert str(found).startswith(f"warning: {file_of(sqlite_database)} can be read by the group")


@pytest.mark.parametrize(
    ("pragma", "problem"),
    [
        ("journal_mode = DELETE", "keeps its journal as 'delete' and not as 'wal'"),
        ("foreign_keys = OFF", "does not enforce foreign keys"),
    ],
)
def test_a_connection_without_what_it_needs_is_named(
    sqlite_database: Database, pragma: str, problem: str
) -> None:
    def spoil(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute(f"PRAGMA {pragma}")

    event.listen(sqlite_database.engine, "connect", spoil)
    [found] = faults(check_database(sqlite_database))
    assert problem in found


@pytest.mark.parametrize(
    ("kind", "is_fault"), [("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("ext4", False)]
)
def test_a_network_file_system_is_named(
    sqlite_database: Database, tmp_path: Path, kind: str, *, is_fault: bool
) -> None:
    folder = str(file_of(sqlite_database).parent).replace(" ", "\\040")
    table = tmp_path / "mountinfo"
    table.write_text(
        f"21 1 8:1 / / rw - xfs /dev/sda1 rw\n22 21 0:5 / {folder} rw,noatime shared:5 - {kind} there:/x rw\n"
    )
    found = faults(check_database(sqlite_database, mounts=table))
    assert [f"({kind})" in problem for problem in found] == [True] * is_fault


def test_where_mounts_are_not_told_nothing_is_said_of_them(sqlite_database: Database, tmp_path: Path) -> None:
    assert faults(check_database(sqlite_database, mounts=tmp_path / "nothing")) == []


@pytest.mark.parametrize(
    ("version", "has_bug"),
    [((3, 40, 1), True), ((3, 51, 2), True), ((3, 51, 3), False), ((3, 52, 0), False), ((3, 50, 7), False)],
)
def test_the_bug_of_older_sqlite_is_warned_of(
    sqlite_database: Database, version: tuple[int, int, int], *, has_bug: bool
) -> None:
    found = warnings(check_database(sqlite_database, sqlite_version=version))
    assert ["3.51.3 or newer" in problem for problem in found] == [True] * has_bug


# The application, and the command


def test_debugging_is_named(sqlite_database: Database) -> None:
    result = check(sqlite_database, FLASK_DEBUG="1")
    assert "error: FLASK_DEBUG: " in result.output
    assert result.exit_code == 1


def test_an_application_that_cannot_be_loaded_is_one_line(sqlite_database: Database, tmp_path: Path) -> None:
    (tmp_path / "flask_login.py").write_text("raise ImportError('it is broken')")
    result = check(sqlite_database, PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert "error: the application cannot be loaded: ImportError: it is broken" in result.output


def test_a_secret_is_never_printed(sqlite_database: Database) -> None:
    result = check(sqlite_database, PORTAL_SECRET_KEY="hunter2", PORTAL_METRICS_TOKEN="hunter2")
    assert result.exit_code == 1
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"PORTAL_SECRET_KEY": "changeme"}, "PORTAL_SECRET_KEY: "),
        ({"PORTAL_PUBLIC_URL": "http://memory.example.org"}, "PORTAL_PUBLIC_URL: over plain http"),
        ({"FLASK_DEBUG": "1"}, "FLASK_DEBUG: "),
        ({"PORTAL_DATABASE_URL": "sqlite:////nowhere/portal.db"}, "there is no database"),
    ],
)
def test_nothing_is_served_with_a_fault(
    sqlite_database: Database, variables: dict[str, str], problem: str
) -> None:
    result = check(sqlite_database, "serve", "--bind", "127.0.0.1:1", **variables)
    assert result.exit_code == 2
    assert f"error: {problem}" in result.stderr
    assert result.stderr.endswith("Error: the portal is not served like this\n")
