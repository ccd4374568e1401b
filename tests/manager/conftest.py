from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.manager import AgentMemoryManager
from tests.databases import Databases, opened
from tests.factories import Clock, create_personas, find_personas
from tests.manager.world import World


@pytest.fixture(scope="session")
def populated(databases: Databases) -> Iterator[str]:
    """The URL of a database that holds the personas, to make copies of."""
    with databases.migrated() as url:
        with opened(url) as database:
            create_personas(database, clock=Clock())
        yield url


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(databases: Databases, populated: str, clock: Clock) -> Iterator[World]:
    """The personas, with agents at their side, and a manager whose clock the test moves."""
    with databases.copied(populated) as url, opened(url) as database:
        personas = find_personas(database, clock=clock)
        yield World(database, AgentMemoryManager(database, clock=clock), personas, clock)
