"""How many statements a call makes, and how the database goes about them where there are many rows.

Plans are held, not times: every look at the two big tables is a search on the index that was made for it,
whatever else the table holds, and nothing long is sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, text

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory, MemoryEvent
from portal.reports import MemoryReports
from portal.review_queue import QueueQuestion
from portal.values import new_memory_id
from tests.databases import Databases, opened
from tests.factories import Clock, create_personas
from tests.manager.world import World
from tests.statements import Statement, statements

COLLEAGUES = 12
KEYS = 60
TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK", "PRAGMA")


@pytest.fixture(scope="module")
def office(databases: Databases) -> Iterator[World]:
    """Acme with a dozen more people, whose agents hold sixty memories each, every third of them proposed."""
    with databases.migrated() as url, opened(url) as database:
        clock = Clock()
        manager = AgentMemoryManager(database, clock=clock)
        world = World(database, manager, create_personas(database, clock=clock), clock)
        for number in range(COLLEAGUES):
            world.add_person(f"colleague_{number}")
        memories, events = [], []
        for name in (f"colleague_{number}" for number in range(COLLEAGUES)):
            for definition in ("support", "travel"):
                rows = [row_of(world, name, definition, number) for number in range(KEYS)]
                memories += [memory for memory, _ in rows]
                events += [event for _, event in rows]
        database.write(lambda session: session.execute(insert(AgentMemory), memories))
        database.write(lambda session: session.execute(insert(MemoryEvent), events))
        for key in ("office", "seat", "room"):
            world.propose("ada", key)
            world.propose("bob", key)
        world.decide("ada", "office", "confirm")
        world.decide("bob", "seat", "reject")
        world.remember("ada", "mine")
        if not database.is_sqlite:
            # A server does this by itself, but not at once.
            database.write(lambda session: session.execute(text("ANALYZE")))
        yield world


def row_of(world: World, name: str, definition: str, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a memory and its event."""
    agent, now = world.agent(name, definition), world.clock.now
    is_proposed = number % 3 == 0
    scope = {"organisation_id": agent.organisation_id, "definition_id": agent.definition_id}
    memory = scope | {
        "scope_id": agent.owner_id,
        "memory_key": f"key_{number}",
        "id": new_memory_id(),
        "status": "proposed" if is_proposed else "personal",
        "content": "text",
        "search_text": f"key_{number}\x1ftext" if is_proposed else None,
        "version": 1,
        "stated_by_id": agent.owner_id,
        "stated_at": now,
        "created_at": now,
        "updated_at": now,
        "decision_reason": "",
    }
    event = scope | {
        "memory_id": memory["id"],
        "version": 1,
        "at": now,
        "action": "proposed" if is_proposed else "remembered",
        "status_before": None,
        "status_after": memory["status"],
        "memory_key": memory["memory_key"] if is_proposed else None,
        "actor_kind": "agent",
        "actor_id": agent.owner_id,
    }
    return memory, event


def say(world: World, call: Callable[[], object]) -> Sequence[Statement]:
    """Make a call and return what the database was asked in it, but for BEGIN and COMMIT."""
    with statements(world.database) as seen:
        call()
    return [each for each in seen if not each.startswith(TRANSACTION)]


def explain(database: Database, statement: Statement) -> str:
    with database.engine.connect() as connection:
        if not database.is_sqlite:
            # The server would read a small table in one sweep.
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        prefix = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN (COSTS OFF) "
        rows = connection.exec_driver_sql(f"{prefix}{statement}", statement.parameters).all()
    return "\n".join(str(row[-1]) for row in rows)


ON_SQLITE = re.compile(
    r"(?:SEARCH|SCAN) (agent_memory|memory_event)\S*"
    + r"(?: USING (?:COVERING )?(?:INDEX )?(PRIMARY KEY|\w+)(?: \((.*)\))?)?"
)
ON_POSTGRESQL = re.compile(r"(?:using|Bitmap Index Scan on) ((?:pk|uq|ix)_(?:agent_memory|memory_event)\w*)")
NAMES = {
    "agent_memory PRIMARY KEY": "pk_agent_memory",
    "memory_event PRIMARY KEY": "pk_memory_event",
    "agent_memory sqlite_autoindex_agent_memory_2": "uq_agent_memory_organisation_id_id",
}


