"""Agent definitions, and people's agents."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, contains_eager, joinedload

from portal.database import constraint_name
from portal.directory.names import (
    LIMITS,
    check_definition_name,
    check_description,
    check_flag,
    check_limit,
    check_name,
    is_slug,
)
from portal.directory.removal import remove_definition
from portal.directory.rows import FOR_CHANGE, FOR_REFERENCE, Part, get_row, identify
from portal.errors import InvalidInput
from portal.models import Agent, AgentDefinition, Organisation, Profile
from portal.scopes import DEFINITIONS, FIND_DEFINITION

# What PostgreSQL calls the rule of one agent a person and definition, and what SQLite says in its place.
ONE_AGENT = {
    "uq_agent_organisation_id_definition_id_owner_id",
    "agent.organisation_id, agent.definition_id, agent.owner_id",
}
PROMPT_MARKER_BYTES = 8

AGENT_LIMITS = ("memory_limit", "memory_characters", "proposal_limit")
"""The limits of what each agent holds. The others are the definition's own, whose row is locked anyway."""


class Definitions(Part):
    """The directory's calls about what agents an organisation offers."""

    def define_agent(  # noqa: PLR0913 - a definition has that many properties, each named by its caller
        self,
        organisation: Organisation,
        *,
        name: str,
        title: str | None = None,
        description: str | None = None,
        memory_limit: int | None = None,
        memory_characters: int | None = None,
        proposal_limit: int | None = None,
        account_fact_limit: int | None = None,
        account_fact_characters: int | None = None,
        second_person_required: bool | None = None,
    ) -> AgentDefinition:
        """Create an agent definition, or change the one of that name.

        What is left out keeps what is stored, and in a new definition gets its default. Where a limit is
        set below what is stored already, nothing is lost; only growth is refused.

        :param name: 1 to 64 of a to z, 0 to 9 and ``-``; not ``people``, which the portal's addresses need.
        :param title: what people read, 1 to 200 code points on one line; by default made of the name.
        :param description: what the agent is for; by default nothing.
        :param memory_limit: memories that one agent may hold, 0 to 10,000; default 100.
        :param memory_characters: code points in their contents, 0 to 1,000,000; default 20,000.
        :param proposal_limit: proposals that one agent may have waiting, 0 to 10,000; default 20.
        :param account_fact_limit: confirmed facts, 0 to 10,000; default 100.
        :param account_fact_characters: code points in their contents, 0 to 1,000,000; default 20,000.
        :param second_person_required: whether nobody may confirm what they stated themselves; default no.
        :returns: the definition as it stands now.
        :raises portal.errors.InvalidInput: an argument cannot be accepted, or the organisation is gone.
        """
        organisation_id = identify(organisation, Organisation)
        check_definition_name(name)
        limits = {
            "memory_limit": memory_limit,
            "memory_characters": memory_characters,
            "proposal_limit": proposal_limit,
            "account_fact_limit": account_fact_limit,
            "account_fact_characters": account_fact_characters,
        }
        given = _check_limits(limits) | _check_texts(title, description) | _check_flag(second_person_required)
        return self._database.write(lambda session: self._define(session, organisation_id, name, given))

    def _define(
        self, session: Session, organisation_id: int, name: str, given: dict[str, Any]
    ) -> AgentDefinition:
        # The lock lets one call at a time decide whether the name is new.
        get_row(session, Organisation, organisation_id, FOR_CHANGE)
        question = _select_definitions(organisation_id).where(AgentDefinition.name == name)
        found = session.scalar(question.with_for_update(**FOR_CHANGE))
        if found is None:
            found = self._new_definition(organisation_id, name)
            session.add(found)
        elif any(field in given and given[field] < getattr(found, field) for field in AGENT_LIMITS):
            _lock_agents(session, found)
        for field, value in given.items():
            setattr(found, field, value)
        return found

    def _new_definition(self, organisation_id: int, name: str) -> AgentDefinition:
        return AgentDefinition(
            organisation_id=organisation_id,
            name=name,
            title=name.replace("-", " ").strip().capitalize() or name,
            description="",
            second_person_required=False,
            created_at=self._clock(),
            **{field: limit.default for field, limit in LIMITS.items()},
        )

    def find_definition(self, organisation: Organisation, name: str) -> AgentDefinition | None:
        """Return the organisation's definition of that name, or None."""
        organisation_id = identify(organisation, Organisation)
        if not is_slug(name):
            return None
        rows = self._database.fetch_rows(FIND_DEFINITION, {"organisation_id": organisation_id, "name": name})
        return DEFINITIONS.read(rows[0]) if rows else None

    def find_definitions(self, organisation: Organisation) -> list[AgentDefinition]:
        """Return everything that an organisation offers, by name."""
        question = _select_definitions(identify(organisation, Organisation))
        found = self._database.read(lambda session: session.scalars(question).all())
        return sorted(found, key=lambda definition: definition.name)

    def delete_definition(self, definition: AgentDefinition) -> None:
        """Delete a definition with its agents, everything that they remember, and the events of that.

        :raises portal.errors.InvalidInput: (``definition``) it is gone.
        """
        definition_id = identify(definition, AgentDefinition)

        def work(session: Session) -> None:
            remove_definition(session, get_row(session, AgentDefinition, definition_id, FOR_CHANGE))

        self._database.write(work)


