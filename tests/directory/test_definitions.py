from __future__ import annotations

from typing import Any

import pytest

from portal.database import Database
from portal.directory import Directory
from portal.errors import InvalidInput
from portal.models import AgentDefinition
from tests.factories import Clock, Personas

DEFAULTS: dict[str, Any] = {
    "title": "Claims desk",
    "description": "",
    "memory_limit": 100,
    "memory_characters": 20_000,
    "proposal_limit": 20,
    "account_fact_limit": 100,
    "account_fact_characters": 20_000,
    "second_person_required": False,
}
OTHERS: dict[str, Any] = {
    "title": "Claims",
    "description": "Handles claims.\nPolitely.",
    "memory_limit": 5,
    "memory_characters": 500,
    "proposal_limit": 2,
    "account_fact_limit": 7,
    "account_fact_characters": 700,
    "second_person_required": True,
}


def properties(definition: AgentDefinition | None) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in DEFAULTS}


def test_a_new_definition_has_the_defaults(personas: Personas, clock: Clock) -> None:
    made = personas.directory.define_agent(personas.acme, name="claims-desk")
    assert properties(made) == DEFAULTS
    assert (made.organisation_id, made.name, made.created_at) == (personas.acme.id, "claims-desk", clock.now)


def test_every_property_can_be_given(personas: Personas) -> None:
    made = personas.directory.define_agent(personas.acme, name="claims-desk", **OTHERS)
    assert properties(made) == OTHERS
    assert properties(personas.directory.find_definition(personas.acme, "claims-desk")) == OTHERS


def test_defining_again_changes_what_is_given_and_keeps_the_rest(personas: Personas) -> None:
    for changed, value in DEFAULTS.items():
        first = personas.directory.define_agent(personas.acme, name="claims-desk", **OTHERS)
        again = personas.directory.define_agent(personas.acme, name="claims-desk", **{changed: value})
        assert properties(again) == OTHERS | {changed: value}
        assert again.id == first.id


def test_two_organisations_may_offer_agents_of_one_name(personas: Personas) -> None:
    personas.directory.define_agent(personas.acme, name="support", memory_limit=1)
    theirs = personas.directory.find_definition(personas.globex, "support")
    assert theirs is not None
    assert theirs.memory_limit == 100


def test_definitions_are_listed_by_name(personas: Personas) -> None:
    for name in ("a-z", "ab", "9"):
        personas.directory.define_agent(personas.acme, name=name)
    names = [definition.name for definition in personas.directory.find_definitions(personas.acme)]
    assert names == ["9", "a-z", "ab", "support", "travel"]


def test_another_name_finds_no_definition(personas: Personas) -> None:
    for name in ["nothing", "", "Support", "support\x00", "\ud800"]:
        assert personas.directory.find_definition(personas.acme, name) is None


def test_a_definition_that_cannot_be_accepted_is_not_created(personas: Personas) -> None:
    refused: dict[str, Any] = {
        "name": "people",
        "title": " ",
        "description": "a\x00",
        "memory_limit": -1,
        "memory_characters": -1,
        "proposal_limit": -1,
        "account_fact_limit": -1,
        "account_fact_characters": -1,
        "second_person_required": 1,
    }
    for field, value in refused.items():
        with pytest.raises(InvalidInput) as refusal:
            personas.directory.define_agent(personas.acme, **{"name": "claims"} | {field: value})
        assert refusal.value.field == field
    assert len(personas.directory.find_definitions(personas.acme)) == 2


def test_limits_may_be_as_low_and_as_high_as_their_ranges(personas: Personas) -> None:
    personas.directory.define_agent(personas.acme, name="low", memory_limit=0, memory_characters=0)
    high = personas.directory.define_agent(
        personas.acme, name="high", memory_limit=10_000, account_fact_characters=1_000_000
    )
    assert (high.memory_limit, high.account_fact_characters) == (10_000, 1_000_000)


def test_a_name_of_hyphens_alone_is_its_own_title(personas: Personas) -> None:
    assert personas.directory.define_agent(personas.acme, name="--").title == "--"


def test_nothing_is_defined_in_an_organisation_that_is_gone(personas: Personas) -> None:
    personas.directory.delete_organisation(personas.globex)
    with pytest.raises(InvalidInput, match="organisation"):
        personas.directory.define_agent(personas.globex, name="claims")


def test_an_agent_is_made_on_first_use_and_is_the_same_afterwards(personas: Personas, clock: Clock) -> None:
    assert personas.directory.find_agent(personas.ada, "support") is None
    made = personas.directory.agent_for(personas.ada, "support")
    assert made.created_at == clock.now
    assert made.id == personas.directory.agent_for(personas.ada, "support").id
    found = personas.directory.find_agent(personas.ada, "support")
    assert found is not None
    assert found.id == made.id


def test_agents_differ_by_person_and_by_definition(personas: Personas) -> None:
    agents = [
        personas.agent(owner, definition)
        for owner in (personas.ada, personas.bob, personas.eve)
        for definition in ("support", "travel")
    ]
    assert len({agent.id for agent in agents}) == 6
    assert len({agent.prompt_marker for agent in agents}) == 6


def test_an_agent_is_complete_without_a_session(personas: Personas) -> None:
    agent = personas.directory.agent_for(personas.ada, "support")
    assert (agent.organisation.slug, agent.owner.name, agent.definition.title) == ("acme", "Ada", "Support")
    assert agent.owner.organisation.slug == "acme"


def test_a_persons_agents_are_listed_by_definition(personas: Personas) -> None:
    personas.agent(personas.ada, "travel")
    personas.agent(personas.ada, "support")
    personas.agent(personas.bob, "support")
    names = [agent.definition.name for agent in personas.directory.find_agents(personas.ada)]
    assert names == ["support", "travel"]


@pytest.mark.parametrize("name", ["claims", "", "SUPPORT", "\x00"])
def test_there_is_no_agent_without_a_definition(personas: Personas, name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        personas.directory.agent_for(personas.ada, name)
    assert refusal.value.field == "agent_def_name"


def test_another_organisations_definition_is_no_definition(personas: Personas) -> None:
    personas.directory.define_agent(personas.globex, name="claims")
    with pytest.raises(InvalidInput, match="agent_def_name"):
        personas.directory.agent_for(personas.ada, "claims")


def test_there_is_no_agent_for_somebody_who_is_gone(personas: Personas) -> None:
    personas.directory.erase_profile(personas.ada)
    with pytest.raises(InvalidInput, match="profile"):
        personas.directory.agent_for(personas.ada, "support")
    assert personas.directory.find_agents(personas.ada) == []


def test_an_object_of_another_class_is_no_definition(personas: Personas) -> None:
    with pytest.raises(TypeError, match="expected AgentDefinition"):
        personas.directory.delete_definition(personas.acme)  # type: ignore[arg-type]


def test_a_directory_tells_the_time_by_itself(database: Database) -> None:
    made = Directory(database).create_organisation(name="Acme", slug="acme")
    assert made.created_at.year >= 2026
