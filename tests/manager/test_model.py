"""Whatever is said in whatever order, the manager does what the model does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from portal.database import Database
from tests.manager.machine import ManagerMachine
from tests.scale import at_scale


@pytest.mark.long
def test_the_manager_does_what_the_model_does(database: Database) -> None:
    conversations, steps = (at_scale(300), 50) if database.is_sqlite else (at_scale(60), 30)

    class Machine(ManagerMachine):
        pass

    Machine.database = database
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=conversations,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Machine.database is database
