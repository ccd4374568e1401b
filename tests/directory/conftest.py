from __future__ import annotations

import pytest

from portal.database import Database
from tests.factories import Clock, Personas, create_personas


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def personas(database: Database, clock: Clock) -> Personas:
    return create_personas(database, clock=clock)
