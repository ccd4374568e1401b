"""The only statements that change memories, each with its event in the same transaction.

The caller holds the lock of the scope (:mod:`portal.scopes`) and has applied the rules; what stands here
keeps the table and the record in step: no change without an event, no event without a change.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from sqlalchemy import ColumnElement, bindparam, delete, insert, literal_column, null, select, update

from portal.errors import MemoryChanged
from portal.models import ACCOUNT_SCOPE, AgentMemory, MemoryEvent
from portal.recall import ACCOUNT_FACTS
from portal.transactions import Work, after_commit, change_in, fetch_in, send_in
from portal.values import ActorKind, EventAction, Status, as_stored, new_memory_id, to_microseconds

if TYPE_CHECKING:
    from sqlalchemy import Delete, Insert, Update

    from portal.scopes import AgentScope

logger = logging.getLogger(__name__)

SEARCH_SEPARATOR = "\x1f"
"""Stands between key and content in the search text; neither can hold it, so no search spans the two."""

DECISIONS: Sequence[ColumnElement[Any]] = [
    literal_column(f"'{action.value}'") for action in (EventAction.CONFIRMED, EventAction.REJECTED)
]


class Actor(NamedTuple):
    """Who makes a change. ``profile_id`` is the person, or the person whose agent it is."""

    kind: ActorKind
    profile_id: int | None = None

    @classmethod
    def profile(cls, profile_id: int) -> Actor:
        """Return this person."""
        return cls(ActorKind.PROFILE, profile_id)


COMMAND_LINE = Actor(ActorKind.COMMAND_LINE)


class Change(NamedTuple):
    """What happens, who does it and when: the part of an event that its caller knows."""

    action: EventAction
    actor: Actor
    at: dt.datetime


@dataclass
class HeldMemory:
    """What an agent holds under a key: the columns of the row that its calls need, under their names.

    A mapped object would take longer to make than the statements of a call take to run.
    """

    organisation_id: int
    definition_id: int
    scope_id: int
    memory_key: str
    id: int
    status: Status
    content: str
    version: int
    updated_at: dt.datetime


Memory: TypeAlias = AgentMemory | HeldMemory
"""A row that was read under the lock of its scope, and is kept in step with what is written."""


def create_memory(
    work: Work, change: Change, scope: AgentScope, *, memory_key: str, content: str, status: Status
) -> HeldMemory:
    """Insert a memory that the scope's agent holds from now on, version 1."""
    memory = HeldMemory(
        organisation_id=scope.organisation_id,
        definition_id=scope.definition_id,
        scope_id=scope.owner_id,
        memory_key=memory_key,
        id=new_memory_id(),
        status=status,
        content=content,
        version=1,
        updated_at=change.at,
    )
    at = to_microseconds(change.at)
    row = vars(memory) | {
        "status": str(status),
        "search_text": _stored_search_text(memory_key, content, status),
        "stated_by_id": scope.owner_id,
        "stated_at": at,
        "created_at": at,
        "updated_at": at,
        "decided_by_id": None,
        "decided_at": None,
        "decision_reason": "",
    }
    send_in(work, INSERT_MEMORY, row)
    _record(work, change, memory, at=at, version=1, before=None, after=status, key=memory_key)
    return memory


def rewrite_memory(work: Work, change: Change, memory: Memory, *, content: str, status: Status) -> None:
    """Give a held memory another content or status, or both. ``stated_at`` moves when it becomes a proposal.

    When it stops being a proposal its key goes from its events: what is personal is no administrator's.
    """
    # An index that holds none of the columns that are written costs nothing.
    written: dict[str, Any] = {"content": content}
    changes_status = status != memory.status
    is_proposal = status == Status.PROPOSED
    if changes_status or is_proposal:
        written["search_text"] = _stored_search_text(memory.memory_key, content, status)
    if changes_status:
        written["status"] = status
        if is_proposal:
            written["stated_at"] = change.at
        else:
            _take_key_from_events(work, memory)
    _update(work, change, memory, written)


def decide_memory(work: Work, change: Change, memory: AgentMemory, *, status: Status, reason: str) -> None:
    """Turn a proposal into a confirmed or a rejected fact."""
    written = {
        "status": status,
        "scope_id": ACCOUNT_SCOPE if status == Status.CONFIRMED else -memory.scope_id,
        "decided_by_id": change.actor.profile_id,
        "decided_at": change.at,
        "decision_reason": reason,
    }
    _update(work, change, memory, written)


def reopen_memory(work: Work, change: Change, memory: AgentMemory) -> None:
    """Turn a decided fact into a proposal again, its decision cleared, at its old place in the queue."""
    written = {
        "status": Status.PROPOSED,
        "scope_id": memory.stated_by_id,
        "decided_by_id": None,
        "decided_at": None,
        "decision_reason": "",
    }
    _update(work, change, memory, written)


def remove_memory(work: Work, change: Change, memory: Memory, *, is_decision: bool = False) -> None:
    """Delete a memory. Its event takes the version that would have come next.

    :param is_decision: whether an administrator or the command line does it. Otherwise the key of a
        proposal that nobody ever decided on goes from its events.
    """
    _change_one(work, DELETE_MEMORY, memory, {})
    is_unseen = memory.status == Status.PROPOSED and not is_decision and not _was_decided(work, memory)
    if is_unseen:
        _take_key_from_events(work, memory)
    _record(
        work,
        change,
        memory,
        at=to_microseconds(max(change.at, memory.updated_at)),
        version=memory.version + 1,
        before=memory.status,
        after=None,
        key=None if is_unseen else memory.memory_key,
    )


