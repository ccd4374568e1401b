"""Limits, ceilings and who may do what: pure functions of numbers and rows that were read before.

Whoever asks must hold the lock of the scope that the numbers belong to, see :mod:`portal.scopes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from portal.changes import Memory
    from portal.models import AgentDefinition, Profile

CeilingCode = Literal["limit_reached", "proposal_limit_reached"]


class Usage(NamedTuple):
    """What an agent holds and may hold. Characters are code points of contents."""

    memories: int
    memory_limit: int
    characters: int
    character_limit: int
    proposals: int
    proposal_limit: int

    def after(self, growth: Growth) -> Usage:
        """Return the usage once ``growth`` is written."""
        memories, memory_limit, characters, character_limit, proposals, proposal_limit = self
        return Usage(
            memories + growth.memories,
            memory_limit,
            characters + growth.characters,
            character_limit,
            proposals + growth.proposals,
            proposal_limit,
        )

    def as_json(self) -> dict[str, int]:
        """Return the numbers under the names that the answers use."""
        return self._asdict()


@dataclass(frozen=True)
class AccountUsage:
    """What a definition's confirmed facts use and may use. Characters are code points of contents."""

    facts: int
    fact_limit: int
    characters: int
    character_limit: int


class Growth(NamedTuple):
    """By how much a write changes what an agent holds; negative where it shrinks."""

    memories: int
    characters: int
    proposals: int


def growth_of(held: Memory | None, content: str, *, proposes: bool) -> Growth:
    """Return what changes when ``content`` takes the place of ``held``, or is new where that is None."""
    was_proposed = held is not None and held.status == "proposed"
    return Growth(
        memories=1 if held is None else 0,
        characters=len(content) - (0 if held is None else len(held.content)),
        proposals=proposes - was_proposed,
    )


def loss_of(held: Memory) -> Growth:
    """Return what changes when ``held`` goes."""
    return Growth(memories=-1, characters=-len(held.content), proposals=-(held.status == "proposed"))


def exceeded_ceiling(usage: Usage, growth: Growth) -> CeilingCode | None:
    """Return which ceiling a write would break, or None where there is room.

    A write that does not grow always fits, also where a limit was lowered below what is stored. Becoming
    a proposal always counts.
    """
    memories, characters, proposals = growth
    if memories > 0 and usage.memories + memories > usage.memory_limit:
        return "limit_reached"
    if characters > 0 and usage.characters + characters > usage.character_limit:
        return "limit_reached"
    if proposals > 0 and usage.proposals + proposals > usage.proposal_limit:
        return "proposal_limit_reached"
    return None


def has_room_for_fact(usage: AccountUsage, content: str) -> bool:
    """Whether the definition's ceilings allow one more confirmed fact with this content."""
    return usage.facts < usage.fact_limit and usage.characters + len(content) <= usage.character_limit


def needs_second_person(definition: AgentDefinition, stated_by_id: int | None, decided_by: Profile) -> bool:
    """Whether the definition's policy keeps this person from confirming what they stated themselves."""
    return definition.second_person_required and stated_by_id == decided_by.id
