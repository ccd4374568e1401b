"""Whichever call to the database fails: nothing is half done, the error says so, and the next call works."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pytest
from sqlalchemy.exc import OperationalError

from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentDefinition
from tests.factories import Personas, create_personas
from tests.invariants import assert_invariants, assert_nothing_written, read_state
from tests.reliability.failing import Faults, failing
from tests.scale import sample

MOST_CALLS = 60


@dataclass(frozen=True)
class Desk:
    """Somebody's memories, one of each kind, and what can be done with them."""

    manager: AgentMemoryManager
    personas: Personas
    agent: Agent
    definition: AgentDefinition
    ids: Mapping[str, int]

    @property
    def directory(self) -> Directory:
        return self.personas.directory

    def decide(self, action: str) -> object:
        people = self.personas
        return self.manager.decide_account_fact(self.ids["proposed"], people.acme, people.root, action)


@pytest.fixture
def desk(database: Database) -> Desk:
    personas, manager = create_personas(database), AgentMemoryManager(database)
    agent = personas.agent(personas.ada)
    manager.remember(agent, "personal", "text")
    for key in ("proposed", "confirmed", "rejected"):
        manager.propose_account_fact(agent, key, "text")
    rows = manager.find_own_memories(personas.acme, personas.ada, "support")
    ids = {row.memory_key: row.id for row in rows}
    for key, action in (("confirmed", "confirm"), ("rejected", "reject")):
        manager.decide_account_fact(ids[key], personas.acme, personas.root, action)
    definition = personas.directory.find_definition(personas.acme, "support")
    assert definition is not None
    return Desk(manager, personas, agent, definition, ids)


@pytest.fixture
def faults(database: Database, desk: Desk) -> Iterator[Faults]:
    assert desk.ids
    with failing(database) as found:
        assert found.calls == 0
        yield found


WRITES: Mapping[str, Callable[[Desk], object]] = {
    "remember": lambda desk: desk.manager.remember(desk.agent, "new", "text"),
    "replace": lambda desk: desk.manager.remember(desk.agent, "personal", "other"),
    "withdraw": lambda desk: desk.manager.remember(desk.agent, "proposed", "text"),
    "propose": lambda desk: desk.manager.propose_account_fact(desk.agent, "new", "text"),
    "forget": lambda desk: desk.manager.forget(desk.agent, "proposed"),
    "confirm": lambda desk: desk.decide("confirm"),
    "reject": lambda desk: desk.decide("reject"),
    "delete a proposal": lambda desk: desk.decide("delete"),
    "delete": lambda desk: desk.manager.delete_memory(
        desk.ids["confirmed"], desk.personas.acme, deleted_by=desk.personas.root
    ),
    "reopen": lambda desk: desk.manager.reopen_account_fact(
        desk.ids["rejected"], desk.personas.acme, desk.personas.root
    ),
    "delete own": lambda desk: desk.manager.delete_own_memory(desk.ids["personal"], desk.personas.ada),
    "delete all own": lambda desk: desk.manager.delete_own_memories(desk.personas.ada),
    "keep": lambda desk: desk.manager.keep_own_memory(desk.ids["rejected"], desk.personas.ada),
    "create an organisation": lambda desk: desk.directory.create_organisation(name="New", slug="new"),
    "close an organisation": lambda desk: desk.directory.deactivate_organisation(desk.personas.acme),
    "delete an organisation": lambda desk: desk.directory.delete_organisation(desk.personas.acme),
    "create a profile": lambda desk: desk.directory.create_profile(
        desk.personas.acme, email="new@acme.example", name="New"
    ),
    "set a role": lambda desk: desk.directory.set_role(desk.personas.ada, "administrator"),
    "set a password": lambda desk: desk.directory.set_password(desk.personas.ada, "x" * 20),
    "set preferences": lambda desk: desk.directory.set_preferences(
        desk.personas.ada, theme="dark", keyboard_shortcuts=False
    ),
    "deactivate": lambda desk: desk.directory.deactivate(desk.personas.ada),
    "erase": lambda desk: desk.directory.erase_profile(desk.personas.ada),
    "define an agent": lambda desk: desk.directory.define_agent(desk.personas.acme, name="new"),
    "change a definition": lambda desk: desk.directory.define_agent(
        desk.personas.acme, name="support", memory_limit=7
    ),
    "delete a definition": lambda desk: desk.directory.delete_definition(desk.definition),
    "use an agent first": lambda desk: desk.personas.agent(desk.personas.bob),
}
# Each can be done after those before it.
IN_A_ROW = (
    *(
        "remember",
        "replace",
        "withdraw",
        "delete own",
        "keep",
        "delete all own",
        "reopen",
        "set a role",
        "set a password",
    ),
    *("create an organisation", "create a profile", "define an agent", "change a definition", "deactivate"),
    *("use an agent first", "delete", "erase", "delete a definition", "delete an organisation"),
)
READS: Mapping[str, Callable[[Desk], object]] = {
    "list": lambda desk: desk.manager.list(desk.agent),
    "prompt block": lambda desk: desk.manager.prompt_block(desk.agent),
    "queue": lambda desk: desk.manager.find_review_queue(desk.personas.acme, "support"),
    "rejected": lambda desk: desk.manager.find_rejected_account_facts(desk.personas.acme, "support"),
    "own": lambda desk: desk.manager.find_own_memories(desk.personas.acme, desk.personas.ada, "support"),
    "profiles": lambda desk: desk.directory.find_profiles(desk.personas.acme),
    "agents": lambda desk: desk.directory.find_agents(desk.personas.ada),
    "an agent": lambda desk: desk.manager.get_agent(desk.agent.id),
}


