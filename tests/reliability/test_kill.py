"""Writers are killed in the middle of whatever they do, and what they were told stands."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

import pytest

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Agent
from tests.databases import opened
from tests.factories import create_personas
from tests.invariants import assert_invariants, read_state
from tests.reliability.arena import assert_file_is_sound
from tests.reliability.crowds import PROCESSES
from tests.scale import at_scale

KILLS = at_scale(30)
ANSWER_WITHIN_S = 60

Memories = dict[str, tuple[str, str]]
"""What an agent holds: content and status by key."""


@dataclass(frozen=True)
class Step:
    """One call of a writer. They follow from their numbers, so the test knows them without being told."""

    call: str
    key: str
    content: str

    def make(self, manager: AgentMemoryManager, agent: Agent) -> bool:
        match self.call:
            case "remember":
                answer = manager.remember(agent, self.key, self.content)
            case "propose":
                answer = manager.propose_account_fact(agent, self.key, self.content)
            case _:
                answer = manager.forget(agent, self.key)
        return bool(json.loads(answer)["ok"])

    def applied_to(self, memories: Memories) -> Memories:
        match self.call:
            case "remember":
                return memories | {self.key: (self.content, "personal")}
            case "propose":
                return memories | {self.key: (self.content, "proposed")}
        return {key: memory for key, memory in memories.items() if key != self.key}


def steps() -> Iterator[Step]:
    """Yield what a writer does with each of three keys, so that every kind of change comes up."""
    calls = ("remember", "propose", "propose", "remember", "forget")
    for number in itertools.count():
        yield Step(calls[number // 3 % len(calls)], f"key_{number % 3}", f"text {number} " + "x" * 300)


def write(url: str, agent_id: int, told: Connection) -> None:
    """Do one step after the other, and tell of each when it was answered, until somebody kills us."""
    with opened(url) as database:
        manager = AgentMemoryManager(database)
        agent = manager.get_agent(agent_id)
        assert agent is not None
        for step in steps():
            told.send(step.make(manager, agent))


@dataclass
class Writer:
    """A process that writes for one agent, and what it said so far."""

    url: str
    agent: Agent

    def __post_init__(self) -> None:
        self._told, telling = PROCESSES.Pipe(duplex=False)
        self._process = PROCESSES.Process(target=write, args=(self.url, self.agent.id, telling))
        self._process.start()
        # Ours is the only other end then, so that the pipe ends with the process.
        telling.close()
        self.acknowledged = 0

    def wait_for(self, number: int) -> None:
        while self.acknowledged < number:
            assert self._told.poll(ANSWER_WITHIN_S)
            assert self._told.recv() is True
            self.acknowledged += 1

    def kill(self) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        try:
            self.wait_for(1_000_000)
        except EOFError:
            self._told.close()

    def may_have_written(self) -> list[Memories]:
        """Return what the agent may hold: all that was acknowledged, and perhaps the step after that."""
        memories: Memories = {}
        states = [memories]
        for step in itertools.islice(steps(), self.acknowledged + 1):
            memories = step.applied_to(memories)
            states.append(memories)
        return states[-2:]


def held(manager: AgentMemoryManager, agent: Agent) -> Memories:
    listed = json.loads(manager.list(agent))["memories"]
    return {memory["key"]: (memory["content"], memory["status"]) for memory in listed}


@pytest.mark.parametrize("number", range(KILLS))
def test_what_was_acknowledged_is_there_after_kill_9(database: Database, number: int) -> None:
    personas = create_personas(database)
    writers = [
        Writer(database.url, personas.agent(owner)) for owner in (personas.ada, personas.bob, personas.root)
    ]
    for writer in writers:
        # Each time somewhere else in what is done with a key.
        writer.wait_for(4 + 7 * number)
    for writer in writers:
        writer.kill()
    manager = AgentMemoryManager(database)
    for writer in writers:
        assert held(manager, writer.agent) in writer.may_have_written()
    assert_invariants(database)
    assert_file_is_sound(database)
    # Whoever comes next finds nothing locked.
    assert json.loads(manager.remember(writers[0].agent, "afterwards", "text"))["ok"]
    assert len(read_state(database).agents) == len(writers)
