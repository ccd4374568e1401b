"""Where the tests get databases from: one interface, SQLite behind it here and PostgreSQL in `postgres`."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from portal.database import Database


class Databases(Protocol):
    """Gives databases that nobody else uses, each gone after its ``with`` block."""

    def empty(self) -> AbstractContextManager[str]:
        """Give the URL of a database without a schema."""

    def migrated(self) -> AbstractContextManager[str]:
        """Give the URL of a database with the newest schema."""

    def copied(self, url: str) -> AbstractContextManager[str]:
        """Give the URL of a copy of one of these databases, to which nobody may be connected."""


BOTH_KINDS = [
    pytest.param("sqlite_files", id="sqlite"),
    pytest.param("postgres_server", id="postgres", marks=pytest.mark.postgres),
]
"""The parameters of a fixture that gives :func:`databases_of_kind`, with which a test runs on both."""


def databases_of_kind(request: pytest.FixtureRequest) -> Databases:
    """Return where databases of the kind come from that a fixture was asked for."""
    found: Databases = request.getfixturevalue(request.param)
    return found


@contextmanager
def opened(url: str) -> Iterator[Database]:
    """Give the database behind a URL, and close its connections afterwards."""
    database = Database(url)
    try:
        yield database
    finally:
        database.dispose()


class SqliteFiles:
    """SQLite databases, each a file in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._template = folder / "template.db"

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Give the URL of a file that does not exist yet."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        try:
            yield f"sqlite:///{folder / 'portal.db'}"
        finally:
            shutil.rmtree(folder)

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """Give the URL of a copy of a migrated file."""
        if not self._template.exists():
            with opened(f"sqlite:///{self._template}") as database:
                database.upgrade()
        with self.copied(f"sqlite:///{self._template}") as url:
            yield url

    @contextmanager
    def copied(self, url: str) -> Iterator[str]:
        """Give the URL of a copy of a file."""
        with self.empty() as copy:
            shutil.copy(url.removeprefix("sqlite:///"), copy.removeprefix("sqlite:///"))
            yield copy
