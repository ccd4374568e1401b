"""What happens between two looks at a row: guards that only a race reaches, reached one step at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sqlalchemy import delete, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from portal.changes import (
    COMMAND_LINE,
    Actor,
    Change,
    decide_memory,
    remove_memory,
    reopen_memory,
    rewrite_memory,
)
from portal.database import Database, Result
from portal.directory import Directory
from portal.errors import AlreadyDecided, InvalidInput, MemoryChanged, MemoryNotFound
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory
from portal.values import EventAction, Status
from tests.databases import opened
from tests.factories import Clock, create_personas
from tests.manager.world import World
from tests.postgres import PostgresServer

Write = Callable[[Session, Change, AgentMemory], object]

# Every statement that changes a memory finds the row as it was read, or changes nothing.
WRITES: dict[str, Write] = {
    "rewrite": lambda session, change, memory: rewrite_memory(
        session, change, memory, content="other", status=Status.PROPOSED
    ),
    "confirm": lambda session, change, memory: decide_memory(
        session, change, memory, status=Status.CONFIRMED, reason=""
    ),
    "reject": lambda session, change, memory: decide_memory(
        session, change, memory, status=Status.REJECTED, reason=""
    ),
    "reopen": reopen_memory,
    "remove": remove_memory,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("meanwhile", ["reworded", "withdrawn", "decided", "gone"])
def test_a_row_that_changed_since_it_was_read_is_not_written(
    world: World, write: Write, meanwhile: str
) -> None:
    world.propose("ada")
    stale = world.row("ada")
    if meanwhile == "reworded":
        world.propose("ada", content="reworded")
    elif meanwhile == "withdrawn":
        world.remember("ada")
    elif meanwhile == "decided":
        world.decide("ada", action="reject")
    else:
        world.forget("ada")
    before = world.state()
    change = Change(EventAction.PROPOSED, COMMAND_LINE, world.clock.now)
    with pytest.raises(MemoryChanged):
        world.database.write(lambda session: write(session, change, stale))
    assert world.state() == before


# On PostgreSQL a call may wait for a lock between two looks; on SQLite a writing transaction has the database
# to itself from its first statement on.


@pytest.fixture
def served_world(postgres_server: PostgresServer, clock: Clock) -> Iterator[World]:
    with postgres_server.migrated() as url, opened(url) as database:
        personas = create_personas(database, clock=clock)
        yield World(database, AgentMemoryManager(database, clock=clock), personas, clock)


def while_it_waits(
    world: World, lock: str, meanwhile: Callable[[Session], object], call: Callable[[], Any]
) -> Any:
    """Make a call that has to wait for `lock`, do something else meanwhile, and return its outcome."""
    with ThreadPoolExecutor(1) as pool:

        def work(session: Session) -> Future[Any]:
            session.execute(text(lock))
            outcome = pool.submit(call)
            wait_until_something_waits(session)
            meanwhile(session)
            return outcome

        return world.database.write(work).result(timeout=10)


def wait_until_something_waits(session: Session) -> None:
    give_up_at = time.monotonic() + 10
    while session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")) == 0:
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


LOCK_AGENTS = "SELECT 1 FROM agent FOR UPDATE"
LOCK_DEFINITIONS = "SELECT 1 FROM agent_definition FOR UPDATE"


@pytest.mark.postgres
def test_an_own_memory_that_goes_while_its_deletion_waits_is_not_found(served_world: World) -> None:
    world = served_world
    world.remember("ada")
    memory_id, ada = world.row("ada").id, world.person("ada")
    call = partial(world.manager.delete_own_memory, memory_id, ada)
    with pytest.raises(MemoryNotFound):
        while_it_waits(world, LOCK_AGENTS, lambda session: session.execute(delete(AgentMemory)), call)


@pytest.mark.postgres
def test_an_agent_that_goes_while_everything_of_it_is_deleted_holds_nothing(served_world: World) -> None:
    world = served_world
    world.agent("ada")
    call = partial(world.manager.delete_own_memories, world.person("ada"))
    assert while_it_waits(world, LOCK_AGENTS, lambda session: session.execute(delete(Agent)), call) == 0


def decide_meanwhile(world: World, status: Status) -> Callable[[Session], object]:
    memory = world.row("ada")
    actor = Actor.profile(world.root.id)
    change = Change(EventAction(status.value), actor, world.clock.now)
    return lambda session: decide_memory(session, change, memory, status=status, reason="")


@pytest.mark.postgres
@pytest.mark.parametrize("status", [Status.CONFIRMED, Status.REJECTED])
def test_a_proposal_that_is_decided_while_a_decision_waits_is_already_decided(
    served_world: World, status: Status
) -> None:
    world = served_world
    world.propose("ada")
    proposal = world.row("ada")
    call = partial(
        world.manager.decide_account_fact,
        proposal.id,
        world.acme,
        world.root,
        "confirm",
        expected_version=proposal.version,
    )
    with pytest.raises(AlreadyDecided) as refusal:
        while_it_waits(world, LOCK_DEFINITIONS, decide_meanwhile(world, status), call)
    assert (refusal.value.memory.status, refusal.value.memory.decided_by_id) == (status, world.root.id)


@pytest.mark.postgres
def test_a_proposal_that_goes_while_a_decision_waits_is_not_found(served_world: World) -> None:
    world = served_world
    world.propose("ada")
    memory_id = world.row("ada").id
    call = partial(world.manager.decide_account_fact, memory_id, world.acme, world.root, "reject")
    with pytest.raises(MemoryNotFound):
        while_it_waits(world, LOCK_DEFINITIONS, lambda session: session.execute(delete(AgentMemory)), call)


@pytest.mark.postgres
def test_a_key_that_is_confirmed_while_a_memory_waits_is_refused(served_world: World) -> None:
    world = served_world
    world.propose("ada", content="Hall 1")
    world.agent("bob")
    answer = while_it_waits(
        world, LOCK_AGENTS, decide_meanwhile(world, Status.CONFIRMED), partial(world.remember, "bob")
    )
    assert (answer["error"], answer["existing"]["content"]) == ("already_confirmed", "Hall 1")


# What the directory does where the database refuses something that it did not expect, or forgets at once.


def test_a_fault_is_not_taken_for_a_name_that_is_taken(world: World) -> None:
    broken = Directory(world.database, clock=lambda: None)  # type: ignore[arg-type, return-value]
    for call in (
        lambda: broken.create_organisation(name="Initech", slug="initech"),
        lambda: broken.agent_for(world.person("ada"), "travel"),
    ):
        with pytest.raises(IntegrityError):
            call()


class ForgetfulDatabase(Database):
    """A database in which somebody removes every agent as soon as it is there."""

    def write(self, work: Callable[[Session], Result]) -> Result:
        result = super().write(work)
        super().write(lambda session: session.execute(delete(Agent)))
        return result


def test_an_agent_that_is_removed_at_once_is_not_there(world: World) -> None:
    database = ForgetfulDatabase(world.database.url)
    try:
        with pytest.raises(InvalidInput, match="agent_def_name"):
            Directory(database).agent_for(world.person("ada"), "support")
    finally:
        database.dispose()
