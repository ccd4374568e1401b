"""Each revision is reached from the one before it with rows in all tables, and loses none."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from portal import database as database_module
from portal.database import Database, migration_config
from portal.manager import AgentMemoryManager
from portal.models import Agent
from tests.databases import SqliteFiles, opened
from tests.invariants import assert_invariants
from tests.migrations.rows import Snapshot, insert_rows, only_columns_of, read_rows
from tests.migrations.schema import read_schema
from tests.reliability.arena import assert_file_is_sound

HEAD = "9999"
REVISION = """
import sqlalchemy as sa
from alembic import op

from portal.models import Base

revision = "{revision}"
down_revision = "{former}"


def rewritten(table, **options):
    # PostgreSQL never needs to copy a table.
    recreate = "always" if op.get_bind().dialect.name == "sqlite" else "never"
    return op.batch_alter_table(table, recreate=recreate, **options)


def upgrade():
"""


@pytest.fixture
def empty(database_url: str) -> Iterator[Database]:
    with opened(database_url) as database:
        yield database


AddRevision = Callable[[str], None]


@pytest.fixture
def add_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AddRevision:
    """A function that lets the package find one more revision for as long as the test runs."""
    package = Path(database_module.__file__).parent / "migrations" / "versions"

    def with_one_more(engine: Engine | None = None) -> Config:
        config = migration_config(engine)
        config.set_main_option("version_locations", f"{package}{os.pathsep}{tmp_path}")
        return config

    def add(body: str) -> None:
        head = ScriptDirectory.from_config(migration_config()).get_current_head()
        (tmp_path / "extra.py").write_text(REVISION.format(revision=HEAD, former=head) + body)
        monkeypatch.setattr(database_module, "migration_config", with_one_more)

    return add


def revisions() -> list[str]:
    """Return the revisions in the order in which they are applied."""
    scripts = ScriptDirectory.from_config(database_module.migration_config())
    return [script.revision for script in scripts.walk_revisions()][::-1]


def upgrade_step_by_step(database: Database) -> Snapshot:
    """Reach the newest schema by way of all others, each filled before the next, and return its rows."""
    before: Snapshot = {}
    for revision in revisions():
        database.upgrade(revision)
        reached = read_rows(database)
        assert only_columns_of(before, reached) == before
        insert_rows(database, revision)
        before = read_rows(database)
        assert [table for table, rows in before.items() if not rows] == []
    return before


def current_revision(database: Database) -> str:
    revision: str = database.read(
        lambda session: session.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    )
    return revision


def test_every_revision_keeps_the_rows_of_the_one_before(empty: Database) -> None:
    upgrade_step_by_step(empty)
    assert_file_is_sound(empty)


def test_what_came_all_the_way_is_a_database_that_works(empty: Database) -> None:
    upgrade_step_by_step(empty)
    assert_invariants(empty)
    manager, agent = AgentMemoryManager(empty), Agent(id=1)
    listed = json.loads(manager.list(agent))
    assert [memory["key"] for memory in listed["memories"]] == ["personal_key", "proposed_key"]
    assert [fact["content"] for fact in listed["account_facts"]] == ["Grüße, confirmed: 日本語 🇩🇪"]
    assert json.loads(manager.remember(agent, "new", "text"))["ok"]
    assert json.loads(manager.propose_account_fact(agent, "rejected key", "x"))["error"] == "already_rejected"


def test_step_by_step_and_at_once_lead_to_the_same_schema(empty: Database, database: Database) -> None:
    upgrade_step_by_step(empty)
    assert read_schema(empty) == read_schema(database)


def test_upgrading_again_changes_nothing(empty: Database) -> None:
    rows = upgrade_step_by_step(empty)
    schema = read_schema(empty)
    empty.upgrade()
    assert (read_rows(empty), read_schema(empty)) == (rows, schema)


# The mechanism, shown with one more revision that does what real ones will.

REWRITE_PARENTS = """
    for table in ("organisation", "profile", "agent_definition", "agent"):
        with rewritten(table) as batch:
            batch.add_column(sa.Column("note", sa.Text(), server_default="none", nullable=False))