def searches(database: Database, statement: Statement) -> list[str]:
    """Return the indexes in which a statement looks for rows of the big tables.

    On SQLite each comes with the number of its columns that are searched for.
    """
    plan = explain(database, statement)
    if not database.is_sqlite:
        assert "Seq Scan on agent_memory" not in plan
        assert "Seq Scan on memory_event" not in plan
        return ON_POSTGRESQL.findall(plan)
    # It would read everything that a join might find, to know beforehand what it will not.
    assert "BLOOM FILTER" not in plan
    found = []
    for table, index, columns in ON_SQLITE.findall(plan):
        number = len(columns.replace(" AND ", ",").split(","))
        found.append(f"{NAMES.get(f'{table} {index}', index or 'everything')} {number}")
    return found


PK, ID = "pk_agent_memory", "uq_agent_memory_organisation_id_id 2"
# What an agent holds, to count it; then what it holds and what is confirmed under one key.
UNDER_KEY = [f"{PK} 3", f"{PK} 4", f"{PK} 4"]
QUEUE, REJECTED, KEY = "ix_agent_memory_queue", "ix_agent_memory_rejected", "ix_agent_memory_key"
EVENTS, HISTORY, KEY_HISTORY = "pk_memory_event 2", "ix_memory_event_history 2", "ix_memory_event_key 3"
Call = Callable[[], object]


def saying(name: str, key: str, *content: str) -> Callable[[World], Call]:
    return lambda world: partial(getattr(world.manager, name), world.agent("ada"), key, *content)


def replacing(world: World, key: str, status: str) -> Call:
    (world.remember if status == "personal" else world.propose)("ada", key, "before")
    return partial(world.manager.remember, world.agent("ada"), key, "after")


def forgetting(world: World) -> Call:
    world.remember("ada", "to_forget")
    return partial(world.manager.forget, world.agent("ada"), "to_forget")


def deciding(world: World, key: str, action: str) -> Call:
    world.propose("ada", key)
    memory_id = world.row("ada", key).id
    return partial(world.manager.decide_account_fact, memory_id, world.acme, world.root, action)


def reopening(world: World) -> Call:
    fact = world.confirmed("ada", "to_reopen")
    return partial(world.manager.reopen_account_fact, fact.id, world.acme, world.root)


def deleting(world: World) -> Call:
    fact = world.confirmed("ada", "to_delete")
    return partial(world.manager.delete_memory, fact.id, world.acme, deleted_by=world.root)


def keeping(world: World) -> Call:
    fact = world.rejected("ada", "to_keep")
    return partial(world.manager.keep_own_memory, fact.id, world.person("ada"))


def deleting_own(world: World) -> Call:
    world.remember("ada", "to_delete_own")
    memory = world.row("ada", "to_delete_own")
    return partial(world.manager.delete_own_memory, memory.id, world.person("ada"))


def finding(name: str, **more: Any) -> Callable[[World], Call]:
    return lambda world: partial(getattr(world.manager, name), world.acme, "support", **more)


def finding_own(world: World) -> Call:
    return partial(world.manager.find_own_memories, world.acme, world.person("ada"), "support")


def reporting(name: str, *more: Any, **named: Any) -> Callable[[World], Call]:
    return lambda world: partial(
        getattr(MemoryReports(world.database), name), world.acme, "support", *more, **named
    )


def showing_review(world: World) -> Call:
    return partial(
        MemoryReports(world.database).find_review_page, world.acme, QueueQuestion("support", limit=5)
    )


