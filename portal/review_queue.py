"""The review queue: one entry per key, with everything that an administrator decides about it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from portal.contents import is_storable
from portal.errors import InvalidInput
from portal.models import AgentMemory, Organisation, Profile
from portal.pages import Page, Position, Question, check_limit, cut_page
from portal.queue_statements import (
    ONE_ENTRY,
    PLACE,
    PROFILES,
    SHOWN,
    SORTS,
    WHOLE,
    Shape,
    Sort,
    count_keys,
    select_page,
)
from portal.recall import MEMORIES
from portal.scopes import find_definition_id, id_of
from portal.transactions import DriverTransaction, Work, backend_of, fetch_in
from portal.values import STATUS_OF, Status, from_microseconds, to_microseconds

if TYPE_CHECKING:
    from portal.database import Database


class Person(NamedTuple):
    """Somebody who stated or decided a fact."""

    id: int
    name: str


class Fact(NamedTuple):
    """What is shown of an account fact in the queue; see :class:`portal.models.AgentMemory` for the names.

    A page has many, and the mapped object costs several times as much.
    """

    id: int
    memory_key: str
    content: str
    status: Status
    version: int
    stated_at: dt.datetime
    decided_at: dt.datetime | None
    decision_reason: str
    stated_by: Person | None
    decided_by: Person | None
    times_changed: int
    """How often its text was changed while it waited."""


Memory = TypeVar("Memory", AgentMemory, Fact)


@dataclass(frozen=True)
class ReviewEntry(Generic[Memory]):
    """A key that somebody proposed: its proposals, the oldest first, and what is known of the key."""

    memory_key: str
    proposals: tuple[Memory, ...]
    confirmed: Memory | None
    """The fact in use under the key; while there is one, no proposal can be confirmed."""
    rejected: tuple[Memory, ...]
    """What was rejected under the key, the newest decision first."""


class ReviewQueueCalls:
    """The call that reads the queue."""

    _database: Database

    def find_review_queue(
        self, admin_org: Organisation, agent_def_name: str, *, search: str = "", sort: str = "oldest",
        limit: int | None = None, after: str | None = None,
    ) -> Page[ReviewEntry[AgentMemory]]:  # fmt: skip
        """Return the keys that wait for a decision, each with all its proposals.

        A key stands where its oldest proposal stands and is never split between pages. With a search it
        is found, whole, where one of its proposals matches. The other arguments and the page are those of
        :class:`portal.find_calls.FindCalls`; ``total`` counts keys.

        :param sort: ``"oldest"``, ``"newest"`` or ``"key"``.
        :raises portal.errors.InvalidInput: (``sort``, ``limit``) it cannot be accepted.
        """
        organisation_id = id_of(admin_org, Organisation)
        asked = QueueQuestion(agent_def_name, search, sort, limit, after)

        def find(work: DriverTransaction) -> Page[ReviewEntry[AgentMemory]]:
            definition_id = find_definition_id(work, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None:
                return Page()
            return _read_queue(work, organisation_id, definition_id, asked, WHOLE, _memories)

        return self._database.read_on_driver(find)

    def find_review_entry(
        self, admin_org: Organisation, agent_def_name: str, memory_key: str
    ) -> ReviewEntry[Fact] | None:
        """Return what the page of the queue shows of one key, or None where no proposal waits under it.

        :param memory_key: a canonical key.
        """
        organisation_id = id_of(admin_org, Organisation)

        def find(work: DriverTransaction) -> ReviewEntry[Fact] | None:
            definition_id = find_definition_id(work, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None or not is_storable(memory_key):
                return None
            place = {"organisation_id": organisation_id, "definition_id": definition_id}
            rows = fetch_in(work, ONE_ENTRY, place | {"memory_key": memory_key})
            return next(iter(_entries(_facts(rows))), None)

        return self._database.read_on_driver(find)


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


def read_shown_queue(
    work: Work, organisation_id: int, definition_id: int, asked: QueueQuestion
) -> Page[ReviewEntry[Fact]]:
    """Return a page of a definition's queue, as the page of the portal shows it."""
    return _read_queue(work, organisation_id, definition_id, asked, SHOWN, _facts)


