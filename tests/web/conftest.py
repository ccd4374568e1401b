"""A portal with people in it. The core's tests cover both databases, so most of these stay with SQLite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.settings import Settings
from portal.web import create_app
from portal.web.services import EXTENSION
from tests.databases import SqliteFiles
from tests.factories import Clock, create_personas
from tests.quick_passwords import give_everybody_a_password
from tests.web.visitors import HERE, Portal

SECRET_KEY = "a key for tests, which protects nothing"


@pytest.fixture(scope="session")
def databases(sqlite_files: SqliteFiles) -> SqliteFiles:
    return sqlite_files


@pytest.fixture
def settings(database: Database) -> Settings:
    return Settings(secret_key=SECRET_KEY, database_url=database.url, public_url=HERE)


@pytest.fixture
def portal(database: Database, settings: Settings) -> Iterator[Portal]:
    clock = Clock()
    personas = create_personas(database, clock=clock)
    give_everybody_a_password(database)
    app = create_app(settings, clock=clock)
    app.testing = True
    yield Portal(app, personas, AgentMemoryManager(database, clock=clock), clock)
    app.extensions[EXTENSION].database.dispose()
