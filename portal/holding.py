"""What an agent holds under one key, and how a text gets there.

An agent's calls and an owner's "keep it for my agent" end in the same rules and the same write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, literal_column, true

from portal.changes import Actor, Change, HeldMemory, create_memory, rewrite_memory
from portal.models import ACCOUNT_SCOPE, Agent, AgentDefinition, AgentMemory
from portal.policy import CeilingCode, Growth, Usage, exceeded_ceiling, growth_of
from portal.recall import (
    CONFIRMED,
    HELD,
    MEMORIES,
    OPEN_OR_CLOSED,
    select_memories,
    status_in,
)
from portal.scopes import (
    AgentScope,
    place_of,
    select_scope,
    select_usage,
    usage_columns,
)
from portal.transactions import fetch_in
from portal.values import STATUS_OF, ActorKind, EventAction, Status, from_microseconds

if TYPE_CHECKING:
    from sqlalchemy import Select

    from portal.transactions import Work

Outcome = Literal["created", "replaced", "unchanged"]


class Held(NamedTuple):
    """A text is held: the memory as it now stands and the usage with it."""

    outcome: Outcome
    memory: HeldMemory
    usage: Usage
    was_withdrawn: bool = False
    """Whether a proposal under the key became personal."""
    is_beside_fact: bool = False
    """Whether a confirmed fact has the key too."""


class NoRoom(NamedTuple):
    """A text does not fit; nothing was written."""

    code: CeilingCode
    usage: Usage
    growth: Growth


class ConfirmedFact(NamedTuple):
    """A fact that an administrator confirmed, as far as an answer shows it. It is not locked."""

    id: int
    content: str


class UnderKey(NamedTuple):
    """What is under one key, and concerns one agent, as it stands under the agent's lock."""

    key: str
    scope: AgentScope
    usage: Usage
    """What the agent holds and may hold, whatever the key."""
    held: HeldMemory | None
    confirmed: ConfirmedFact | None

    @property
    def owners_agent(self) -> Actor:
        """The agent, as somebody who makes changes."""
        return Actor(ActorKind.AGENT, self.scope.owner_id)

    def is_own(self, memory: AgentMemory) -> bool:
        """Whether the agent's owner stated it."""
        return memory.stated_by_id == self.scope.owner_id

    def action_for(self, status: Status) -> EventAction:
        """Return what it is called when an agent gives the key a text with this status."""
        if status == Status.PROPOSED:
            return EventAction.PROPOSED
        if self.held is not None and self.held.status == Status.PROPOSED:
            return EventAction.WITHDRAWN
        return EventAction.REMEMBERED


def find_under_key(work: Work, agent_id: int, key: str) -> UnderKey | None:
    """Return what is under a key for an agent that is locked, or None where there is no such agent.

    The limits are read here and not with the lock: they may have been lowered while it was waited for.
    """
    rows = fetch_in(work, UNDER_KEY, {"agent_id": agent_id, "memory_key": key})
    if not rows:
        return None
    [row] = rows
    scope, usage = AgentScope(*row[:_USAGE_AT]), Usage(*row[_USAGE_AT:_MEMORY_AT])
    memory_id, status, content, version, updated_at, fact_id, fact_content = row[_MEMORY_AT:]
    confirmed = None if fact_id is None else ConfirmedFact(fact_id, fact_content)
    held = None
    if memory_id is not None:
        held = HeldMemory(
            scope.organisation_id,
            scope.definition_id,
            scope.owner_id,
            key,
            memory_id,
            STATUS_OF[status],
            content,
            version,
            from_microseconds(updated_at),
        )
    return UnderKey(key, scope, usage, held, confirmed)


def find_rejected(work: Work, under_key: UnderKey) -> AgentMemory | None:
    """Return what closes the key to proposals: the owner's own rejected fact, else the newest."""
    place = {**place_of(under_key.scope), "memory_key": under_key.key}
    rows = fetch_in(work, NEWEST_REJECTED, place)
    return MEMORIES.read(rows[0]) if rows else None


def _under_key() -> Select[Any]:
    """Select scope, usage, what is held under the key and what is confirmed, in one row.

    Each is one look at the primary key. As one look for either, PostgreSQL would read the whole table.
    """
    is_agent = Agent.id == bindparam("agent_id")
    used = (
        select_usage(
            organisation_id=Agent.organisation_id, definition_id=Agent.definition_id, owner_id=Agent.owner_id
        )
        .where(is_agent)
        .subquery()
    )
    held, confirmed = (AgentMemory.__table__.alias(f"agent_memory_{name}") for name in ("held", "confirmed"))

    def is_under_key(memory: Any, scope_id: Any, statuses: Sequence[Status]) -> ColumnElement[bool]:
        return and_(
            memory.c.organisation_id == Agent.organisation_id,
            memory.c.definition_id == Agent.definition_id,
            memory.c.scope_id == scope_id,
            memory.c.memory_key == bindparam("memory_key"),
            status_in(statuses, memory.c),
        )

    return (
        select_scope(is_agent)
        .add_columns(
            *usage_columns(used),
            held.c.id,
            held.c.status,
            held.c.content,
            held.c.version,
            held.c.updated_at,
            confirmed.c.id,
            confirmed.c.content,
        )
        .join(
            AgentDefinition,
            and_(
                AgentDefinition.organisation_id == Agent.organisation_id,
                AgentDefinition.id == Agent.definition_id,
            ),
        )
        .join(used, true())
        .outerjoin(held, is_under_key(held, Agent.owner_id, HELD))
        .outerjoin(confirmed, is_under_key(confirmed, literal_column(str(ACCOUNT_SCOPE)), CONFIRMED))
    )


UNDER_KEY = _under_key()
# Where the second and the third part of its row begin.
_USAGE_AT = len(AgentScope._fields)
_MEMORY_AT = _USAGE_AT + len(Usage._fields)
NEWEST_REJECTED = (
    select_memories(
        *MEMORIES.columns, organisation_id=bindparam("organisation_id"), statuses=(Status.REJECTED,)
    )
    .where(
        AgentMemory.definition_id == bindparam("definition_id"),
        AgentMemory.memory_key == bindparam("memory_key"),
        # It says nothing new, but lets SQLite see that the index on keys applies.
        status_in(OPEN_OR_CLOSED),
    )
    .order_by(
        (AgentMemory.stated_by_id == bindparam("owner_id")).desc(),
        AgentMemory.decided_at.desc(),
        AgentMemory.id.desc(),
    )
    .limit(literal_column("1"))
    .offset(literal_column("0"))
)


def hold(work: Work, change: Change, under_key: UnderKey, content: str, status: Status) -> Held | NoRoom:
    """Make ``content`` what the agent holds under the key, if it fits.

    The caller has applied the rules about confirmed and rejected facts.
    """
    held, usage = under_key.held, under_key.usage
    is_beside_fact = under_key.confirmed is not None
    if held is not None and (held.content, held.status) == (content, status):
        return Held("unchanged", held, usage, is_beside_fact=is_beside_fact)
    growth = growth_of(held, content, proposes=status == Status.PROPOSED)
    code = exceeded_ceiling(usage, growth)
    if code is not None:
        return NoRoom(code, usage, growth)
    if held is None:
        created = create_memory(
            work, change, under_key.scope, memory_key=under_key.key, content=content, status=status
        )
        return Held("created", created, usage.after(growth), is_beside_fact=is_beside_fact)
    was_withdrawn = held.status == Status.PROPOSED and status == Status.PERSONAL
    rewrite_memory(work, change, held, content=content, status=status)
    return Held("replaced", held, usage.after(growth), was_withdrawn, is_beside_fact)
