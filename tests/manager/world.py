"""The personas at work: the manager's calls by people's names, so that tables and tests read as sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory, Organisation, Profile
from portal.recall import WITH_PEOPLE
from tests.factories import Clock, Personas
from tests.invariants import State, read_state

KEY = "office"


@dataclass
class World:
    """Calls are made for `support`, unless another definition is named, and each takes a second."""

    database: Database
    manager: AgentMemoryManager
    personas: Personas
    clock: Clock
    _agents: dict[tuple[str, str], Agent] = field(default_factory=dict)
    _others: dict[str, Profile] = field(default_factory=dict)

    @property
    def acme(self) -> Organisation:
        return self.personas.acme

    @property
    def root(self) -> Profile:
        return self.personas.root

    def person(self, name: str) -> Profile:
        """Return one of the personas, or somebody whom this test added."""
        person: Profile = self._others.get(name) or getattr(self.personas, name)
        return person

    def add_person(
        self, name: str, role: str = "member", organisation: Organisation | None = None
    ) -> Profile:
        """Add somebody to Acme, or to another organisation."""
        self._others[name] = self.personas.directory.create_profile(
            organisation or self.acme, email=f"{name}@example.org", name=name.capitalize(), role=role
        )
        return self._others[name]

    def agent(self, name: str, definition: str = "support") -> Agent:
        """Return somebody's agent, the same object each time."""
        if (name, definition) not in self._agents:
            self._agents[name, definition] = self.personas.agent(self.person(name), definition)
        return self._agents[name, definition]

    def set_limits(self, definition: str = "support", **limits: Any) -> None:
        self.personas.directory.define_agent(self.acme, name=definition, **limits)

    def remember(
        self, name: str, key: object = KEY, content: object = "text", *, definition: str = "support"
    ) -> Any:
        self.clock.advance(seconds=1)
        return json.loads(self.manager.remember(self.agent(name, definition), key, content))

    def propose(
        self, name: str, key: object = KEY, content: object = "text", *, definition: str = "support"
    ) -> Any:
        self.clock.advance(seconds=1)
        return json.loads(self.manager.propose_account_fact(self.agent(name, definition), key, content))

    def forget(self, name: str, key: object = KEY, *, definition: str = "support") -> Any:
        self.clock.advance(seconds=1)
        return json.loads(self.manager.forget(self.agent(name, definition), key))

    def list(self, name: str, definition: str = "support") -> Any:
        return json.loads(self.manager.list(self.agent(name, definition)))

    def rows(self, key: str = KEY) -> Sequence[AgentMemory]:
        """Return everything that anybody has under a key, as it stands, with the people."""
        question = select(AgentMemory).where(AgentMemory.memory_key == key).options(*WITH_PEOPLE)
        return self.database.read(lambda session: session.scalars(question.order_by(AgentMemory.id)).all())

    def row(self, name: str, key: str = KEY, status: str | None = None) -> AgentMemory:
        """Return the one memory that somebody stated under a key (and that has this status)."""
        stated_by = self.person(name).id
        (found,) = (
            row for row in self.rows(key) if row.stated_by_id == stated_by and status in {None, row.status}
        )
        return found

    def decide(self, name: str, key: str = KEY, action: str = "confirm", **more: Any) -> AgentMemory:
        """Let root decide on what somebody proposed."""
        self.clock.advance(seconds=1)
        proposal = self.row(name, key, "proposed")
        return self.manager.decide_account_fact(proposal.id, self.acme, self.root, action, **more)

    def confirmed(self, name: str, key: str = KEY, content: str = "text") -> AgentMemory:
        """Let somebody propose and root confirm."""
        assert self.propose(name, key, content)["ok"]
        return self.decide(name, key, "confirm")

    def rejected(self, name: str, key: str = KEY, content: str = "text", reason: str = "") -> AgentMemory:
        """Let somebody propose and root reject."""
        assert self.propose(name, key, content)["ok"]
        return self.decide(name, key, "reject", reason=reason)

    def state(self) -> State:
        return read_state(self.database)


def contents(memories: Iterable[AgentMemory]) -> list[str]:
    return [memory.content for memory in memories]
