"""The databases that are measured: organisations full of people whose agents remember something.

They are filled with SQL and not through the manager, which would take an hour for a million rows. The rows
are what the manager writes, and they arrive in random order, as they would in use.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg
from portal.changes import search_text
from portal.database import Database
from portal.directory import Directory
from portal.values import new_memory_id
from psycopg import sql
from sqlalchemy import make_url
from tests.postgres import PostgresServer

from bench.timing import with_progress

MEMORIES_PER_AGENT = 50
FACTS_PER_DEFINITION = 20
AGENTS_PER_ORGANISATION = 200
CONTENT_LENGTH = 115
NOW = 1_795_988_787_855_104
"""A time in microseconds since 1970; rows of one database differ from it by less than a day."""

LIMITS = {
    "memory_limit": 100,
    "memory_characters": 20_000,
    "proposal_limit": 20,
    "account_fact_limit": 100,
    "account_fact_characters": 20_000,
}
PASSWORD = "a password for a bench, which protects nothing"  # noqa: S105

Row = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A filled database."""

    url: str
    agents: int
    """Their ids, and those of their owners, are 1 to this."""

    def organisation_of(self, agent_id: int) -> int:
        """Return the organisation of an agent; its only definition has the same id."""
        return (agent_id - 1) // AGENTS_PER_ORGANISATION + 1

    @property
    def path(self) -> Path:
        """The file, where this is SQLite."""
        return Path(self.url.removeprefix("sqlite:///"))


class Loader(Protocol):
    """Fills tables fast."""

    def load(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows that all have the same columns."""

    def finish(self) -> None:
        """Make everything durable, and let the database look at what it has."""


class SqliteLoader:
    """Fills a file in one transaction."""

    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        self._connection.execute("BEGIN")

    def load(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows that all have the same columns."""
        for columns, values in _by_columns(rows):
            marks = ", ".join("?" * len(columns))
            statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            self._connection.executemany(statement, values)

    def finish(self) -> None:
        """Commit, gather statistics, and leave no log."""
        with closing(self._connection) as connection:
            connection.execute("COMMIT")
            connection.execute("ANALYZE")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


READ_BY_KEY = """
SELECT max(length(content)) FROM
    (SELECT content FROM agent_memory
     ORDER BY organisation_id, definition_id, scope_id, memory_key OFFSET 0) AS by_key"""


class PostgresLoader:
    """Fills a database by ``COPY``, without looking up the row behind each foreign key."""

    def __init__(self, url: str) -> None:
        self._connection = connect(url)
        self._connection.execute("SET session_replication_role = replica")

    def load(self, table: str, rows: Iterable[Row]) -> None:
        """Insert rows that all have the same columns."""
        for columns, values in _by_columns(rows):
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
            with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                for row in values:
                    copy.write_row(row)

    def finish(self) -> None:
        """Gather statistics, set the marks that let an index answer alone, write it all out, and read it in.

        What is copied into a table does not stay in the server's memory, where it is after some use.
        """
        with closing(self._connection) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
            connection.execute("SET enable_sort = off")
            connection.execute(READ_BY_KEY)


def _by_columns(rows: Iterable[Row]) -> Iterator[tuple[Sequence[str], Iterable[Sequence[Any]]]]:
    """Split rows into their columns, which are the first row's, and their values."""
    remaining = iter(rows)
    first = next(remaining, None)
    if first is None:
        return
    columns = list(first)

    def values() -> Iterator[Sequence[Any]]:
        yield list(first.values())
        for row in remaining:
            yield list(row.values())

    yield columns, values()


def connect(url: str) -> psycopg.Connection[Any]:
    """Connect as anybody would who wants the last microsecond: no transaction around a statement."""
    parts = make_url(url)
    host = str(parts.query["host"])
    return psycopg.connect(user=parts.username, dbname=parts.database, host=host, autocommit=True)


def loader_for(url: str) -> Loader:
    """Return what fills this kind of database."""
    return SqliteLoader(url) if url.startswith("sqlite") else PostgresLoader(url)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="portal-bench-") as folder:
        yield Path(folder)


@contextmanager
def durable_postgres() -> Iterator[PostgresServer]:
    """Give a server of our own that writes to the disk before it says so, and caches like a small one."""
    settings = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "512MB", "max_wal_size": "4GB"}
    with PostgresServer(settings) as server:
        yield server


def migrate(url: str) -> None:
    """Create the tables."""
    database = Database(url)
    database.upgrade()
    database.dispose()


