"""Limits and policy as pure functions: every boundary from both sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.models import AgentDefinition, AgentMemory, Profile
from portal.policy import (
    AccountUsage,
    Growth,
    Usage,
    exceeded_ceiling,
    growth_of,
    has_room_for_fact,
    loss_of,
    needs_second_person,
)
from portal.values import Status

USAGE = Usage(memories=2, memory_limit=3, characters=20, character_limit=30, proposals=1, proposal_limit=2)
FACE = "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("growth", "code"),
    [
        # One more memory, to the limit and beyond it.
        (Growth(1, 10, 0), None),
        (Growth(1, 11, 0), "limit_reached"),
        (Growth(1, 10, 1), None),
        (Growth(0, 10, 0), None),
        (Growth(0, 11, 0), "limit_reached"),
        # What does not grow always fits.
        (Growth(0, 0, 0), None),
        (Growth(0, -5, 0), None),
        (Growth(0, -5, -1), None),
        (Growth(-1, -5, -1), None),
        (Growth(0, -5, 1), None),
    ],
)
def test_a_ceiling_is_exact(growth: Growth, code: str | None) -> None:
    assert exceeded_ceiling(USAGE, growth) == code


@pytest.mark.parametrize(
    ("full", "growth", "code"),
    [
        ({"memories": 3}, Growth(1, 1, 0), "limit_reached"),
        ({"memories": 3}, Growth(0, 1, 0), None),
        ({"memories": 3}, Growth(1, 1, 1), "limit_reached"),
        ({"characters": 30}, Growth(0, 0, 0), None),
        ({"characters": 30}, Growth(0, 1, 0), "limit_reached"),
        ({"proposals": 2}, Growth(0, 0, 1), "proposal_limit_reached"),
        ({"proposals": 2}, Growth(0, 0, 0), None),
        # Both are full: the memories are told first.
        ({"memories": 3, "proposals": 2}, Growth(1, 1, 1), "limit_reached"),
        ({"characters": 30, "proposals": 2}, Growth(0, 1, 1), "limit_reached"),
        # Lowered below what is stored.
        ({"memories": 9, "characters": 99, "proposals": 9}, Growth(0, 0, 0), None),
        ({"memories": 9, "characters": 99, "proposals": 9}, Growth(0, -1, -1), None),
        ({"memories": 9, "characters": 99, "proposals": 9}, Growth(0, -1, 1), "proposal_limit_reached"),
        ({"memories": 9}, Growth(1, 0, 0), "limit_reached"),
    ],
    ids=str,
)
def test_a_full_ceiling_refuses_growth_alone(full: dict[str, int], growth: Growth, code: str | None) -> None:
    assert exceeded_ceiling(USAGE._replace(**full), growth) == code


small = st.integers(0, 6)


@given(
    usage=st.builds(Usage, small, small, small, small, small, small),
    growth=st.builds(Growth, st.integers(-1, 1), st.integers(-3, 3), st.integers(-1, 1)),
)
def test_what_is_let_pass_increases_no_excess_and_what_is_refused_would(usage: Usage, growth: Growth) -> None:
    after = usage.after(growth)
    increases = [
        now > max(was, limit)
        for was, now, limit in (
            (usage.memories, after.memories, usage.memory_limit),
            (usage.characters, after.characters, usage.character_limit),
            (usage.proposals, after.proposals, usage.proposal_limit),
        )
    ]
    assert (exceeded_ceiling(usage, growth) is not None) == any(increases)


def test_usage_grows_in_what_is_used_and_not_in_its_limits() -> None:
    assert USAGE.after(Growth(1, -5, 1)) == Usage(3, 3, 15, 30, 2, 2)
    assert list(USAGE.as_json()) == [
        "memories",
        "memory_limit",
        "characters",
        "character_limit",
        "proposals",
        "proposal_limit",
    ]


def held(status: Status, content: str) -> AgentMemory:
    return AgentMemory(status=status, content=content)


@pytest.mark.parametrize(
    ("memory", "content", "proposes", "growth"),
    [
        (None, FACE * 3, False, Growth(1, 3, 0)),
        (None, "abc", True, Growth(1, 3, 1)),
        (held(Status.PERSONAL, "abcd"), FACE, False, Growth(0, -3, 0)),
        (held(Status.PERSONAL, "a"), "abc", True, Growth(0, 2, 1)),
        (held(Status.PROPOSED, "abc"), "abc", True, Growth(0, 0, 0)),
        (held(Status.PROPOSED, FACE), "ab", False, Growth(0, 1, -1)),
    ],
)
def test_growth_is_what_changes(
    memory: AgentMemory | None, content: str, *, proposes: bool, growth: Growth
) -> None:
    assert growth_of(memory, content, proposes=proposes) == growth


@pytest.mark.parametrize(
    ("memory", "loss"),
    [
        (held(Status.PERSONAL, FACE * 3), Growth(-1, -3, 0)),
        (held(Status.PROPOSED, "ab"), Growth(-1, -2, -1)),
    ],
)
def test_loss_is_what_goes(memory: AgentMemory, loss: Growth) -> None:
    assert loss_of(memory) == loss


@pytest.mark.parametrize(
    ("usage", "content", "has_room"),
    [
        (AccountUsage(0, 1, 0, 5), "12345", True),
        (AccountUsage(0, 1, 0, 5), FACE * 5, True),
        (AccountUsage(0, 1, 0, 5), "123456", False),
        (AccountUsage(0, 1, 4, 5), "1", True),
        (AccountUsage(0, 1, 5, 5), "1", False),
        (AccountUsage(1, 1, 0, 5), "1", False),
        (AccountUsage(1, 2, 0, 5), "1", True),
        (AccountUsage(9, 2, 0, 5), "1", False),
        (AccountUsage(0, 0, 0, 5), "1", False),
    ],
)
def test_room_for_a_fact_is_exact(usage: AccountUsage, content: str, *, has_room: bool) -> None:
    assert has_room_for_fact(usage, content) is has_room


@pytest.mark.parametrize(
    ("is_required", "stated_by", "decided_by", "is_needed"),
    [(True, 1, 1, True), (True, 1, 2, False), (True, None, 1, False), (False, 1, 1, False)],
)
def test_nobody_confirms_what_they_stated_where_a_second_person_is_required(
    *, is_required: bool, stated_by: int | None, decided_by: int, is_needed: bool
) -> None:
    definition = AgentDefinition(second_person_required=is_required)
    memory, decider = AgentMemory(stated_by_id=stated_by), Profile(id=decided_by)
    assert needs_second_person(definition, memory.stated_by_id, decider) is is_needed
