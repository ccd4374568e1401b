"""Statements on the driver itself fail as those of SQLAlchemy do, and leave the same state."""

from __future__ import annotations

import pytest
from sqlalchemy import bindparam, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from portal.database import Database, change_in, fetch_in
from portal.models import Organisation
from tests.databases import opened
from tests.factories import create_personas
from tests.postgres import PostgresServer

RENAME = (
    update(Organisation).values(slug=bindparam("new_slug")).where(Organisation.slug == bindparam("old_slug"))
)
SLUGS = select(Organisation.slug).order_by(Organisation.slug)


def slugs(database: Database) -> list[str]:
    return database.read(lambda session: [slug for (slug,) in fetch_in(session, SLUGS, {})])


def rename(session: Session, old: str, new: str) -> int:
    return change_in(session, RENAME, {"old_slug": old, "new_slug": new})


def test_a_change_tells_how_many_rows_it_changed(database: Database) -> None:
    create_personas(database)
    assert database.write(lambda session: rename(session, "acme", "zebra")) == 1
    assert database.write(lambda session: rename(session, "nobody", "somebody")) == 0
    assert slugs(database) == ["globex", "zebra"]


def test_a_constraint_is_told_as_sqlalchemy_tells_it_and_all_is_rolled_back(database: Database) -> None:
    create_personas(database)

    def rename_twice(session: Session) -> None:
        rename(session, "acme", "zebra")
        rename(session, "zebra", "globex")

    with pytest.raises(IntegrityError):
        database.write(rename_twice)
    assert slugs(database) == ["acme", "globex"]


@pytest.mark.postgres
def test_a_connection_that_is_gone_leaves_the_pool(postgres_server: PostgresServer) -> None:
    with postgres_server.migrated() as url, opened(url) as database:
        create_personas(database)

        def lose_connection(session: Session) -> None:
            fetch_in(session, text("SELECT pg_terminate_backend(pg_backend_pid())"), {})

        with pytest.raises(DBAPIError) as refusal:
            database.write(lose_connection)
        assert refusal.value.connection_invalidated
        assert database.write(lambda session: rename(session, "acme", "zebra")) == 1
