"""Whose memory a call is about, read from rows and locked.

Ceilings are exact because the check and the write are one transaction that first locks the scope: the
agent's row for what an agent holds, the definition's row for confirmed facts. Whoever needs several locks
a profile first, then a definition, then an agent, then a memory. On SQLite the writing transaction itself
is the lock.

The locks are ``FOR NO KEY UPDATE``: a plain ``FOR UPDATE`` deadlocks with the foreign-key checks of
concurrent inserts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Subquery, and_, bindparam, func, literal_column, select, true

from portal.contents import is_storable
from portal.driver_rows import RowReader
from portal.errors import NotAnAdministrator
from portal.models import ACCOUNT_SCOPE, Agent, AgentDefinition, AgentMemory, Organisation, Profile
from portal.policy import AccountUsage, Usage
from portal.recall import CONFIRMED, HELD, select_memories, status_in
from portal.transactions import Work, fetch_in
from portal.values import Role, Status, is_id

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


class AgentScope(NamedTuple):
    """Whose an agent is, as its row says at this moment."""

    agent_id: int
    organisation_id: int
    definition_id: int
    owner_id: int
    is_active: bool | int
    """Whether the owner and the organisation are active, as the driver says it."""


def id_of(row: object, kind: type[Agent | Organisation | Profile]) -> int:
    """Return the id of a row that a caller passed in, the only thing about the object that counts.

    It is 0, which no row has, where the object has none that a row could have.

    :raises TypeError: it is something else.
    """
    if not isinstance(row, kind):
        raise TypeError(f"a {kind.__name__} is needed here, not a {type(row).__name__}")
    row_id = row.id
    return row_id if is_id(row_id) else 0


def lock_agent(session: Session, agent_id: int) -> AgentScope | None:
    """Lock the agent with this id until the transaction ends, and return its scope."""
    return _scope(fetch_in(session, LOCK_AGENT, {"agent_id": agent_id}))


def lock_agent_of(
    session: Session, *, organisation_id: int, definition_id: int, owner_id: int | None
) -> AgentScope | None:
    """Lock somebody's agent of a definition. There is none for nobody, and none after an erasure."""
    place = {"organisation_id": organisation_id, "definition_id": definition_id, "owner_id": owner_id}
    return _scope(fetch_in(session, LOCK_AGENT_OF, place))


def _scope(rows: Sequence[tuple[Any, ...]]) -> AgentScope | None:
    return AgentScope(*rows[0]) if rows else None