def _read_queue(
    work: Work,
    organisation_id: int,
    definition_id: int,
    asked: QueueQuestion,
    columns: tuple[Any, ...],
    read: Callable[[Iterable[Sequence[Any]]], Iterator[Memory]],
) -> Page[ReviewEntry[Memory]]:
    if not is_storable(asked.search):
        return Page()
    sort, limit = SORTS[asked.sort], asked.limit
    parts = (organisation_id, asked.definition, asked.search, asked.sort)
    question = Question("queue", parts, sort.kinds)
    position = question.position(asked.after, limit=limit)
    shape = Shape(asked.sort, bool(asked.search), position is not None, backend_of(work))
    bound: dict[str, int | str] = {"organisation_id": organisation_id, "definition_id": definition_id}
    if asked.search:
        bound["search"] = asked.search.casefold()
    place = dict(zip(PLACE, position or (), strict=False))
    statement = select_page(shape, columns, keys=None if limit is None else limit + 1)
    rows = fetch_in(work, statement, bound | place)
    found = [(_position(sort, entry), entry) for entry in _entries(read(rows))]
    found.sort(key=_first, reverse=sort.is_descending)
    total = len(found)
    # A first page that holds everything has counted it.
    if limit is not None and (position is not None or total > limit):
        [(total,)] = fetch_in(work, count_keys(shape), bound)
    positions, entries = [position for position, _ in found], [entry for _, entry in found]
    return cut_page(question, entries, positions, limit=limit, total=total)


def _position(sort: Sort, entry: ReviewEntry[Memory]) -> Position:
    """Return where an entry stands in an order."""
    if sort.kinds == (str,):
        return (entry.memory_key,)
    oldest = entry.proposals[0]
    return to_microseconds(oldest.stated_at), oldest.id


def _first(pair: tuple[Position, object]) -> Position:
    return pair[0]


def _entries(memories: Iterable[Memory]) -> Iterable[ReviewEntry[Memory]]:
    """Return the entries of keys under which these are all memories, in no order, those with a proposal."""
    found: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        found[memory.memory_key].append(memory)
    entries = [_entry(key, under_key) for key, under_key in found.items()]
    return [entry for entry in entries if entry.proposals]


def _entry(key: str, memories: Sequence[Memory]) -> ReviewEntry[Memory]:
    if len(memories) == 1 and memories[0].status == Status.PROPOSED:
        return ReviewEntry(key, (memories[0],), None, ())
    proposals = [memory for memory in memories if memory.status == Status.PROPOSED]
    rejected = [memory for memory in memories if memory.status == Status.REJECTED]
    return ReviewEntry(
        memory_key=key,
        proposals=tuple(sorted(proposals, key=_age)),
        confirmed=next((memory for memory in memories if memory.status == Status.CONFIRMED), None),
        rejected=tuple(sorted(rejected, key=_decision, reverse=True)),
    )


def _age(memory: Memory) -> tuple[Any, int]:
    return memory.stated_at, memory.id


def _decision(rejected: Memory) -> tuple[Any, int]:
    return rejected.decided_at, rejected.id


def _memories(rows: Iterable[Sequence[Any]]) -> Iterator[AgentMemory]:
    """Make memories of rows of ``WHOLE``, with the same object for each of a person's."""
    people: dict[int | None, Profile | None] = {None: None}
    end, last = MEMORIES.width, MEMORIES.width + PROFILES.width
    for row in rows:
        for profile in (row[end:last], row[last:]):
            if profile[0] not in people:
                people[profile[0]] = PROFILES.read(profile)
        yield MEMORIES.read(row[:end], stated_by=people[row[end]], decided_by=people[row[last]])


def _facts(rows: Iterable[Sequence[Any]]) -> Iterator[Fact]:
    """Make facts of rows of ``SHOWN``."""
    for row in rows:
        memory_id, key, content, status, version, stated_at, decided_at, reason, *people, times_changed = row
        stater_id, stater, decider_id, decider = people
        yield Fact(
            memory_id,
            key,
            content,
            STATUS_OF[status],
            version,
            from_microseconds(stated_at),
            None if decided_at is None else from_microseconds(decided_at),
            reason,
            None if stater_id is None else Person(stater_id, stater),
            None if decider_id is None else Person(decider_id, decider),
            times_changed,
        )
