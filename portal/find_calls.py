"""The lists of memories: account facts for administrators, and a person's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, ColumnElement, Select, func, literal, literal_column, select, tuple_

from portal.changes import search_text
from portal.contents import is_storable
from portal.models import ACCOUNT_SCOPE, AgentMemory, CodePointText, Organisation, Profile
from portal.pages import COUNT_CAP, Page, Position, Question, check_limit, cut_page
from portal.recall import CONFIRMED, HELD, PROPOSED, REJECTED, WITH_PEOPLE, select_memories
from portal.scopes import find_definition_id, id_of
from portal.values import Status, to_microseconds

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from portal.database import Database


@dataclass(frozen=True)
class Shelf:
    """A list of account facts of one definition, in a total order."""

    name: str
    statuses: Sequence[Status]
    order: tuple[Any, ...]
    kinds: tuple[type, ...]
    position: Callable[[AgentMemory], Position]
    is_descending: bool = False
    conditions: tuple[ColumnElement[bool], ...] = ()


def _stated_position(memory: AgentMemory) -> Position:
    return to_microseconds(memory.stated_at), memory.id


def _decided_position(memory: AgentMemory) -> Position:
    assert memory.decided_at is not None  # noqa: S101 - only decided facts are on that shelf
    return to_microseconds(memory.decided_at), memory.id


def _key_position(memory: AgentMemory) -> Position:
    return (memory.memory_key,)


PROPOSED_SHELF = Shelf(
    name="proposed",
    statuses=PROPOSED,
    order=(AgentMemory.stated_at, AgentMemory.id),
    kinds=(int, int),
    position=_stated_position,
)
CONFIRMED_SHELF = Shelf(
    name="confirmed",
    statuses=CONFIRMED,
    order=(AgentMemory.memory_key,),
    kinds=(str,),
    position=_key_position,
    # One range of the primary key.
    conditions=(AgentMemory.scope_id == ACCOUNT_SCOPE,),
)
REJECTED_SHELF = Shelf(
    name="rejected",
    statuses=REJECTED,
    order=(AgentMemory.decided_at, AgentMemory.id),
    kinds=(int, int),
    position=_decided_position,
    is_descending=True,
)


class FindCalls:
    """The calls that find memories. They write nothing, and what they return is complete.

    They share these arguments:

    - ``admin_org``: the organisation, which bounds everything.
    - ``agent_def_name``: a definition's name; one that does not exist has empty lists.
    - ``search``: a literal part of key or content, upper and lower case alike; empty finds everything.
    - ``limit``: how many entries a page has, at most 10,000; None is everything, with an exact ``total``.
    - ``after``: the last page's ``after``; a cursor of another question, or none at all, is page one.

    They raise :class:`portal.errors.InvalidInput` for a ``limit`` out of that range.
    """

    _database: Database

    def find_proposed_account_facts(
        self, admin_org: Organisation, agent_def_name: str,
        *, search: str = "", limit: int | None = None, after: str | None = None,
    ) -> Page[AgentMemory]:  # fmt: skip
        """Return the proposals that wait for a decision, the oldest first."""
        return self._find(admin_org, agent_def_name, PROPOSED_SHELF, search, limit, after)

    def find_confirmed_account_facts(
        self, admin_org: Organisation, agent_def_name: str,
        *, search: str = "", limit: int | None = None, after: str | None = None,
    ) -> Page[AgentMemory]:  # fmt: skip
        """Return the confirmed facts, by key."""
        return self._find(admin_org, agent_def_name, CONFIRMED_SHELF, search, limit, after)

    def find_rejected_account_facts(
        self, admin_org: Organisation, agent_def_name: str,
        *, search: str = "", limit: int | None = None, after: str | None = None,
    ) -> Page[AgentMemory]:  # fmt: skip
        """Return the rejected facts, the newest decision first."""
        return self._find(admin_org, agent_def_name, REJECTED_SHELF, search, limit, after)

    def find_own_memories(
        self, admin_org: Organisation, owner: Profile, agent_def_name: str,
        *, search: str = "", limit: int | None = None, after: str | None = None,
    ) -> Page[AgentMemory]:  # fmt: skip
        """Return what one person's agent holds, and the rejected facts that this person stated, by key.

        For that person's own page; no administrator's page shows it.
        """
        organisation_id, owner_id = id_of(admin_org, Organisation), id_of(owner, Profile)
        limit = check_limit(limit)
        question = Question("own", (organisation_id, owner_id, agent_def_name, search), (str, int))
        rows = self._database.read(
            lambda session: _read_own(session, organisation_id, owner_id, agent_def_name)
        )
        # A person's rows are few, and personal ones keep no casefolded copy to search in.
        needle = search.casefold()
        found = [row for row in rows if needle in search_text(row.memory_key, row.content)]
        if not is_storable(search):
            found = []
        position = question.position(after, limit=limit)
        rest = [row for row in found if position is None or _own_position(row) > position]
        return cut_page(question, rest, map(_own_position, rest), limit=limit, total=len(found))

    def _find(
        self, admin_org: Organisation, agent_def_name: str, shelf: Shelf,
        search: str, limit: int | None, after: str | None,
    ) -> Page[AgentMemory]:  # fmt: skip
        organisation_id = id_of(admin_org, Organisation)
        limit = check_limit(limit)
        question = Question(shelf.name, (organisation_id, agent_def_name, search), shelf.kinds)
        if not is_storable(search):
            return Page()

        def find(session: Session) -> Page[AgentMemory]:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None:
                return Page()
            on_shelf = select_memories(
                AgentMemory, organisation_id=organisation_id, statuses=shelf.statuses
            ).where(AgentMemory.definition_id == definition_id, *shelf.conditions)
            if search:
                backend = session.get_bind().dialect.name
                on_shelf = on_shelf.where(contains(backend, AgentMemory.search_text, search.casefold()))
            position = question.position(after, limit=limit)
            page = after_position(on_shelf, shelf.order, position, is_descending=shelf.is_descending)
            if limit is not None:
                page = page.limit(limit + 1)
            rows = session.scalars(page.options(*WITH_PEOPLE)).all()
            total = len(rows) if limit is None else count_rows(session, on_shelf)
            return cut_page(question, rows, map(shelf.position, rows), limit=limit, total=total)

        return self._database.read(find)


def contains(backend: str, text: Any, search: Any) -> ColumnElement[bool]:
    """Return the condition that a casefolded column holds a casefolded text literally, on either database."""
    place: ColumnElement[int] = getattr(func, "instr" if backend == "sqlite" else "strpos")(text, search)
    return place > literal_column("0")


def after_position(
    statement: Select[Any], order: Sequence[Any], position: Position | None, *, is_descending: bool
) -> Select[Any]:
    """Order a select by columns, and begin it after a position."""
    place = None
    if position is not None:
        place = [literal(part, BigInteger() if isinstance(part, int) else CodePointText) for part in position]
    return begin_after(statement, order, place, is_descending=is_descending)


def begin_after(
    statement: Select[Any], order: Sequence[Any], place: Sequence[Any] | None, *, is_descending: bool
) -> Select[Any]:
    """Order a select by columns, and begin it after a place, given as an expression for each of them."""
    statement = statement.order_by(*(column.desc() if is_descending else column for column in order))
    if place is None:
        return statement
    here, there = tuple_(*order), tuple_(*place)
    return statement.where(here < there if is_descending else here > there)


def count_rows(session: Session, statement: Select[Any]) -> int:
    """Count what a select finds, to one beyond the cap and no further."""
    number: int = session.scalars(counting(statement)).one()
    return number


def counting(statement: Select[Any]) -> Select[Any]:
    """Select the number of what a select finds, counted to one beyond the cap and no further."""
    rows: Select[Any] = statement.with_only_columns(literal_column("1"))
    return counting_rows(rows.order_by(None))


def counting_rows(rows: Select[Any]) -> Select[Any]:
    """Select the number of rows, those that are left of them if they are distinct, in the same way."""
    counted = limited(rows, COUNT_CAP + 1).subquery()
    return select(func.count()).select_from(counted)


def limited(statement: Select[Any], limit: int) -> Select[Any]:
    """Limit a select by a number that stands in it. SQLAlchemy would bind it, and an offset with it."""
    return statement.limit(literal_column(str(limit), BigInteger)).offset(literal_column("0", BigInteger))


def _read_own(
    session: Session, organisation_id: int, owner_id: int, agent_def_name: str
) -> Sequence[AgentMemory]:
    definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
    own = select_memories(AgentMemory, organisation_id=organisation_id, statuses=HELD + REJECTED).where(
        AgentMemory.definition_id == definition_id, AgentMemory.scope_id.in_([owner_id, -owner_id])
    )
    rows: Sequence[AgentMemory] = session.scalars(own.options(*WITH_PEOPLE)).all()
    return sorted(rows, key=_own_position)


def _own_position(memory: AgentMemory) -> tuple[str, int]:
    """Return a place in the list of somebody's own: a held memory before the rejected fact of its key."""
    return memory.memory_key, int(memory.status == Status.REJECTED)
