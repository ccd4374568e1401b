"""Scaling out on engines that exist: the large tables in eight parts, by organisation.

``make test-partitions`` runs the manager's whole suite on such tables; what only partitions have is here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.recall import LIST_ON_POSTGRESQL
from portal.transactions import compile_for_driver
from tests.databases import opened
from tests.partitions import LARGE_TABLES, partition
from tests.postgres import PostgresServer

PARTS = 8
ORGANISATIONS = 24

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def parts(postgres_server: PostgresServer) -> Iterator[Database]:
    """A database whose large tables are in parts, with an agent in each of many organisations."""
    with postgres_server.migrated() as url:
        partition(url, PARTS)
        with opened(url) as database:
            yield database


@pytest.fixture(scope="module")
def agents(parts: Database) -> list[Agent]:
    """An agent of each organisation, which has remembered something under the same key."""
    directory, manager, found = Directory(parts), AgentMemoryManager(parts), []
    for number in range(ORGANISATIONS):
        organisation = directory.create_organisation(name=f"Tenant {number}", slug=f"tenant-{number}")
        directory.define_agent(organisation, name="support", title="Support", memory_limit=2)
        owner = directory.create_profile(organisation, email=f"{number}@tenant.example", name="Owner")
        agent = directory.agent_for(owner, "support")
        manager.remember(agent, "language", f"Speaks the language of tenant {number}")
        found.append(agent)
    return found


def query(database: Database, statement: str) -> list[Any]:
    return database.read(lambda session: list(session.execute(text(statement)).all()))


@pytest.mark.usefixtures("agents")
@pytest.mark.parametrize("table", LARGE_TABLES)
def test_organisations_spread_over_the_parts(parts: Database, table: str) -> None:
    per_part = query(parts, f"SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1")  # noqa: S608
    assert len(per_part) > PARTS // 2
    assert sum(number for _, number in per_part) == ORGANISATIONS


def test_an_organisation_is_in_one_part(parts: Database, agents: list[Agent]) -> None:
    manager = AgentMemoryManager(parts)
    manager.remember(agents[0], "second", "Another fact")
    places = "SELECT organisation_id, count(DISTINCT tableoid) FROM agent_memory GROUP BY 1"
    assert {number for _, number in query(parts, places)} == {1}


def test_list_reads_one_part_and_leaves_the_others_alone(parts: Database, agents: list[Agent]) -> None:
    statement = compile_for_driver(LIST_ON_POSTGRESQL, "postgresql")
    with parts.engine.connect() as connection:
        plan = [
            row[0]
            for row in connection.exec_driver_sql(
                f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {statement}",
                {"agent_id": agents[0].id},
            )
        ]
    looks = [line for line in plan if " on agent_memory_" in line and "Bitmap Heap" not in line]
    assert looks
    read = [line for line in looks if "never executed" not in line]
    # One look at what the agent holds and one at the account's facts, both in the organisation's part.
    assert len(read) == 2
    assert len({line.split(" on agent_memory_")[1].split("_")[0].split()[0] for line in read}) == 1


def test_ceilings_and_uniqueness_hold_in_parts(parts: Database, agents: list[Agent]) -> None:
    manager, agent = AgentMemoryManager(parts), agents[1]
    assert json.loads(manager.remember(agent, "Language", "Changed"))["outcome"] == "replaced"
    assert json.loads(manager.remember(agent, "second", "Fits"))["outcome"] == "created"
    assert json.loads(manager.remember(agent, "third", "Does not fit"))["error"] == "limit_reached"