# The call, how many statements it makes, and where these look in the two big tables.
CALLS: dict[str, tuple[Callable[[World], Call], int, list[str]]] = {
    "remember": (saying("remember", "new", "text"), 4, UNDER_KEY),
    "remember again": (saying("remember", "mine", "text"), 2, UNDER_KEY),
    "replace": (lambda world: replacing(world, "r", "personal"), 4, [*UNDER_KEY, ID]),
    "withdraw": (
        lambda world: replacing(world, "w", "proposed"),
        5,
        [*UNDER_KEY, EVENTS, ID],
    ),
    "propose": (
        saying("propose_account_fact", "news", "text"),
        5,
        [*UNDER_KEY, f"{KEY} 3"],
    ),
    "forget": (forgetting, 4, [*UNDER_KEY, ID]),
    "confirm": (
        lambda world: deciding(world, "to_confirm", "confirm"),
        10,
        [ID, ID, f"{PK} 4", f"{PK} 3", ID, ID],
    ),
    "reject": (lambda world: deciding(world, "to_reject", "reject"), 8, [ID, ID, ID, ID]),
    "decide delete": (lambda world: deciding(world, "to_drop", "delete"), 7, [ID, ID, ID]),
    "reopen": (reopening, 10, [ID, ID, f"{PK} 4", f"{PK} 3", ID, ID]),
    "delete": (deleting, 7, [ID, ID, ID]),
    "keep": (keeping, 8, [ID, ID, *UNDER_KEY, ID]),
    "delete own": (deleting_own, 6, [ID, ID, ID]),
    "proposed": (finding("find_proposed_account_facts", limit=5), 3, [f"{QUEUE} 2", f"{QUEUE} 2"]),
    "confirmed": (finding("find_confirmed_account_facts", limit=5), 3, [f"{PK} 3", f"{PK} 3"]),
    "rejected": (finding("find_rejected_account_facts", limit=5), 3, [f"{REJECTED} 2", f"{REJECTED} 2"]),
    "own": (finding_own, 2, [f"{PK} 3"]),
    # A key's oldest proposal is the one that has no older one beside it.
    "queue": (
        finding("find_review_queue", limit=5),
        3,
        [f"{QUEUE} 2", f"{KEY} 4", f"{KEY} 3", f"{PK} 4", f"{QUEUE} 2"],
    ),
    "queue by key": (
        finding("find_review_queue", limit=5, sort="key"),
        3,
        [f"{KEY} 2", f"{KEY} 4", f"{KEY} 3", f"{PK} 4", f"{QUEUE} 2"],
    ),
    "queue with a search": (
        finding("find_review_queue", limit=5, search="text"),
        3,
        [
            *(f"{QUEUE} 2", f"{KEY} 4", f"{KEY} 3", f"{KEY} 3", f"{PK} 4"),
            f"{QUEUE} 2",
        ],
    ),
    "whole queue": (
        finding("find_review_queue"),
        2,
        [f"{QUEUE} 2", f"{KEY} 4", f"{KEY} 3", f"{PK} 4"],
    ),
    "events": (reporting("find_events", limit=5), 3, [HISTORY, KEY_HISTORY]),
    "events of a key": (
        reporting("find_events", memory_key="room", limit=5),
        3,
        [KEY_HISTORY, KEY_HISTORY],
    ),
    "events of a fact": (reporting("find_events", memory_id=17, limit=5), 3, [EVENTS, EVENTS]),
    "review page": (
        showing_review,
        5,
        [
            *(f"{QUEUE} 2", f"{KEY} 4", f"{KEY} 3", EVENTS, f"{PK} 4", EVENTS, f"{QUEUE} 2"),
            *(f"{QUEUE} 2", f"{PK} 3", f"{REJECTED} 2", f"{QUEUE} 1", f"{PK} 3"),
        ],
    ),
    "review counts": (
        reporting("find_review_counts"),
        2,
        [f"{QUEUE} 2", f"{PK} 3", f"{REJECTED} 2", f"{QUEUE} 1"],
    ),
    "counts": (reporting("find_shelf_counts"), 2, [f"{QUEUE} 2", f"{PK} 3", f"{REJECTED} 2"]),
    "arrivals": (reporting("count_arrivals", Clock().now), 2, [f"{QUEUE} 3"]),
}
# An agent's calls lock its row; on SQLite, where who writes is alone, that is one statement less.
LOCKING = {"remember", "remember again", "replace", "withdraw", "propose", "forget"}
# The server weighs some indexes differently: of those with the same beginning, any is as good.
AS_GOOD = {
    KEY: {KEY, QUEUE, REJECTED},
    QUEUE: {QUEUE, KEY},
    "uq_agent_memory_organisation_id_id": {"uq_agent_memory_organisation_id_id", KEY, QUEUE, REJECTED},
    "ix_memory_event_key": {"ix_memory_event_key", "ix_memory_event_history"},
}


