"""What is read of memories: the one query function, and the statement behind ``list``.

Every read path names the statuses that it allows. Statuses stand in the SQL as literals, because SQLite
uses a partial index only where it can see that the query implies the index's condition.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.orm import joinedload

from portal.driver_rows import RowReader
from portal.models import ACCOUNT_SCOPE, Agent, AgentDefinition, AgentMemory, Organisation, Profile
from portal.policy import Usage
from portal.values import Status, is_id

if TYPE_CHECKING:
    from sqlalchemy import Subquery
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


# The library's own way takes twice as long, because it asks the time zone again.
_TIME = "%04d-%02d-%02dT%02d:%02d:%02dZ"


def format_time(moment: dt.datetime) -> str:
    """Return a time as the answers show it: UTC, whole seconds, ``Z``."""
    utc = moment.astimezone(dt.UTC)
    return _TIME % (utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second)


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


quoted: Callable[[str], str] = json.encoder.encode_basestring
"""Returns a text as JSON text in raw UTF-8."""


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
    for answer, marker in database.fetch_rows(statement, {"agent_id": agent_id}):
        return answer, marker
    return None


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


def _objects_on_sqlite(memories: Subquery, time_name: str) -> ColumnElement[str]:
    """Return the JSON array of a subquery's rows: its columns, with ``moment`` under ``time_name``."""
    second = func.datetime(memories.c.moment.op("/")(_sql("1000000")), _sql("'unixepoch'"))
    # With strftime, which reads its format for each row, the whole call takes a tenth longer.
    time = func.replace(second, _sql("' '"), _sql("'T'")).op("||")(_sql("'Z'"))
    named: list[ColumnElement[Any]] = []
    for name in memories.c.keys()[:-1]:
        named += [_sql(f"'{name}'"), memories.c[name]]
    return func.json_group_array(func.json_object(*named, _sql(f"'{time_name}'"), time))


def _objects_on_postgresql(memories: Subquery, time_name: str) -> ColumnElement[str]:
    """Return the same text on PostgreSQL, whose functions for objects cost more and put spaces in.

    Only a content needs escaping: a key has letters, digits, marks and ``_``. Our connections are in UTC.
    """
    seconds = memories.c.moment.op("/")(_sql("1000000"))
    time = func.replace(cast(func.to_json(func.to_timestamp(seconds)), Text), _sql("'+00:00'"), _sql("'Z'"))
    values = dict(memories.c) | {"content": cast(func.to_json(memories.c.content), Text)}
    del values["moment"]
    template = json_template(dict.fromkeys(values, '"%s"') | {"content": "%s", time_name: "%s"})
    # With format(), which reads its template for each row, the whole call takes a twentieth longer.
    first, *others = (_sql(f"'{between}'") for between in template.split("%s"))
    one = first
    for value, between in zip([*values.values(), time], others, strict=True):
        one = one.op("||")(value).op("||")(between)
    return func.concat(_sql("'['"), func.string_agg(one, _sql("','")), _sql("']'"))


def _as_template(texts: Mapping[str, str | Mapping[str, str]]) -> ColumnElement[str]:
    """Return the SQL text of a JSON object whose values are put in where it has ``%s``."""
    return _sql(f"'{json_template(texts)}'")


def json_template(texts: Mapping[str, str | Mapping[str, str]]) -> str:
    """Return the compact text of a JSON object, whose values are given as texts, or as objects again."""
    members = {name: text if isinstance(text, str) else json_template(text) for name, text in texts.items()}
    return "{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}"


def _list_on(
    objects: Callable[[Subquery, str], ColumnElement[str]], put_in: Callable[..., ColumnElement[str]]
) -> Select[Any]:
    """Build ``list``, whose whole JSON text the database makes.

    Each array is aggregated from a subquery that reads one range of the primary key in its order.

    :param objects: makes the array of a subquery's rows.
    :param put_in: the function that puts values into a text where it has ``%s``.
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
    answer = put_in(
        _LIST_TEMPLATE,
        objects(held, "updated_at"),
        select(objects(facts, "confirmed_at")).scalar_subquery(),
        func.count(),
        AgentDefinition.memory_limit,
        func.coalesce(func.sum(func.length(held.c.content)), _sql("0")),
        AgentDefinition.memory_characters,
        func.count().filter(held.c.status == _sql("'proposed'")),
        AgentDefinition.proposal_limit,
    )
    held_answer = select(answer).select_from(held).correlate(AgentDefinition)
    return select(held_answer.scalar_subquery(), Agent.prompt_marker).where(*LIVE_AGENT)


_LIST_TEMPLATE = _as_template({
    "ok": "true",
    "memories": "%s",
    "account_facts": "%s",
    "usage": dict.fromkeys(Usage._fields, "%s"),
})  # fmt: skip

LIST_ON_SQLITE = _list_on(_objects_on_sqlite, func.printf)
LIST_ON_POSTGRESQL = _list_on(_objects_on_postgresql, func.format)
