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
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.orm import joinedload

from portal.driver_rows import RowReader
from portal.models import ACCOUNT_SCOPE, Agent, AgentDefinition, AgentMemory, Organisation, Profile
from portal.policy import Usage
from portal.values import Status, is_id

if TYPE_CHECKING:
    from sqlalchemy import CompoundSelect, Subquery
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


MEMORIES = RowReader(AgentMemory)
"""Reads memories from rows as the driver gives them."""


def status_in(statuses: Sequence[Status], memory: Any = AgentMemory) -> ColumnElement[bool]:
    """Return the condition that a memory has one of ``statuses``, as literals.

    :param memory: the table, or whatever else has its columns as attributes.
    """
    words: list[ColumnElement[Any]] = [literal_column(f"'{status.value}'") for status in statuses]
    status: ColumnElement[Any] = memory.status
    return status == words[0] if len(words) == 1 else status.in_(words)


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
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def as_json(answer: dict[str, Any]) -> str:
    """Return an answer as compact JSON text in raw UTF-8."""
    return _encoder.encode(answer)


def list_answer(database: Database, agent_id: int) -> str | None:
    """Return everything that an agent recalls as the JSON text of ``list``, in one round of SQL.

    None means that there is no such agent, or that its owner or organisation is inactive.
    """
    found = list_answer_and_marker(database, agent_id)
    return None if found is None else found[0]


def list_answer_and_marker(database: Database, agent_id: int) -> tuple[str, str] | None:
    """Return the same JSON text and the agent's prompt marker, still in one round of SQL."""
    statement = LIST_ON_SQLITE if database.is_sqlite else LIST_ON_POSTGRESQL
    rows = database.fetch_rows(statement, {"agent_id": agent_id})
    if not rows:
        return None
    if database.is_sqlite:
        answer, marker = rows[0]
        return answer, marker
    return _assemble(rows)


def _assemble(rows: Sequence[tuple[Any, ...]]) -> tuple[str, str]:
    """Put the rows of ``LIST_ON_POSTGRESQL`` together; a union has no order, so they are sorted here.

    The first row has the limits and nothing else: its status is None and its key is empty.
    """
    (_, _, _, _, memory_limit, character_limit, proposal_limit, marker), *facts = sorted(rows)
    memories: list[dict[str, str]] = []
    account_facts: list[dict[str, str]] = []
    characters = proposals = 0
    for key, status, content, moment, *_ in facts:
        time = dt.datetime.fromtimestamp(moment // 1_000_000, dt.UTC).isoformat()[:19] + "Z"
        if status in CONFIRMED:
            account_facts.append({"key": key, "content": content, "confirmed_at": time})
        else:
            memories.append({"key": key, "content": content, "status": status, "updated_at": time})
            characters += len(content)
            proposals += status == Status.PROPOSED
    usage = Usage(len(memories), memory_limit, characters, character_limit, proposals, proposal_limit)
    answer = {"ok": True, "memories": memories, "account_facts": account_facts, "usage": usage.as_json()}
    return as_json(answer), marker


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


def _recalled(agent: Any, scope_id: Any, statuses: Sequence[Status], *columns: Any) -> Select[Any]:
    """Select of what an agent of the query around it recalls in one scope."""
    return select_memories(*columns, organisation_id=agent.organisation_id, statuses=statuses).where(
        AgentMemory.definition_id == agent.definition_id, AgentMemory.scope_id == scope_id
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
            Agent,
            Agent.owner_id,
            HELD,
            key,
            content,
            AgentMemory.status,
            AgentMemory.updated_at.label("moment"),
        )
        .order_by(AgentMemory.memory_key)
        .correlate(Agent)
        .subquery("held")
    )
    facts = (
        _recalled(
            Agent, _sql(str(ACCOUNT_SCOPE)), CONFIRMED, key, content, AgentMemory.decided_at.label("moment")
        )
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
    return select(held_answer.scalar_subquery(), Agent.prompt_marker).where(*LIVE_AGENT)


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


def _list_on_postgresql() -> CompoundSelect[Any]:
    """Build ``list`` for PostgreSQL: a row with the limits, then the rows of the two scopes.

    The agent is looked up once, on its own; joined into each part it would be planned and read thrice.
    """
    agent = (
        select(
            Agent,
            AgentDefinition.memory_limit,
            AgentDefinition.memory_characters,
            AgentDefinition.proposal_limit,
        )
        .where(*LIVE_AGENT)
        .cte("live_agent")
        .prefix_with("MATERIALIZED")
        .c
    )
    limits = (agent.memory_limit, agent.memory_characters, agent.proposal_limit, agent.prompt_marker)
    no_memory = (_sql("''"), _sql("NULL::text"), _sql("NULL::text"), _sql("NULL::bigint"))
    no_limits = (_sql("0"), _sql("0"), _sql("0"), _sql("''"))
    key, status, content = AgentMemory.memory_key, AgentMemory.status, AgentMemory.content
    account = _sql(str(ACCOUNT_SCOPE))
    return union_all(
        select(*no_memory, *limits),
        _recalled(agent, agent.owner_id, HELD, key, status, content, AgentMemory.updated_at, *no_limits),
        _recalled(agent, account, CONFIRMED, key, status, content, AgentMemory.decided_at, *no_limits),
    )


LIST_ON_SQLITE = _list_on_sqlite()
LIST_ON_POSTGRESQL = _list_on_postgresql()
