"""Whatever is said in whatever order, the manager does what the model does."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from portal.database import Database
from tests.manager.machine import ManagerMachine

SCALE = int(os.environ.get("PORTAL_TEST_SCALE", "1"))
"""How many times as many conversations as in an ordinary run; 10 for a day without hurry."""


def test_the_manager_does_what_the_model_does(database: Database) -> None:
    conversations, steps = (30, 50) if database.is_sqlite else (6, 30)

    class Machine(ManagerMachine):
        pass

    Machine.database = database
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=conversations * SCALE,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Machine.database is database
