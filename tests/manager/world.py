"""The personas at work: the manager's calls by people's names, so that tables and tests read as sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory, Organisation, Profile
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

    @property
    def acme(self) -> Organisation:
        return self.personas.acme

    @property
    def root(self) -> Profile:
        return self.personas.root

    def person(self, name: str) -> Profile:
        person: Profile = getattr(self.personas, name)
        return person

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

    def id_of(self, name: str, key: str = KEY, status: str | None = None) -> int:
        """Return the id of the one memory that somebody stated under a key (and that has this status)."""
        (found,) = (
            memory.id
            for memory in self.state().memories.values()
            if memory.memory_key == key
            and memory.stated_by_id == self.person(name).id
            and status in {None, memory.status}
        )
        assert isinstance(found, int)
        return found

    def decide(self, name: str, key: str = KEY, action: str = "confirm", **more: Any) -> AgentMemory:
        """Let root decide on what somebody proposed."""
        self.clock.advance(seconds=1)
        memory_id = self.id_of(name, key, "proposed")
        return self.manager.decide_account_fact(memory_id, self.acme, self.root, action, **more)

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
