"""What is read of memories: the one query function, and the statement behind ``list``.

Every read path names the statuses that it allows. Statuses stand in the SQL as literals, because SQLite
uses a partial index only where it can see that the query implies the index's condition.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    cast,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.orm import joinedload

from portal.models import (
    ACCOUNT_SCOPE,
    Agent,
    AgentDefinition,
    AgentMemory,
    Moment,
    Organisation,
    Profile,
    Status,
    is_id,
)
from portal.policy import Usage

if TYPE_CHECKING:
    from sqlalchemy import CompoundSelect, Subquery
    from sqlalchemy.engine import RowMapping
    from sqlalchemy.orm import Session

    from portal.database import Database

HELD = (Status.PERSONAL, Status.PROPOSED)
"""What counts towards its owner's ceilings and is recalled by the owner's agent alone."""

CONFIRMED = (Status.CONFIRMED,)
"""What every agent of the definition recalls."""

PROPOSED = (Status.PROPOSED,)
"""What waits for an administrator."""

REJECTED = (Status.REJECTED,)
"""What an administrator turned down; it closes its key to proposals."""

ACCOUNT_FACTS = (Status.PROPOSED, Status.CONFIRMED, Status.REJECTED)
"""What administrators may see."""


OPEN_OR_CLOSED = (Status.PROPOSED, Status.REJECTED)
"""What ``ix_agent_memory_key`` holds: who proposed a key, and who had it turned down."""


def status_in(statuses: Sequence[Status], memory: type[AgentMemory] = AgentMemory) -> ColumnElement[bool]:
    """Return the condition that a memory has one of ``statuses``, as literals."""
    words: list[ColumnElement[Any]] = [literal_column(f"'{status.value}'") for status in statuses]
    return memory.status == words[0] if len(words) == 1 else memory.status.in_(words)


def select_memories(
    *columns: Any, organisation_id: Any, statuses: Sequence[Status], of: type[AgentMemory] = AgentMemory
) -> Select[Any]:
    """Select of one organisation's memories with one of the statuses that the caller allows.

    :param columns: what to select, ``AgentMemory`` or columns of it.
    :param organisation_id: an id, or an expression that gives one.
    :param of: the table, or an alias of it.
    """
    return select(*columns).where(of.organisation_id == organisation_id, status_in(statuses, of))


WITH_PEOPLE = (joinedload(AgentMemory.stated_by), joinedload(AgentMemory.decided_by))
"""Loads who stated and who decided, so that a memory is complete without a session."""


def read_memory(
    session: Session, *, organisation_id: int, memory_id: object, statuses: Sequence[Status]
) -> AgentMemory | None:
    """Return a memory as it stands now, complete, if it has one of the statuses that the caller allows.

    Any value may be passed as the id; what cannot be one finds nothing.
    """
    if not is_id(memory_id):
        return None
    return session.scalars(
        select_memories(AgentMemory, organisation_id=organisation_id, statuses=statuses)
        .where(AgentMemory.id == memory_id)
        .options(*WITH_PEOPLE)
        .execution_options(populate_existing=True)
    ).one_or_none()


def format_time(moment: dt.datetime) -> str:
    """Return a time as the answers show it: UTC, whole seconds, ``Z``."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def as_json(answer: dict[str, Any]) -> str:
    """Return an answer as compact JSON text in raw UTF-8."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def list_answer(database: Database, agent_id: int) -> str | None:
    """Return everything that an agent recalls as the JSON text of ``list``, in one round of SQL.

    None means that there is no such agent, or that its owner or organisation is inactive.
    """
    if database.is_sqlite:
        row = database.fetch_row(LIST_ON_SQLITE, {"agent_id": agent_id})
        return None if row is None else str(row[0])
    return _assemble(database.fetch_all(LIST_ON_POSTGRESQL, {"agent_id": agent_id}))


def list_answer_and_marker(database: Database, agent_id: int) -> tuple[str, str] | None:
    """Return the same JSON text and the agent's prompt marker, still in one round of SQL."""
    statement = LIST_AND_MARKER_ON_SQLITE if database.is_sqlite else LIST_AND_MARKER_ON_POSTGRESQL
    rows = database.fetch_all(statement, {"agent_id": agent_id})
    if not rows:
        return None
    answer = rows[0]["answer"] if database.is_sqlite else _assemble(rows)
    return str(answer), str(rows[0]["prompt_marker"])


def _assemble(rows: Sequence[RowMapping]) -> str | None:
    """Put the rows of ``LIST_ON_POSTGRESQL`` together; a union has no order, so they are sorted here."""
    rows = sorted(rows, key=lambda row: row["memory_key"] or "")
    if not rows:
        return None
    limits = rows[0]
    held = [row for row in rows if row["status"] in HELD]
    memories = [
        {
            "key": row["memory_key"],
            "content": row["content"],
            "status": row["status"],
            "updated_at": format_time(row["moment"]),
        }
        for row in held
    ]
    account_facts = [
        {"key": row["memory_key"], "content": row["content"], "confirmed_at": format_time(row["moment"])}
        for row in rows
        if row["status"] in CONFIRMED
    ]
    usage = Usage(
        memories=len(held),
        memory_limit=limits["memory_limit"],
        characters=sum(len(row["content"]) for row in held),
        character_limit=limits["memory_characters"],
        proposals=sum(row["status"] == Status.PROPOSED for row in held),
        proposal_limit=limits["proposal_limit"],
    )
    answer = {"ok": True, "memories": memories, "account_facts": account_facts, "usage": usage.as_json()}
    return as_json(answer)


