"""A process that stops where a test wants it to, and is killed there."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection

from sqlalchemy import Engine, event

from tests.databases import opened
from tests.reliability.crowds import PROCESSES, Job
from tests.reliability.failing import failing

STOPS_WITHIN_S = 60


def do_until_commit(url: str, job: Job, reached: Connection) -> None:
    """Do a job, and stop for good when everything is written and nothing is committed."""
    with opened(url) as database, failing(database) as faults:
        faults.before_commit = lambda: stop(reached)
        job(database)
    reached.send("done")


def upgrade_until(url: str, statement: int, reached: Connection) -> None:
    """Bring a schema up to date, and stop for good before the n-th statement, or at last before COMMIT."""
    numbers = itertools.count(1)

    def stop_in_time(*_: object) -> None:
        if next(numbers) == statement:
            stop(reached)

    event.listen(Engine, "before_cursor_execute", stop_in_time)
    event.listen(Engine, "commit", lambda _: stop(reached))
    with opened(url) as database:
        database.upgrade()
    reached.send("done")


def stop(reached: Connection) -> None:
    reached.send("here")
    # Nobody sends anything: the process waits until it is killed.
    reached.recv()


def kill_when_it_stops(work: Callable[..., None], *arguments: object) -> None:
    """Let a process do something until it stops by itself, and kill it there: it has no time to clean up."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=work, args=(*arguments, theirs))
    process.start()
    theirs.close()
    assert ours.poll(STOPS_WITHIN_S)
    assert ours.recv() == "here"
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    ours.close()
