"""A portal with people in it. The core's tests cover both databases, so most of these stay with SQLite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jinja2 import FileSystemBytecodeCache

from portal.database import Database
from portal.settings import Settings
from tests.databases import SqliteFiles
from tests.web.visitors import HERE, SECRET_KEY, Portal, running_portal


@pytest.fixture(scope="session")
def databases(sqlite_files: SqliteFiles) -> SqliteFiles:
    return sqlite_files


@pytest.fixture
def settings(database: Database) -> Settings:
    return Settings(secret_key=SECRET_KEY, database_url=database.url, public_url=HERE)


@pytest.fixture(scope="session")
def compiled_templates(tmp_path_factory: pytest.TempPathFactory) -> FileSystemBytecodeCache:
    """Templates compiled once for all the portals of a run, which take longer over that than over a page."""
    return FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))


@pytest.fixture
def portal(
    database: Database, settings: Settings, compiled_templates: FileSystemBytecodeCache
) -> Iterator[Portal]:
    with running_portal(database, settings, compiled_templates) as portal:
        yield portal
