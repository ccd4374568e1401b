"""The review queue: one entry per key, with everything that an administrator decides about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    select,
    tuple_,
    union_all,
)
from sqlalchemy.orm import aliased

from portal.contents import is_storable
from portal.driver_rows import RowReader
from portal.errors import InvalidInput
from portal.find_calls import begin_after, contains, counting, limited
from portal.models import (
    ACCOUNT_SCOPE,
    AgentMemory,
    CodePointText,
    EventAction,
    MemoryEvent,
    Organisation,
    Profile,
    Status,
    to_microseconds,
)
from portal.pages import Page, Position, Question, check_limit, cut_page
from portal.recall import CONFIRMED, MEMORIES, OPEN_OR_CLOSED, PROPOSED, select_memories, status_in
from portal.scopes import find_definition_id, id_of
from portal.transactions import fetch_in

if TYPE_CHECKING:
    from sqlalchemy import CTE, CompoundSelect
    from sqlalchemy.orm import Session

    from portal.database import Database

EVERYTHING = 2**62
"""A limit beyond which no database has keys, for a page without one."""


@dataclass(frozen=True)
class ReviewEntry:
    """A key that somebody proposed: its proposals, the oldest first, and what is known of the key."""

    memory_key: str
    proposals: tuple[AgentMemory, ...]
    confirmed: AgentMemory | None
    """The fact in use under the key; while there is one, no proposal can be confirmed."""
    rejected: tuple[AgentMemory, ...]
    """What was rejected under the key, the newest decision first."""
    times_changed: Mapping[int, int]
    """How often the text of a proposal was changed while it waited, by its id, if it ever was."""


@dataclass(frozen=True)
class Sort:
    """An order of the queue, by the oldest proposal of each key."""

    order: tuple[Any, ...]
    kinds: tuple[type, ...]
    is_descending: bool = False

    def position(self, entry: ReviewEntry) -> Position:
        """Return where an entry stands in this order."""
        if self.kinds == (str,):
            return (entry.memory_key,)
        oldest = entry.proposals[0]
        return to_microseconds(oldest.stated_at), oldest.id


BY_AGE = (AgentMemory.stated_at, AgentMemory.id)
SORTS = {
    "oldest": Sort(BY_AGE, (int, int)),
    "newest": Sort(BY_AGE, (int, int), is_descending=True),
    "key": Sort((AgentMemory.memory_key,), (str,)),
}


class ReviewQueueCalls:
    """The call that reads the queue."""

    _database: Database

    def find_review_queue(
        self, admin_org: Organisation, agent_def_name: str, *, search: str = "", sort: str = "oldest",
        limit: int | None = None, after: str | None = None,
    ) -> Page[ReviewEntry]:  # fmt: skip
        """Return the keys that wait for a decision, each with all its proposals.

        A key stands where its oldest proposal stands and is never split between pages. With a search it
        is found, whole, where one of its proposals matches. The other arguments and the page are those of
        :class:`portal.find_calls.FindCalls`; ``total`` counts keys.

        :param sort: ``"oldest"``, ``"newest"`` or ``"key"``.
        :raises portal.errors.InvalidInput: (``sort``, ``limit``) it cannot be accepted.
        """
        organisation_id = id_of(admin_org, Organisation)
        asked = QueueQuestion(agent_def_name, search, sort, limit, after)

        def find(session: Session) -> Page[ReviewEntry]:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None:
                return Page()
            return read_queue(session, organisation_id, definition_id, asked)

        return self._database.read(find)

    def find_review_entry(
        self, admin_org: Organisation, agent_def_name: str, memory_key: str
    ) -> ReviewEntry | None:
        """Return one key's entry of the queue, or None where no proposal waits under it.

        :param memory_key: a canonical key.
        """
        organisation_id = id_of(admin_org, Organisation)

        def find(session: Session) -> ReviewEntry | None:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None or not is_storable(memory_key):
                return None
            place = {"organisation_id": organisation_id, "definition_id": definition_id}
            rows = fetch_in(session, ONE_ENTRY, place | {"memory_key": memory_key})
            return next(iter(_entries(rows)), None)

        return self._database.read(find)


@dataclass(frozen=True)
class QueueQuestion:
    """What somebody wants to see of a definition's queue, as in ``find_review_queue``.

    :raises portal.errors.InvalidInput: (``sort``, ``limit``) it cannot be accepted.
    """

    definition: str
    search: str = ""
    sort: str = "oldest"
    limit: int | None = None
    after: str | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)
        if self.sort not in SORTS:
            raise InvalidInput("sort", "use oldest, newest or key")


def read_queue(
    session: Session, organisation_id: int, definition_id: int, asked: QueueQuestion
) -> Page[ReviewEntry]:
    """Return a page of a definition's queue."""
    if not is_storable(asked.search):
        return Page()
    sort, limit = SORTS[asked.sort], asked.limit
    parts = (organisation_id, asked.definition, asked.search, asked.sort)
    question = Question("queue", parts, sort.kinds)
    position = question.position(asked.after, limit=limit)
    shape = (bool(asked.search), session.get_bind().dialect.name)
    bound: dict[str, int | str] = {"organisation_id": organisation_id, "definition_id": definition_id}
    if asked.search:
        bound["search"] = asked.search.casefold()
    place = dict(zip(PLACE, position or (), strict=False))
    up_to = {"limit": EVERYTHING if limit is None else limit + 1}
    page = select_page(asked.sort, *shape, goes_on=position is not None)
    entries = sorted(
        _entries(fetch_in(session, page, bound | place | up_to)),
        key=sort.position,
        reverse=sort.is_descending,
    )
    total = len(entries)
    if limit is not None:
        [(total,)] = fetch_in(session, count_keys(*shape), bound)
    return cut_page(question, entries, map(sort.position, entries), limit=limit, total=total)