"""
REWRITE_FAITHFULLY = """
    for table in Base.metadata.sorted_tables:
        with rewritten(table.name, copy_from=table):
            pass
"""
REWRITE_BY_REFLECTION = """
    with rewritten("agent_memory"):
        pass
"""
FAIL_LATE = """
    with rewritten("profile") as batch:
        batch.add_column(sa.Column("note", sa.Text(), server_default="none", nullable=False))
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    op.execute("UPDATE agent_memory SET content = 'rewritten'")
    op.execute("DELETE FROM memory_event")
    raise LookupError("late")
"""
LEAVE_ORPHANS = """
    op.execute("DELETE FROM sign_in_session")
    op.execute("DELETE FROM agent_definition WHERE id = 1")
"""


@pytest.mark.parametrize("body", [REWRITE_PARENTS, REWRITE_FAITHFULLY], ids=["parents", "all"])
def test_a_table_that_is_rewritten_loses_neither_its_rows_nor_those_that_refer_to_them(
    empty: Database, add_revision: AddRevision, body: str
) -> None:
    before = upgrade_step_by_step(empty)
    add_revision(body)
    empty.upgrade()
    assert current_revision(empty) == HEAD
    assert only_columns_of(before, read_rows(empty)) == before
    assert_file_is_sound(empty)
    # Whoever uses the database next has foreign keys again.
    with pytest.raises(DBAPIError):
        empty.write(lambda session: session.execute(text("DELETE FROM organisation")))
    assert json.loads(AgentMemoryManager(empty).remember(Agent(id=1), "new", "text"))["ok"]


def test_a_table_that_is_rewritten_from_its_definition_keeps_its_schema(
    empty: Database, add_revision: AddRevision
) -> None:
    empty.upgrade()
    before = read_schema(empty)
    add_revision(REWRITE_FAITHFULLY)
    empty.upgrade()
    assert read_schema(empty) == before


def test_a_table_that_is_rewritten_from_what_sqlite_reflects_is_seen_to_be_another(
    sqlite_files: SqliteFiles, add_revision: AddRevision
) -> None:
    """Reflection knows nothing of the clustering, so a revision has to say it again."""
    with sqlite_files.migrated() as url, opened(url) as database:
        before = read_schema(database)
        add_revision(REWRITE_BY_REFLECTION)
        database.upgrade()
        assert read_schema(database) != before


@pytest.mark.parametrize(
    ("body", "error"),
    [(FAIL_LATE, LookupError), (LEAVE_ORPHANS, (RuntimeError, DBAPIError))],
    ids=["raises", "orphans"],
)
def test_a_migration_that_fails_leaves_no_trace(
    empty: Database, add_revision: AddRevision, body: str, error: type[Exception]
) -> None:
    rows = upgrade_step_by_step(empty)
    schema, revision = read_schema(empty), current_revision(empty)
    add_revision(body)
    with pytest.raises(error):
        empty.upgrade()
    assert (read_rows(empty), read_schema(empty), current_revision(empty)) == (rows, schema, revision)
    assert_invariants(empty)
    assert json.loads(AgentMemoryManager(empty).remember(Agent(id=1), "new", "text"))["ok"]


def test_the_steps_take_in_whatever_revision_comes_next(empty: Database, add_revision: AddRevision) -> None:
    add_revision(REWRITE_PARENTS)
    assert revisions()[-1] == HEAD
    rows = upgrade_step_by_step(empty)
    assert {row["note"] for row in rows["profile"]} == {"none"}


def test_a_revision_that_loses_rows_is_seen(empty: Database, add_revision: AddRevision) -> None:
    add_revision("    op.execute('DELETE FROM sign_in_throttle')\n")
    with pytest.raises(AssertionError):
        upgrade_step_by_step(empty)
