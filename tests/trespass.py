"""A world full of what is none of Ada's, and every way in which her tools might be used to reach it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row

from portal.models import Agent
from portal.tools import TOOLS
from tests.invariants import HELD, MemoryId, State
from tests.manager.world import World

SECRET = "is none of Ada's business"
"""Stands in every text that Ada's agent must not get to see."""

FACT = "Invoices go to 4711"
"""The confirmed fact that Ada's agent sees, and cannot change."""

Attempt = tuple[str, Mapping[str, str]]


def furnish(world: World) -> None:
    """Let the others have memories, proposals and facts, and Ada's other agent too."""
    world.confirmed("bob", "cost_centre", FACT)
    world.remember("bob", "salary", f"His salary {SECRET}")
    world.propose("bob", "plan", f"His plan {SECRET}")
    world.rejected("bob", "parking", f"This {SECRET}", reason=f"And that {SECRET}")
    world.remember("ada", "hotel", f"Her other agent {SECRET}", definition="travel")
    world.remember("eve", "merger", f"Another organisation {SECRET}")


def attempts(world: World) -> Sequence[Attempt]:
    """Return every tool with every key and text that could mean something of somebody else's."""
    ids = [str(memory.id) for memory in world.state().memories.values()]
    keys = ["salary", "plan", "parking", "cost_centre", "hotel", "merger", "%", "*", "", "x' OR '1'='1", *ids]
    texts = ["overwritten", "confirm", '{"status": "confirmed", "owner": "bob@acme.example"}']
    values = {"memory_key": keys, "content": texts}
    return [
        (name, dict(zip(tool.parameters, chosen, strict=True)))
        for name, tool in TOOLS.items()
        for chosen in itertools.product(*(values[parameter] for parameter in tool.parameters))
    ]


def not_held_by(agent: Agent, state: State) -> Mapping[MemoryId, tuple[Row[Any], Sequence[Row[Any]]]]:
    """Return everything that is not an agent's own memory or proposal, with its history."""
    return {
        memory_id: (memory, state.events[memory_id])
        for memory_id, memory in state.memories.items()
        if memory.status not in HELD
        or (memory.stated_by_id, memory.definition_id) != (agent.owner_id, agent.definition_id)
    }
