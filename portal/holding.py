"""What an agent holds under one key, and how a text gets there.

An agent's calls and an owner's "keep it for my agent" end in the same rules and the same write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import BigInteger, and_, bindparam, literal_column

from portal.changes import Actor, Change, create_memory, rewrite_memory
from portal.database import fetch_in
from portal.models import ACCOUNT_SCOPE, AgentMemory, EventAction, Status
from portal.policy import CeilingCode, Growth, Usage, exceeded_ceiling, growth_of
from portal.recall import CONFIRMED, HELD, OPEN_OR_CLOSED, memory_of, select_memories, status_in
from portal.scopes import READ_USAGE, USAGE_WIDTH, place_of, usage_in

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.orm import Session

    from portal.scopes import AgentScope

Outcome = Literal["created", "replaced", "unchanged"]


@dataclass(frozen=True)
class Held:
    """A text is held: the memory as it now stands and the usage with it."""

    outcome: Outcome
    memory: AgentMemory
    usage: Usage
    was_withdrawn: bool = False
    """Whether a proposal under the key became personal."""


@dataclass(frozen=True)
class NoRoom:
    """A text does not fit; nothing was written."""

    code: CeilingCode
    usage: Usage
    growth: Growth


class UnderKey:
    """The rows under one key that concern one agent, read under the agent's lock."""

    def __init__(self, session: Session, scope: AgentScope, key: str) -> None:
        self.scope = scope
        self.key = key
        self.owners_agent = Actor.agent_of(scope.owner_id)
        self._session = session
        found = fetch_in(session, UNDER_KEY, {**place_of(scope), "memory_key": key})
        self.usage = usage_in(found[0])
        """What the agent holds and may hold, whatever the key."""
        rows = [memory_of(row[USAGE_WIDTH:]) for row in found if row[-1] is not None]
        self.held = next((row for row in rows if row.status in HELD), None)
        self.confirmed = next((row for row in rows if row.status in CONFIRMED), None)

    def find_rejected(self) -> AgentMemory | None:
        """Return what closes the key to proposals: the owner's own rejected fact, else the newest."""
        is_own = AgentMemory.stated_by_id == self.scope.owner_id
        return self._session.scalars(
            self._select((Status.REJECTED,))
            .where(status_in(OPEN_OR_CLOSED))
            .order_by(is_own.desc(), AgentMemory.decided_at.desc(), AgentMemory.id.desc())
            .limit(1)
        ).first()

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

    def _select(self, statuses: Sequence[Status]) -> Select[Any]:
        return select_memories(
            AgentMemory, organisation_id=self.scope.organisation_id, statuses=statuses
        ).where(AgentMemory.definition_id == self.scope.definition_id, AgentMemory.memory_key == self.key)


def _under_key() -> Select[Any]:
    """Select the usage, once for each row under the key, or once with nothing where there is none."""
    is_under_key = and_(
        AgentMemory.organisation_id == bindparam("organisation_id"),
        AgentMemory.definition_id == bindparam("definition_id"),
        AgentMemory.scope_id.in_(
            [literal_column(str(ACCOUNT_SCOPE)), bindparam("owner_id", type_=BigInteger)]
        ),
        AgentMemory.memory_key == bindparam("memory_key"),
        status_in(HELD + CONFIRMED),
    )
    return READ_USAGE.add_columns(*AgentMemory.__table__.c).outerjoin(AgentMemory, is_under_key)


UNDER_KEY = _under_key()


def hold(
    session: Session, change: Change, under_key: UnderKey, content: str, status: Status
) -> Held | NoRoom:
    """Make ``content`` what the agent holds under the key, if it fits.

    The caller has applied the rules about confirmed and rejected facts.
    """
    held = under_key.held
    usage = under_key.usage
    if held is not None and (held.content, held.status) == (content, status):
        return Held("unchanged", held, usage)
    growth = growth_of(held, content, proposes=status == Status.PROPOSED)
    code = exceeded_ceiling(usage, growth)
    if code is not None:
        return NoRoom(code, usage, growth)
    if held is None:
        created = create_memory(
            session, change, under_key.scope, memory_key=under_key.key, content=content, status=status
        )
        return Held("created", created, usage.after(growth))
    was_withdrawn = held.status == Status.PROPOSED and status == Status.PERSONAL
    rewrite_memory(session, change, held, content=content, status=status)
    return Held("replaced", held, usage.after(growth), was_withdrawn)
