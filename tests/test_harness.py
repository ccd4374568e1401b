"""The ground that the other tests stand on: what it gives away has to be what it says."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from sqlalchemy import create_engine, inspect, text

from portal.database import Database
from tests.databases import Databases, opened
from tests.postgres import PostgresServer

SERVER_IN_A_PROCESS_OF_ITS_OWN = """
import time
from tests.postgres import PostgresServer
with PostgresServer() as server:
    print(server.folder, flush=True)
    time.sleep(60)
"""


def table_names(url: str) -> list[str]:
    """Look without our own `Database`, which refuses an SQLite file that nobody has made yet."""
    engine = create_engine(url)
    names = inspect(engine).get_table_names()
    engine.dispose()
    return names


def test_a_fresh_database_has_no_tables(database_url: str) -> None:
    assert table_names(database_url) == []


def test_a_migrated_database_has_the_memories_and_no_rows(database: Database) -> None:
    with database.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM agent_memory")) == 0


def test_two_databases_do_not_share_rows(databases: Databases) -> None:
    with databases.empty() as one, databases.empty() as other:
        with opened(one) as database:
            database.upgrade()
        assert "agent_memory" in table_names(one)
        assert table_names(other) == []


@pytest.mark.postgres
def test_the_servers_own_order_of_text_is_not_that_of_code_points(postgres_server: PostgresServer) -> None:
    """Else a column without its own collation would pass on this server and fail on somebody else's."""
    with postgres_server.empty() as url:
        engine = create_engine(url)
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT 'a' < 'B'")) is True
        engine.dispose()


@pytest.mark.postgres
@pytest.mark.usefixtures("postgres_server")
def test_the_server_ends_with_a_test_run_that_is_killed() -> None:
    command = [sys.executable, "-c", SERVER_IN_A_PROCESS_OF_ITS_OWN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        folder = Path(run.stdout.readline().strip())
        assert (folder / "data" / "postmaster.pid").exists()
        run.kill()
    assert disappears(folder)


def disappears(folder: Path) -> bool:
    give_up_at = time.monotonic() + 10
    while folder.exists() and time.monotonic() < give_up_at:
        time.sleep(0.05)
    return not folder.exists()


@pytest.mark.browser
def test_the_browser_runs_scripts_and_lays_out_a_page(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 600})
    page.set_content("<p>wide</p>")
    assert page.evaluate("document.querySelector('p').getBoundingClientRect().width") == 304
    page.close()
