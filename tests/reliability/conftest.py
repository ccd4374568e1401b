from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.database import Database
from tests.databases import Databases
from tests.factories import create_personas
from tests.invariants import assert_invariants
from tests.postgres import PostgresServer
from tests.reliability.arena import Arena
from tests.reliability.crowds import Crowd, Processes, Threads


@pytest.fixture(scope="session")
def threads() -> Iterator[Threads]:
    with Threads() as crowd:
        yield crowd


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    with Processes() as crowd:
        yield crowd


@pytest.fixture(params=["threads", "processes"])
def crowd(request: pytest.FixtureRequest) -> Crowd:
    """Who calls; whatever asks for a crowd runs with threads and with processes."""
    found: Crowd = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def arena(database: Database, crowd: Crowd, databases: Databases) -> Iterator[Arena]:
    """A place for a race, after which every invariant holds and no two callers have waited for each other."""
    deadlocks = count_deadlocks(databases)
    yield Arena(database, create_personas(database), crowd)
    assert_invariants(database)
    # The manager would try again, and nobody would notice but whoever has to wait.
    assert count_deadlocks(databases) == deadlocks


def count_deadlocks(databases: Databases) -> int:
    """Return how many deadlocks the server has found so far. SQLite has one lock only."""
    if not isinstance(databases, PostgresServer):
        return 0
    return (databases.folder / "log").read_text().count("deadlock detected")
