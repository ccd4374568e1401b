"""The one governed way to write and read what agents remember."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from portal.administrator_calls import AdministratorCalls
from portal.agent_calls import AgentCalls
from portal.database import Database
from portal.models import Agent
from portal.owner_calls import OwnerCalls
from portal.values import Clock, is_id, utc_now


class AgentMemoryManager(AgentCalls, OwnerCalls, AdministratorCalls):
    """What an agent has learned about the person it works for, under human control.

    It has the calls of three callers, each described in a module of its own: the agent
    (:mod:`portal.agent_calls`), its owner (:mod:`portal.owner_calls`) and an administrator
    (:mod:`portal.administrator_calls`). Each call is one transaction; a success is told after COMMIT
    returned. Safe to share between threads.

    :param database: where the memories are; its schema is up to date.
    :param clock: what tells the time, aware and in UTC.
    """

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    @classmethod
    def from_url(cls, url: str) -> AgentMemoryManager:
        """Return a manager on the database behind a SQLAlchemy URL.

        :raises portal.errors.InvalidInput: (``database_url``) it is no URL of SQLite or PostgreSQL.
        """
        return cls(Database(url))

    def get_agent(self, agent_id: int) -> Agent | None:
        """Return the agent with this id, complete with owner, definition and organisation, or None."""
        if not is_id(agent_id):
            return None
        complete = [joinedload(Agent.organisation), joinedload(Agent.owner), joinedload(Agent.definition)]
        return self._database.read(
            lambda session: session.scalars(
                select(Agent).where(Agent.id == agent_id).options(*complete)
            ).one_or_none()
        )

    def dispose(self) -> None:
        """Close the pooled connections of this process."""
        self._database.dispose()
