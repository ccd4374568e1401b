"""Databases of one kind, where what is tried differs between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.database import Database
from tests.databases import SqliteFiles, opened
from tests.postgres import PostgresServer


@pytest.fixture
def sqlite_database(sqlite_files: SqliteFiles) -> Iterator[Database]:
    with sqlite_files.migrated() as url, opened(url) as database:
        yield database


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[Database]:
    with postgres_server.migrated() as url, opened(url) as database:
        yield database
