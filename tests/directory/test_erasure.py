"""What goes when somebody or something goes, and what stays."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import select

from portal.database import Database
from portal.errors import InvalidInput
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory, MemoryEvent, Organisation, Profile
from portal.recall import WITH_PEOPLE
from portal.values import ActorKind, EventAction, Status
from tests.directory.rows import count_rows, sign_in, signed_in
from tests.factories import Clock, Personas

NOTHING_LEFT = {
    "organisation": 0,
    "profile": 0,
    "agent_definition": 0,
    "agent": 0,
    "agent_memory": 0,
    "memory_event": 0,
    "sign_in_session": 0,
    "sign_in_throttle": 0,
    "one_time_link": 0,
}


@pytest.fixture
def manager(database: Database, clock: Clock) -> AgentMemoryManager:
    return AgentMemoryManager(database, clock=clock)


def decide(
    manager: AgentMemoryManager, organisation: Organisation, decided_by: Profile, key: str, action: str
) -> AgentMemory:
    (proposal,) = manager.find_proposed_account_facts(organisation, "support", search=key)
    return manager.decide_account_fact(proposal.id, organisation, decided_by, action, reason="Checked")


@pytest.fixture
def story(personas: Personas, manager: AgentMemoryManager) -> Personas:
    """Ada has a memory of every kind and, as an administrator for a while, decided on one of Bob's."""
    ada, bob = personas.agent(personas.ada), personas.agent(personas.bob)
    manager.remember(ada, "nickname", "Adele")
    manager.remember(personas.agent(personas.ada, "travel"), "seat", "By the window")
    for key in ("fiscal_year", "invoice_address", "holiday_rule"):
        manager.propose_account_fact(ada, key, f"Ada on {key}")
    manager.propose_account_fact(bob, "office", "Bob on office")
    manager.remember(bob, "nickname", "Bobby")
    decide(manager, personas.acme, personas.root, "fiscal_year", "confirm")
    decide(manager, personas.acme, personas.root, "invoice_address", "reject")
    personas.directory.set_role(personas.ada, "administrator")
    decide(manager, personas.acme, personas.ada, "office", "confirm")
    return personas


def memories(database: Database) -> dict[str, AgentMemory]:
    question = select(AgentMemory).options(*WITH_PEOPLE)
    found = database.read(lambda session: session.scalars(question).all())
    return {memory.content: memory for memory in found}


def events(database: Database) -> list[MemoryEvent]:
    question = select(MemoryEvent).order_by(MemoryEvent.at, MemoryEvent.memory_id, MemoryEvent.version)
    return database.read(lambda session: list(session.scalars(question)))


def test_what_an_erased_person_held_or_was_refused_goes_and_the_rest_stays(
    story: Personas, database: Database
) -> None:
    assert set(memories(database)) == {
        "Adele",
        "By the window",
        "Ada on fiscal_year",
        "Ada on invoice_address",
        "Ada on holiday_rule",
        "Bob on office",
        "Bobby",
    }
    story.directory.erase_profile(story.ada)
    assert set(memories(database)) == {"Ada on fiscal_year", "Bob on office", "Bobby"}


def test_a_confirmed_fact_outlives_the_person_who_stated_it_with_nobody_named(
    story: Personas, database: Database
) -> None:
    before = memories(database)["Ada on fiscal_year"]
    story.directory.erase_profile(story.ada)
    after = memories(database)["Ada on fiscal_year"]
    assert (after.status, after.stated_by_id, after.stated_by) == (Status.CONFIRMED, None, None)
    assert after.decided_by is not None
    assert after.decided_by.name == "Root"
    assert (after.id, after.version, after.updated_at) == (before.id, before.version, before.updated_at)


def test_every_agent_still_recalls_the_confirmed_fact(story: Personas, manager: AgentMemoryManager) -> None:
    story.directory.erase_profile(story.ada)
    recalled = json.loads(manager.list(story.agent(story.bob)))
    assert [fact["key"] for fact in recalled["account_facts"]] == ["fiscal_year", "office"]


def test_nobody_is_named_where_an_erased_person_decided(story: Personas, database: Database) -> None:
    story.directory.erase_profile(story.ada)
    office = memories(database)["Bob on office"]
    assert office.stated_by is not None
    assert office.stated_by.name == "Bob"
    assert (office.decided_by_id, office.decision_reason) == (None, "Checked")
    assert office.decided_at is not None


def test_each_memory_that_goes_with_a_person_leaves_one_event(
    story: Personas, database: Database, clock: Clock
) -> None:
    before = memories(database)
    clock.advance(days=1)
    story.directory.erase_profile(story.ada)
    erased = [event for event in events(database) if event.action == EventAction.ERASED]
    assert {(event.memory_id, event.version, event.status_before, event.memory_key) for event in erased} == {
        (before["Adele"].id, 2, Status.PERSONAL, None),
        (before["By the window"].id, 2, Status.PERSONAL, None),
        (before["Ada on holiday_rule"].id, 2, Status.PROPOSED, None),
        (before["Ada on invoice_address"].id, 3, Status.REJECTED, "invoice_address"),
    }
    assert {(event.at, event.actor_kind, event.actor_id, event.status_after) for event in erased} == {
        (clock.now, ActorKind.COMMAND_LINE, None, None)
    }


