"""What stands behind the locks: no race of whole calls reaches these, so they are tried one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from portal.changes import Actor, Change, decide_memory, remove_memory, reopen_memory, rewrite_memory
from portal.database import Database
from portal.errors import MemoryChanged
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory
from portal.scopes import lock_agent, read_usage
from portal.values import EventAction, Status, utc_now
from tests.factories import create_personas
from tests.invariants import assert_invariants, read_state

Write = Callable[[Session, Change, AgentMemory], None]

WRITES: dict[str, Write] = {
    "rewrite": lambda session, change, memory: rewrite_memory(
        session, change, memory, content="unseen", status=Status.PROPOSED
    ),
    "decide": lambda session, change, memory: decide_memory(
        session, change, memory, status=Status.CONFIRMED, reason=""
    ),
    "reopen": reopen_memory,
    "remove": remove_memory,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("meanwhile", ["reworded", "forgotten"])
def test_a_row_that_is_not_as_it_was_read_is_not_written(
    database: Database, write: Write, meanwhile: str
) -> None:
    personas, manager = create_personas(database), AgentMemoryManager(database)
    agent = personas.agent(personas.ada)
    manager.propose_account_fact(agent, "key", "as it was read")
    (read,) = manager.find_proposed_account_facts(personas.acme, "support")
    if meanwhile == "reworded":
        manager.propose_account_fact(agent, "key", "reworded")
    else:
        manager.forget(agent, "key")
    before = read_state(database)
    change = Change(EventAction.DELETED, Actor.profile(personas.root.id), utc_now())
    with pytest.raises(MemoryChanged):
        database.write(lambda session: write(session, change, read))
    assert read_state(database) == before


def test_a_limit_is_lowered_only_when_whoever_has_read_it_is_done(database: Database) -> None:
    personas = create_personas(database)
    agent = personas.agent(personas.ada)
    is_lowered = threading.Event()

    def lower() -> None:
        personas.directory.define_agent(personas.acme, name="support", memory_limit=1)
        is_lowered.set()

    def read_the_limit_and_take_a_while(session: Session) -> bool:
        scope = lock_agent(session, agent.id)
        assert scope is not None
        assert read_usage(session, scope).memory_limit == 100
        thread.start()
        return is_lowered.wait(0.5)

    thread = threading.Thread(target=lower)
    assert database.write(read_the_limit_and_take_a_while) is False
    thread.join()
    assert is_lowered.is_set()
    assert_invariants(database)


@pytest.mark.postgres
def test_a_fact_that_goes_while_it_is_read_keeps_nobody_from_keeping_theirs(
    postgres_database: Database,
) -> None:
    personas, manager = create_personas(postgres_database), AgentMemoryManager(postgres_database)
    acme, root = personas.acme, personas.root

    for owner in (personas.ada, personas.bob):
        manager.propose_account_fact(personas.agent(owner), "hours", f"as {owner.name} knows them")
    mine, theirs = (
        manager.decide_account_fact(fact.id, acme, root, action, expected_version=fact.version)
        for fact, action in zip(
            manager.find_proposed_account_facts(acme, "support"), ("reject", "confirm"), strict=True
        )
    )
    went: list[int] = []

    def remove_it(*executed: Any) -> None:
        # The statement that would show the fact has its id among its values.
        if theirs.id in executed[3].values() and not went:
            went.append(theirs.id)
            manager.delete_memory(theirs.id, acme, deleted_by=root)

    event.listen(Engine, "before_cursor_execute", remove_it)
    try:
        kept = manager.keep_own_memory(mine.id, personas.ada)
    finally:
        event.remove(Engine, "before_cursor_execute", remove_it)
    assert went == [theirs.id]
    assert (kept.status, kept.content) == (Status.PERSONAL, mine.content)
    assert_invariants(postgres_database)
