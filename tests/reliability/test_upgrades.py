"""A schema that is missing is made once, whoever asks for it at the same moment."""

from __future__ import annotations

from sqlalchemy import text

from portal.database import Database
from tests.databases import Databases, opened
from tests.reliability.arena import assert_file_is_sound, words
from tests.reliability.crowds import Crowd

ROUNDS = 2


def upgrade(database: Database) -> None:
    database.upgrade()


def test_of_many_upgrades_at_once_one_makes_the_schema(databases: Databases, crowd: Crowd) -> None:
    for _ in range(ROUNDS):
        with databases.empty() as url:
            outcomes = crowd.run(url, [[upgrade]] * 4)
            assert [words(outcome) for outcome in outcomes] == [{"done": 1}] * 4
            with opened(url) as database:
                versions = text("SELECT version_num FROM alembic_version")
                assert len(database.read(lambda session: session.scalars(versions).all())) == 1  # noqa: B023
                assert_file_is_sound(database)
