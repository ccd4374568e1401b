"""Whoever is killed between UPDATE and COMMIT, or in the middle of a migration, has done nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from tests.databases import Databases, opened
from tests.factories import Personas, create_personas
from tests.invariants import assert_invariants, assert_nothing_written, read_state
from tests.migrations.schema import read_schema
from tests.reliability.arena import assert_file_is_sound
from tests.reliability.crowds import Job, directory, manager
from tests.reliability.pauses import do_until_commit, kill_when_it_stops, upgrade_until
from tests.scale import at_scale

KILLS = at_scale(30)

remember = AgentMemoryManager.remember


JOBS: Mapping[str, Callable[[Personas, Mapping[str, int]], Job]] = {
    "remember": lambda people, _: manager(remember, people.agent(people.ada), "new", "text"),
    "replace": lambda people, _: manager(remember, people.agent(people.ada), "held", "other"),
    "propose": lambda people, _: manager(
        AgentMemoryManager.propose_account_fact, people.agent(people.ada), "held", "text"
    ),
    "forget": lambda people, _: manager(AgentMemoryManager.forget, people.agent(people.ada), "held"),
    "confirm": lambda people, ids: manager(
        AgentMemoryManager.decide_account_fact, ids["waiting"], people.acme, people.root, "confirm"
    ),
    "reopen": lambda people, ids: manager(
        AgentMemoryManager.reopen_account_fact, ids["confirmed"], people.acme, people.root
    ),
    "delete": lambda people, ids: manager(
        AgentMemoryManager.delete_memory, ids["confirmed"], people.acme, deleted_by=people.root
    ),
    "delete all": lambda people, _: manager(AgentMemoryManager.delete_own_memories, people.ada),
    "erase": lambda people, _: directory(Directory.erase_profile, people.ada),
    "end": lambda people, _: directory(Directory.delete_organisation, people.acme),
}


def furnish(database: Database, personas: Personas) -> dict[str, int]:
    """Let Ada have a memory of each kind, and return their ids."""
    calls, agent = AgentMemoryManager(database), personas.agent(personas.ada)
    calls.remember(agent, "held", "text")
    for key in ("waiting", "confirmed"):
        calls.propose_account_fact(agent, key, "text")
    ids = {row.memory_key: row.id for row in calls.find_own_memories(personas.acme, personas.ada, "support")}
    calls.decide_account_fact(ids["confirmed"], personas.acme, personas.root, "confirm")
    return ids


def test_what_was_not_committed_is_not_there_after_kill_9(database: Database) -> None:
    personas = create_personas(database)
    ids = furnish(database, personas)
    before = read_state(database)
    names = list(JOBS)
    for number in range(max(KILLS, len(names))):
        job = JOBS[names[number % len(names)]](personas, ids)
        # The last who has the file open leaves it as it is when it is killed, log and all.
        database.dispose()
        kill_when_it_stops(do_until_commit, database.url, job)
        assert_nothing_written(before, read_state(database))
    assert_invariants(database)
    assert_file_is_sound(database)
    # Whoever comes next finds nothing locked.
    answer = AgentMemoryManager(database).remember(personas.agent(personas.ada), "afterwards", "text")
    assert json.loads(answer)["ok"]


def test_an_upgrade_that_is_killed_has_changed_nothing_and_can_be_made_again(databases: Databases) -> None:
    with databases.migrated() as url, opened(url) as database:
        expected = read_schema(database)
    with databases.empty() as url, opened(url) as database:
        for number in range(at_scale(30)):
            # The last ones are more than there are statements, and come to COMMIT.
            kill_when_it_stops(upgrade_until, url, 4 + 3 * number if number else 10_000)
            assert read_schema(database) == {}
        database.upgrade()
        assert read_schema(database) == expected
        create_personas(database)
        assert_invariants(database)
        assert_file_is_sound(database)
