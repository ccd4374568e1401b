"""How many there are: of account facts on each shelf, and of people whom a confirmed fact reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Select, bindparam, func, literal_column, select

from portal.find_calls import counting
from portal.models import ACCOUNT_SCOPE, Agent, AgentMemory, Profile
from portal.pages import COUNT_CAP
from portal.recall import CONFIRMED, PROPOSED, REJECTED, select_memories
from portal.transactions import Work, fetch_in
from portal.values import Status

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Count:
    """How many there are, counted to 1,000 and no further."""

    number: int
    is_capped: bool = False
    """Whether there are more than ``number``."""

    @classmethod
    def of(cls, found: int) -> Count:
        """Return what was counted to at most one beyond the cap."""
        return cls(min(found, COUNT_CAP), is_capped=found > COUNT_CAP)


@dataclass(frozen=True)
class ShelfCounts:
    """How many account facts a definition has on each shelf."""

    proposed: Count = Count(0)
    confirmed: Count = Count(0)
    rejected: Count = Count(0)


@dataclass(frozen=True)
class ReviewCounts:
    """What an administrator is told beside the review queue of one definition."""

    shelves: ShelfCounts = ShelfCounts()
    waiting: Count = Count(0)
    """How many proposals wait in all definitions of the organisation."""
    reach: int = 0
    """How many active people's agents use the definition's confirmed facts."""


def read_shelf_counts(session: Session, organisation_id: int, definition_id: int) -> ShelfCounts:
    """Return how many proposals, confirmed and rejected facts a definition has."""
    place = {"organisation_id": organisation_id, "definition_id": definition_id}
    [row] = fetch_in(session, COUNT_SHELVES, place)
    return ShelfCounts(*map(Count.of, row))


def read_review_counts(work: Work, organisation_id: int, definition_id: int) -> ReviewCounts:
    """Return the same, what waits in the organisation, and whom the definition's facts reach."""
    place = {"organisation_id": organisation_id, "definition_id": definition_id}
    [(*shelves, waiting, reach)] = fetch_in(work, COUNT_FOR_REVIEW, place)
    return ReviewCounts(ShelfCounts(*map(Count.of, shelves)), Count.of(waiting), reach)


def count_reach(session: Session, organisation_id: int, definition_id: int) -> int:
    """Return how many active people's agents use a definition's confirmed facts."""
    place = {"organisation_id": organisation_id, "definition_id": definition_id}
    [(reach,)] = fetch_in(session, COUNT_REACH, place)
    number: int = reach
    return number


def _memories(statuses: Sequence[Status], *conditions: ColumnElement[bool]) -> Select[Any]:
    return counting(
        select_memories(
            AgentMemory.id, organisation_id=bindparam("organisation_id"), statuses=statuses
        ).where(*conditions)
    )


def _shelves() -> Sequence[Select[Any]]:
    is_of_definition = AgentMemory.definition_id == bindparam("definition_id")
    # One range of the primary key; the other shelves have indexes of their own.
    is_account_fact = AgentMemory.scope_id == literal_column(str(ACCOUNT_SCOPE))
    return [
        _memories(PROPOSED, is_of_definition),
        _memories(CONFIRMED, is_of_definition, is_account_fact),
        _memories(REJECTED, is_of_definition),
    ]


COUNT_REACH = (
    select(func.count())
    .select_from(Agent)
    .join(Profile, Profile.id == Agent.owner_id)
    .where(
        Agent.organisation_id == bindparam("organisation_id"),
        Agent.definition_id == bindparam("definition_id"),
        Profile.active,
    )
)
COUNT_WAITING = _memories(PROPOSED)
COUNT_SHELVES = select(*(shelf.scalar_subquery() for shelf in _shelves()))
COUNT_FOR_REVIEW = COUNT_SHELVES.add_columns(COUNT_WAITING.scalar_subquery(), COUNT_REACH.scalar_subquery())
