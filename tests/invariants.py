"""What must hold whatever happened: one assertion for each invariant, for every harness.

Some look at one state of the database. Those about a step compare the states before and after it, and
some ask the manager as well, because an invariant is about what somebody gets to see.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select

from portal.database import Database
from portal.keys import canonical_key
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentDefinition, AgentMemory, Base, MemoryEvent, Organisation, Profile
from portal.recall import format_time
from portal.reports import MemoryReports
from portal.values import ActorKind, EventAction, Status

MemoryId = tuple[int, int]
"""An organisation's id and a memory's."""

HELD = {Status.PERSONAL, Status.PROPOSED}
DECIDED = {Status.CONFIRMED, Status.REJECTED}


@dataclass(frozen=True)
class State:
    """Everything that the core keeps, at one moment. Two states are equal if every column of every row is."""

    organisations: Mapping[int, Row[Any]]
    profiles: Mapping[int, Row[Any]]
    definitions: Mapping[int, Row[Any]]
    agents: Mapping[int, Row[Any]]
    memories: Mapping[MemoryId, Row[Any]]
    events: Mapping[MemoryId, Sequence[Row[Any]]]
    """The events of each memory that ever was, by version."""

    def held_by(self, agent: Row[Any]) -> list[Row[Any]]:
        """Return what an agent holds, by key."""
        return self._by_key(
            memory
            for memory in self._in_definition_of(agent)
            if memory.status in HELD and memory.stated_by_id == agent.owner_id
        )

    def confirmed_for(self, agent: Row[Any]) -> list[Row[Any]]:
        """Return the account facts that an agent recalls, by key."""
        facts = self._in_definition_of(agent)
        return self._by_key(memory for memory in facts if memory.status == Status.CONFIRMED)

    def is_active(self, agent: Row[Any]) -> bool:
        return bool(self.profiles[agent.owner_id].active and self.organisations[agent.organisation_id].active)

    def _in_definition_of(self, agent: Row[Any]) -> Iterator[Row[Any]]:
        here = (agent.organisation_id, agent.definition_id)
        return (each for each in self.memories.values() if (each.organisation_id, each.definition_id) == here)

    @staticmethod
    def _by_key(memories: Iterator[Row[Any]]) -> list[Row[Any]]:
        return sorted(memories, key=lambda memory: memory.memory_key)


def read_state(database: Database) -> State:
    """Read everything in one snapshot."""
    with database.engine.connect() as connection:
        events = defaultdict(list)
        for event in sorted(_rows(connection, MemoryEvent), key=lambda event: event.version):
            events[event.organisation_id, event.memory_id].append(event)
        return State(
            organisations={row.id: row for row in _rows(connection, Organisation)},
            profiles={row.id: row for row in _rows(connection, Profile)},
            definitions={row.id: row for row in _rows(connection, AgentDefinition)},
            agents={row.id: row for row in _rows(connection, Agent)},
            memories={(row.organisation_id, row.id): row for row in _rows(connection, AgentMemory)},
            events=dict(events),
        )


def assert_invariants(database: Database, before: State | None = None) -> State:
    """Assert everything that can be asserted of any database, and return its state for the next step.

    :param before: the state before the last step; without it a ceiling counts as it is now.
    """
    now = read_state(database)
    assert_tenant_closure(now)
    assert_privacy(now)
    assert_uniqueness(now)
    assert_ceilings(before, now)
    assert_only_administrators_end_confirmed_facts(now)
    assert_one_winner(now)
    assert_visibility(database, now)
    assert_atomic_record(now)
    assert_canonical_keys(now)
    if before is not None:
        assert_no_overwrite(before, now)
        assert_approved_words(before, now)
        assert_no_lost_update(before, now)
    return now


def assert_tenant_closure(now: State) -> None:
    """I-1: every row's organisation is that of its agent, its owner and its definition."""
    for agent in now.agents.values():
        assert agent.organisation_id == now.definitions[agent.definition_id].organisation_id
        assert agent.organisation_id == now.profiles[agent.owner_id].organisation_id
    agents = {(agent.organisation_id, agent.definition_id, agent.owner_id) for agent in now.agents.values()}
    for memory in now.memories.values():
        here = memory.organisation_id, memory.definition_id
        assert memory.organisation_id == now.definitions[memory.definition_id].organisation_id
        if memory.stated_by_id is not None:
            assert (*here, memory.stated_by_id) in agents
        assert _names_a_colleague(now, memory.decided_by_id, memory.organisation_id)
    for event in _all_events(now):
        assert event.organisation_id == now.definitions[event.definition_id].organisation_id
        assert _names_a_colleague(now, event.actor_id, event.organisation_id)


