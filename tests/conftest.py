"""What every test may ask for: databases of both kinds, and a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NoReturn

import pytest
from playwright.sync_api import Browser

from portal.database import Database
from tests import chromium
from tests.databases import BOTH_KINDS, Databases, SqliteFiles, databases_of_kind, opened
from tests.postgres import PostgresMissing, PostgresServer


# After everybody else has sorted and marked them.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def do_without(reason: str, *, required_by: str) -> NoReturn:
    """Skip a test for want of a program, or fail it where the environment says that it must run."""
    if os.environ.get(required_by) == "1":
        pytest.fail(f"{reason}; {required_by}=1 does not let this be skipped")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def sqlite_files(tmp_path_factory: pytest.TempPathFactory) -> SqliteFiles:
    return SqliteFiles(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    try:
        server = PostgresServer()
    except PostgresMissing as error:
        do_without(str(error), required_by="PORTAL_REQUIRE_POSTGRES")
    with server:
        yield server


@pytest.fixture(scope="session", params=BOTH_KINDS)
def databases(request: pytest.FixtureRequest) -> Databases:
    """Where databases come from; whatever asks for one runs on SQLite and on PostgreSQL."""
    return databases_of_kind(request)


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """The URL of a database without a schema."""
    with databases.empty() as url:
        yield url


@pytest.fixture
def database(databases: Databases) -> Iterator[Database]:
    """A database with the newest schema."""
    with databases.migrated() as url, opened(url) as found:
        yield found


# For a module and not for the whole run: while Playwright is active no other test can use asyncio.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        chromium.find_program()
    except chromium.ChromiumMissing as error:
        do_without(str(error), required_by="PORTAL_REQUIRE_BROWSER")
    with chromium.launched() as found:
        yield found


@pytest.fixture
def sqlite_database(sqlite_files: SqliteFiles) -> Iterator[Database]:
    with sqlite_files.migrated() as url, opened(url) as database:
        yield database


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[Database]:
    with postgres_server.migrated() as url, opened(url) as database:
        yield database