PLACE = ("place_1", "place_2")
"""What binds the position after which a page begins."""


# The statements are made once for each shape that a question can have.


@cache
def select_page(sort: str, is_searched: bool, backend: str, *, goes_on: bool) -> CompoundSelect[Any]:  # noqa: FBT001
    """Select everything under as many keys as a page needs."""
    order = SORTS[sort]
    kinds = [BigInteger() if kind is int else CodePointText for kind in order.kinds]
    place = [bindparam(name, type_=kind) for name, kind in zip(PLACE, kinds, strict=False)]
    heads = begin_after(
        _select_heads(is_searched, backend),
        order.order,
        place if goes_on else None,
        is_descending=order.is_descending,
    )
    return _select_under(limited(heads, bindparam("limit", type_=BigInteger)).cte("heads"))


@cache
def count_keys(is_searched: bool, backend: str) -> Select[Any]:  # noqa: FBT001
    """Count the keys that wait, to one beyond the cap and no further."""
    return counting(_select_heads(is_searched, backend))


def _select_heads(is_searched: bool, backend: str) -> Select[Any]:  # noqa: FBT001
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
    heads = select_memories(
        AgentMemory.memory_key, organisation_id=bindparam("organisation_id"), statuses=PROPOSED
    ).where(
        status_in(OPEN_OR_CLOSED),
        AgentMemory.definition_id == bindparam("definition_id"),
        ~beside.where(is_older).correlate(AgentMemory).exists(),
    )
    if is_searched:
        matches = beside.where(contains(backend, older.search_text, bindparam("search", type_=CodePointText)))
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


def _select_under(keys: CTE) -> CompoundSelect[Any]:
    """Select what is proposed, rejected and confirmed under keys, each memory with its people."""

    def under(statuses: Sequence[Status]) -> Select[Any]:
        return (
            select_memories(
                *MEMORIES.columns,
                *STATER.c,
                *DECIDER.c,
                TIMES_CHANGED,
                organisation_id=bindparam("organisation_id"),
                statuses=statuses,
            )
            .join_from(keys, AgentMemory, AgentMemory.memory_key == keys.c.memory_key)
            .outerjoin(STATER, _is(STATER, AgentMemory.stated_by_id))
            .outerjoin(DECIDER, _is(DECIDER, AgentMemory.decided_by_id))
            .where(AgentMemory.definition_id == bindparam("definition_id"))
        )

    in_use = AgentMemory.scope_id == literal_column(str(ACCOUNT_SCOPE))
    return union_all(under(OPEN_OR_CLOSED), under(CONFIRMED).where(in_use))


def _is(person: Any, profile_id: Any) -> Any:
    return and_(person.c.organisation_id == AgentMemory.organisation_id, person.c.id == profile_id)


ONE_ENTRY = _select_under(
    select(bindparam("memory_key", type_=CodePointText).label("memory_key")).cte("this_key")
)


def _entries(rows: Iterable[Sequence[Any]]) -> Iterable[ReviewEntry]:
    """Return the entries that rows of ``_select_under`` make up, in no order, those with a proposal."""
    found: defaultdict[str, defaultdict[Status, list[AgentMemory]]] = defaultdict(lambda: defaultdict(list))
    changes: defaultdict[str, dict[int, int]] = defaultdict(dict)
    people: dict[int | None, Profile | None] = {None: None}
    width, people_width = MEMORIES.width, PROFILES.width
    for row in rows:
        stater, decider = row[width : width + people_width], row[width + people_width : -1]
        memory = MEMORIES.read(
            row[:width], stated_by=_person(people, stater), decided_by=_person(people, decider)
        )
        found[memory.memory_key][memory.status].append(memory)
        if row[-1]:
            changes[memory.memory_key][memory.id] = row[-1]
    return [
        ReviewEntry(
            memory_key=key,
            proposals=tuple(sorted(memories[Status.PROPOSED], key=_age)),
            confirmed=next(iter(memories[Status.CONFIRMED]), None),
            rejected=tuple(sorted(memories[Status.REJECTED], key=_decision, reverse=True)),
            times_changed=changes.get(key, {}),
        )
        for key, memories in found.items()
        if memories[Status.PROPOSED]
    ]


def _person(people: dict[int | None, Profile | None], row: Sequence[Any]) -> Profile | None:
    """Return the person of a row, the same one for each of their memories."""
    profile_id = row[0]
    if profile_id not in people:
        people[profile_id] = PROFILES.read(row)
    return people[profile_id]


def _age(memory: AgentMemory) -> tuple[Any, int]:
    return memory.stated_at, memory.id


def _decision(rejected: AgentMemory) -> tuple[Any, int]:
    return rejected.decided_at, rejected.id
