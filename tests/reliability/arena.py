"""Where races are run: the personas, a crowd, and a database on which everything must hold afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import func, select, text

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory, MemoryEvent, Profile
from portal.values import Status
from tests.factories import Personas
from tests.reliability.crowds import Crowd, Job, Outcome, manager

A_MEMORY: frozenset[str] = frozenset(Status)
"""The outcomes of calls that answered with a memory: its status."""

CHANGES = frozenset({"created", "replaced", "forgotten"})
"""The outcomes of an agent's calls that changed a memory."""


@dataclass(frozen=True)
class Arena:
    """A database with the personas in it, and a crowd that can act on it."""

    database: Database
    personas: Personas
    crowd: Crowd

    @property
    def manager(self) -> AgentMemoryManager:
        return AgentMemoryManager(self.database)

    @cached_property
    def adas(self) -> Agent:
        return self.personas.agent(self.personas.ada)

    @cached_property
    def bobs(self) -> Agent:
        return self.personas.agent(self.personas.bob)

    def at_once(self, *parts: Sequence[Job]) -> list[list[Outcome]]:
        """Let the callers do their parts at the same time."""
        return self.crowd.run(self.database.url, parts)

    def divided(self, jobs: Iterable[Job]) -> list[Outcome]:
        """Divide jobs among all callers, who do them at the same time."""
        every = list(jobs)
        size = self.crowd.size
        parts = self.at_once(*(every[number::size] for number in range(size)))
        return [outcome for part in parts for outcome in part]

    def propose(self, agent: Agent, memory_key: str, content: str = "words") -> int:
        """Record a proposal, and return its id."""
        self.manager.propose_account_fact(agent, memory_key, content)
        return self.find(agent.owner_id, memory_key).id

    def decide(
        self,
        memory_id: int,
        action: str,
        *,
        by: Profile | None = None,
        expected_version: int | None = None,
    ) -> Job:
        """Return an administrator's decision."""
        return manager(
            AgentMemoryManager.decide_account_fact,
            memory_id,
            self.personas.acme,
            by or self.personas.root,
            action,
            expected_version=expected_version,
        )

    def find(self, scope_id: int, memory_key: str) -> AgentMemory:
        """Return the memory that is recalled under a key in one scope of `support`."""
        (found,) = (row for row in self.rows(memory_key) if row.scope_id == scope_id)
        return found

    def rows(self, memory_key: str | None = None) -> Sequence[AgentMemory]:
        """Return the memories under a key in Acme, or all."""
        question = select(AgentMemory).where(AgentMemory.organisation_id == self.personas.acme.id)
        if memory_key is not None:
            question = question.where(AgentMemory.memory_key == memory_key)
        return self.database.read(lambda session: session.scalars(question).all())

    def count(self, *statuses: Status) -> int:
        """Return how many memories have one of these statuses."""
        return sum(row.status in statuses for row in self.rows())

    def count_events(self) -> int:
        question = select(func.count()).select_from(MemoryEvent)
        return self.database.read(lambda session: session.scalars(question).one())


def words(outcomes: Iterable[Outcome]) -> Counter[str]:
    """Return how often each outcome came."""
    return Counter(outcome.word for outcome in outcomes)


def flat(parts: Iterable[Iterable[Outcome]]) -> list[Outcome]:
    return [outcome for part in parts for outcome in part]


def assert_file_is_sound(database: Database) -> None:
    """Let SQLite look for damage in its file. PostgreSQL has nothing that is as quick."""
    if database.is_sqlite:
        for check, nothing_wrong in (("integrity_check", ["ok"]), ("foreign_key_check", [])):
            found = database.read(lambda session: session.scalars(text(f"PRAGMA {check}")).all())  # noqa: B023
            assert found == nothing_wrong
