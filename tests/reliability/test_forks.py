"""A pre-forking server makes the database, and perhaps uses it, before there are workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from portal.database import Database
from tests.factories import create_personas
from tests.reliability.arena import assert_file_is_sound

ROOT = Path(__file__).parent.parent.parent

ENDS_WITHIN_S = 300
"""Only what hangs takes longer, also on one core beside the hammer's sixteen processes."""

FORK = """
import json, os, sys
from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager

url, when = sys.argv[1:]
database = Database(url)
directory, manager = Directory(database), AgentMemoryManager(database)
other = Directory(Database(url))
agent = other.agent_for(other.find_profile("ada@acme.example"), "support")
other._database.dispose()

def remember(key):
    assert json.loads(manager.remember(agent, key, "text"))["ok"]

if when == "used":
    remember("before_the_fork")
to_child, from_parent = os.pipe()
to_parent, from_child = os.pipe()
child = os.fork()
if child == 0:
    remember("in_the_child")
    os.write(from_child, b".")
    os.read(to_child, 1)
    # The parent has closed its own connections by now.
    remember("in_the_child_later")
    database.dispose()
    os._exit(0)
os.read(to_parent, 1)
remember("in_the_parent")
database.dispose()
os.write(from_parent, b".")
assert os.waitpid(child, 0)[1] == 0
remember("in_the_parent_later")
print(*(memory["key"] for memory in json.loads(manager.list(agent))["memories"]))
database.dispose()
"""
WRITTEN = ["in_the_child", "in_the_child_later", "in_the_parent", "in_the_parent_later"]


@pytest.mark.parametrize(("when", "before"), [("unused", []), ("used", ["before_the_fork"])])
def test_a_database_is_shared_across_a_fork_and_no_write_is_lost(
    database: Database, when: str, before: list[str]
) -> None:
    personas = create_personas(database)
    personas.agent(personas.ada)
    # Only the two have it open, so that one of them is the last.
    database.dispose()
    # A connection of the parent to PostgreSQL must not be closed by the child, which psycopg thinks careless.
    ignored = [] if database.is_sqlite else ["-W", "ignore::ResourceWarning"]
    command = [sys.executable, "-W", "error", *ignored, "-c", FORK, database.url, when]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=ENDS_WITHIN_S
    )
    assert (done.returncode, without_reset_bug(done.stderr)) == (0, "")
    assert done.stdout.split() == [*before, *WRITTEN]
    assert_file_is_sound(database)


def without_reset_bug(errors: str) -> str:
    return "".join(line for line in errors.splitlines(keepends=True) if not line.startswith("SQLite 3."))
