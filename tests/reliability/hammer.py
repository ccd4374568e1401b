"""Many processes that do everything at once, each of which writes down what it asked and what it was told."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from portal.database import Database
from portal.errors import AgentMemoryError
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory, Organisation, Profile
from portal.values import Status
from tests.reliability.crowds import Processes

LIMITS: dict[str, Any] = {
    "memory_limit": 6,
    "memory_characters": 200,
    "proposal_limit": 3,
    "account_fact_limit": 4,
    "account_fact_characters": 120,
}
AGENTS_SHARE = 0.8
"""How many of all calls are agents'."""
KEYS = [f"key_{number}" for number in range(9)]

Reading = dict[str, Any]
Decide = Callable[["Caller", AgentMemory], str]


@dataclass(frozen=True)
class Line:
    """One call: when it began and ended by a clock that all processes share, and what it was told."""

    began: int
    ended: int
    caller: int
    call: str
    subject: int
    """The owner of the agent, or the memory that was decided on."""
    key: str | None
    content: str | None
    word: str
    """What came of it, in one word; for a fault, what the driver said."""
    version: int | None = None
    reading: Reading | None = None


def read_history(folder: Path) -> list[Line]:
    """Return what all callers wrote down, in the order in which the calls began."""
    lines = [
        Line(**json.loads(line)) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    return sorted(lines, key=lambda line: line.began)


@dataclass(frozen=True)
class Hammer:
    """What one process does: so many calls of all kinds, chosen by a seed. It is sent to that process."""

    folder: Path
    number: int
    calls: int
    agents: list[Agent]
    organisation: Organisation
    administrator: Profile
    decides_in_two_steps: bool = False

    def __call__(self, database: Database) -> str:
        caller = Caller(self, AgentMemoryManager(database), database)
        with (self.folder / f"{self.number}.jsonl").open("w") as file:
            for line in caller.lines():
                print(json.dumps(asdict(line)), file=file, flush=True)
        return json.dumps({"ok": True, "outcome": "done"})


class Caller:
    """Makes the calls of a hammer."""

    def __init__(self, hammer: Hammer, manager: AgentMemoryManager, database: Database) -> None:
        self.hammer, self.manager, self.database = hammer, manager, database
        self._random = random.Random(hammer.number)  # noqa: S311 - it has to be the same each time

    def lines(self) -> Iterator[Line]:
        """Make the calls, and tell of each."""
        for number in range(self.hammer.calls):
            yield self._agent_call(number) if self._random.random() < AGENTS_SHARE else self._decision()

    def _agent_call(self, number: int) -> Line:
        agent, key = self._random.choice(self.hammer.agents), self._random.choice(KEYS)
        call = self._random.choice(["remember", "propose", "propose", "forget", "list"])
        content = f"{self.hammer.number}-{number}".ljust(self._random.randrange(10, 60), ".")
        calls = {
            "remember": lambda: self.manager.remember(agent, key, content),
            "propose": lambda: self.manager.propose_account_fact(agent, key, content),
            "forget": lambda: self.manager.forget(agent, key),
            "list": lambda: self.manager.list(agent),
        }
        began = time.monotonic_ns()
        word, version, reading = read_answer(calls[call])
        told = key, content if call in {"remember", "propose"} else None
        return Line(
            began,
            time.monotonic_ns(),
            self.hammer.number,
            call,
            agent.owner_id,
            *told,
            word,
            version,
            reading,
        )

    def _decision(self) -> Line:
        """Decide on something that waits, or put an end to something that is decided."""
        where = self.hammer.organisation, "support"
        waiting = [*self.manager.find_proposed_account_facts(*where)]
        decided = [*self.manager.find_confirmed_account_facts(*where)]
        decided += self.manager.find_rejected_account_facts(*where)
        # All look for the same ones, so that they meet.
        chosen = self._random.choice((waiting[:2] or decided[:2]) + decided[:2] or [None])
        if chosen is None:
            return self._agent_call(-1)
        call = self._random.choice(
            ["confirm", "reject"] if chosen.status == Status.PROPOSED else ["delete", "reopen"]
        )
        began = time.monotonic_ns()
        word = self._do(chosen, call)
        return Line(
            began,
            time.monotonic_ns(),
            self.hammer.number,
            call,
            chosen.id,
            chosen.memory_key,
            chosen.content,
            word,
            chosen.version + 1,
        )

    def _do(self, memory: AgentMemory, call: str) -> str:
        where, who, version = self.hammer.organisation, self.hammer.administrator, memory.version
        try:
            if call == "delete":
                self.manager.delete_memory(memory.id, where, deleted_by=who, expected_version=version)
            elif call == "reopen":
                self.manager.reopen_account_fact(memory.id, where, who, expected_version=version)
            elif self.hammer.decides_in_two_steps:
                return decide_in_two_steps(self.database, memory, call)
            else:
                self.manager.decide_account_fact(memory.id, where, who, call, expected_version=version)
        except AgentMemoryError as refusal:
            return type(refusal).__name__
        except DBAPIError as error:
            return f"fault: {error.orig}"
        return "done"


def read_answer(call: Callable[[], str]) -> tuple[str, int | None, Reading | None]:
    """Return what an answer says in a word, the version, and what was read."""
    try:
        answer = json.loads(call())
    except DBAPIError as error:
        return f"fault: {error.orig}", None, None
    except AgentMemoryError as error:
        # Agents are answered, and nothing is raised.
        return f"fault: {error}", None, None
    if "memories" in answer:
        return "list", None, answer
    usage = {"usage": answer["usage"]} if "usage" in answer else None
    word = answer["outcome"] if answer["ok"] else answer["error"]
    return word, answer.get("memory", {}).get("version"), usage


def decide_in_two_steps(database: Database, memory: AgentMemory, call: str) -> str:
    """Look, and decide in another transaction without looking again: what must not be done."""
    status = text("SELECT status FROM agent_memory WHERE id = :id")
    seen = database.read(lambda session: session.scalar(status, {"id": memory.id}))
    if seen != Status.PROPOSED:
        return "AlreadyDecided"
    scope = "0" if call == "confirm" else "-stated_by_id"
    decide = text(
        f"UPDATE agent_memory SET status = :status, scope_id = {scope}, decided_at = 1 WHERE id = :id"  # noqa: S608
    )
    values = {"id": memory.id, "status": {"confirm": "confirmed", "reject": "rejected"}[call]}
    try:
        database.write(lambda session: session.execute(decide, values))
    except DBAPIError:
        return "KeyAlreadyConfirmed"
    return "done"


def swing(
    processes: Processes, database: Database, hammers: list[Hammer], kind: type[Database] = Database
) -> None:
    """Let every hammer fall at the same time."""
    outcomes = processes.run(database.url, [[hammer] for hammer in hammers], kind)
    assert all(outcome.word == "done" for (outcome,) in outcomes)
