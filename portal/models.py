"""The tables.

Two of them grow without bound, ``agent_memory`` and ``memory_event``. Each of their keys, indexes and
queries begins with the organisation, so that they can be partitioned by tenant without a change.

Nothing cascades: what goes with what is written out in :mod:`portal.directory`, the same on every
database. Relationships are for reading only and raise when they were not loaded, because the objects
that callers get are detached.
"""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Enum,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    and_,
    event,
    false,
    text,
    true,
)
from sqlalchemy.engine import Connection
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
from sqlalchemy.types import TypeDecorator

from portal.values import ActorKind, EventAction, Role, Status, Theme, from_microseconds, to_microseconds

ACCOUNT_SCOPE = 0
"""The ``scope_id`` of confirmed facts: every agent of the definition recalls them."""


class Moment(TypeDecorator[dt.datetime]):
    """An aware time in UTC, stored as microseconds since 1970 in a big integer.

    It sorts, compares and round-trips the same on every database, and costs a tenth of a ``DateTime``
    column to read.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Turn an aware time into microseconds."""
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> dt.datetime | None:  # noqa: ARG002
        """Turn microseconds into an aware time."""
        return None if value is None else from_microseconds(value)


# SQLite numbers rows by itself only in a column that is declared INTEGER.
RowId = BigInteger().with_variant(Integer, "sqlite")

# Keys sort by code point on every database; PostgreSQL would follow the language of the server.
CodePointText = Text().with_variant(Text(collation="C"), "postgresql")


def _words(kind: type[StrEnum]) -> Enum:
    """Store an enumeration as its words, not as its Python names."""
    return Enum(
        kind, native_enum=False, length=16, values_callable=lambda words: [word.value for word in words]
    )


