"""The database's own rules: a row that contradicts them cannot be written, whoever writes it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import Executable, insert, text, update
from sqlalchemy.exc import IntegrityError

from portal.database import constraint_name
from portal.models import AgentMemory, Base, MemoryEvent
from tests.manager.world import World

PROPOSAL: dict[str, Any] = {
    "memory_key": "office",
    "status": "proposed",
    "content": "Hall 1",
    "search_text": "office\x1fhall 1",
    "version": 1,
    "decided_by_id": None,
    "decided_at": None,
    "decision_reason": "",
}


class Rows:
    """Writes rows of Ada's support agent straight into the tables, with whatever is wrong about them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada, self.bob, self.eve = (world.agent(name) for name in ("ada", "bob", "eve"))
        self.travel = world.agent("bob", "travel")
        self._next_id = 1

    def memory(self, **wrong: Any) -> None:
        now = self.world.clock.now
        row = PROPOSAL | {
            "organisation_id": self.ada.organisation_id,
            "definition_id": self.ada.definition_id,
            "scope_id": self.ada.owner_id,
            "stated_by_id": self.ada.owner_id,
            "id": self._next_id,
            "stated_at": now,
            "created_at": now,
            "updated_at": now,
        }
        self._next_id += 1
        self._insert(AgentMemory, row | wrong)

    def event(self, **wrong: Any) -> None:
        row = {
            "organisation_id": self.ada.organisation_id,
            "definition_id": self.ada.definition_id,
            "memory_id": 1,
            "version": 1,
            "at": self.world.clock.now,
            "action": "proposed",
            "status_before": None,
            "status_after": "proposed",
            "memory_key": "office",
            "actor_kind": "agent",
            "actor_id": self.ada.owner_id,
        }
        self._insert(MemoryEvent, row | wrong)

    def decided(self, status: str, scope_id: int, **wrong: Any) -> None:
        now, root = self.world.clock.now, self.world.root
        decision = {"status": status, "scope_id": scope_id, "decided_at": now, "decided_by_id": root.id}
        self.memory(**(decision | wrong))

    def execute(self, statement: Executable) -> None:
        self.world.database.write(lambda session: session.execute(statement))

    def _insert(self, table: type[Base], row: dict[str, Any]) -> None:
        self.execute(insert(Base.metadata.tables[table.__tablename__]).values(row))


@pytest.fixture
def rows(world: World) -> Rows:
    return Rows(world)


def expect_refusal(rows: Rows, kind: str, call: Any, **wrong: Any) -> None:
    """Assert that a write breaks a constraint of this kind, and that nothing was written."""
    before = rows.world.state()
    with pytest.raises(IntegrityError) as error:
        call(**wrong)
    name = str(error.value.orig)
    words = {
        "foreign key": ("FOREIGN KEY", "foreign key"),
        "check": ("CHECK", "check constraint"),
        "unique": ("UNIQUE", "unique constraint"),
        "not null": ("NOT NULL", "not-null"),
    }
    assert any(word in name for word in words[kind]), name
    assert rows.world.state() == before


def test_the_rows_of_these_tests_are_right_where_nothing_is_wrong(rows: Rows) -> None:
    rows.memory()
    rows.memory(memory_key="p", status="personal", search_text=None)
    rows.decided("confirmed", 0, memory_key="c")
    rows.decided("confirmed", 0, memory_key="of_somebody_erased", stated_by_id=None, decided_by_id=None)
    rows.decided("rejected", -rows.ada.owner_id, memory_key="r")
    rows.event()
    rows.event(version=2, actor_id=None)
    assert len(rows.world.state().memories) == 5


# I-1: no row points to another tenant.


def test_a_memory_belongs_to_a_definition_of_its_organisation(rows: Rows) -> None:
    expect_refusal(rows, "foreign key", rows.memory, definition_id=rows.eve.definition_id)
    expect_refusal(rows, "foreign key", rows.memory, organisation_id=rows.eve.organisation_id)
    expect_refusal(rows, "foreign key", rows.memory, definition_id=10**6)


def test_a_memory_was_stated_by_somebody_whose_agent_it_is(rows: Rows) -> None:
    eve, bob = rows.eve.owner_id, rows.bob.owner_id
    expect_refusal(rows, "foreign key", rows.memory, stated_by_id=eve, scope_id=eve)
    # Bob has an agent of both definitions, Ada of one.
    travel = rows.travel.definition_id
    expect_refusal(rows, "foreign key", rows.memory, definition_id=travel)
    rows.memory(definition_id=travel, stated_by_id=bob, scope_id=bob)
    expect_refusal(rows, "foreign key", rows.decided, status="confirmed", scope_id=0, stated_by_id=eve)


def test_a_memory_was_decided_by_a_colleague(rows: Rows) -> None:
    eve = rows.eve.owner_id
    expect_refusal(rows, "foreign key", rows.decided, status="confirmed", scope_id=0, decided_by_id=eve)


def test_an_event_belongs_to_a_definition_and_a_person_of_its_organisation(rows: Rows) -> None:
    expect_refusal(rows, "foreign key", rows.event, definition_id=rows.eve.definition_id)
    expect_refusal(rows, "foreign key", rows.event, actor_id=rows.eve.owner_id)


@pytest.mark.parametrize("column", ["owner_id", "definition_id"])
def test_an_agent_belongs_to_a_person_and_a_definition_of_its_organisation(rows: Rows, column: str) -> None:
    agents = Base.metadata.tables["agent"]
    statement = update(agents).where(agents.c.id == rows.ada.id).values({column: getattr(rows.eve, column)})
    expect_refusal(rows, "foreign key", lambda: rows.execute(statement))


# Who recalls a row follows from its status.