def _update(work: Work, change: Change, memory: Memory, values: dict[str, Any]) -> None:
    """Write values as the next version of a row that is as it was read, in the object too, with its event."""
    before, version = memory.status, memory.version + 1
    updated_at = max(change.at, memory.updated_at)
    at = to_microseconds(updated_at)
    written = {name: as_stored(value) for name, value in values.items()}
    written["version"], written["updated_at"] = version, at
    _change_one(work, _update_of(tuple(written)), memory, written)
    # The row is written already; ordinary assignments would be flushed and write it again.
    vars(memory).update(values, version=version, updated_at=updated_at)
    _record(
        work,
        change,
        memory,
        at=at,
        version=version,
        before=before,
        after=memory.status,
        key=memory.memory_key,
    )


def _change_one(work: Work, statement: Update | Delete, memory: Memory, values: Mapping[str, Any]) -> None:
    """Run a guarded statement, which has to find the row.

    :raises portal.errors.MemoryChanged: it is not as it was read.
    """
    parameters = {
        **values,
        "organisation_as_read": memory.organisation_id,
        "id_as_read": memory.id,
        "status_as_read": str(memory.status),
        "version_as_read": memory.version,
    }
    if change_in(work, statement, parameters) != 1:
        # Only a mapped row can get here: nobody else changes what an agent holds while that is locked.
        raise MemoryChanged(cast("AgentMemory", memory))


# The guard of every write. It closes the race with whoever changed the row since it was read: of two
# decisions on one version of a proposal only one finds it.
IS_AS_READ = (
    AgentMemory.organisation_id == bindparam("organisation_as_read"),
    AgentMemory.id == bindparam("id_as_read"),
    AgentMemory.status == bindparam("status_as_read"),
    AgentMemory.version == bindparam("version_as_read"),
)


@cache
def _update_of(names: tuple[str, ...]) -> Update:
    """Return the guarded update of these columns, made once. The row moves only where its scope is set."""
    return update(AgentMemory).where(*IS_AS_READ).values({name: bindparam(name) for name in names})


def _insert_into(table: type[AgentMemory | MemoryEvent]) -> Insert:
    return insert(table).values({column.name: bindparam(column.name) for column in table.__table__.columns})


INSERT_MEMORY = _insert_into(AgentMemory)
INSERT_EVENT = _insert_into(MemoryEvent)
DELETE_MEMORY = delete(AgentMemory).where(*IS_AS_READ)


def _record(
    work: Work, change: Change, memory: Memory, *, at: int, version: int, before: Status | None,
    after: Status | None, key: str | None,
) -> None:  # fmt: skip
    """Write the event of a change, with the key where the memory is an account fact, or was to its end.

    :param at: in microseconds since 1970. It is never before the last change of the memory.
    """
    is_account_fact = (before if after is None else after) in ACCOUNT_FACTS
    event_row = {
        "organisation_id": memory.organisation_id,
        "memory_id": memory.id,
        "version": version,
        "definition_id": memory.definition_id,
        "at": at,
        "action": str(change.action),
        "status_before": before and str(before),
        "status_after": after and str(after),
        "memory_key": key if is_account_fact else None,
        "actor_kind": str(change.actor.kind),
        "actor_id": change.actor.profile_id,
    }
    send_in(work, INSERT_EVENT, event_row)
    if logger.isEnabledFor(logging.INFO):
        _log_after_commit(work, change, memory, version)


def _log_after_commit(work: Work, change: Change, memory: Memory, version: int) -> None:
    """Log a change by its ids, once it is certain. A transaction that is rolled back leaves no line."""
    ids = {
        "action": change.action.value,
        "organisation_id": memory.organisation_id,
        "definition_id": memory.definition_id,
        "memory_id": memory.id,
        "version": version,
        "actor": change.actor.kind.value,
        "profile_id": change.actor.profile_id,
    }
    after_commit(work, lambda: logger.info("memory changed", extra=ids))


def _take_key_from_events(work: Work, memory: Memory) -> None:
    send_in(work, TAKE_KEY_FROM_EVENTS, _place_of_events(memory))


def _was_decided(work: Work, memory: Memory) -> bool:
    """Whether somebody confirmed or rejected it since it was last withdrawn; it may have been reopened."""
    return bool(fetch_in(work, FIND_DECISION, _place_of_events(memory)))


def _place_of_events(memory: Memory) -> dict[str, int]:
    return {"organisation_id": memory.organisation_id, "memory_id": memory.id}


OF_MEMORY = (
    MemoryEvent.organisation_id == bindparam("organisation_id"),
    MemoryEvent.memory_id == bindparam("memory_id"),
)
TAKE_KEY_FROM_EVENTS = update(MemoryEvent).where(*OF_MEMORY).values(memory_key=null())
FIND_DECISION = (
    select(MemoryEvent.version)
    .where(*OF_MEMORY, MemoryEvent.action.in_(DECISIONS), MemoryEvent.memory_key.is_not(None))
    .limit(literal_column("1"))
    .offset(literal_column("0"))
)


def search_text(memory_key: str, content: str) -> str:
    """Return the text that a casefolded search is looked for in."""
    return f"{memory_key}{SEARCH_SEPARATOR}{content}".casefold()


def _stored_search_text(memory_key: str, content: str, status: Status) -> str | None:
    return None if status == Status.PERSONAL else search_text(memory_key, content)
