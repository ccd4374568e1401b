"""An agent as the bench sees it: drawn at random, and answered by the portal."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from portal.manager import AgentMemoryManager
from portal.models import Agent

from bench.worlds import MEMORIES_PER_AGENT, World, content

ACTIVE_AGENTS = 20


@dataclass(frozen=True)
class Reader:
    """Agents of one world, drawn at random, and what answers them."""

    world: World
    manager: AgentMemoryManager

    def draw(self, *, active_only: bool = False) -> int:
        """Return an agent's id: anybody's, or one of a few that are talked to again and again."""
        return random.randint(1, min(ACTIVE_AGENTS, self.world.agents) if active_only else self.world.agents)

    def list(self, *, active_only: bool = False) -> str:
        """Answer ``list`` for one of them."""
        return self.manager.list(agent(self.draw(active_only=active_only)))


def agent(agent_id: int) -> Agent:
    """Return an agent as a caller has it, of which only the id counts."""
    found = Agent()
    found.id = agent_id
    return found


@contextmanager
def reading(world: World) -> Iterator[Reader]:
    """Give a reader of a world."""
    manager = AgentMemoryManager.from_url(world.url)
    try:
        yield Reader(world, manager)
    finally:
        manager.dispose()


def any_key() -> str:
    """Return a key under which every agent remembers something."""
    return f"key_number_{random.randrange(MEMORIES_PER_AGENT):02}"


def new_text() -> str:
    """Return a content that nobody has said yet."""
    return content(f"Said at {time.perf_counter()}")
