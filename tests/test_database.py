"""The database: how it is opened, begun, shared, forked and closed, on both kinds."""

from __future__ import annotations

import itertools
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, bindparam, delete, event, func, insert, select, text
from sqlalchemy.exc import DBAPIError, InternalError, OperationalError
from sqlalchemy.orm import Session

from portal.database import WRITE_ATTEMPTS, Database
from portal.errors import InvalidInput
from portal.manager import AgentMemoryManager
from portal.models import Organisation
from portal.transactions import DriverTransaction, change_in, fetch_in
from portal.values import utc_now
from tests.databases import opened
from tests.factories import create_personas
from tests.postgres import PostgresServer
from tests.statements import statements

ROOT = Path(__file__).parent.parent


def path_of(database: Database) -> Path:
    return Path(database.url.removeprefix("sqlite:///"))


def add_organisation(session: Session, slug: str = "one") -> None:
    values = {"name": "One", "slug": slug, "active": True, "created_at": utc_now()}
    session.execute(insert(Organisation), values)


def count_organisations(session: Session) -> int:
    count: int = session.execute(text("SELECT count(*) FROM organisation")).scalar_one()
    return count


# The URL says which database it is, and whatever is no such URL is refused at once.


@pytest.mark.parametrize(
    "url",
    [
        "",
        "portal.db",
        "/var/lib/portal.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite+aiosqlite:///portal.db",
        "postgresql+psycopg2://portal@localhost/portal",
        "postgresql+asyncpg://portal@localhost/portal",
        "mysql://portal@localhost/portal",
        "https://example.org/portal.db",
    ],
)
def test_a_url_of_nothing_that_we_serve_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        Database(url)
    assert refusal.value.field == "database_url"


def test_a_refused_url_keeps_its_password_to_itself() -> None:
    with pytest.raises(InvalidInput) as refusal:
        Database("mysql://portal:hunter2@localhost/portal")
    assert "hunter2" not in str(refusal.value)


