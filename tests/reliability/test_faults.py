"""Disks fill up, files cannot be written, locks are not given, servers go: it is said, and it passes."""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError
from werkzeug.test import TestResponse

from portal import connections
from portal import database as database_module
from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.operations.schema import sqlite_path
from tests.databases import Databases, opened
from tests.invariants import assert_invariants, read_state
from tests.postgres import PostgresServer
from tests.reliability.arena import assert_file_is_sound
from tests.reliability.disks import full, read_only, small_disk
from tests.reliability.proxy import Cut, Proxy
from tests.scale import FULL, SCALE, at_scale
from tests.web.pages import Page
from tests.web.visitors import Portal, Visitor, running_portal

ROUNDS = at_scale(10)
MOST_ATTEMPTS = 100
MOST_KEPT = 5
# A text that no database can store in much less space than it has characters.
A_LOT = hashlib.shake_256(b"").hexdigest(900)

Fault = Callable[[Portal], AbstractContextManager[None]]


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for locks as long as people do only at full size."""
    if SCALE < FULL:
        monkeypatch.setattr(connections, "SQLITE_BUSY_TIMEOUT_MS", 300)
        monkeypatch.setattr(database_module, "POSTGRES_LOCK_TIMEOUT_MS", 300)


def assert_unavailable(answer: TestResponse) -> None:
    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, "5")
    assert Page(answer.text).heading == "The database does not answer"


def assert_it_is_said_and_passes(portal: Portal, fault: Fault) -> None:
    """While the fault lasts nothing can be written, which everybody is told; afterwards all is as before."""
    personas = portal.personas
    personas.directory.define_agent(
        personas.acme, name="support", memory_limit=10_000, memory_characters=10**6
    )
    ada, agent = portal.visitor(personas.ada), personas.agent(personas.ada)
    for number in range(ROUNDS):
        keys = [f"fact_{number}_{attempt}" for attempt in range(MOST_KEPT)]
        for key in keys:
            portal.decide(portal.propose(personas.ada, key, A_LOT), "reject")
        page = ada.page("/me/support/")
        with fault(portal):
            acknowledged = remember_until_refused(portal.manager, agent, number)
            kept, refused = keep_until_refused(ada, page, keys)
        assert read_held(portal.manager, agent) == acknowledged | kept
        before = read_state(portal.database)
        assert ada.press(page, f"Keep it for my agent {refused}").status_code == 303
        assert len(read_state(portal.database).memories) == len(before.memories) + 1
        for key in {refused} | kept | acknowledged:
            assert json.loads(portal.manager.forget(agent, key))["ok"]
    assert_invariants(portal.database)
    assert_file_is_sound(portal.database)


def remember_until_refused(manager: AgentMemoryManager, agent: Agent, number: int) -> set[str]:
    """Write as long as there is room somewhere, and return the keys of what was acknowledged."""
    acknowledged: set[str] = set()
    for attempt in range(MOST_ATTEMPTS):
        key = f"lost_{number}_{attempt}"
        try:
            answer = manager.remember(agent, key, A_LOT)
        except DBAPIError:
            return acknowledged
        assert json.loads(answer)["ok"]
        acknowledged.add(key)
    pytest.fail("it could be written all the time")


def keep_until_refused(visitor: Visitor, page: Page, keys: Sequence[str]) -> tuple[set[str], str]:
    """Keep facts as long as there is room, and return what was kept, and the first that was not.

    Each connection of a server may know of a little room that the others do not know of.
    """
    kept: set[str] = set()
    for key in keys:
        answer = visitor.press(page, f"Keep it for my agent {key}")
        if answer.status_code != 303:
            assert_unavailable(answer)
            return kept, key
        kept.add(key)
    pytest.fail("it could be kept all the time")


def read_held(manager: AgentMemoryManager, agent: Agent) -> set[str]:
    return {memory["key"] for memory in json.loads(manager.list(agent))["memories"]}


# A disk without room


def test_sqlite_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path, mebibytes=4) as disk, opened(f"sqlite:///{disk / 'portal.db'}") as database:
        database.upgrade()

        @contextmanager
        def no_room(portal: Portal) -> Iterator[None]:
            # What is free in the log would be enough for a while.
            close(portal)
            with full(disk):
                yield

        with running_portal(database) as portal:
            assert_it_is_said_and_passes(portal, no_room)


@pytest.mark.postgres
def test_postgresql_on_a_full_disk(postgres_server: PostgresServer) -> None:
    with (
        small_disk(postgres_server.make_folder("small"), mebibytes=16) as disk,
        postgres_server.on_disk(disk) as url,
        opened(url) as database,
    ):
        database.upgrade()

        @contextmanager
        def no_room(_: Portal) -> Iterator[None]:
            with full(disk):
                yield

        with running_portal(database) as portal:
            assert_it_is_said_and_passes(portal, no_room)


# A file that cannot be written


def test_sqlite_in_a_folder_that_is_read_only(sqlite_database: Database) -> None:
    folder = Path(str(sqlite_path(sqlite_database))).parent

    @contextmanager
    def only_read(portal: Portal) -> Iterator[None]:
        close(portal)
        with read_only(folder):
            yield
        close(portal)

    with running_portal(sqlite_database) as portal:
        assert_it_is_said_and_passes(portal, only_read)


def close(portal: Portal) -> None:
    """Let go of the files that are open, as after a restart."""
    portal.database.dispose()
    portal.manager.dispose()


@pytest.fixture(scope="module")
def own_server(postgres_server: PostgresServer) -> Iterator[PostgresServer]:
    """A server that nobody else uses, to be stopped."""
    assert postgres_server.folder.exists()
    with PostgresServer() as server:
        yield server


@pytest.mark.postgres
def test_a_standby_until_it_takes_over(own_server: PostgresServer) -> None:
    @contextmanager
    def on_standby(_: Portal) -> Iterator[None]:
        own_server.stand_by()
        try:
            yield
        finally:
            own_server.take_over()

    with own_server.migrated() as url, opened(url) as database, running_portal(database) as portal:
        assert_it_is_said_and_passes(portal, on_standby)


# A lock that is not given


@pytest.mark.usefixtures("hurry")
def test_a_database_that_somebody_else_has_locked(databases: Databases) -> None:
    with databases.migrated() as url, opened(url) as database, running_portal(database) as portal:
        assert_it_is_said_and_passes(portal, locked)


@contextmanager
def locked(portal: Portal) -> Iterator[None]:
    """Hold the lock of everything that a write needs, as long as it takes."""
    if portal.database.is_sqlite:
        other = sqlite3.connect(str(sqlite_path(portal.database)), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        yield
        other.close()
        return
    with opened(portal.database.url) as database, database.engine.connect() as connection:
        options = connection.execution_options(postgresql_readonly=False)
        options.execute(text("LOCK TABLE agent, agent_definition IN EXCLUSIVE MODE"))
        yield


# Connections that are cut


@pytest.mark.postgres
@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_connection_that_is_cut_during_commit(
    postgres_server: PostgresServer, tmp_path: Path, cut: Cut
) -> None:
    """Whether the server heard of it or not, the whole change was made or nothing of it."""
    with (
        postgres_server.migrated() as url,
        Proxy(tmp_path, postgres_server.folder) as proxy,
        opened(through(tmp_path, url)) as database,
        running_portal(database) as portal,
    ):
        for number in range(ROUNDS):
            check_round(portal, proxy, cut, number)
        assert_invariants(database)


def through(folder: Path, url: str) -> str:
    return make_url(url).update_query_dict({"host": str(folder)}).render_as_string(hide_password=False)


def check_round(portal: Portal, proxy: Proxy, cut: Cut, number: int) -> None:
    """Cut an agent and an administrator off, who then do again what they do not know to be done."""
    personas, root = portal.personas, portal.visitor(portal.personas.root)
    agent = personas.agent(personas.ada)
    portal.propose(personas.ada, f"fact_{number}", "text")
    queue = root.page("/admin/support/")
    before = read_state(portal.database)
    proxy.next_cut = cut
    with pytest.raises(DBAPIError):
        portal.manager.remember(agent, f"key_{number}", "text")
    now = assert_invariants(portal.database, before)
    assert len(now.memories) == len(before.memories) + (cut == "after")
    proxy.next_cut = cut
    assert_unavailable(root.press(queue, f"Confirm fact_{number}"))
    assert count_confirmed(portal) == number + (cut == "after")
    assert json.loads(portal.manager.remember(agent, f"key_{number}", "text"))["ok"]
    assert root.press(queue, f"Confirm fact_{number}").status_code == 303
    assert count_confirmed(portal) == number + 1


def count_confirmed(portal: Portal) -> int:
    return len(portal.manager.find_confirmed_account_facts(portal.personas.acme, "support"))


# A server that is stopped or breaks down in the middle of everything


@pytest.mark.postgres
@pytest.mark.parametrize("end", ["restart", "crash"])
def test_a_server_that_ends_in_the_middle_of_everything(own_server: PostgresServer, end: str) -> None:
    """Nobody has to do anything: what was acknowledged is there, and the next call after it works."""
    with own_server.migrated() as url, opened(url) as database, running_portal(database) as portal:
        personas, ada = portal.personas, portal.visitor(portal.personas.ada)
        personas.directory.define_agent(personas.acme, name="support", memory_limit=10_000)
        agent = personas.agent(personas.ada)
        for number in range(ROUNDS):
            is_over = threading.Event()
            with ThreadPoolExecutor() as pool:
                written = pool.submit(write_until, is_over, portal.manager, agent, number)
                visited = pool.submit(visit_until, is_over, ada)
                time.sleep(TRAFFIC_S)
                {"restart": own_server.restart, "crash": own_server.crash}[end]()
                time.sleep(TRAFFIC_S)
                is_over.set()
                acknowledged = written.result()
                assert read_held(portal.manager, agent) >= acknowledged
                assert visited.result() <= {200, 503}
            assert_invariants(database)
            portal.manager.delete_own_memories(personas.ada)


TRAFFIC_S = 0.3
OWNERS_PAGES = ("/me/support/", "/me/support/prompt")


def write_until(is_over: threading.Event, manager: AgentMemoryManager, agent: Agent, number: int) -> set[str]:
    """Write all the time, and return the keys of what was acknowledged; the last one has to be."""
    acknowledged: set[str] = set()
    for attempt in itertools.count():
        key = f"key_{number}_{attempt}"
        was_over = is_over.is_set()
        try:
            assert json.loads(manager.remember(agent, key, "text"))["ok"]
            acknowledged.add(key)
        except OperationalError:
            assert not was_over
        if was_over:
            break
    return acknowledged


def visit_until(is_over: threading.Event, visitor: Visitor) -> set[int]:
    """Look at pages all the time, and return how they were answered; at last they are there again."""
    statuses = set()
    while not is_over.is_set():
        for path in OWNERS_PAGES:
            answer = visitor.get(path)
            statuses.add(answer.status_code)
            if answer.status_code == 503:
                assert_unavailable(answer)
    assert [visitor.get(path).status_code for path in OWNERS_PAGES] == [200, 200]
    return statuses
