"""What happens to a call whose connection, process or turn is not what it was."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from threading import Timer

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent
from tests.factories import create_personas


def end_all_others(database: Database) -> None:
    """End every other connection to this database, as a restart of the server would."""
    with Database(database.url).engine.connect() as connection:
        connection.execute(
            text(
                """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()"""
            )
        )
        connection.detach()


@pytest.fixture
def agent(postgres_database: Database) -> Agent:
    personas = create_personas(postgres_database)
    return personas.agent(personas.ada)


@pytest.mark.postgres
def test_a_connection_that_was_ended_just_now_is_replaced(postgres_database: Database, agent: Agent) -> None:
    manager = AgentMemoryManager(postgres_database)
    before = manager.list(agent)
    end_all_others(postgres_database)
    assert manager.list(agent) == before


@pytest.mark.postgres
def test_a_connection_that_was_ended_while_idle_is_not_used(
    postgres_database: Database, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = AgentMemoryManager(postgres_database)
    manager.list(agent)
    end_all_others(postgres_database)
    monkeypatch.setattr("portal.connections.PING_AFTER_IDLE_S", 0.0)
    assert '"outcome":"created"' in manager.remember(agent, "tone", "Formal")


def test_an_error_that_is_no_lost_connection_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    database = Database(f"sqlite:///{empty}")
    agent = Agent()
    agent.id = 1
    with pytest.raises(OperationalError, match="no such table"):
        AgentMemoryManager(database).list(agent)
    database.dispose()


def test_another_process_has_an_engine_of_its_own(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = database.engine
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert database.engine is not here
    monkeypatch.undo()
    assert os.getpid() != 1


def test_a_write_waits_for_its_turn_on_sqlite(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'portal.db'}")
    database.upgrade()
    personas = create_personas(database)
    agent = personas.agent(personas.ada)
    other = sqlite3.connect(tmp_path / "portal.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    end = Timer(0.3, other.rollback)
    end.start()
    answer = AgentMemoryManager(database).remember(agent, "tone", "Formal")
    end.join()
    other.close()
    assert '"outcome":"created"' in answer
    database.dispose()


def test_whoever_comes_second_finds_the_engine_made(database: Database) -> None:
    made = database.engine
    assert database._make_engines().read is made  # noqa: SLF001 - two threads get here together
