"""The review queue: one entry per key, with everything that an administrator decides about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, literal_column, tuple_
from sqlalchemy.orm import aliased

from portal.contents import is_storable
from portal.errors import InvalidInput
from portal.find_calls import after_position, contains, count_rows
from portal.models import ACCOUNT_SCOPE, AgentMemory, Organisation, Status, to_microseconds
from portal.pages import Page, Position, Question, check_limit, cut_page
from portal.recall import (
    CONFIRMED,
    OPEN_OR_CLOSED,
    PROPOSED,
    WITH_PEOPLE,
    select_memories,
    status_in,
)
from portal.scopes import find_definition_id, id_of

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from portal.database import Database


@dataclass(frozen=True)
class ReviewEntry:
    """A key that somebody proposed: its proposals, the oldest first, and what is known of the key."""

    memory_key: str
    proposals: tuple[AgentMemory, ...]
    confirmed: AgentMemory | None
    """The fact in use under the key; while there is one, no proposal can be confirmed."""
    rejected: tuple[AgentMemory, ...]
    """What was rejected under the key, the newest decision first."""


@dataclass(frozen=True)
class Sort:
    """An order of the queue, by the oldest proposal of each key."""

    order: tuple[Any, ...]
    kinds: tuple[type, ...]
    is_descending: bool = False

    def position(self, head: Any) -> Position:
        """Return where a key's oldest proposal stands in this order."""
        if self.kinds == (str,):
            return (head.memory_key,)
        return to_microseconds(head.stated_at), head.id


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
        limit = check_limit(limit)
        if sort not in SORTS:
            raise InvalidInput("sort", "use oldest, newest or key")
        if not is_storable(search):
            return Page()
        order = SORTS[sort]
        question = Question("queue", (organisation_id, agent_def_name, search, sort), order.kinds)

        def find(session: Session) -> Page[ReviewEntry]:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None:
                return Page()
            heads = _select_heads(session, organisation_id, definition_id, search)
            position = question.position(after, limit=limit)
            page = after_position(heads, order.order, position, is_descending=order.is_descending)
            if limit is not None:
                page = page.limit(limit + 1)
            found = session.execute(page).all()
            keys = [head.memory_key for head in found]
            entries = _read_entries(session, organisation_id, definition_id, keys, is_all=limit is None)
            total = len(entries) if limit is None else count_rows(session, heads)
            return cut_page(question, entries, map(order.position, found), limit=limit, total=total)

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
            [entry] = _read_entries(session, organisation_id, definition_id, [memory_key], is_all=False)
            return entry if entry.proposals else None

        return self._database.read(find)


def _select_heads(session: Session, organisation_id: int, definition_id: int, search: str) -> Select[Any]:
    """Select the oldest proposal of each key, without looking at more keys than a page needs.

    It is the one that has no older one beside it; the index on keys answers that with one look.
    """
    older = aliased(AgentMemory)
    # The second condition on the status says nothing new; it lets SQLite see that the index applies.
    beside = select_memories(
        literal_column("1"), organisation_id=organisation_id, statuses=PROPOSED, of=older
    ).where(
        status_in(OPEN_OR_CLOSED, older),
        older.definition_id == definition_id,
        older.memory_key == AgentMemory.memory_key,
    )
    is_older = tuple_(older.stated_at, older.id) < tuple_(AgentMemory.stated_at, AgentMemory.id)
    heads = select_memories(
        AgentMemory.memory_key,
        AgentMemory.stated_at,
        AgentMemory.id,
        organisation_id=organisation_id,
        statuses=PROPOSED,
    ).where(
        status_in(OPEN_OR_CLOSED),
        AgentMemory.definition_id == definition_id,
        ~beside.where(is_older).correlate(AgentMemory).exists(),
    )
    if search:
        matches = beside.where(contains(session, older.search_text, search))
        heads = heads.where(matches.correlate(AgentMemory).exists())
    return heads


def _read_entries(
    session: Session, organisation_id: int, definition_id: int, keys: Sequence[str], *, is_all: bool
) -> Sequence[ReviewEntry]:
    """Return the entries of these keys, in their order."""
    in_definition = AgentMemory.definition_id == definition_id
    under_keys = select_memories(AgentMemory, organisation_id=organisation_id, statuses=OPEN_OR_CLOSED).where(
        in_definition
    )
    confirmed = select_memories(AgentMemory, organisation_id=organisation_id, statuses=CONFIRMED).where(
        in_definition, AgentMemory.scope_id == ACCOUNT_SCOPE
    )
    if not is_all:
        under_keys = under_keys.where(AgentMemory.memory_key.in_(keys))
        confirmed = confirmed.where(AgentMemory.memory_key.in_(keys))
    in_use = {row.memory_key: row for row in session.scalars(confirmed.options(*WITH_PEOPLE))}
    rows: defaultdict[tuple[str, Status], list[AgentMemory]] = defaultdict(list)
    by_age = under_keys.order_by(*BY_AGE).options(*WITH_PEOPLE)
    for row in session.scalars(by_age):
        rows[row.memory_key, row.status].append(row)
    return [
        ReviewEntry(
            memory_key=key,
            proposals=tuple(rows[key, Status.PROPOSED]),
            confirmed=in_use.get(key),
            rejected=tuple(sorted(rows[key, Status.REJECTED], key=_decision, reverse=True)),
        )
        for key in keys
    ]


def _decision(rejected: AgentMemory) -> tuple[Any, int]:
    return rejected.decided_at, rejected.id
