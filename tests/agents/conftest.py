from __future__ import annotations

import pytest

from portal.database import Database
from portal.manager import AgentMemoryManager
from tests.agents.programs import FOLDER
from tests.factories import Clock, create_personas
from tests.manager.world import World


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs find the conversation, which stands beside them."""
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.fixture
def world(database: Database) -> World:
    clock = Clock()
    personas = create_personas(database, clock=clock)
    found = World(database, AgentMemoryManager(database, clock=clock), personas, clock)
    found.agent("ada")
    return found