def select_scope(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Select of agents: whose each is, as :class:`AgentScope` has it."""
    columns: Sequence[Any] = (
        Agent.id.label("agent_id"),
        Agent.organisation_id,
        Agent.definition_id,
        Agent.owner_id,
        and_(Profile.active, Organisation.active).label("is_active"),
    )
    return (
        select(*columns)
        .join_from(Agent, Profile, Profile.id == Agent.owner_id)
        .join(Organisation, Organisation.id == Agent.organisation_id)
        .where(*conditions)
    )


# For those who read the scope afterwards.
LOCK_AGENT_ROW = (
    select(Agent.id).where(Agent.id == bindparam("agent_id")).with_for_update(of=Agent, key_share=True)
)
LOCK_AGENT = select_scope(Agent.id == bindparam("agent_id")).with_for_update(of=Agent, key_share=True)
LOCK_AGENT_OF = select_scope(
    Agent.organisation_id == bindparam("organisation_id"),
    Agent.definition_id == bindparam("definition_id"),
    Agent.owner_id == bindparam("owner_id"),
).with_for_update(of=Agent, key_share=True)


def lock_definition(session: Session, *, organisation_id: int, definition_id: int) -> AgentDefinition | None:
    """Lock a definition's row until the transaction ends, and return it, if it is there."""
    return session.scalars(
        select(AgentDefinition)
        .where(AgentDefinition.organisation_id == organisation_id, AgentDefinition.id == definition_id)
        .with_for_update(key_share=True)
    ).one_or_none()


def find_definition_id(work: Work, *, organisation_id: int, name: str) -> int | None:
    """Return the id of an organisation's definition with this name. Any text may be asked for."""
    if not is_storable(name):
        return None
    found = fetch_in(work, FIND_DEFINITION_ID, {"organisation_id": organisation_id, "name": name})
    return found[0][0] if found else None


def find_definition(work: Work, *, organisation_id: int, name: str) -> AgentDefinition | None:
    """Return an organisation's definition with this name. Any text may be asked for."""
    if not is_storable(name):
        return None
    found = fetch_in(work, FIND_DEFINITION, {"organisation_id": organisation_id, "name": name})
    return DEFINITIONS.read(found[0]) if found else None


DEFINITIONS = RowReader(AgentDefinition)
FIND_DEFINITION = select(*DEFINITIONS.columns).where(
    AgentDefinition.organisation_id == bindparam("organisation_id"), AgentDefinition.name == bindparam("name")
)
FIND_DEFINITION_ID = FIND_DEFINITION.with_only_columns(AgentDefinition.id)


def find_active_profile(session: Session, profile_id: int) -> Profile | None:
    """Return the person with this id, if they and their organisation are active at this moment."""
    return session.scalars(_select_active_profile(profile_id)).one_or_none()


def _select_active_profile(profile_id: int) -> Select[Profile]:
    return select(Profile).where(
        Profile.id == profile_id,
        Profile.active,
        Profile.organisation_id == Organisation.id,
        Organisation.active,
    )


def require_administrator(session: Session, profile_id: int, *, organisation_id: int) -> Profile:
    """Return the person with this id, who stays what they are until the transaction ends.

    :raises portal.errors.NotAnAdministrator: they are not, at this moment, an active administrator of this
        active organisation.
    """
    # Until the decision stands nobody erases, deactivates or demotes whoever made it.
    active = _select_active_profile(profile_id).with_for_update(read=True, of=Profile)
    profile = session.scalars(active).one_or_none()
    if profile is None or profile.organisation_id != organisation_id or profile.role != Role.ADMINISTRATOR:
        raise NotAnAdministrator(profile_id)
    return profile


def select_usage(*, organisation_id: Any, definition_id: Any, owner_id: Any) -> Select[Any]:
    """Select of what an agent holds: the number, the characters and the proposals among them."""
    return select_memories(
        func.count(),
        func.coalesce(func.sum(func.length(AgentMemory.content)), literal_column("0")),
        func.count().filter(status_in([Status.PROPOSED])),
        organisation_id=organisation_id,
        statuses=HELD,
    ).where(AgentMemory.definition_id == definition_id, AgentMemory.scope_id == owner_id)


def read_usage(session: Session, scope: AgentScope) -> Usage:
    """Return what an agent holds and may hold. Exact until the transaction ends if the agent is locked.

    The limits are read here and not with the lock: they may have been lowered while it was waited for.
    """
    [row] = fetch_in(session, READ_USAGE, place_of(scope))
    return Usage(*row)


def place_of(scope: AgentScope) -> dict[str, int]:
    """Return what a statement binds to find what an agent holds."""
    return {
        "organisation_id": scope.organisation_id,
        "definition_id": scope.definition_id,
        "owner_id": scope.owner_id,
    }


def _read_usage() -> Select[Any]:
    used = select_usage(
        organisation_id=bindparam("organisation_id"),
        definition_id=bindparam("definition_id"),
        owner_id=bindparam("owner_id"),
    ).subquery()
    return (
        select(*usage_columns(used))
        .join_from(AgentDefinition, used, true())
        .where(
            AgentDefinition.organisation_id == bindparam("organisation_id"),
            AgentDefinition.id == bindparam("definition_id"),
        )
    )


def usage_columns(used: Subquery) -> Sequence[Any]:
    """Return what :func:`select_usage` counts, each beside the definition's limit, as ``Usage`` has them."""
    memories, characters, proposals = used.c
    return (
        memories,
        AgentDefinition.memory_limit,
        characters,
        AgentDefinition.memory_characters,
        proposals,
        AgentDefinition.proposal_limit,
    )


READ_USAGE = _read_usage()


def usage_of(definition: AgentDefinition, *, memories: int, characters: int, proposals: int) -> Usage:
    """Return these numbers beside the definition's limits."""
    return Usage(
        memories=memories,
        memory_limit=definition.memory_limit,
        characters=int(characters),
        character_limit=definition.memory_characters,
        proposals=proposals,
        proposal_limit=definition.proposal_limit,
    )


def read_account_usage(session: Session, definition: AgentDefinition) -> AccountUsage:
    """Return what a definition's confirmed facts use. Exact if the definition is locked."""
    row: Any = session.execute(
        select_memories(
            func.count(),
            func.coalesce(func.sum(func.length(AgentMemory.content)), 0),
            organisation_id=definition.organisation_id,
            statuses=CONFIRMED,
        ).where(AgentMemory.definition_id == definition.id, AgentMemory.scope_id == ACCOUNT_SCOPE)
    ).one()
    facts, characters = row
    return AccountUsage(
        facts=facts,
        fact_limit=definition.account_fact_limit,
        characters=int(characters),
        character_limit=definition.account_fact_characters,
    )