@pytest.mark.parametrize("status", ["personal", "proposed"])
@pytest.mark.parametrize("scope", ["nobody's", "somebody else's", "everybody's", "minus its owner's"])
def test_a_held_row_is_in_its_staters_scope(rows: Rows, status: str, scope: str) -> None:
    owner = rows.ada.owner_id
    scopes = {"nobody's": 10**6, "somebody else's": rows.bob.owner_id, "everybody's": 0}
    search_text = None if status == "personal" else "a"
    scope_id = scopes.get(scope, -owner)
    expect_refusal(rows, "check", rows.memory, status=status, scope_id=scope_id, search_text=search_text)


@pytest.mark.parametrize("status", ["personal", "proposed"])
def test_a_held_row_has_a_stater(rows: Rows, status: str) -> None:
    search_text = None if status == "personal" else "a"
    expect_refusal(rows, "check", rows.memory, status=status, stated_by_id=None, search_text=search_text)


def test_a_confirmed_row_is_in_everybodys_scope(rows: Rows) -> None:
    for scope_id in (rows.ada.owner_id, -rows.ada.owner_id):
        expect_refusal(rows, "check", rows.decided, status="confirmed", scope_id=scope_id)


def test_a_rejected_row_is_in_nobodys_scope_and_has_a_stater(rows: Rows) -> None:
    owner = rows.ada.owner_id
    for scope_id in (owner, 0, -rows.bob.owner_id):
        expect_refusal(rows, "check", rows.decided, status="rejected", scope_id=scope_id)
    expect_refusal(rows, "check", rows.decided, status="rejected", scope_id=-owner, stated_by_id=None)


@pytest.mark.parametrize("status", ["", "Personal", "draft"])
def test_there_is_no_other_status(rows: Rows, status: str) -> None:
    rows.memory()
    statement = text("UPDATE agent_memory SET status = :status").bindparams(status=status)
    expect_refusal(rows, "check", lambda: rows.execute(statement))


# A decision belongs to what is decided, and a text to search in to what administrators see.


@pytest.mark.parametrize(
    "wrong", [{"decided_at": "now"}, {"decided_by_id": "root"}, {"decision_reason": "We moved"}], ids=str
)
def test_a_proposal_has_no_decision(rows: Rows, wrong: dict[str, Any]) -> None:
    values = {"now": rows.world.clock.now, "root": rows.world.root.id}
    expect_refusal(
        rows, "check", rows.memory, **{name: values.get(value, value) for name, value in wrong.items()}
    )


def test_a_decided_row_says_when(rows: Rows) -> None:
    expect_refusal(rows, "check", rows.decided, status="confirmed", scope_id=0, decided_at=None)
    expect_refusal(
        rows, "check", rows.decided, status="rejected", scope_id=-rows.ada.owner_id, decided_at=None
    )


def test_only_a_personal_memory_has_nothing_to_search_in(rows: Rows) -> None:
    expect_refusal(rows, "check", rows.memory, search_text=None)
    expect_refusal(rows, "check", rows.memory, status="personal", search_text="office\x1fhall 1")


def test_an_id_is_positive_and_belongs_to_one_memory(rows: Rows) -> None:
    expect_refusal(rows, "check", rows.memory, id=0)
    expect_refusal(rows, "check", rows.memory, id=-5)
    rows.memory(id=7)
    expect_refusal(rows, "unique", rows.memory, id=7, memory_key="other")
    # In another organisation it is another memory.
    owner = rows.eve.owner_id
    scope = {"organisation_id": rows.eve.organisation_id, "definition_id": rows.eve.definition_id}
    rows.memory(id=7, scope_id=owner, stated_by_id=owner, **scope)


# I-3: the three rules of uniqueness are one primary key.


def test_an_owner_holds_one_row_under_a_key(rows: Rows) -> None:
    rows.memory()
    expect_refusal(rows, "unique", rows.memory)
    expect_refusal(rows, "unique", rows.memory, status="personal", search_text=None)
    bob = rows.bob.owner_id
    rows.memory(scope_id=bob, stated_by_id=bob)
    rows.memory(memory_key="Office")


def test_a_key_has_one_confirmed_row(rows: Rows) -> None:
    rows.decided("confirmed", 0)
    expect_refusal(
        rows, "unique", rows.decided, status="confirmed", scope_id=0, stated_by_id=rows.bob.owner_id
    )


def test_an_owner_has_one_rejected_row_under_a_key(rows: Rows) -> None:
    ada, bob = rows.ada.owner_id, rows.bob.owner_id
    rows.decided("rejected", -ada)
    expect_refusal(rows, "unique", rows.decided, status="rejected", scope_id=-ada)
    rows.decided("rejected", -bob, stated_by_id=bob)


def test_a_change_is_recorded_once(rows: Rows) -> None:
    rows.event()
    expect_refusal(rows, "unique", rows.event, action="withdrawn")
    rows.event(version=2)


@pytest.mark.parametrize(
    "column", ["memory_key", "status", "content", "version", "stated_at", "created_at", "updated_at"]
)
def test_a_memory_has_no_gaps(rows: Rows, column: str) -> None:
    expect_refusal(rows, "not null", rows.memory, **{column: None})


def test_a_broken_rule_can_be_told_by_its_name(rows: Rows) -> None:
    rows.memory()
    with pytest.raises(IntegrityError) as error:
        rows.memory()
    columns = ("organisation_id", "definition_id", "scope_id", "memory_key")
    names = {"pk_agent_memory", ", ".join(f"agent_memory.{column}" for column in columns)}
    # A partition has names of its own.
    assert re.sub(r"^agent_memory_\d_pkey$", "pk_agent_memory", constraint_name(error.value)) in names