def assert_privacy(now: State) -> None:
    """I-2: a personal memory is in nothing that administrators search or read."""
    for memory_id, memory in now.memories.items():
        if memory.status == Status.PERSONAL:
            assert memory.search_text is None
            assert [event.memory_key for event in now.events[memory_id]] == [None] * memory.version


def assert_nothing_personal_is_shown(
    database: Database, now: State, organisation: Organisation, definition: str
) -> None:
    """I-1 and I-2, through every call that shows administrators something of a definition."""
    manager, reports = AgentMemoryManager(database), MemoryReports(database)
    shown = [
        *manager.find_proposed_account_facts(organisation, definition),
        *manager.find_confirmed_account_facts(organisation, definition),
        *manager.find_rejected_account_facts(organisation, definition),
    ]
    for entry in manager.find_review_queue(organisation, definition):
        confirmed = [] if entry.confirmed is None else [entry.confirmed]
        shown += [*entry.proposals, *confirmed, *entry.rejected]
    for memory in shown:
        row = now.memories[organisation.id, memory.id]
        assert memory.status == row.status != Status.PERSONAL
        assert now.definitions[row.definition_id].name == definition
    personal = {id_ for id_, memory in now.memories.items() if memory.status == Status.PERSONAL}
    for event in reports.find_events(organisation, definition):
        assert event.organisation_id == organisation.id
        assert (event.organisation_id, event.memory_id) not in personal


def assert_uniqueness(now: State) -> None:
    """I-3: one held and one rejected row for a key and owner, one confirmed row for a key."""
    places = [
        (
            memory.organisation_id,
            memory.definition_id,
            memory.memory_key,
            memory.status if memory.status in DECIDED else "held",
            None if memory.status == Status.CONFIRMED else memory.stated_by_id,
        )
        for memory in now.memories.values()
    ]
    assert len(places) == len(set(places))


def assert_ceilings(before: State | None, now: State) -> None:
    """I-4: nothing is above its limit, or, where a limit was lowered, further above it than before."""
    was = {} if before is None else _measure(before)
    for scope, (used, limit) in _measure(now).items():
        assert used <= max(limit, was.get(scope, (0, 0))[0]), (scope, used, limit)


def assert_nothing_written(before: State, now: State) -> None:
    """I-4 and I-15: what was refused, or said a second time, left everything as it was."""
    assert now == before


def assert_refusal_was_needed(
    before: State, agent_id: int, memory_key: str, content: str, *, proposes: bool
) -> None:
    """I-5: a ceiling refused a write, so there was no room for it."""
    agent = before.agents[agent_id]
    definition = before.definitions[agent.definition_id]
    held = before.held_by(agent)
    after = [memory for memory in held if memory.memory_key != memory_key]
    replaced = [memory for memory in held if memory.memory_key == memory_key]
    grows = len(content) - sum(len(memory.content) for memory in replaced)
    characters = sum(len(memory.content) for memory in after) + len(content)
    proposals = sum(memory.status == Status.PROPOSED for memory in after) + 1
    becomes_proposed = proposes and all(memory.status != Status.PROPOSED for memory in replaced)
    assert (
        (not replaced and len(held) + 1 > definition.memory_limit)
        or (grows > 0 and characters > definition.memory_characters)
        or (becomes_proposed and proposals > definition.proposal_limit)
    )


def assert_no_overwrite(before: State, now: State) -> None:
    """I-6: what an agent did changed or removed no confirmed row."""
    for memory_id, memory in before.memories.items():
        is_there = memory_id[0] in now.organisations and memory.definition_id in now.definitions
        if memory.status == Status.CONFIRMED and is_there and now.memories.get(memory_id) != memory:
            new = [event for event in now.events[memory_id] if event.version > memory.version]
            assert all(event.actor_kind != ActorKind.AGENT for event in new)


def assert_only_administrators_end_confirmed_facts(now: State) -> None:
    """I-7: a confirmed fact ends by deletion or reopening alone, and the record says who it was."""
    for event in _all_events(now):
        if event.status_before == Status.CONFIRMED:
            assert event.action in {EventAction.DELETED, EventAction.REOPENED}
            assert event.actor_kind in {ActorKind.PROFILE, ActorKind.COMMAND_LINE}


def assert_approved_words(before: State, now: State) -> None:
    """I-8: a confirmed row says what the proposal said that was decided on, and goes on saying it."""
    for memory_id, memory in now.memories.items():
        if memory.status == Status.CONFIRMED:
            seen = before.memories[memory_id]
            assert (memory.memory_key, memory.content) == (seen.memory_key, seen.content)
            assert seen.status in {Status.PROPOSED, Status.CONFIRMED}