class Base(DeclarativeBase):
    """What all tables share: constraint names that code can recognise, and a type for each annotation."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        int: BigInteger,
        str: Text,
        dt.datetime: Moment,
        Status: _words(Status),
        Role: _words(Role),
        EventAction: _words(EventAction),
        ActorKind: _words(ActorKind),
        Theme: _words(Theme),
    }


WHERE = "where"
"""What rows an index holds, in its ``info``."""


def make_indexes_partial(metadata: MetaData, connection: Connection, **_: Any) -> None:
    """Let the indexes of the tables hold what their ``info`` says, in the words of a connection's dialect.

    Named with an index, each dialect would be loaded with the models, though a program uses only one.
    """
    for index in (index for table in metadata.tables.values() for index in table.indexes):
        if WHERE in index.info:
            index.dialect_options[connection.dialect.name]["where"] = text(index.info[WHERE])


event.listen(Base.metadata, "before_create", make_indexes_partial)


class Organisation(Base):
    """A tenant. Nothing crosses from one to another."""

    __tablename__ = "organisation"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    name: Mapped[str]
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    active: Mapped[bool] = mapped_column(server_default=true())
    created_at: Mapped[dt.datetime]


class Profile(Base):
    """A person, in exactly one organisation."""

    __tablename__ = "profile"
    __table_args__ = (
        UniqueConstraint("organisation_id", "id"),
        # The sign of a scope says what it means, see AgentMemory.
        CheckConstraint("id > 0", name="id_positive"),
        CheckConstraint("role IN ('member', 'administrator')", name="role"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    organisation_id: Mapped[int] = mapped_column(ForeignKey("organisation.id"))
    email: Mapped[str]
    email_key: Mapped[str] = mapped_column(unique=True)
    """The address casefolded, by which people are found."""
    name: Mapped[str]
    role: Mapped[Role]
    active: Mapped[bool] = mapped_column(server_default=true())
    password_hash: Mapped[str | None]
    theme: Mapped[Theme] = mapped_column(server_default=Theme.SYSTEM.value)
    keyboard_shortcuts: Mapped[bool] = mapped_column(server_default=true())
    created_at: Mapped[dt.datetime]
    last_signed_in_at: Mapped[dt.datetime | None]

    organisation: Mapped[Organisation] = relationship(viewonly=True, lazy="raise")

    @property
    def is_administrator(self) -> bool:
        """Whether the role lets this person decide, if they are active."""
        return self.role == Role.ADMINISTRATOR


class AgentDefinition(Base):
    """A kind of agent that an organisation offers, with its limits and its policy."""

    __tablename__ = "agent_definition"
    __table_args__ = (
        UniqueConstraint("organisation_id", "name"),
        UniqueConstraint("organisation_id", "id"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    organisation_id: Mapped[int] = mapped_column(ForeignKey("organisation.id"))
    name: Mapped[str] = mapped_column(String(64))
    title: Mapped[str]
    description: Mapped[str]
    memory_limit: Mapped[int] = mapped_column(Integer)
    memory_characters: Mapped[int] = mapped_column(Integer)
    proposal_limit: Mapped[int] = mapped_column(Integer)
    account_fact_limit: Mapped[int] = mapped_column(Integer)
    account_fact_characters: Mapped[int] = mapped_column(Integer)
    second_person_required: Mapped[bool] = mapped_column(server_default=false())
    created_at: Mapped[dt.datetime]


class Agent(Base):
    """One person's instance of a definition: the scope of everything that it remembers."""

    __tablename__ = "agent"
    __table_args__ = (
        UniqueConstraint("organisation_id", "definition_id", "owner_id"),
        ForeignKeyConstraint(["organisation_id", "owner_id"], ["profile.organisation_id", "profile.id"]),
        ForeignKeyConstraint(
            ["organisation_id", "definition_id"],
            ["agent_definition.organisation_id", "agent_definition.id"],
        ),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    organisation_id: Mapped[int] = mapped_column(ForeignKey("organisation.id"))
    owner_id: Mapped[int]
    definition_id: Mapped[int]
    prompt_marker: Mapped[str] = mapped_column(String(32))
    """A random word that fences this agent's memories in a prompt; it never changes."""
    created_at: Mapped[dt.datetime]

    organisation: Mapped[Organisation] = relationship(viewonly=True, lazy="raise")
    owner: Mapped[Profile] = relationship(
        viewonly=True,
        lazy="raise",
        primaryjoin=lambda: and_(
            Agent.organisation_id == Profile.organisation_id, Agent.owner_id == Profile.id
        ),
        foreign_keys=lambda: [Agent.owner_id],
    )
    definition: Mapped[AgentDefinition] = relationship(
        viewonly=True,
        lazy="raise",
        primaryjoin=lambda: and_(
            Agent.organisation_id == AgentDefinition.organisation_id,
            Agent.definition_id == AgentDefinition.id,
        ),
        foreign_keys=lambda: [Agent.definition_id],
    )


# A check that comes out as NULL passes, so each branch says what must not be NULL.
SCOPE_FOLLOWS_STATUS = """CASE status
    WHEN 'personal' THEN stated_by_id IS NOT NULL AND scope_id = stated_by_id
    WHEN 'proposed' THEN stated_by_id IS NOT NULL AND scope_id = stated_by_id
    WHEN 'confirmed' THEN scope_id = 0
    WHEN 'rejected' THEN stated_by_id IS NOT NULL AND scope_id = -stated_by_id
    ELSE FALSE END"""
DECISION_FOLLOWS_STATUS = """(status IN ('confirmed', 'rejected')) = (decided_at IS NOT NULL)
    AND (decided_at IS NOT NULL OR (decided_by_id IS NULL AND decision_reason = ''))"""


class AgentMemory(Base):
    """A fact: a key, a content and a status.

    The table is clustered by the question that is asked before every turn, "what does this agent
    know?", and ``scope_id`` answers who recalls a row: its owner's profile id while it is held, 0 once it
    is confirmed, and minus its owner's id once it is rejected, when nobody recalls it. That one primary
    key is also all three uniqueness rules: one held row per owner and key, one confirmed row per key,
    one rejected row per owner and key.
    """

    __tablename__ = "agent_memory"

    organisation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    definition_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    scope_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_key: Mapped[str] = mapped_column(CodePointText, primary_key=True)
    id: Mapped[int]
    status: Mapped[Status]
    content: Mapped[str]
    search_text: Mapped[str | None] = mapped_column(CodePointText)
    """Key and content casefolded, for the administrators' search; nothing for a personal memory."""
    version: Mapped[int] = mapped_column(Integer)
    stated_by_id: Mapped[int | None]
    stated_at: Mapped[dt.datetime]
    """When it was stated, or last became a proposal. Rewording does not move it."""
    created_at: Mapped[dt.datetime]
    updated_at: Mapped[dt.datetime]
    decided_by_id: Mapped[int | None]
    decided_at: Mapped[dt.datetime | None]
    decision_reason: Mapped[str] = mapped_column(server_default="")

    stated_by: Mapped[Profile | None] = relationship(
        viewonly=True,
        lazy="raise",
        primaryjoin=lambda: and_(
            AgentMemory.organisation_id == Profile.organisation_id,
            AgentMemory.stated_by_id == Profile.id,
        ),
        foreign_keys=lambda: [AgentMemory.stated_by_id],
    )
    decided_by: Mapped[Profile | None] = relationship(
        viewonly=True,
        lazy="raise",
        primaryjoin=lambda: and_(
            AgentMemory.organisation_id == Profile.organisation_id,
            AgentMemory.decided_by_id == Profile.id,
        ),
        foreign_keys=lambda: [AgentMemory.decided_by_id],
    )

    __table_args__ = (
        UniqueConstraint("organisation_id", "id"),
        ForeignKeyConstraint(
            ["organisation_id", "definition_id"],
            ["agent_definition.organisation_id", "agent_definition.id"],
        ),
        ForeignKeyConstraint(
            ["organisation_id", "definition_id", "stated_by_id"],
            ["agent.organisation_id", "agent.definition_id", "agent.owner_id"],
        ),
        ForeignKeyConstraint(["organisation_id", "decided_by_id"], ["profile.organisation_id", "profile.id"]),
        CheckConstraint(SCOPE_FOLLOWS_STATUS, name="scope_follows_status"),
        CheckConstraint(DECISION_FOLLOWS_STATUS, name="decision_follows_status"),
        CheckConstraint("(status = 'personal') = (search_text IS NULL)", name="search_text_follows_status"),
        CheckConstraint("id > 0", name="id_positive"),
        # The status is in them although their conditions tell it: SQLite would look it up in each row.
        Index(
            "ix_agent_memory_queue",
            "organisation_id",
            "definition_id",
            "stated_at",
            "id",
            "status",
            info={WHERE: "status = 'proposed'"},
        ),
        Index(
            "ix_agent_memory_rejected",
            "organisation_id",
            "definition_id",
            "decided_at",
            "id",
            "status",
            info={WHERE: "status = 'rejected'"},
        ),
        # Looks a key up across the people who stated it: is it closed, and which proposals compete?
        Index(
            "ix_agent_memory_key",
            "organisation_id",
            "definition_id",
            "memory_key",
            "stated_at",
            "id",
            "status",
            info={WHERE: "status IN ('proposed', 'rejected')"},
        ),
        {"sqlite_with_rowid": False},
    )
    # Confirming moves the row within the table's primary key; which memory it is does not change.
    __mapper_args__ = {"primary_key": ["organisation_id", "id"]}  # noqa: RUF012 - declared so by the base


class MemoryEvent(Base):
    """One change of one memory: when, what, from which status to which, and who did it. No content.

    The events of a memory are numbered like its versions, and its deletion takes the next number; so
    the primary key alone forbids that a change is recorded twice.
    """

    __tablename__ = "memory_event"

    organisation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    memory_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    definition_id: Mapped[int]
    at: Mapped[dt.datetime]
    action: Mapped[EventAction]
    status_before: Mapped[Status | None]
    status_after: Mapped[Status | None]
    memory_key: Mapped[str | None] = mapped_column(CodePointText)
    """The key of an account fact, so that administrators can read its history; else nothing."""
    actor_kind: Mapped[ActorKind]
    actor_id: Mapped[int | None]
    """The person who acted, or whose agent did; nothing for the command line and erased people."""

    actor: Mapped[Profile | None] = relationship(
        viewonly=True,
        lazy="raise",
        primaryjoin=lambda: and_(
            MemoryEvent.organisation_id == Profile.organisation_id, MemoryEvent.actor_id == Profile.id
        ),
        foreign_keys=lambda: [MemoryEvent.actor_id],
    )

    __table_args__ = (
        ForeignKeyConstraint(
            ["organisation_id", "definition_id"],
            ["agent_definition.organisation_id", "agent_definition.id"],
        ),
        ForeignKeyConstraint(["organisation_id", "actor_id"], ["profile.organisation_id", "profile.id"]),
        # Events without a key are nobody's history, so they cost these indexes nothing.
        Index(
            "ix_memory_event_history",
            "organisation_id",
            "definition_id",
            "at",
            "memory_id",
            "version",
            info={WHERE: "memory_key IS NOT NULL"},
        ),
        Index(
            "ix_memory_event_key",
            "organisation_id",
            "definition_id",
            "memory_key",
            "at",
            "memory_id",
            "version",
            info={WHERE: "memory_key IS NOT NULL"},
        ),
        {"sqlite_with_rowid": False},
    )


class SignInSession(Base):
    """Somebody is signed in. The browser holds a random token, this row only its digest."""

    __tablename__ = "sign_in_session"
    __table_args__ = (
        ForeignKeyConstraint(["organisation_id", "profile_id"], ["profile.organisation_id", "profile.id"]),
        Index("ix_sign_in_session_profile", "organisation_id", "profile_id"),
        Index("ix_sign_in_session_created_at", "created_at"),
    )

    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    organisation_id: Mapped[int]
    profile_id: Mapped[int]
    created_at: Mapped[dt.datetime]
    seen_at: Mapped[dt.datetime]


class OneTimeLink(Base):
    """A link with which somebody sets a password, once. Its address holds a random token, this row a digest.

    Nobody has two: a newer link takes the row of the older one.
    """

    __tablename__ = "one_time_link"
    __table_args__ = (
        ForeignKeyConstraint(["organisation_id", "profile_id"], ["profile.organisation_id", "profile.id"]),
        UniqueConstraint("token_digest"),
    )

    organisation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    profile_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32))
    expires_at: Mapped[dt.datetime]


class SignInThrottle(Base):
    """Failed sign-ins of one address from one client; ``subject`` is a digest of the two."""

    __tablename__ = "sign_in_throttle"
    __table_args__ = (Index("ix_sign_in_throttle_failed_at", "failed_at"),)

    subject: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    failures: Mapped[int] = mapped_column(Integer)
    failed_at: Mapped[dt.datetime]
    blocked_until: Mapped[dt.datetime | None]
