"""What the directory's parts share: finding a caller's object again in the database, and the locks.

Locks are taken in one order everywhere: organisation, profile, definition, agent, memory. On SQLite they
are no statements at all, because a writing transaction has the whole database to itself.

An agent's call locks its agent first, and the foreign keys of what it inserts then ask for the definition's
and the profile's rows. So whoever removes those locks them for change only, which foreign keys get past,
until the agents are locked too; the removal itself locks the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypedDict, TypeVar

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from portal.database import Database, constraint_name
from portal.errors import InvalidInput, NameTaken
from portal.models import Agent, AgentDefinition, Organisation, Profile
from portal.values import Clock, utc_now

Row = TypeVar("Row", Organisation, Profile, AgentDefinition, Agent)


class Lock(TypedDict, total=False):
    """The arguments of ``with_for_update``."""

    key_share: bool
    read: bool


# FOR NO KEY UPDATE: others may still insert rows that point here; a plain FOR UPDATE would deadlock with
# the foreign-key checks of those inserts.
FOR_CHANGE: Final[Lock] = {"key_share": True}
# FOR UPDATE: nobody else locks it in any way. For agents and memories, from which no lock leads upwards.
FOR_REMOVAL: Final[Lock] = {}
# FOR SHARE: the row neither changes nor goes until our own rows point to it. FOR KEY SHARE would let a
# removal begin, and then wait for us.
FOR_REFERENCE: Final[Lock] = {"read": True}

_FIELDS: dict[type, str] = {
    Organisation: "organisation",
    Profile: "profile",
    AgentDefinition: "definition",
    Agent: "agent",
}

# What PostgreSQL calls a constraint, what SQLite says in its place, and the argument that broke it.
_NAMES = {
    "uq_organisation_slug": "slug",
    "organisation.slug": "slug",
    "uq_profile_email_key": "email",
    "profile.email_key": "email",
}


class Part:
    """A part of the directory: it has a database and a clock.

    :param database: where everything is kept; it has to have the newest schema.
    :param clock: gives the time now, aware and in UTC.
    """

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock


def identify(row: Row, kind: type[Row]) -> int:
    """Return a row's id: the one thing that is believed of an object that a caller passes in.

    :raises TypeError: it is no such object.
    """
    if not isinstance(row, kind):
        raise TypeError(f"expected {kind.__name__}, not {type(row).__name__}")
    return row.id


def get_row(session: Session, kind: type[Row], row_id: int, lock: Lock | None = None) -> Row:
    """Return the row with that id as it stands now, locked until the transaction ends.

    :raises portal.errors.InvalidInput: it is gone; the field is the kind's name in lower case.
    """
    question = select(kind).where(kind.id == row_id).execution_options(populate_existing=True)
    if lock is not None:
        question = question.with_for_update(**lock)
    found = session.scalar(question)
    if found is None:
        raise InvalidInput(_FIELDS[kind], "this does not exist any more")
    return found


@contextmanager
def names_taken() -> Iterator[None]:
    """Turn the violation of a unique name inside the block into ``NameTaken``."""
    try:
        yield
    except IntegrityError as exc:
        field = _NAMES.get(constraint_name(exc))
        if field is None:
            raise
        raise NameTaken(field) from exc
