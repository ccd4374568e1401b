"""The agent is the scope: what is set on an object that is passed in changes nothing but its id."""

from __future__ import annotations

import json

import pytest

from portal.errors import MemoryNotFound, NotAnAdministrator
from portal.manager import AgentMemoryManager
from portal.models import Agent, Organisation, Profile
from portal.values import Role
from tests.factories import Clock
from tests.manager.world import World


def test_attributes_that_somebody_set_on_the_agent_change_nothing(world: World) -> None:
    agent = world.personas.agent(world.person("ada"))
    agent.owner_id = world.person("bob").id
    agent.organisation_id = world.personas.globex.id
    agent.definition_id = world.agent("bob", "travel").definition_id
    agent.owner = world.person("bob")
    assert json.loads(world.manager.remember(agent, "office", "Hall 1"))["ok"]
    assert world.row("ada").stated_by_id == world.person("ada").id
    assert len(json.loads(world.manager.list(agent))["memories"]) == 1
    assert world.list("bob")["memories"] == []
    assert json.loads(world.manager.forget(agent, "office"))["ok"]


def test_an_agent_that_was_made_up_is_the_one_with_its_id(world: World) -> None:
    made_up = Agent(id=world.agent("ada").id, owner_id=world.person("bob").id)
    assert json.loads(world.manager.propose_account_fact(made_up, "office", "Hall 1"))["ok"]
    assert world.row("ada").organisation_id == world.acme.id


@pytest.mark.parametrize("agent_id", [10**6, 0, -1, None])
def test_an_agent_that_does_not_exist_is_inactive(world: World, agent_id: int | None) -> None:
    nobody = Agent(id=agent_id)
    for text in (
        world.manager.remember(nobody, "a", "b"),
        world.manager.propose_account_fact(nobody, "a", "b"),
        world.manager.forget(nobody, "a"),
        world.manager.list(nobody),
    ):
        assert json.loads(text)["error"] == "inactive"


def test_an_agent_whose_owner_left_is_inactive_until_the_owner_returns(world: World) -> None:
    world.remember("ada", content="before")
    directory, ada = world.personas.directory, world.person("ada")
    before = world.state().memories
    directory.deactivate(ada)
    for answer in (world.remember("ada"), world.propose("ada"), world.forget("ada"), world.list("ada")):
        assert answer["error"] == "inactive"
    assert world.state().memories == before
    directory.activate(ada)
    assert world.list("ada")["memories"][0]["content"] == "before"


def test_an_agent_of_a_closed_organisation_is_inactive(world: World) -> None:
    world.remember("ada")
    world.agent("eve")
    world.personas.directory.deactivate_organisation(world.acme)
    for answer in (world.remember("ada"), world.propose("ada"), world.forget("ada"), world.list("ada")):
        assert answer["error"] == "inactive"
    assert world.remember("eve")["ok"]


def test_a_deactivation_bites_at_the_next_call_of_an_old_object(world: World) -> None:
    agent = world.manager.get_agent(world.agent("ada").id)
    assert agent is not None
    world.personas.directory.deactivate(world.person("ada"))
    assert agent.owner.active
    assert json.loads(world.manager.remember(agent, "a", "b"))["error"] == "inactive"


def test_a_role_that_somebody_set_on_the_profile_decides_nothing(world: World) -> None:
    world.propose("ada")
    bob, eve = world.person("bob"), world.person("eve")
    bob.role = Role.ADMINISTRATOR
    eve.organisation_id = world.acme.id
    for impostor in (bob, eve, Profile(id=10**6, role=Role.ADMINISTRATOR), Profile()):
        with pytest.raises(NotAnAdministrator):
            world.manager.decide_account_fact(world.row("ada").id, world.acme, impostor, "confirm")
    # The real one needs no attributes.
    root = Profile(id=world.root.id)
    world.manager.decide_account_fact(world.row("ada").id, Organisation(id=world.acme.id), root, "confirm")
    assert world.row("ada").status == "confirmed"


