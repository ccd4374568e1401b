"""The statements behind the review queue, each made once for each shape that a question can have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Select,
    and_,
    bindparam,
    case,
    func,
    join,
    literal_column,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.orm import aliased

from portal.driver_rows import RowReader
from portal.find_calls import begin_after, contains, counting_rows, limited
from portal.models import ACCOUNT_SCOPE, AgentMemory, CodePointText, MemoryEvent, Profile
from portal.recall import CONFIRMED, MEMORIES, OPEN_OR_CLOSED, PROPOSED, select_memories, status_in
from portal.values import EventAction, Status

if TYPE_CHECKING:
    from sqlalchemy import CTE, CompoundSelect


@dataclass(frozen=True)
class Sort:
    """An order of the queue, by the oldest proposal of each key."""

    order: tuple[Any, ...]
    kinds: tuple[type, ...]
    is_descending: bool = False


BY_AGE = (AgentMemory.stated_at, AgentMemory.id)
SORTS = {
    "oldest": Sort(BY_AGE, (int, int)),
    "newest": Sort(BY_AGE, (int, int), is_descending=True),
    "key": Sort((AgentMemory.memory_key,), (str,)),
}


@dataclass(frozen=True)
class Shape:
    """What the statements of a question depend on."""

    sort: str
    is_searched: bool
    goes_on: bool
    """Whether the page begins after a position."""
    backend: str


SEARCH = bindparam("search", type_=CodePointText)

PLACE = ("place_1", "place_2")
"""What binds the position after which a page begins."""


@lru_cache(maxsize=256)
def select_page(shape: Shape, columns: tuple[Any, ...], *, keys: int | None) -> CompoundSelect[Any]:
    """Select everything under as many keys as a page needs, as ``columns`` say.

    :param keys: how many, or None for all. The number stands in the statement, because PostgreSQL takes one
        that it does not know for a tenth of all there are, and would plan every page anew to know it.
    """
    sort = SORTS[shape.sort]
    kinds = [BigInteger() if kind is int else CodePointText for kind in sort.kinds]
    place = [bindparam(name, type_=kind) for name, kind in zip(PLACE, kinds, strict=False)]
    heads = begin_after(
        _select_heads(shape), sort.order, place if shape.goes_on else None, is_descending=sort.is_descending
    )
    if keys is not None:
        heads = limited(heads, keys)
    return _select_under(heads.cte("heads"), columns)


@cache
def count_keys(shape: Shape) -> Select[Any]:
    """Count the keys that wait, to one beyond the cap and no further."""
    keys = _select_proposed(AgentMemory.memory_key)
    if shape.is_searched:
        keys = keys.where(contains(shape.backend, AgentMemory.search_text, SEARCH))
    return counting_rows(keys.distinct())


def _select_proposed(*columns: Any) -> Select[Any]:
    return select_memories(*columns, organisation_id=bindparam("organisation_id"), statuses=PROPOSED).where(
        AgentMemory.definition_id == bindparam("definition_id")
    )


def _select_heads(shape: Shape) -> Select[Any]:
    """Select the oldest proposal of each key, without looking at more keys than a page needs.

    It is the one that has no older one beside it; the index on keys answers that with one look.
    """
    older = aliased(AgentMemory)
    # The second condition on the status says nothing new; it lets SQLite see that the index applies.
    beside = select_memories(
        literal_column("1"), organisation_id=bindparam("organisation_id"), statuses=PROPOSED, of=older
    ).where(
        status_in(OPEN_OR_CLOSED, older),
        older.definition_id == bindparam("definition_id"),
        older.memory_key == AgentMemory.memory_key,
    )
    is_older = tuple_(older.stated_at, older.id) < tuple_(AgentMemory.stated_at, AgentMemory.id)
    heads = _select_proposed(AgentMemory.memory_key).where(
        status_in(OPEN_OR_CLOSED),
        ~beside.where(is_older).correlate(AgentMemory).exists(),
    )
    if shape.is_searched:
        matches = beside.where(contains(shape.backend, older.search_text, SEARCH))
        heads = heads.where(matches.correlate(AgentMemory).exists())
    return heads


PROFILES = RowReader(Profile)
STATER, DECIDER = Profile.__table__.alias("stater"), Profile.__table__.alias("decider")

# What was never changed since it was proposed has one version, and its events need no look.
TIMES_CHANGED = case(
    (
        AgentMemory.version > literal_column("1"),
        select(func.count())
        .select_from(MemoryEvent)
        .where(
            MemoryEvent.organisation_id == AgentMemory.organisation_id,
            MemoryEvent.memory_id == AgentMemory.id,
            MemoryEvent.action == literal_column(f"'{EventAction.PROPOSED}'"),
            MemoryEvent.status_before == literal_column(f"'{Status.PROPOSED}'"),
        )
        .correlate(AgentMemory)
        .scalar_subquery(),
    ),
    else_=literal_column("0"),
)

WHOLE = (*MEMORIES.columns, *STATER.c, *DECIDER.c)
"""Everything there is of a memory and of its people."""

SHOWN = (
    AgentMemory.id,
    AgentMemory.memory_key,
    AgentMemory.content,
    AgentMemory.status,
    AgentMemory.version,
    AgentMemory.stated_at,
    AgentMemory.decided_at,
    AgentMemory.decision_reason,
    STATER.c.id,
    STATER.c.name,
    DECIDER.c.id,
    DECIDER.c.name,
    TIMES_CHANGED,
)
"""What is shown of a memory in the queue."""


def _select_under(keys: CTE, columns: tuple[Any, ...]) -> CompoundSelect[Any]:
    """Select what is proposed, rejected and confirmed under keys, each memory with its people."""

    def select_of(statuses: Sequence[Status], source: Any) -> Select[Any]:
        return (
            select_memories(*columns, organisation_id=bindparam("organisation_id"), statuses=statuses)
            .select_from(source)
            .outerjoin(STATER, _is(STATER, AgentMemory.stated_by_id))
            .outerjoin(DECIDER, _is(DECIDER, AgentMemory.decided_by_id))
            .where(AgentMemory.definition_id == bindparam("definition_id"))
        )

    under_key = join(keys, AgentMemory, AgentMemory.memory_key == keys.c.memory_key)
    in_use = select_of(CONFIRMED, AgentMemory).where(
        AgentMemory.scope_id == literal_column(str(ACCOUNT_SCOPE)),
        # Joined with the keys, SQLite would first read all that is confirmed, to know what is not.
        AgentMemory.memory_key.in_(select(keys.c.memory_key)),
    )
    return union_all(select_of(OPEN_OR_CLOSED, under_key), in_use)


def _is(person: Any, profile_id: Any) -> Any:
    return and_(person.c.organisation_id == AgentMemory.organisation_id, person.c.id == profile_id)


ONE_ENTRY = _select_under(
    select(bindparam("memory_key", type_=CodePointText).label("memory_key")).cte("this_key"), SHOWN
)
