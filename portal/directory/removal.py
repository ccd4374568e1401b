"""What goes when something goes, written out because nothing in the database cascades.

The caller has locked the row that goes for change, so that nobody begins to use it: whoever does locks it
for reference first.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, select, text, update
from sqlalchemy.orm import Session

from portal.changes import COMMAND_LINE, Change, remove_memory
from portal.directory.rows import FOR_CHANGE, FOR_REMOVAL
from portal.models import (
    ACCOUNT_SCOPE,
    Agent,
    AgentDefinition,
    AgentMemory,
    Base,
    MemoryEvent,
    Organisation,
    Profile,
)
from portal.recall import select_memories
from portal.tokens import WAYS_IN, end_ways_in
from portal.values import EventAction, Status


def remove_profile(session: Session, profile: Profile, now: dt.datetime) -> None:
    """Delete a person with everything that is theirs; what the account keeps of them loses their name."""
    _lift_time_limit(session)
    here = profile.organisation_id
    _lock_agents(session, Agent.organisation_id == here, Agent.owner_id == profile.id)
    change = Change(EventAction.ERASED, COMMAND_LINE, now)
    for memory in _lock_own_memories(session, profile):
        remove_memory(session, change, memory)
    _take_name_away(session, profile)
    end_ways_in(session, profile)
    _delete(session, Agent, Agent.organisation_id == here, Agent.owner_id == profile.id)
    _delete(session, Profile, Profile.organisation_id == here, Profile.id == profile.id)


def remove_definition(session: Session, definition: AgentDefinition) -> None:
    """Delete a definition with its agents, their memories and the events of those."""
    _lift_time_limit(session)
    here = definition.organisation_id
    _lock_agents(session, Agent.organisation_id == here, Agent.definition_id == definition.id)
    for table in (MemoryEvent, AgentMemory, Agent):
        _delete(session, table, table.organisation_id == here, table.definition_id == definition.id)
    _delete(
        session, AgentDefinition, AgentDefinition.organisation_id == here, AgentDefinition.id == definition.id
    )


def remove_organisation(session: Session, organisation: Organisation) -> None:
    """Delete an organisation with everything in it."""
    _lift_time_limit(session)
    here = organisation.id
    for kind in (Profile, AgentDefinition):
        rows = select(kind.id).where(kind.organisation_id == here).order_by(kind.id)
        session.execute(rows.with_for_update(**FOR_CHANGE)).all()
    _lock_agents(session, Agent.organisation_id == here)
    for table in (MemoryEvent, AgentMemory, Agent, AgentDefinition, *WAYS_IN, Profile):
        _delete(session, table, table.organisation_id == here)
    _delete(session, Organisation, Organisation.id == here)


def _lift_time_limit(session: Session) -> None:
    """Let this transaction's statements take as long as they need: a large tenant has to be removable."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("SET LOCAL statement_timeout = 0"))


def _lock_agents(session: Session, *conditions: ColumnElement[bool]) -> None:
    """Wait for the calls that these agents are making, and let no other begin."""
    session.execute(
        select(Agent.id).where(*conditions).order_by(Agent.id).with_for_update(**FOR_REMOVAL)
    ).all()


def _lock_own_memories(session: Session, profile: Profile) -> Sequence[AgentMemory]:
    """Lock whatever a person stated, and return what goes with them: what is held, and what was rejected.

    All are locked before any is judged, so that nobody confirms one of them in between.
    """
    stated = select_memories(AgentMemory, organisation_id=profile.organisation_id, statuses=tuple(Status))
    locked = session.scalars(
        stated.where(AgentMemory.stated_by_id == profile.id).with_for_update(**FOR_REMOVAL)
    )
    return [memory for memory in locked if memory.scope_id != ACCOUNT_SCOPE]


def _take_name_away(session: Session, profile: Profile) -> None:
    """Name nobody where the person stated, decided or did something that stays.

    These are no changes of a memory: its key, content and status are the same, so no event is written.
    """
    for table, column in (
        (AgentMemory, AgentMemory.stated_by_id),
        (AgentMemory, AgentMemory.decided_by_id),
        (MemoryEvent, MemoryEvent.actor_id),
    ):
        session.execute(
            update(table)
            .where(table.organisation_id == profile.organisation_id, column == profile.id)
            .values({column: None}),
            execution_options={"synchronize_session": False},
        )


def _delete(session: Session, table: type[Base], *conditions: ColumnElement[bool]) -> None:
    session.execute(delete(table).where(*conditions), execution_options={"synchronize_session": False})