class Agents(Part):
    """The directory's calls about people's agents.

    What they hand back has ``organisation``, ``owner`` and ``definition`` loaded.
    """

    def agent_for(self, profile: Profile, agent_def_name: str) -> Agent:
        """Return a person's agent of a definition, made on first use.

        Of several calls at once one makes it, and all return it.

        :param agent_def_name: the name of a definition of the person's organisation.
        :raises portal.errors.InvalidInput: (``profile``, ``agent_def_name``) there is nobody any more, or no
            such definition in their organisation.
        """
        found = self.find_agent(profile, agent_def_name)
        if found is not None:
            return found
        try:
            self._database.write(lambda session: self._add_agent(session, profile.id, agent_def_name))
        except IntegrityError as exc:
            if constraint_name(exc) not in ONE_AGENT:
                raise
        # Whoever made it, it is there now, unless somebody removes what it belongs to at this moment.
        found = self.find_agent(profile, agent_def_name)
        if found is None:
            raise _no_definition()
        return found

    def _add_agent(self, session: Session, profile_id: int, agent_def_name: str) -> None:
        owner = get_row(session, Profile, profile_id, FOR_REFERENCE)
        if not is_slug(agent_def_name):
            raise _no_definition()
        definition = session.scalar(
            _select_definitions(owner.organisation_id)
            .where(AgentDefinition.name == agent_def_name)
            .with_for_update(**FOR_REFERENCE)
        )
        if definition is None:
            raise _no_definition()
        agent = Agent(
            organisation_id=owner.organisation_id,
            owner_id=owner.id,
            definition_id=definition.id,
            prompt_marker=secrets.token_hex(PROMPT_MARKER_BYTES),
            created_at=self._clock(),
        )
        session.add(agent)

    def find_agent(self, profile: Profile, agent_def_name: str) -> Agent | None:
        """Return a person's agent of the definition of that name, or None where there is none yet."""
        question = _select_agents(identify(profile, Profile))
        if not is_slug(agent_def_name):
            return None
        return self._database.read(
            lambda session: session.scalar(question.where(AgentDefinition.name == agent_def_name))
        )

    def find_agents(self, profile: Profile) -> list[Agent]:
        """Return every agent that a person has, by the name of its definition."""
        question = _select_agents(identify(profile, Profile))
        found = self._database.read(lambda session: session.scalars(question).all())
        return sorted(found, key=lambda agent: agent.definition.name)


def _lock_agents(session: Session, definition: AgentDefinition) -> None:
    """Wait for whoever has read the limits, which is done under the lock of an agent."""
    agents = select(Agent.id).where(
        Agent.organisation_id == definition.organisation_id, Agent.definition_id == definition.id
    )
    session.execute(agents.order_by(Agent.id).with_for_update(**FOR_CHANGE)).all()


def _check_limits(limits: dict[str, int | None]) -> dict[str, Any]:
    return {field: check_limit(field, value) for field, value in limits.items() if value is not None}


def _check_texts(title: str | None, description: str | None) -> dict[str, Any]:
    checked = {}
    if title is not None:
        checked["title"] = check_name("title", title)
    if description is not None:
        checked["description"] = check_description(description)
    return checked


def _check_flag(second_person_required: bool | None) -> dict[str, Any]:  # noqa: FBT001 - passed on by define_agent
    if second_person_required is None:
        return {}
    return {"second_person_required": check_flag("second_person_required", second_person_required)}


def _select_definitions(organisation_id: int) -> Select[AgentDefinition]:
    return select(AgentDefinition).where(AgentDefinition.organisation_id == organisation_id)


def _select_agents(profile_id: int) -> Select[Agent]:
    """Select a person's agents with what they belong to, by the indexes that begin with the organisation."""
    return (
        select(Agent)
        .join(Agent.owner)
        .join(Agent.definition)
        .where(Profile.id == profile_id, Agent.organisation_id == Profile.organisation_id)
        .options(
            joinedload(Agent.organisation, innerjoin=True),
            contains_eager(Agent.owner).joinedload(Profile.organisation, innerjoin=True),
            contains_eager(Agent.definition),
        )
    )


def _no_definition() -> InvalidInput:
    return InvalidInput("agent_def_name", "this organisation has no agent definition of that name")