def fill(url: str, rows: int) -> World:
    """Create the tables and ``rows`` personal memories, fifty an agent, with account facts beside them."""
    migrate(url)
    world = World(url, agents=max(1, rows // MEMORIES_PER_AGENT))
    organisations = range(1, world.organisation_of(world.agents) + 1)
    loader = loader_for(url)
    load_tenants(loader, organisations)
    load_people(loader, ((agent, world.organisation_of(agent)) for agent in range(1, world.agents + 1)))
    places = [(agent, number) for agent in range(1, world.agents + 1) for number in range(MEMORIES_PER_AGENT)]
    random.Random(1).shuffle(places)
    kind = "SQLite" if url.startswith("sqlite") else "PostgreSQL"
    shown = with_progress(f"Filling {kind} with {rows:,} memories", places, length=len(places))
    loader.load("agent_memory", (personal(world, agent, number) for agent, number in shown))
    loader.load(
        "agent_memory", (_fact(place, n) for place in organisations for n in range(FACTS_PER_DEFINITION))
    )
    loader.finish()
    return world


def load_tenants(loader: Loader, organisations: Iterable[int]) -> None:
    """Insert organisations, each with one definition that has its id."""
    every = list(organisations)
    loader.load("organisation", (_organisation(n) for n in every))
    loader.load("agent_definition", (_definition(n) for n in every))


def _organisation(number: int) -> Row:
    return {
        "id": number,
        "name": f"Organisation {number}",
        "slug": f"organisation-{number}",
        "active": True,
        "created_at": NOW,
    }


def _definition(organisation_id: int) -> Row:
    return {
        "id": organisation_id,
        "organisation_id": organisation_id,
        "name": "support",
        "title": "Support",
        "description": "",
        **LIMITS,
        "second_person_required": False,
        "created_at": NOW,
    }


def load_people(loader: Loader, people: Iterable[tuple[int, int]]) -> None:
    """Insert people, each with an agent that has the person's id.

    :param people: their ids, with the id of the organisation and of its definition.
    """
    every = list(people)
    loader.load("profile", (_profile(person, organisation) for person, organisation in every))
    loader.load("agent", (_agent(person, organisation) for person, organisation in every))


def _profile(person: int, organisation_id: int) -> Row:
    return {
        "id": person,
        "organisation_id": organisation_id,
        "email": f"person-{person}@bench.example",
        "email_key": f"person-{person}@bench.example",
        "name": f"Person {person}",
        "role": "member",
        "active": True,
        "created_at": NOW,
    }


def _agent(person: int, organisation_id: int) -> Row:
    return {
        "id": person,
        "organisation_id": organisation_id,
        "owner_id": person,
        "definition_id": organisation_id,
        "prompt_marker": "marker",
        "created_at": NOW,
    }


def content(about: str) -> str:
    """Return a sentence of 115 characters."""
    return (
        f"{about}: prefers short answers, with links into the handbook, before anything is escalated".ljust(
            CONTENT_LENGTH, "."
        )[:CONTENT_LENGTH]
    )


def memory(organisation_id: int, owner_id: int, memory_key: str, status: str, *, stated_at: int = NOW) -> Row:
    """Return a row of any status, as the manager would have written it."""
    text = content(f"Of {memory_key}")
    is_decided = status in {"confirmed", "rejected"}
    scope_id = {"confirmed": 0, "rejected": -owner_id}.get(status, owner_id)
    return {
        "organisation_id": organisation_id,
        "definition_id": organisation_id,
        "scope_id": scope_id,
        "memory_key": memory_key,
        "id": new_memory_id(),
        "status": status,
        "content": text,
        "search_text": None if status == "personal" else search_text(memory_key, text),
        "version": 2 if is_decided else 1,
        "stated_by_id": owner_id,
        "stated_at": stated_at,
        "created_at": stated_at,
        "updated_at": stated_at,
        "decided_by_id": owner_id if is_decided else None,
        "decided_at": stated_at if is_decided else None,
        "decision_reason": "",
    }


def personal(world: World, agent_id: int, number: int) -> Row:
    """Return one memory of an agent."""
    return memory(world.organisation_of(agent_id), agent_id, f"key_number_{number:02}", "personal")


def _fact(organisation_id: int, number: int) -> Row:
    first_person = (organisation_id - 1) * AGENTS_PER_ORGANISATION + 1
    return memory(organisation_id, first_person, f"fact_{number:02}", "confirmed")


@dataclass(frozen=True)
class Queue:
    """A database whose administrator has much to decide."""

    url: str
    organisation_id: int
    email: str
    waiting: int


def fill_queue(url: str, waiting: int) -> Queue:
    """Create an organisation where proposals wait, with decided facts beside every fourth."""
    migrate(url)
    database = Database(url)
    directory = Directory(database)
    organisation = directory.create_organisation(name="Acme", slug="acme")
    directory.define_agent(organisation, name="support", title="Support")
    root = directory.create_profile(
        organisation, email="root@acme.example", name="Root", role="administrator", password=PASSWORD
    )
    directory.agent_for(root, "support")
    database.dispose()
    loader = loader_for(url)
    first, per_person = 1_000, LIMITS["proposal_limit"]
    people = range(first, first + waiting // per_person + 1)
    load_people(loader, ((person, organisation.id) for person in people))
    shown = with_progress(f"Filling a queue with {waiting:,} proposals", range(waiting), length=waiting)
    loader.load(
        "agent_memory",
        (memory(organisation.id, first + n // per_person, f"key_{n:06}", "proposed", stated_at=NOW + n)
         for n in shown),
    )  # fmt: skip
    loader.load(
        "agent_memory",
        (memory(organisation.id, root.id, f"key_{n:06}", status)
         for n in range(0, waiting, 4) for status in ("confirmed", "rejected")),
    )  # fmt: skip
    loader.finish()
    return Queue(url, organisation.id, root.email, waiting)
