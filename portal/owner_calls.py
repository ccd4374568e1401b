"""What people may do with what their own agents hold about them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import select

from portal.changes import Actor, Change, remove_memory
from portal.errors import KeyAlreadyConfirmed, MemoriesFull, MemoryNotFound
from portal.holding import NoRoom, find_under_key, hold
from portal.models import Agent, AgentMemory, Profile
from portal.recall import CONFIRMED, HELD, read_memory, select_memories
from portal.scopes import find_active_profile, find_definition_id, id_of, lock_agent, lock_agent_of
from portal.values import EventAction, Status

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from portal.database import Database
    from portal.scopes import AgentScope
    from portal.values import Clock


def _lock_own(
    session: Session, memory_id: int, owner_id: int, statuses: Sequence[Status]
) -> tuple[AgentMemory, AgentScope]:
    """Return a memory that this active person stated, as it stands under the lock of their agent."""
    owner = find_active_profile(session, owner_id)
    if owner is None:
        raise MemoryNotFound(memory_id)

    def read() -> AgentMemory | None:
        return read_memory(
            session, organisation_id=owner.organisation_id, memory_id=memory_id, statuses=statuses
        )

    seen = read()
    if seen is None or seen.stated_by_id != owner_id:
        raise MemoryNotFound(memory_id)
    scope = lock_agent_of(
        session,
        organisation_id=owner.organisation_id,
        definition_id=seen.definition_id,
        owner_id=owner_id,
    )
    # Until the lock was granted somebody else may have changed or removed it.
    memory = read()
    if scope is None or memory is None:
        raise MemoryNotFound(memory_id)
    return memory, scope


def _agent_ids(session: Session, owner_id: int, agent_def_name: str | None) -> Sequence[int]:
    """Return the ids of an active person's agents, in the order in which they are to be locked."""
    owner = find_active_profile(session, owner_id)
    if owner is None:
        return []
    agents = select(Agent.id).where(
        Agent.organisation_id == owner.organisation_id, Agent.owner_id == owner_id
    )
    if agent_def_name is not None:
        definition_id = find_definition_id(
            session, organisation_id=owner.organisation_id, name=agent_def_name
        )
        agents = agents.where(Agent.definition_id == definition_id)
    return session.scalars(agents.order_by(Agent.id)).all()


def _lock_held(session: Session, agent_id: int) -> Sequence[AgentMemory]:
    """Return what an agent holds, under its lock."""
    scope = lock_agent(session, agent_id)
    if scope is None:
        return []
    return session.scalars(
        select_memories(AgentMemory, organisation_id=scope.organisation_id, statuses=HELD).where(
            AgentMemory.definition_id == scope.definition_id, AgentMemory.scope_id == scope.owner_id
        )
    ).all()


class OwnerCalls:
    """The calls of somebody who looks at their own memories. Each is a transaction of its own.

    The owner is the person who is signed in: their row says which organisation is meant. Somebody
    inactive owns nothing here.
    """

    _database: Database
    _clock: Clock

    def delete_own_memory(self, memory_id: int, owner: Profile) -> None:
        """Delete one memory or proposal that the owner's agent holds.

        :raises portal.errors.MemoryNotFound: there is none with this id that this person holds; confirmed
            and rejected facts are not theirs to delete.
        """
        owner_id = id_of(owner, Profile)
        self._database.write(lambda session: self._delete_one(session, memory_id, owner_id))

    def delete_own_memories(
        self, owner: Profile, agent_def_name: str | None = None, *, as_of: dt.datetime | None = None
    ) -> int:
        """Delete everything that the owner's agents hold, or one of them, and return how many.

        :param agent_def_name: the definition of the one agent that is meant.
        :param as_of: an aware time; what was stored or changed after it survives.
        """
        owner_id = id_of(owner, Profile)
        return self._database.write(
            lambda session: self._delete_several(session, owner_id, agent_def_name, as_of)
        )

    def keep_own_memory(self, memory_id: int, owner: Profile) -> AgentMemory:
        """Make a rejected fact that this person stated a personal memory of theirs again.

        The rejected row stays. The rules and ceilings are those of ``remember``; a memory under the key is
        replaced, and nothing happens where it has the same text already.

        :returns: the personal memory.
        :raises portal.errors.MemoryNotFound: this person stated no rejected fact with this id.
        :raises portal.errors.KeyAlreadyConfirmed: a confirmed fact has the key.
        :raises portal.errors.MemoriesFull: it does not fit.
        """
        owner_id = id_of(owner, Profile)
        return self._database.write(lambda session: self._keep(session, memory_id, owner_id))

    def _delete_one(self, session: Session, memory_id: int, owner_id: int) -> None:
        memory, _ = _lock_own(session, memory_id, owner_id, HELD)
        remove_memory(session, Change(EventAction.DELETED, Actor.profile(owner_id), self._clock()), memory)

    def _delete_several(
        self, session: Session, owner_id: int, agent_def_name: str | None, as_of: dt.datetime | None
    ) -> int:
        change = Change(EventAction.DELETED, Actor.profile(owner_id), self._clock())
        memories = [
            memory
            for agent_id in _agent_ids(session, owner_id, agent_def_name)
            for memory in _lock_held(session, agent_id)
            if as_of is None or memory.updated_at <= as_of
        ]
        for memory in memories:
            remove_memory(session, change, memory)
        return len(memories)

    def _keep(self, session: Session, memory_id: int, owner_id: int) -> AgentMemory:
        rejected, scope = _lock_own(session, memory_id, owner_id, (Status.REJECTED,))
        under_key = find_under_key(session, scope.agent_id, rejected.memory_key)
        assert under_key is not None  # noqa: S101 - its agent is locked
        if under_key.held is None and under_key.confirmed is not None:
            confirmed = read_memory(
                session,
                organisation_id=scope.organisation_id,
                memory_id=under_key.confirmed.id,
                statuses=CONFIRMED,
            )
            # Where there is none any more, an administrator removed it since, and nothing is in the way.
            if confirmed is not None:
                raise KeyAlreadyConfirmed(rejected, confirmed)
        change = Change(EventAction.KEPT, Actor.profile(owner_id), self._clock())
        held = hold(session, change, under_key, rejected.content, Status.PERSONAL)
        if isinstance(held, NoRoom):
            raise MemoriesFull(rejected)
        kept = read_memory(
            session, organisation_id=scope.organisation_id, memory_id=held.memory.id, statuses=HELD
        )
        assert kept is not None  # noqa: S101 - it is locked
        return kept
