"""What a runtime may rely on: threads, async loops, forks, silence and types."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import pytest

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.tools import call, tools_for
from tests.factories import Personas, create_personas
from tests.invariants import assert_invariants

ROOT = Path(__file__).parent.parent


@pytest.fixture
def personas(database: Database) -> Personas:
    return create_personas(database)


# Async runtimes.


def test_fifty_calls_of_an_async_runtime_at_once_keep_the_ceiling(
    database: Database, personas: Personas
) -> None:
    personas.directory.define_agent(personas.acme, name="support", memory_limit=20)
    manager, agent = AgentMemoryManager(database), personas.agent(personas.ada)

    async def remember(number: int) -> str:
        arguments = {"memory_key": f"key {number}", "content": str(number)}
        return await asyncio.to_thread(call, manager, agent, "remember", arguments)

    async def run() -> list[str]:
        # As many threads as calls, else the default of a few would let them queue.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(50))
        return await asyncio.gather(*map(remember, range(50)))

    answers = [json.loads(answer) for answer in asyncio.run(run())]
    codes = Counter(answer.get("outcome") or answer["error"] for answer in answers)
    assert codes == {"created": 20, "limit_reached": 30}
    assert json.loads(manager.list(agent))["usage"]["memories"] == 20
    assert_invariants(database)


def test_fifty_agents_at_once_read_and_write_what_is_theirs(database: Database, personas: Personas) -> None:
    manager = AgentMemoryManager(database)
    people = [
        personas.directory.create_profile(personas.acme, email=f"p{number}@acme.example", name=f"P {number}")
        for number in range(50)
    ]
    agents = [personas.agent(person) for person in people]

    async def work(number: int) -> str:
        remember, _, _, list_memories = tools_for(manager, agents[number])
        await asyncio.to_thread(remember, "number", str(number))
        await asyncio.to_thread(manager.prompt_block, agents[number])
        return await asyncio.to_thread(list_memories)

    async def run() -> list[str]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(50))
        return await asyncio.gather(*map(work, range(50)))

    listed = [json.loads(answer)["memories"] for answer in asyncio.run(run())]
    assert [[memory["content"] for memory in memories] for memories in listed] == [
        [str(number)] for number in range(50)
    ]


# A server that forks.


@contextmanager
def forking_server(database: Database, agent_id: int, socket: Path) -> Iterator[httpx.Client]:
    """Three workers that were forked from a process which had used the memory already."""
    options = ["--preload", "--workers", "3", "--bind", f"unix:{socket}", "--no-control-socket"]
    command = [sys.executable, "-m", "gunicorn", *options, "tests.forking_app:app"]
    environment = os.environ | {"PORTAL_DATABASE_URL": database.url, "AGENT_ID": str(agent_id)}
    transport = httpx.HTTPTransport(uds=str(socket), retries=10)
    with (
        subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as server,
        httpx.Client(transport=transport, base_url="http://forked", timeout=30) as client,
    ):
        try:
            assert server.stderr is not None
            # Workers say so when they are there; what they say later fits into the pipe.
            booted = 0
            while booted < 3 and (line := server.stderr.readline()):
                booted += "Booting worker" in line
            yield client
        finally:
            server.terminate()
            server.communicate(timeout=30)


def test_workers_of_a_server_that_forks_have_connections_of_their_own(
    database: Database, personas: Personas, tmp_path: Path
) -> None:
    agent = personas.agent(personas.ada)

    def ask(number: int) -> Any:
        return client.get("/remember", params={"memory_key": f"key {number}", "content": str(number)}).json()

    with (
        forking_server(database, agent.id, tmp_path / "socket") as client,
        ThreadPoolExecutor(8) as visitors,
    ):
        told = list(visitors.map(ask, range(90)))
    assert {each["answer"]["outcome"] for each in told} == {"created"}
    processes = defaultdict(set)
    for each in told:
        processes[each["process"]].add(each["session"])
    assert len(processes) > 1
    if not database.is_sqlite:
        assert sum(map(len, processes.values())) == len(set().union(*processes.values()))
    listed = json.loads(AgentMemoryManager(database).list(agent))["memories"]
    assert {memory["key"] for memory in listed} == {"before_the_fork", *(f"key_{n}" for n in range(90))}
    assert_invariants(database)


# What else it may rely on.

QUIET = """
import sys, threading
from portal.manager import AgentMemoryManager
from portal.tools import call
manager = AgentMemoryManager.from_url(sys.argv[1])
agent = manager.get_agent(int(sys.argv[2]))
for arguments in ('{"memory_key": "a", "content": "b"}', "{", ""):
    call(manager, agent, "remember", arguments)
manager.prompt_block(agent)
assert threading.active_count() == 1, threading.enumerate()
manager.dispose()
"""


def test_a_runtime_hears_nothing_and_gets_no_threads(database: Database, personas: Personas) -> None:
    agent = personas.agent(personas.ada)
    command = [sys.executable, "-W", "error", "-c", QUIET, database.url, str(agent.id)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_two_threads_may_share_the_functions(database: Database, personas: Personas) -> None:
    remember, *_ = tools_for(AgentMemoryManager(database), personas.agent(personas.ada))
    barrier = threading.Barrier(2)

    def work(text: str) -> str:
        barrier.wait()
        return remember("key", text)

    with ThreadPoolExecutor(2) as threads:
        answers = [json.loads(answer) for answer in threads.map(work, ["one", "two"])]
    assert sorted(answer["memory"]["version"] for answer in answers) == [1, 2]


def test_the_package_says_that_it_is_typed() -> None:
    assert files("portal").joinpath("py.typed").is_file()