def test_a_page_of_the_queue_tells_the_planner_how_many_keys_it_needs(office: World) -> None:
    # Where the number is bound, PostgreSQL plans for a tenth of all that wait, or plans each page anew.
    _, page, *_ = say(office, finding("find_review_queue", limit=5)(office))
    assert "LIMIT 6 OFFSET 0" in " ".join(page.split())


def test_list_is_one_statement(office: World) -> None:
    assert len(say(office, lambda: office.manager.list(office.agent("ada")))) == 1


def test_list_searches_two_ranges_of_the_primary_key_and_sorts_nothing(office: World) -> None:
    (statement,) = say(office, lambda: office.manager.list(office.agent("colleague_1")))
    plan = explain(office.database, statement)
    if office.database.is_sqlite:
        looks = [line for line in plan.splitlines() if "agent_memory" in line]
        columns = "(organisation_id=? AND definition_id=? AND scope_id=?)"
        assert looks == [f"SEARCH agent_memory USING PRIMARY KEY {columns}"] * 2
        assert "TEMP B-TREE" not in plan
    else:
        assert searches(office.database, statement) == ["pk_agent_memory"] * 2
        conditions = re.findall(r"Index Cond: (.*scope_id = .*)", plan)
        assert len(conditions) == 2
        assert all("organisation_id" in each and "definition_id" in each for each in conditions)
        assert "Sort Key: agent_memory" not in plan


@pytest.mark.parametrize("name", CALLS)
def test_a_call_makes_few_statements_and_each_searches_an_index_made_for_it(office: World, name: str) -> None:
    prepare, number, expected = CALLS[name]
    seen = say(office, prepare(office))
    assert len(seen) == number - (office.database.is_sqlite and name in LOCKING)
    looking = [statement for statement in seen if not statement.startswith("INSERT")]
    found = [each for statement in looking for each in searches(office.database, statement)]
    if office.database.is_sqlite:
        assert found == expected
    else:
        names = [each.split()[0] for each in expected]
        assert len(found) == len(names)
        assert all(each in AS_GOOD.get(name, {name}) for each, name in zip(found, names, strict=True))


def test_a_page_in_the_middle_begins_with_a_search_for_its_place(office: World) -> None:
    find, where = office.manager.find_proposed_account_facts, office.acme
    after = find(where, "support", limit=5).after
    _, page, _ = say(office, partial(find, where, "support", limit=5, after=after))
    plan = explain(office.database, page)
    place = "(stated_at,id)>(?,?)" if office.database.is_sqlite else "ROW(stated_at, id) > ROW("
    assert place in plan
    assert "TEMP B-TREE" not in plan
    assert "Sort" not in plan


@pytest.mark.parametrize("name", ["review counts", "counts", "review page"])
def test_sqlite_counts_what_waits_without_a_look_at_its_rows(office: World, name: str) -> None:
    if not office.database.is_sqlite:
        pytest.skip("PostgreSQL knows by itself that an index on proposals holds nothing else")
    prepare, _, _ = CALLS[name]
    counting = [statement for statement in say(office, prepare(office)) if "count(*)" in statement]
    assert counting
    for plan in (explain(office.database, statement) for statement in counting if "heads" not in statement):
        used = re.findall(r"SEARCH agent_memory(?:_1)? USING (.*)INDEX ix_agent_memory", plan)
        assert used
        assert set(used) == {"COVERING "}
