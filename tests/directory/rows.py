"""What the tests look at beneath the directory: the rows themselves."""

from __future__ import annotations

import datetime as dt
import secrets

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from portal.database import Database
from portal.models import Base, Profile, SignInSession


def count_rows(database: Database) -> dict[str, int]:
    """Return how many rows each table has."""
    with database.engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def sign_in(database: Database, profile: Profile, at: dt.datetime) -> None:
    """Store a row as the portal does for a browser in which somebody signed in."""

    def work(session: Session) -> None:
        row = SignInSession(
            token_digest=secrets.token_bytes(32),
            organisation_id=profile.organisation_id,
            profile_id=profile.id,
            created_at=at,
            seen_at=at,
        )
        session.add(row)

    database.write(work)


def signed_in(database: Database) -> list[int]:
    """Return the ids of the profiles that are signed in somewhere."""
    question = select(SignInSession.profile_id).order_by(SignInSession.profile_id)
    return database.read(lambda session: list(session.scalars(question)))
