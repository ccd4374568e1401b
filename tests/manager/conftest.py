from __future__ import annotations

import pytest

from portal.database import Database
from portal.manager import AgentMemoryManager
from tests.factories import Clock, create_personas
from tests.manager.world import World


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(database: Database, clock: Clock) -> World:
    """The personas, with agents at their side, and a manager whose clock the test moves."""
    personas = create_personas(database, clock=clock)
    return World(database, AgentMemoryManager(database, clock=clock), personas, clock)