def test_a_relative_path_is_that_of_the_folder_where_the_database_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with opened("sqlite:///portal.db") as database:
        monkeypatch.chdir(tmp_path / "elsewhere")
        database.upgrade()
        assert database.read(count_organisations) == 0
        assert database.url == f"sqlite:///{tmp_path}/portal.db"
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == []


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?.db", "größe#1.db", "a%20b.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with opened(f"sqlite:///{path}".replace("%", "%25").replace("?", "%3F")) as database:
        database.upgrade()
        assert database.read(count_organisations) == 0
    assert [found.name for found in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_a_postgresql_url_means_psycopg_3_and_keeps_its_password(scheme: str) -> None:
    url = Database(f"{scheme}://portal:secret@localhost/portal").url
    assert url == "postgresql+psycopg://portal:secret@localhost/portal"


# Nothing happens before it is asked for.


def test_a_database_that_is_only_named_makes_no_file(tmp_path: Path) -> None:
    Database(f"sqlite:///{tmp_path}/portal.db").dispose()
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_only_named_need_not_be_there() -> None:
    database = Database("postgresql+psycopg://portal@127.0.0.1:1/portal?connect_timeout=2")
    with pytest.raises(OperationalError):
        database.read(count_organisations)
    database.dispose()


def test_a_file_that_is_not_there_is_an_error_and_not_made(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path}/portal.db") as database, pytest.raises(OperationalError):
        database.read(count_organisations)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_made_is_the_urls_fault(tmp_path: Path) -> None:
    with (
        opened(f"sqlite:///{tmp_path}/missing/portal.db") as database,
        pytest.raises(InvalidInput) as refusal,
    ):
        database.upgrade()
    assert refusal.value.field == "database_url"


def test_all_threads_get_one_engine(database: Database) -> None:
    start = threading.Barrier(8)

    def engine(_: int) -> Engine:
        start.wait()
        return database.engine

    with opened(database.url) as fresh, ThreadPoolExecutor(8) as pool:
        database = fresh
        assert len(set(map(id, pool.map(engine, range(8))))) == 1


# What SQLite is set to, on each connection.


@pytest.mark.parametrize(
    ("pragma", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("secure_delete", 1),
        ("page_size", 8192),
    ],
)
def test_each_sqlite_connection_is_set_to(sqlite_database: Database, pragma: str, value: object) -> None:
    question = text(f"PRAGMA {pragma}")

    def ask_twice(session: Session) -> list[object]:
        # While one connection is in use the pool opens another.
        return [session.scalar(question), sqlite_database.read(lambda other: other.scalar(question))]

    assert sqlite_database.read(ask_twice) == [value, value]
    assert sqlite_database.write(lambda session: session.scalar(question)) == value


def test_a_connection_that_wrote_waits_as_long_as_any_to_read(sqlite_database: Database) -> None:
    question = text("PRAGMA busy_timeout")

    def on_driver(work: DriverTransaction) -> list[tuple[int]]:
        return fetch_in(work, question, {})

    # Whoever writes asks again by themselves.
    assert sqlite_database.write(lambda session: session.scalar(question)) == 100
    assert sqlite_database.read(lambda session: session.scalar(question)) == 10_000
    assert sqlite_database.write_on_driver(on_driver) == [(100,)]
    assert sqlite_database.fetch_rows(question, {}) == [(10_000,)]
    assert sqlite_database.write_on_driver(on_driver) == [(100,)]
    assert sqlite_database.read_on_driver(on_driver) == [(10_000,)]


def test_a_new_file_is_its_owners_alone_whatever_the_umask_says(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        with opened(f"sqlite:///{tmp_path}/portal.db") as database:
            database.upgrade()
            database.write(add_organisation)
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(umask)
    assert modes == {"portal.db": 0o600, "portal.db-wal": 0o600, "portal.db-shm": 0o600}


def test_what_is_deleted_is_overwritten_in_the_file(sqlite_database: Database) -> None:
    sqlite_database.write(lambda session: add_organisation(session, "deleted-and-gone"))
    sqlite_database.write(lambda session: session.execute(text("DELETE FROM organisation")))
    sqlite_database.dispose()
    assert b"deleted-and-gone" not in path_of(sqlite_database).read_bytes()


# How transactions begin on SQLite: each statement that its library ran, as the library tells it.


def trace(database: Database) -> list[str]:
    """Return a list that fills with what every new connection runs, settings aside. There are no others."""
    database.dispose()
    statements: list[str] = []

    def note(statement: str) -> None:
        if not statement.startswith("PRAGMA"):
            statements.append(statement)

    event.listen(database.engine.pool, "connect", lambda connection, _: connection.set_trace_callback(note))
    # The first connection is also asked what it is of.
    with database.engine.connect():
        statements.clear()
    return statements


def test_a_read_begins_deferred_and_writes_nothing(sqlite_database: Database) -> None:
    statements = trace(sqlite_database)
    sqlite_database.read(count_organisations)
    assert statements == ["BEGIN DEFERRED", "SELECT count(*) FROM organisation", "ROLLBACK"]


def test_a_write_begins_immediately(sqlite_database: Database) -> None:
    statements = trace(sqlite_database)
    sqlite_database.write(count_organisations)
    assert statements == ["BEGIN IMMEDIATE", "SELECT count(*) FROM organisation", "COMMIT"]


def test_list_is_one_statement_and_no_transaction(sqlite_database: Database) -> None:
    personas = create_personas(sqlite_database)
    agent = personas.agent(personas.ada)
    statements = trace(sqlite_database)
    AgentMemoryManager(sqlite_database).list(agent)
    assert [statement.split()[0] for statement in statements] == ["SELECT"]


def test_every_call_that_writes_begins_immediately(sqlite_database: Database) -> None:
    personas = create_personas(sqlite_database)
    manager, agent = AgentMemoryManager(sqlite_database), personas.agent(personas.ada)
    statements = trace(sqlite_database)
    manager.propose_account_fact(agent, "key", "text")
    (proposal,) = manager.find_proposed_account_facts(personas.acme, "support")
    manager.decide_account_fact(proposal.id, personas.acme, personas.root, "confirm")
    begun = [statement for statement in statements if statement.startswith("BEGIN")]
    assert begun == ["BEGIN IMMEDIATE", "BEGIN DEFERRED", "BEGIN IMMEDIATE"]


def hold(database: Database, seconds: float) -> threading.Thread:
    """Return a running thread in which somebody else writes for so long."""
    is_writing = threading.Event()

    def write(session: Session) -> None:
        count_organisations(session)
        is_writing.set()
        time.sleep(seconds)

    def work() -> None:
        with opened(database.url) as other:
            other.write(write)

    thread = threading.Thread(target=work)
    thread.start()
    is_writing.wait()
    return thread


def test_whoever_waits_to_write_asks_again_and_again(sqlite_database: Database) -> None:
    """Left to itself SQLite asks ever less, so that somebody waits in vain where many write."""
    statements = trace(sqlite_database)
    thread = hold(sqlite_database, 1)
    assert sqlite_database.write(count_organisations) == 0
    thread.join()
    assert statements.count("BEGIN IMMEDIATE") > 3
    assert statements[-2:] == ["SELECT count(*) FROM organisation", "COMMIT"]


def test_whoever_waits_too_long_to_write_is_told_so_and_can_go_on(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.connections.SQLITE_BUSY_TIMEOUT_MS", 200)
    thread = hold(sqlite_database, 1)
    with pytest.raises(OperationalError, match="database is locked"):
        sqlite_database.write(count_organisations)
    # A read waits for nobody, and the connection waits as long as it did before.
    assert sqlite_database.read(lambda session: session.scalar(text("PRAGMA busy_timeout"))) == 200
    assert sqlite_database.read(count_organisations) == 0
    thread.join()
    assert sqlite_database.write(count_organisations) == 0


# How transactions begin on PostgreSQL.

SETTINGS = [
    "transaction_isolation",
    "transaction_read_only",
    "statement_timeout",
    "lock_timeout",
    "TimeZone",
]


def show(session: Session) -> list[str]:
    return [session.execute(text(f"SHOW {name}")).scalar_one() for name in SETTINGS]


@pytest.mark.postgres
def test_a_read_on_postgresql_is_one_snapshot_and_read_only(postgres_database: Database) -> None:
    assert postgres_database.read(show) == ["repeatable read", "on", "5s", "3s", "UTC"]
    with pytest.raises(InternalError, match="read-only transaction"):
        postgres_database.read(add_organisation)


@pytest.mark.postgres
def test_a_write_on_postgresql_reads_what_is_committed(postgres_database: Database) -> None:
    assert postgres_database.write(show) == ["read committed", "off", "5s", "3s", "UTC"]


@pytest.mark.postgres
def test_options_in_the_url_of_postgresql_stay(postgres_server: PostgresServer) -> None:
    options = "options=-c%20application_name%3Dmine"
    with postgres_server.empty() as url, opened(f"{url}&{options}") as database:
        assert database.read(lambda session: session.scalar(text("SHOW application_name"))) == "mine"
        assert database.read(show)[2:] == ["5s", "3s", "UTC"]


@pytest.mark.postgres
def test_an_option_in_the_url_counts_more_than_how_we_let_it_plan(postgres_server: PostgresServer) -> None:
    def cost(database: Database) -> object:
        return database.read(lambda session: session.scalar(text("SHOW random_page_cost")))

    with postgres_server.empty() as url:
        with opened(url) as database:
            assert cost(database) == "1.1"
        with opened(f"{url}&options=-c%20random_page_cost%3D3") as database:
            assert cost(database) == "3"


# A reading transaction on the driver itself.


def test_what_is_read_on_the_driver_is_of_one_moment(database: Database) -> None:
    count, numbers = select(func.count()).select_from(Organisation), itertools.count()

    def read_twice(work: DriverTransaction) -> tuple[int, int]:
        [(before,)] = fetch_in(work, count, {})
        database.write(lambda session: add_organisation(session, f"slug-{next(numbers)}"))
        [(after,)] = fetch_in(work, count, {})
        return before, after

    assert database.read_on_driver(read_twice) == (0, 0)
    assert database.read_on_driver(read_twice) == (1, 1)


@pytest.mark.postgres
def test_a_read_on_the_driver_of_postgresql_writes_nothing(postgres_database: Database) -> None:
    forget = delete(Organisation).where(Organisation.id == bindparam("id"))
    with pytest.raises(InternalError, match="read-only transaction"):
        postgres_database.read_on_driver(lambda work: change_in(work, forget, {"id": 1}))


@pytest.mark.postgres
def test_scopes_are_locked_without_keeping_foreign_keys_out(postgres_database: Database) -> None:
    personas = create_personas(postgres_database)
    manager, agent = AgentMemoryManager(postgres_database), personas.agent(personas.ada)
    with statements(postgres_database) as seen:
        manager.propose_account_fact(agent, "key", "text")
        (proposal,) = manager.find_proposed_account_facts(personas.acme, "support")
        manager.decide_account_fact(proposal.id, personas.acme, personas.root, "confirm")
    locks = [line.strip() for statement in seen for line in statement.splitlines() if " FOR " in f" {line}"]
    assert [lock[lock.index("FOR ") :] for lock in locks] == [
        "FOR NO KEY UPDATE OF agent",
        "FOR SHARE OF profile",
        "FOR NO KEY UPDATE",
        "FOR NO KEY UPDATE OF agent",
    ]


# What PostgreSQL asks to be tried again is tried again, and nothing else.


def fail_with(database: Database, sqlstate: str, times: int) -> int:
    """Write with a transaction that fails so many times, and return how often it was tried."""
    tries = 0

    def work(session: Session) -> None:
        nonlocal tries
        tries += 1
        add_organisation(session)
        if tries <= times:
            session.execute(text(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{sqlstate}'; END $$"))

    try:
        database.write(work)
    except DBAPIError as error:
        assert getattr(error.orig, "sqlstate", None) == sqlstate  # noqa: PT017 - it may also succeed
    return tries


@pytest.mark.postgres
@pytest.mark.parametrize("sqlstate", ["40001", "40P01"])
def test_a_conflict_is_tried_again_three_times_in_all(postgres_database: Database, sqlstate: str) -> None:
    assert fail_with(postgres_database, sqlstate, times=WRITE_ATTEMPTS) == WRITE_ATTEMPTS == 3
    assert postgres_database.read(count_organisations) == 0
    assert fail_with(postgres_database, sqlstate, times=2) == 3
    assert postgres_database.read(count_organisations) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("sqlstate", ["55P03", "57014", "23505", "P0001"])
def test_any_other_error_is_the_callers_at_once(postgres_database: Database, sqlstate: str) -> None:
    assert fail_with(postgres_database, sqlstate, times=1) == 1
    assert postgres_database.read(count_organisations) == 0


@pytest.mark.postgres
def test_two_transactions_that_wait_for_each_other_both_succeed(postgres_database: Database) -> None:
    create_personas(postgres_database)
    both_hold_one, one_is_done = threading.Barrier(2), threading.Event()
    tries: list[str] = []
    rename = text("UPDATE organisation SET name = name || '+' WHERE slug = :slug")

    def rename_both(slugs: tuple[str, str]) -> None:
        def work(session: Session) -> None:
            is_again = slugs[0] in tries
            tries.append(slugs[0])
            if is_again:
                one_is_done.wait()
            session.execute(rename, {"slug": slugs[0]})
            if not is_again:
                both_hold_one.wait()
            session.execute(rename, {"slug": slugs[1]})

        postgres_database.write(work)
        one_is_done.set()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(rename_both, [("acme", "globex"), ("globex", "acme")]))
    assert len(tries) == 3
    names = postgres_database.read(
        lambda session: session.scalars(text("SELECT name FROM organisation")).all()
    )
    assert sorted(names) == ["Acme++", "Globex++"]


# What holds on both.


def test_all_reads_of_one_call_see_one_state(database: Database) -> None:
    def read(session: Session) -> list[int]:
        first = count_organisations(session)
        database.write(add_organisation)
        return [first, count_organisations(session)]

    assert database.read(read) == [0, 0]
    assert database.read(count_organisations) == 1


def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    def work(session: Session) -> None:
        add_organisation(session)
        raise LookupError("the caller's own")

    with pytest.raises(LookupError):
        database.write(work)
    assert database.read(count_organisations) == 0


def test_after_it_is_disposed_of_nothing_is_open_and_the_next_use_opens_anew(database: Database) -> None:
    def use_two_connections(session: Session) -> int:
        return count_organisations(session) + database.read(count_organisations)

    database.write(add_organisation)
    assert database.read(use_two_connections) == 2
    assert count_open(database) >= 2
    database.dispose()
    assert becomes_zero(database)
    assert database.read(count_organisations) == 1


def count_open(database: Database) -> int:
    """Return how many connections this process has open, as the system or the server sees it."""
    if database.is_sqlite:
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return sum(link.readlink() == path_of(database) for link in links)
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with opened(database.url) as observer:
        count: int = observer.read(lambda session: session.execute(others).scalar_one())
    return count


def becomes_zero(database: Database) -> bool:
    """Wait until nothing is open. PostgreSQL's server hears of it a moment later."""
    give_up_at = time.monotonic() + 5
    while count_open(database) > 0 and time.monotonic() < give_up_at:
        time.sleep(0.02)
    return count_open(database) == 0


# The bug of SQLite that only a newer one mends.

TWO_DATABASES_FOR_EACH_VERSION = """
import logging, sqlite3, sys
from portal.database import Database
logging.basicConfig(format="%(name)s %(levelname)s %(message)s", stream=sys.stdout)
for version in ["3.40.1", "3.44.5", "3.44.6", "3.50.6", "3.50.7", "3.51.2", "3.51.3", "3.53.0"]:
    sqlite3.sqlite_version_info = tuple(map(int, version.split(".")))
    for name in ("one", "two"):
        Database(f"sqlite:///{name}.db").engine.dispose()
"""


def test_an_sqlite_with_the_reset_bug_is_named_once_in_a_process() -> None:
    command = [sys.executable, "-c", TWO_DATABASES_FOR_EACH_VERSION]
    lines = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    warnings = [line.split()[3] for line in lines if line.startswith("portal.database WARNING SQLite ")]
    assert warnings == ["3.40.1", "3.44.5", "3.50.6", "3.51.2"]
