"""Many callers at the same moment: threads that share one engine, or processes with an engine each."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeAlias

from portal.database import Database
from portal.directory import Directory
from portal.errors import AgentMemoryError
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory

Arguments = ParamSpec("Arguments")

# A method as its class has it, still to be given the object.
Method: TypeAlias = Callable[Concatenate[Any, Arguments], object]

Job = Callable[[Database], object]
"""Something to do with a database, told so that another process can do it."""

START_TIMEOUT_S = 60


@dataclass(frozen=True)
class Call:
    """One call of the manager or of the directory."""

    subject: type[AgentMemoryManager | Directory]
    method: Callable[..., object]
    arguments: tuple[object, ...]
    keywords: Mapping[str, object]

    def __call__(self, database: Database) -> object:
        return self.method(self.subject(database), *self.arguments, **self.keywords)


def manager(method: Method[Arguments], *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Call:
    """Return a call of a method of the manager."""
    return Call(AgentMemoryManager, method, arguments, keywords)


def directory(method: Method[Arguments], *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Call:
    """Return a call of a method of the directory."""
    return Call(Directory, method, arguments, keywords)


@dataclass(frozen=True)
class Outcome:
    """What came of a job: one word for it, and the memory that was answered, where there was one."""

    word: str
    version: int | None = None
    content: str | None = None


def do(job: Job, database: Database) -> Outcome:
    """Do a job. A refusal is an outcome, called by the name of its class; any other error is raised."""
    try:
        result = job(database)
    except AgentMemoryError as refusal:
        return Outcome(type(refusal).__name__)
    if isinstance(result, AgentMemory):
        return Outcome(result.status, result.version, result.content)
    if isinstance(result, str):
        answer = json.loads(result)
        memory = answer.get("memory", {})
        return Outcome(
            answer["outcome"] if answer["ok"] else answer["error"],
            memory.get("version"),
            memory.get("content"),
        )
    return Outcome("done")


class Crowd(Protocol):
    """Callers that start together."""

    size: int

    def run(
        self, url: str, parts: Sequence[Sequence[Job]], kind: type[Database] = Database
    ) -> list[list[Outcome]]:
        """Let each caller do the jobs of one part, one after the other, and return what came of them.

        :param parts: at most as many as the crowd is large.
        :param kind: how each process opens the database.
        """


@dataclass
class Desk:
    """Where callers find the database of their last run still open, as whoever serves for hours would."""

    database: Database | None = None

    def open(self, url: str, kind: type[Database]) -> Database:
        """Return the database behind a URL, opened the way of its kind."""
        if self.database is None or self.database.url != url or type(self.database) is not kind:
            self.close()
            self.database = kind(url)
        return self.database

    def close(self) -> None:
        if self.database is not None:
            self.database.dispose()


class Threads:
    """A crowd of threads in this process, which share one engine as long as the ``with`` block lasts."""

    size = 8

    def __init__(self) -> None:
        self._desk = Desk()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._desk.close()

    def run(
        self, url: str, parts: Sequence[Sequence[Job]], kind: type[Database] = Database
    ) -> list[list[Outcome]]:
        database = self._desk.open(url, kind)
        start = threading.Barrier(len(parts), timeout=START_TIMEOUT_S)

        def work(jobs: Sequence[Job]) -> list[Outcome]:
            start.wait()
            return [do(job, database) for job in jobs]

        with ThreadPoolExecutor(len(parts)) as pool:
            return list(pool.map(work, parts))


# A server that has imported the package forks the callers, so that a new one costs a few milliseconds.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.reliability.crowds"])


@dataclass
class Caller:
    """What a process of the crowd keeps between two runs."""

    desk: Desk = field(default_factory=Desk)
    start: Barrier | None = None


CALLER = Caller()


def _prepare(start: Barrier) -> None:
    CALLER.start = start


def _work(url: str, kind: type[Database], jobs: Sequence[Job]) -> list[Outcome]:
    database = CALLER.desk.open(url, kind)
    assert CALLER.start is not None
    CALLER.start.wait(START_TIMEOUT_S)
    return [do(job, database) for job in jobs]


@dataclass
class Processes:
    """A crowd of processes, each with an engine of its own. They live as long as the ``with`` block."""

    size: int = 4
    _pool: ProcessPoolExecutor = field(init=False)

    def __enter__(self) -> Self:
        self._pool = ProcessPoolExecutor(
            self.size, mp_context=PROCESSES, initializer=_prepare, initargs=(PROCESSES.Barrier(self.size),)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def run(
        self, url: str, parts: Sequence[Sequence[Job]], kind: type[Database] = Database
    ) -> list[list[Outcome]]:
        # Each process waits at the barrier, so each takes exactly one part.
        idle: list[Sequence[Job]] = [[]] * (self.size - len(parts))
        futures = [self._pool.submit(_work, url, kind, jobs) for jobs in [*parts, *idle]]
        return [future.result() for future in futures][: len(parts)]
