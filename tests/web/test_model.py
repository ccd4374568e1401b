"""Whatever eight people do in two organisations, the pages do what the model does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from jinja2 import FileSystemBytecodeCache

from portal.database import Database
from tests.databases import BOTH_KINDS, databases_of_kind, opened
from tests.scale import at_scale
from tests.web.machine import PortalMachine

STEPS = 25


@pytest.fixture(params=BOTH_KINDS)
def either_database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with databases_of_kind(request).migrated() as url, opened(url) as database:
        yield database


def test_the_pages_do_what_the_model_does(
    either_database: Database, compiled_templates: FileSystemBytecodeCache
) -> None:
    class Machine(PortalMachine):
        database = either_database
        templates = compiled_templates

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=at_scale(40 if either_database.is_sqlite else 20),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Machine.database is either_database