def fail_one_after_the_other(faults: Faults, desk: Desk, call: Callable[[Desk], object]) -> Iterator[str]:
    """Let the first call to the database fail, then the second one, and so on, until all go well."""
    for number in range(1, MOST_CALLS):
        faults.aim_at(number)
        try:
            call(desk)
        except OperationalError:
            assert faults.has_struck
            failed = faults.failed_call
            faults.aim_at(0)
            yield failed
        else:
            faults.aim_at(0)
            return
    pytest.fail("there is no end to it")


def test_a_write_of_which_a_call_fails_does_nothing(database: Database, desk: Desk, faults: Faults) -> None:
    before, recalled = read_state(database), desk.manager.list(desk.agent)
    for name, write in sample(WRITES.items(), one_in=3):
        for failed in fail_one_after_the_other(faults, desk, write):
            assert_nothing_written(before, read_state(database))
            assert desk.manager.list(desk.agent) == recalled
            if failed == "COMMIT":
                break
        else:
            pytest.fail(f"{name} never came to COMMIT")
    for name in IN_A_ROW:
        WRITES[name](desk)
    assert assert_invariants(database) != before


def test_a_write_whose_commit_is_not_answered_is_done_as_a_whole(
    database: Database, desk: Desk, faults: Faults
) -> None:
    faults.loses_answer = True
    for name in IN_A_ROW:
        before = read_state(database)
        for failed in fail_one_after_the_other(faults, desk, WRITES[name]):
            if failed == "COMMIT":
                break
            assert_nothing_written(before, read_state(database))
        assert assert_invariants(database) != before, name


def test_a_read_of_which_a_call_fails_goes_well_the_next_time(desk: Desk, faults: Faults) -> None:
    for name, read in READS.items():
        expected = as_text(read(desk))
        for _ in fail_one_after_the_other(faults, desk, read):
            assert as_text(read(desk)) == expected, name


def as_text(found: object) -> object:
    return (
        found
        if isinstance(found, str)
        else len(list(found))
        if isinstance(found, Iterable)
        else found is None
    )