def test_an_organisation_that_somebody_set_on_the_owner_opens_nothing(world: World) -> None:
    world.remember("eve")
    bob = world.person("bob")
    bob.organisation_id = world.personas.globex.id
    with pytest.raises(MemoryNotFound):
        world.manager.delete_own_memory(world.row("eve").id, bob)
    assert world.manager.delete_own_memories(bob) == 0


def test_a_demotion_bites_at_the_next_decision(world: World) -> None:
    world.propose("ada")
    deputy = world.add_person("deputy", "administrator")
    world.personas.directory.set_role(deputy, "member")
    with pytest.raises(NotAnAdministrator) as refusal:
        world.manager.decide_account_fact(world.row("ada").id, world.acme, deputy, "confirm")
    assert refusal.value.profile_id == deputy.id


def test_nobody_decides_in_a_closed_organisation(world: World) -> None:
    world.confirmed("ada", "seat")
    world.propose("ada")
    world.personas.directory.deactivate_organisation(world.acme)
    where, root, manager = world.acme, world.root, world.manager
    for call in (
        lambda: manager.decide_account_fact(world.row("ada").id, where, root, "reject"),
        lambda: manager.delete_memory(world.row("ada").id, where, deleted_by=root),
        lambda: manager.reopen_account_fact(world.row("ada", "seat").id, where, root),
    ):
        with pytest.raises(NotAnAdministrator):
            call()
    # The command line still may.
    manager.delete_memory(world.row("ada").id, where)
    assert world.rows() == []


@pytest.mark.parametrize("wrong", [None, 1, "acme", object()])
def test_other_kinds_of_organisation_and_person_are_programming_errors(world: World, wrong: object) -> None:
    world.propose("ada")
    manager, where, root, memory_id = world.manager, world.acme, world.root, world.row("ada").id
    for call in (
        lambda: manager.decide_account_fact(memory_id, wrong, root, "confirm"),  # type: ignore[arg-type]
        lambda: manager.decide_account_fact(memory_id, where, wrong, "confirm"),  # type: ignore[arg-type]
        lambda: manager.delete_memory(memory_id, wrong, deleted_by=root),  # type: ignore[arg-type]
        lambda: manager.reopen_account_fact(memory_id, where, wrong),  # type: ignore[arg-type]
        lambda: manager.delete_own_memory(memory_id, wrong),  # type: ignore[arg-type]
        lambda: manager.delete_own_memories(wrong),  # type: ignore[arg-type]
        lambda: manager.keep_own_memory(memory_id, wrong),  # type: ignore[arg-type]
        lambda: manager.find_proposed_account_facts(wrong, "support"),  # type: ignore[arg-type]
        lambda: manager.find_own_memories(where, wrong, "support"),  # type: ignore[arg-type]
        lambda: manager.find_review_queue(wrong, "support"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="needed here"):
            call()
    assert world.row("ada").status == "proposed"


def test_an_agent_is_found_complete(world: World) -> None:
    found = world.manager.get_agent(world.agent("ada").id)
    assert found is not None
    assert (found.owner.name, found.organisation.slug, found.definition.name) == ("Ada", "acme", "support")


@pytest.mark.parametrize("agent_id", [0, -1, 10**6, 2**63 - 1, 2**63, -(2**63) - 1, 2**70, None, "1"])
def test_there_is_no_agent_with_another_id(world: World, agent_id: int) -> None:
    assert world.manager.get_agent(agent_id) is None


def test_a_manager_is_made_from_a_url(world: World) -> None:
    manager = AgentMemoryManager.from_url(world.database.url)
    try:
        answer = json.loads(manager.remember(world.agent("ada"), "office", "Hall 1"))
    finally:
        manager.dispose()
    assert answer["memory"]["updated_at"] > Clock().now.isoformat()
    # Whoever goes on using it gets new connections.
    assert len(json.loads(manager.list(world.agent("ada")))["memories"]) == 1
    manager.dispose()