def test_an_erased_person_is_named_in_no_event(story: Personas, database: Database) -> None:
    number = len(events(database))
    story.directory.erase_profile(story.ada)
    named = {event.actor_id for event in events(database)}
    assert named == {None, story.bob.id, story.root.id}
    assert len(events(database)) == number + 4


def test_the_key_of_a_proposal_that_nobody_decided_on_goes_from_its_events(
    story: Personas, database: Database
) -> None:
    story.directory.erase_profile(story.ada)
    keys = {event.memory_key for event in events(database)}
    assert keys == {None, "fiscal_year", "invoice_address", "office"}


def test_an_erased_persons_row_agents_sessions_and_link_go(
    story: Personas, database: Database, clock: Clock
) -> None:
    sign_in(database, story.ada, clock.now)
    sign_in(database, story.bob, clock.now)
    for profile in (story.ada, story.bob):
        story.directory.make_link(profile)
    before = count_rows(database)
    story.directory.erase_profile(story.ada)
    after = count_rows(database)
    assert story.directory.find_profile("ada@acme.example") is None
    assert (after["profile"], after["agent"]) == (before["profile"] - 1, before["agent"] - 2)
    assert signed_in(database) == [story.bob.id]
    assert (before["one_time_link"], after["one_time_link"]) == (2, 1)


def test_an_erased_persons_agent_is_refused_and_their_address_is_free(
    story: Personas, manager: AgentMemoryManager
) -> None:
    agent = story.agent(story.ada)
    story.directory.erase_profile(story.ada)
    assert json.loads(manager.remember(agent, "nickname", "Adele"))["error"] == "inactive"
    successor = story.directory.create_profile(story.acme, email="ada@acme.example", name="Ada the second")
    recalled = json.loads(manager.list(story.agent(successor)))
    assert recalled["memories"] == []


def test_the_key_that_an_erased_persons_rejected_fact_closed_is_open_again(
    story: Personas, manager: AgentMemoryManager
) -> None:
    bob = story.agent(story.bob)
    assert json.loads(manager.propose_account_fact(bob, "invoice_address", "Main St 1"))["ok"] is False
    story.directory.erase_profile(story.ada)
    assert json.loads(manager.propose_account_fact(bob, "invoice_address", "Main St 1"))["ok"] is True


def test_a_definition_goes_with_its_agents_memories_and_events(story: Personas, database: Database) -> None:
    support = story.directory.find_definition(story.acme, "support")
    assert support is not None
    story.directory.delete_definition(support)
    assert set(memories(database)) == {"By the window"}
    assert {event.action for event in events(database)} == {EventAction.REMEMBERED}
    assert [agent.definition.name for agent in story.directory.find_agents(story.ada)] == ["travel"]
    assert [definition.name for definition in story.directory.find_definitions(story.acme)] == ["travel"]
    assert len(story.directory.find_definitions(story.globex)) == 2


def test_a_definition_that_is_gone_cannot_be_deleted_again(story: Personas) -> None:
    support = story.directory.find_definition(story.acme, "support")
    assert support is not None
    story.directory.delete_definition(support)
    with pytest.raises(InvalidInput) as refusal:
        story.directory.delete_definition(support)
    assert refusal.value.field == "definition"


def test_a_definition_of_the_same_name_begins_empty(story: Personas, manager: AgentMemoryManager) -> None:
    support = story.directory.find_definition(story.acme, "support")
    assert support is not None
    story.directory.delete_definition(support)
    story.directory.define_agent(story.acme, name="support")
    recalled = json.loads(manager.list(story.agent(story.bob)))
    assert (recalled["memories"], recalled["account_facts"]) == ([], [])


def test_an_organisation_goes_with_everything_in_it_and_with_nothing_else(
    story: Personas, manager: AgentMemoryManager, database: Database, clock: Clock
) -> None:
    manager.remember(story.agent(story.eve), "nickname", "Evie")
    for profile in (story.ada, story.eve):
        sign_in(database, profile, clock.now)
        story.directory.make_link(profile)
    story.directory.delete_organisation(story.acme)
    assert count_rows(database) == NOTHING_LEFT | {
        "organisation": 1,
        "profile": 1,
        "agent_definition": 2,
        "agent": 1,
        "agent_memory": 1,
        "memory_event": 1,
        "sign_in_session": 1,
        "one_time_link": 1,
    }
    story.directory.delete_organisation(story.globex)
    assert count_rows(database) == NOTHING_LEFT
