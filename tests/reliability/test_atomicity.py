"""A change and its event are one: without the event the change does not happen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent
from tests.factories import Personas, create_personas
from tests.invariants import read_state

NO_EVENTS = {
    "sqlite": [
        "CREATE TRIGGER no_events BEFORE INSERT ON memory_event BEGIN SELECT RAISE(ABORT, 'no'); END",
    ],
    "postgresql": [
        "CREATE FUNCTION no_events() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'",
        "CREATE TRIGGER no_events BEFORE INSERT ON memory_event EXECUTE FUNCTION no_events()",
    ],
}
EVENTS_AGAIN = {
    "sqlite": "DROP TRIGGER no_events",
    "postgresql": "DROP TRIGGER no_events ON memory_event",
}


@dataclass(frozen=True)
class Held:
    """What Ada's agent holds, one memory of each kind, and who may change it."""

    manager: AgentMemoryManager
    personas: Personas
    agent: Agent
    ids: dict[str, int]

    def decide(self, key: str, action: str) -> object:
        return self.manager.decide_account_fact(self.ids[key], self.personas.acme, self.personas.root, action)


@pytest.fixture
def held(database: Database) -> Held:
    personas, manager = create_personas(database), AgentMemoryManager(database)
    agent = personas.agent(personas.ada)
    for key in ("proposed", "confirmed", "rejected"):
        manager.propose_account_fact(agent, key, "text")
    manager.remember(agent, "personal", "text")
    rows = manager.find_own_memories(personas.acme, personas.ada, "support")
    held = Held(manager, personas, agent, {row.memory_key: row.id for row in rows})
    held.decide("confirmed", "confirm")
    held.decide("rejected", "reject")
    return held


CHANGES: dict[str, Callable[[Held], object]] = {
    "create": lambda held: held.manager.remember(held.agent, "new", "text"),
    "replace": lambda held: held.manager.remember(held.agent, "personal", "other"),
    "withdraw": lambda held: held.manager.remember(held.agent, "proposed", "text"),
    "propose": lambda held: held.manager.propose_account_fact(held.agent, "new", "text"),
    "forget": lambda held: held.manager.forget(held.agent, "personal"),
    "confirm": lambda held: held.decide("proposed", "confirm"),
    "reject": lambda held: held.decide("proposed", "reject"),
    "delete a proposal": lambda held: held.decide("proposed", "delete"),
    "delete a fact": lambda held: held.manager.delete_memory(held.ids["rejected"], held.personas.acme),
    "reopen": lambda held: held.manager.reopen_account_fact(
        held.ids["confirmed"], held.personas.acme, held.personas.root
    ),
    "delete own": lambda held: held.manager.delete_own_memory(held.ids["personal"], held.personas.ada),
    "delete all own": lambda held: held.manager.delete_own_memories(held.personas.ada),
    "keep": lambda held: held.manager.keep_own_memory(held.ids["rejected"], held.personas.ada),
    "erase": lambda held: held.personas.directory.erase_profile(held.personas.ada),
}


def test_a_change_whose_event_fails_leaves_every_row_as_it_was(database: Database, held: Held) -> None:
    before = read_state(database)
    kind = database.engine.dialect.name
    run(database, *NO_EVENTS[kind])
    for name, change in CHANGES.items():
        with pytest.raises(DBAPIError):
            change(held)
        assert read_state(database) == before, name
    run(database, EVENTS_AGAIN[kind])
    assert_each_change_can_be_made(database, held)


def assert_each_change_can_be_made(database: Database, held: Held) -> None:
    """Make the changes that are possible one after the other: the failures left the manager as it was."""
    for name in ("create", "replace", "withdraw", "keep", "reopen", "delete a fact", "forget", "erase"):
        before = read_state(database)
        CHANGES[name](held)
        assert read_state(database) != before, name


def run(database: Database, *statements: str) -> None:
    database.write(lambda session: [session.execute(text(statement)) for statement in statements])
