"""Passwords that are quick to check, for tests that sign in many times.

A hash says itself how much work checking it takes, so these go through the same code as the real ones.
"""

from __future__ import annotations

from argon2 import PasswordHasher
from sqlalchemy import update

from portal.database import Database
from portal.models import Profile
from tests.factories import PASSWORD

QUICK_HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)


def give_everybody_a_password(database: Database) -> None:
    """Let everybody who is there sign in with the password of the personas."""
    database.write(lambda session: session.execute(update(Profile).values(password_hash=QUICK_HASH)))