def assert_one_winner(now: State) -> None:
    """I-9: a decided row has the one decision that followed on its last time as a proposal."""
    for memory_id, memory in now.memories.items():
        events = now.events[memory_id]
        if memory.status in DECIDED:
            last = events[-1]
            assert (last.status_before, last.status_after) == (Status.PROPOSED, memory.status)
            assert (last.actor_id, last.at) == (memory.decided_by_id, memory.decided_at)


def assert_no_lost_update(before: State, now: State) -> None:
    """I-10: what a version says never changes, and versions only rise."""
    for memory_id in before.memories.keys() & now.memories.keys():
        was, is_ = before.memories[memory_id], now.memories[memory_id]
        assert is_.version >= was.version
        assert is_.created_at == was.created_at
        assert is_.memory_key == was.memory_key
        if is_.version == was.version:
            assert _without_names(is_) == _without_names(was)


def assert_own_writes_are_read(manager: AgentMemoryManager, agent: Agent, answer: Mapping[str, Any]) -> None:
    """I-11: what an agent was told is stored is in its next list, and what is forgotten is not."""
    listed = {memory["key"]: memory for memory in json.loads(manager.list(agent))["memories"]}
    if answer.get("outcome") == "forgotten":
        assert answer["key"] not in listed
    elif answer["ok"]:
        stored = {name: value for name, value in answer["memory"].items() if name != "version"}
        assert listed[stored["key"]] == stored


def assert_visibility(database: Database, now: State) -> None:
    """I-12: an agent recalls what it holds and the confirmed facts of its definition, and nothing else."""
    manager = AgentMemoryManager(database)
    for agent in now.agents.values():
        listed = json.loads(manager.list(Agent(id=agent.id)))
        if not now.is_active(agent):
            assert listed["error"] == "inactive"
            continue
        assert listed["memories"] == [
            {
                "key": memory.memory_key,
                "content": memory.content,
                "status": memory.status,
                "updated_at": format_time(memory.updated_at),
            }
            for memory in now.held_by(agent)
        ]
        assert listed["account_facts"] == [
            {"key": fact.memory_key, "content": fact.content, "confirmed_at": format_time(fact.decided_at)}
            for fact in now.confirmed_for(agent)
        ]


def assert_atomic_record(now: State) -> None:
    """I-13: the events of a memory are its versions, each going on where the last one ended."""
    assert now.memories.keys() <= now.events.keys()
    for memory_id, events in now.events.items():
        assert [event.version for event in events] == list(range(1, len(events) + 1))
        statuses = [None, *(event.status_after for event in events)]
        assert [event.status_before for event in events] == statuses[:-1]
        # A deletion is the last thing that happens to a memory.
        assert None not in statuses[1:-1]
        assert sorted(event.at for event in events) == [event.at for event in events]
        memory = now.memories.get(memory_id)
        assert statuses[-1] == (None if memory is None else memory.status)
        if memory is not None:
            assert (memory.version, memory.updated_at) == (len(events), events[-1].at)


def assert_canonical_keys(now: State) -> None:
    """I-17: what is stored as a key is its own canonical form."""
    for memory in now.memories.values():
        assert canonical_key(memory.memory_key) == memory.memory_key


def _rows(connection: Connection, table: type[Base]) -> Sequence[Row[Any]]:
    return connection.execute(select(table.__table__)).all()


def _all_events(now: State) -> Iterator[Row[Any]]:
    return (event for events in now.events.values() for event in events)


def _names_a_colleague(now: State, profile_id: int | None, organisation_id: int) -> bool:
    return profile_id is None or now.profiles[profile_id].organisation_id == organisation_id


def _without_names(memory: Row[Any]) -> dict[str, Any]:
    """Return the columns but for the people, whose names go when they are erased."""
    columns = memory._asdict()
    return {name: columns[name] for name in columns if name not in {"stated_by_id", "decided_by_id"}}


def _measure(now: State) -> dict[tuple[str, int], tuple[int, int]]:
    """Return what is used of each ceiling there is, and its limit."""
    found = {}
    for agent in now.agents.values():
        definition, held = now.definitions[agent.definition_id], now.held_by(agent)
        proposals = sum(memory.status == Status.PROPOSED for memory in held)
        found["memories", agent.id] = len(held), definition.memory_limit
        found["characters", agent.id] = _characters(held), definition.memory_characters
        found["proposals", agent.id] = proposals, definition.proposal_limit
        facts = now.confirmed_for(agent)
        found["facts", definition.id] = len(facts), definition.account_fact_limit
        found["fact characters", definition.id] = _characters(facts), definition.account_fact_characters
    return found


def _characters(memories: Sequence[Row[Any]]) -> int:
    return sum(len(memory.content) for memory in memories)