LIVE_AGENT = (
    Agent.id == bindparam("agent_id"),
    AgentDefinition.id == Agent.definition_id,
    Profile.id == Agent.owner_id,
    Profile.active,
    Organisation.id == Agent.organisation_id,
    Organisation.active,
)
"""The agent with the bound id, its definition and its owner, if owner and organisation are active."""


def _sql(constant: str) -> ColumnElement[Any]:
    """Return SQL text, so that a hot statement binds nothing but the agent."""
    return literal_column(constant)


def _recalled(scope_id: Any, statuses: Sequence[Status], *columns: Any) -> Select[Any]:
    """Select of what the agent of the query around it recalls in one scope."""
    return select_memories(*columns, organisation_id=Agent.organisation_id, statuses=statuses).where(
        AgentMemory.definition_id == Agent.definition_id, AgentMemory.scope_id == scope_id
    )


def _sqlite_objects(memories: Subquery, time_name: str) -> ColumnElement[str]:
    """Return the JSON array of a subquery's rows: its columns, with ``moment`` under ``time_name``."""
    seconds = memories.c.moment.op("/")(_sql("1000000"))
    time = func.strftime(_sql("'%Y-%m-%dT%H:%M:%SZ'"), seconds, _sql("'unixepoch'"))
    named: list[ColumnElement[Any]] = []
    for name in memories.c.keys()[:-1]:
        named += [_sql(f"'{name}'"), memories.c[name]]
    return func.json_group_array(func.json_object(*named, _sql(f"'{time_name}'"), time))


def _list_on_sqlite() -> Select[Any]:
    """Build ``list`` for SQLite, which makes the whole JSON text itself.

    Each array is aggregated from a subquery that reads one range of the primary key in its order.
    """
    key, content = AgentMemory.memory_key.label("key"), AgentMemory.content
    held = (
        _recalled(
            Agent.owner_id, HELD, key, content, AgentMemory.status, AgentMemory.updated_at.label("moment")
        )
        .order_by(AgentMemory.memory_key)
        .correlate(Agent)
        .subquery("held")
    )
    facts = (
        _recalled(_sql(str(ACCOUNT_SCOPE)), CONFIRMED, key, content, AgentMemory.decided_at.label("moment"))
        .order_by(AgentMemory.memory_key)
        .correlate(Agent)
        .subquery("facts")
    )
    answer = func.printf(
        _sql(f"'{_LIST_TEMPLATE}'"),
        _sqlite_objects(held, "updated_at"),
        select(_sqlite_objects(facts, "confirmed_at")).scalar_subquery(),
        func.count(),
        AgentDefinition.memory_limit,
        func.sum(func.length(held.c.content)),
        AgentDefinition.memory_characters,
        func.sum(held.c.status == _sql("'proposed'")),
        AgentDefinition.proposal_limit,
    )
    held_answer = select(answer).select_from(held).correlate(AgentDefinition)
    return select(held_answer.scalar_subquery().label("answer")).where(*LIVE_AGENT)


_LIST_TEMPLATE = (
    as_json({
        "ok": True,
        "memories": "%s",
        "account_facts": "%s",
        "usage": dict.fromkeys(Usage.__dataclass_fields__, "%d"),
    })
    .replace('"%s"', "%s")
    .replace('"%d"', "%d")
)  # fmt: skip


def _list_on_postgresql(*more: Any) -> CompoundSelect[Any]:
    """Build ``list`` for PostgreSQL: a row with the limits, then the rows of the two scopes.

    ``more`` columns of the agent stand in each row, beside the limits.
    """
    definition = AgentDefinition
    limits = (definition.memory_limit, definition.memory_characters, definition.proposal_limit, *more)
    key, content, status = AgentMemory.memory_key, AgentMemory.content, AgentMemory.status
    nothing = [cast(null(), column.type).label(column.name) for column in (key, content, status)]
    no_moment = cast(null(), Moment()).label("moment")
    held = _recalled(Agent.owner_id, HELD, key, content, status, AgentMemory.updated_at, *limits)
    facts = _recalled(
        _sql(str(ACCOUNT_SCOPE)), CONFIRMED, key, content, status, AgentMemory.decided_at, *limits
    )
    return union_all(
        select(*nothing, no_moment, *limits).where(*LIVE_AGENT),
        held.where(*LIVE_AGENT),
        facts.where(*LIVE_AGENT),
    )


LIST_ON_SQLITE = _list_on_sqlite()
LIST_AND_MARKER_ON_SQLITE = LIST_ON_SQLITE.add_columns(Agent.prompt_marker)
LIST_ON_POSTGRESQL = _list_on_postgresql()
LIST_AND_MARKER_ON_POSTGRESQL = _list_on_postgresql(Agent.prompt_marker)
