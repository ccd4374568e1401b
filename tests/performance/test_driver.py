"""What runs on the driver itself fails as what SQLAlchemy runs does, and leaves the same state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import bindparam, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from portal.database import Database
from portal.models import Organisation
from portal.transactions import Work, after_commit, change_in, fetch_in, send_in
from tests.databases import opened
from tests.factories import create_personas
from tests.postgres import PostgresServer

RENAME = (
    update(Organisation).values(slug=bindparam("new_slug")).where(Organisation.slug == bindparam("old_slug"))
)
SLUGS = select(Organisation.slug).order_by(Organisation.slug)


def slugs(database: Database) -> list[str]:
    return database.read(lambda session: [slug for (slug,) in fetch_in(session, SLUGS, {})])


def rename(work: Work, old: str, new: str) -> int:
    return change_in(work, RENAME, {"old_slug": old, "new_slug": new})


def begin_to_rename(work: Work, old: str, new: str) -> None:
    send_in(work, RENAME, {"old_slug": old, "new_slug": new})


Writer = Callable[[Callable[[Any], Any]], Any]
"""One of the two ways to write."""


@pytest.fixture(params=["in a session", "without one"])
def write(request: pytest.FixtureRequest, database: Database) -> Writer:
    create_personas(database)
    return database.write if request.param == "in a session" else database.write_on_driver


def test_a_change_tells_how_many_rows_it_changed(database: Database, write: Writer) -> None:
    assert write(lambda work: rename(work, "acme", "zebra")) == 1
    assert write(lambda work: rename(work, "nobody", "somebody")) == 0
    assert slugs(database) == ["globex", "zebra"]


def test_what_is_sent_is_done_before_what_is_asked_next_and_by_the_end(
    database: Database, write: Writer
) -> None:
    def rename_twice(work: Work) -> int:
        begin_to_rename(work, "acme", "zebra")
        changed = rename(work, "zebra", "yak")
        begin_to_rename(work, "globex", "emu")
        return changed

    assert write(rename_twice) == 1
    assert slugs(database) == ["emu", "yak"]


@pytest.mark.parametrize("second", [rename, begin_to_rename])
def test_a_constraint_is_told_as_sqlalchemy_tells_it_and_all_is_rolled_back(
    database: Database, write: Writer, second: Callable[[Work, str, str], object]
) -> None:
    def rename_both(work: Work) -> None:
        rename(work, "acme", "zebra")
        second(work, "globex", "zebra")

    with pytest.raises(IntegrityError):
        write(rename_both)
    assert slugs(database) == ["acme", "globex"]


def test_whoever_gives_up_leaves_nothing(database: Database, write: Writer) -> None:
    def give_up(work: Work) -> None:
        rename(work, "acme", "zebra")
        begin_to_rename(work, "globex", "emu")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write(give_up)
    assert slugs(database) == ["acme", "globex"]


def test_what_happens_after_the_commit_happens_once_and_not_without_it(
    database: Database, write: Writer
) -> None:
    seen: list[list[str]] = []

    def rename_and_tell(work: Work, new: str) -> None:
        rename(work, "acme", new)
        after_commit(work, lambda: seen.append(slugs(database)))

    with pytest.raises(IntegrityError):
        write(lambda work: rename_and_tell(work, "globex"))
    write(lambda work: rename_and_tell(work, "zebra"))
    assert seen == [["globex", "zebra"]]


@pytest.mark.postgres
@pytest.mark.parametrize("way", [Database.write, Database.write_on_driver])
def test_a_connection_that_is_gone_leaves_the_pool(
    postgres_server: PostgresServer, way: Callable[[Database, Callable[[Any], Any]], Any]
) -> None:
    with postgres_server.migrated() as url, opened(url) as database:
        create_personas(database)

        def lose_connection(work: Work) -> None:
            fetch_in(work, text("SELECT pg_terminate_backend(pg_backend_pid())"), {})

        with pytest.raises(DBAPIError) as refusal:
            way(database, lose_connection)
        assert refusal.value.connection_invalidated
        assert way(database, lambda work: rename(work, "acme", "zebra")) == 1
