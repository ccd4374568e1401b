"""The manager and the model, told the same things, and compared after each."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Row

from portal.database import Database
from portal.directory import Directory
from portal.errors import AgentMemoryError
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory, Profile
from portal.pages import Page
from tests.factories import Clock
from tests.invariants import (
    State,
    assert_invariants,
    assert_nothing_personal_is_shown,
    assert_nothing_written,
    assert_own_writes_are_read,
    assert_refusal_was_needed,
    read_state,
)
from tests.model import Answer, Definition, Event, Fact, Model, Person, Refused, Text

Entry = TypeVar("Entry")

ORGANISATIONS = ("acme", "globex")
DEFINITIONS = ("support", "travel")
PEOPLE = {
    "ada": ("acme", "member"),
    "root": ("acme", "administrator"),
    "chief": ("acme", "administrator"),
    "cy": ("acme", "member"),
    "bob": ("globex", "member"),
    "dan": ("globex", "member"),
    "eve": ("globex", "administrator"),
    "boss": ("globex", "administrator"),
}
CHIEFS = {"acme": "chief", "globex": "boss"}
"""Administrators who have no agent and never go."""
OWNERS = ("ada", "root", "bob", "eve")
LIMITS: dict[str, Any] = {
    "memory_limit": 3,
    "memory_characters": 30,
    "proposal_limit": 2,
    "account_fact_limit": 2,
    "account_fact_characters": 20,
}


class Twins:
    """Each method makes one call to both, twice.

    It asserts that the two answer alike, that the database then holds what the model holds, that the
    invariants hold, that a refusal wrote nothing and the second call neither.
    """

    def __init__(self, database: Database) -> None:
        self.clock = Clock()
        self.database = database
        self.directory = Directory(database, clock=self.clock)
        self.manager = AgentMemoryManager(database, clock=self.clock)
        self.model = Model(
            self.clock,
            {name: Person(*each) for name, each in PEOPLE.items()},
            {(each, name): Definition(**LIMITS) for each in ORGANISATIONS for name in DEFINITIONS},
            dict.fromkeys(ORGANISATIONS, True),
        )
        self.organisations = {
            name: self.directory.create_organisation(name=name, slug=name) for name in ORGANISATIONS
        }
        for organisation, name in self.model.definitions:
            self.directory.define_agent(self.organisations[organisation], name=name, **LIMITS)
        self.profiles: dict[str, Profile] = {}
        self.agents: dict[tuple[str, str], Agent] = {}
        for name in PEOPLE:
            self._create_person(name)
        self.ids: list[int] = []
        """Every id that a memory ever had."""
        self.state = read_state(database)
        self._calls = 0

    def delete_everything(self) -> None:
        for organisation in self.organisations.values():
            self.directory.delete_organisation(organisation)
        assert read_state(self.database) == State({}, {}, {}, {}, {}, {})

    # What an agent does.

    def remember(self, who: str, definition: str, key: Text, content: Text) -> None:
        agent = self.agents[who, definition]
        before = self.state
        answer = self._say(
            agent,
            lambda: self.manager.remember(agent, key.raw, content.raw),
            lambda: self.model.remember(who, definition, key, content),
        )
        if "usage" in answer and not answer["ok"]:
            text = str(content.accepted)
            assert_refusal_was_needed(before, agent.id, answer["key"], text, proposes=False)

    def propose(self, who: str, definition: str, key: Text, content: Text) -> None:
        agent = self.agents[who, definition]
        before = self.state
        answer = self._say(
            agent,
            lambda: self.manager.propose_account_fact(agent, key.raw, content.raw),
            lambda: self.model.propose(who, definition, key, content),
        )
        if "usage" in answer and not answer["ok"]:
            text = str(content.accepted)
            assert_refusal_was_needed(before, agent.id, answer["key"], text, proposes=True)

    def forget(self, who: str, definition: str, key: Text) -> None:
        agent = self.agents[who, definition]
        self._say(
            agent,
            lambda: self.manager.forget(agent, key.raw),
            lambda: self.model.forget(who, definition, key),
        )

    # What an administrator does, or somebody who is none, or one of another organisation.

    def decide(self, memory_id: int, organisation: str, by: str, action: str, version: int | None) -> None:
        where = self.organisations[organisation]
        more: dict[str, Any] = {"expected_version": version, "reason": "Checked"}
        self._do(
            lambda: self.manager.decide_account_fact(memory_id, where, self.profiles[by], action, **more),
            lambda: self.model.decide(memory_id, organisation, by, action, **more),
        )

    def delete(self, memory_id: int, organisation: str, by: str | None, version: int | None) -> None:
        where = self.organisations[organisation]
        profile = None if by is None else self.profiles[by]
        self._do(
            lambda: self.manager.delete_memory(
                memory_id, where, deleted_by=profile, expected_version=version
            ),
            lambda: self.model.delete(memory_id, organisation, by, expected_version=version),
        )

    def reopen(self, memory_id: int, organisation: str, by: str, version: int | None) -> None:
        where, profile = self.organisations[organisation], self.profiles[by]
        self._do(
            lambda: self.manager.reopen_account_fact(memory_id, where, profile, expected_version=version),
            lambda: self.model.reopen(memory_id, organisation, by, expected_version=version),
        )

    # What people do with their own.

    def delete_own(self, memory_id: int, owner: str) -> None:
        self._do(
            lambda: self.manager.delete_own_memory(memory_id, self.profiles[owner]),
            lambda: self.model.delete_own(memory_id, owner),
        )

    def delete_all_own(self, owner: str, definition: str | None, as_of: dt.datetime | None) -> None:
        self._do(
            lambda: self.manager.delete_own_memories(self.profiles[owner], definition, as_of=as_of),
            lambda: self.model.delete_all_own(owner, definition, as_of),
        )

    def keep(self, memory_id: int, owner: str) -> None:
        self._do(
            lambda: self.manager.keep_own_memory(memory_id, self.profiles[owner]),
            lambda: self.model.keep(memory_id, owner),
        )

    # What changes around them.

    def define(self, organisation: str, definition: str, changes: dict[str, Any]) -> None:
        self.directory.define_agent(self.organisations[organisation], name=definition, **changes)
        for name, value in changes.items():
            setattr(self.model.definitions[organisation, definition], name, value)
        self._compare()

    def set_role(self, name: str, role: str) -> None:
        self.directory.set_role(self.profiles[name], role)
        self.model.people[name].role = role
        self._compare()

    def set_active(self, name: str, *, is_active: bool) -> None:
        (self.directory.activate if is_active else self.directory.deactivate)(self.profiles[name])
        self.model.people[name].active = is_active
        self._compare()

    def set_organisation_active(self, name: str, *, is_active: bool) -> None:
        directory = self.directory
        change = directory.activate_organisation if is_active else directory.deactivate_organisation
        change(self.organisations[name])
        self.model.active[name] = is_active
        self._compare()

    def erase(self, name: str) -> None:
        """Erase a person; somebody new goes by the name."""
        self.directory.erase_profile(self.profiles[name])
        self.model.erase(name)
        self.model.people[name] = Person(*PEOPLE[name])
        self._create_person(name)
        self._compare()

    # What they see.

    def look_at_facts(self, organisation: str, definition: str, limit: int | None, search: str) -> None:
        where = self.organisations[organisation], definition
        for status, find in (
            ("proposed", self.manager.find_proposed_account_facts),
            ("confirmed", self.manager.find_confirmed_account_facts),
            ("rejected", self.manager.find_rejected_account_facts),
        ):
            shown = read_all_pages(partial(find, *where, search=search, limit=limit))
            expected = matching(self.model.shelf(organisation, definition, status), search)
            assert [memory.id for memory in shown] == [fact.id for fact in expected]
        assert_nothing_personal_is_shown(self.database, self.state, *where)

    def look_at_own(
        self, owner: str, organisation: str, definition: str, limit: int | None, search: str
    ) -> None:
        where = self.organisations[organisation], self.profiles[owner], definition
        shown = read_all_pages(partial(self.manager.find_own_memories, *where, search=search, limit=limit))
        is_home = PEOPLE[owner][0] == organisation
        expected = matching(self.model.own(owner, definition), search) if is_home else []
        assert [memory.id for memory in shown] == [fact.id for fact in expected]

    def look_at_the_queue(self, organisation: str, definition: str, limit: int | None) -> None:
        find = self.manager.find_review_queue
        entries = read_all_pages(partial(find, self.organisations[organisation], definition, limit=limit))
        waiting = self.model.shelf(organisation, definition, "proposed")
        rejected = self.model.shelf(organisation, definition, "rejected")
        assert [entry.memory_key for entry in entries] == list(dict.fromkeys(fact.key for fact in waiting))
        for entry in entries:
            key = entry.memory_key
            assert [each.id for each in entry.proposals] == [each.id for each in waiting if each.key == key]
            assert [each.id for each in entry.rejected] == [each.id for each in rejected if each.key == key]
            confirmed = self.model.confirmed_under(organisation, definition, key)
            assert (entry.confirmed and entry.confirmed.id) == (confirmed and confirmed.id)

    # How the two are compared.

    def _say(self, agent: Agent, call: Callable[[], str], predict: Callable[[], Answer]) -> Answer:
        self._pass_time()
        before = self.state
        answer: Answer = json.loads(call())
        assert _without_words(answer) == predict()
        self._compare()
        if answer["ok"]:
            assert_own_writes_are_read(self.manager, agent, answer)
        else:
            assert_nothing_written(before, self.state)
        assert _without_words(json.loads(call())) == predict()
        assert_nothing_written(self.state, read_state(self.database))
        return answer

    def _do(self, call: Callable[[], object], predict: Callable[[], object]) -> None:
        self._pass_time()
        before = self.state
        outcome = _outcome(call)
        assert outcome == _outcome(predict)
        self._compare()
        if isinstance(outcome, str):
            assert_nothing_written(before, self.state)
        assert _outcome(call) == _outcome(predict)
        assert_nothing_written(self.state, read_state(self.database))

    def _compare(self) -> None:
        """Assert that the database holds what the model holds, row by row and event by event."""
        self.state = assert_invariants(self.database, self.state)
        self._adopt_ids()
        rows = {row.id: self._describe(row) for row in self.state.memories.values()}
        assert rows == {fact.id: _columns(fact) for fact in self.model.facts}
        events = {
            memory_id: [self._describe_event(event) for event in found]
            for (_, memory_id), found in self.state.events.items()
        }
        assert events == {fact.id: fact.events for fact in self.model.facts + self.model.gone}

    def _adopt_ids(self) -> None:
        """Tell the model the ids of what is new."""
        rows = self.state.memories.values()
        places = {(row.definition_id, row.scope_id, row.memory_key): row.id for row in rows}
        for fact in self.model.facts:
            if not fact.id:
                agent = self.agents[str(fact.stated_by), fact.definition]
                fact.id = places[agent.definition_id, agent.owner_id, fact.key]
                self.ids.append(fact.id)

    def _describe(self, row: Row[Any]) -> tuple[object, ...]:
        """Return a row of the database as the model would write it."""
        definition = self.state.definitions[row.definition_id]
        return (
            self.state.organisations[row.organisation_id].slug,
            definition.name,
            row.memory_key,
            row.content,
            row.status,
            self._name_of(row.stated_by_id),
            row.stated_at,
            row.created_at,
            row.updated_at,
            row.version,
            self._name_of(row.decided_by_id),
            row.decided_at,
            row.decision_reason,
        )

    def _describe_event(self, event: Row[Any]) -> Event:
        actor = self._name_of(event.actor_id)
        before, after = event.status_before, event.status_after
        return Event(event.version, event.action, before, after, event.actor_kind, actor, event.memory_key)

    def _name_of(self, profile_id: int | None) -> str | None:
        names = {profile.id: name for name, profile in self.profiles.items()}
        return None if profile_id is None else names[profile_id]

    def _create_person(self, name: str) -> None:
        organisation, role = PEOPLE[name]
        profile = self.directory.create_profile(
            self.organisations[organisation], email=f"{name}@{organisation}.example", name=name, role=role
        )
        self.profiles[name] = profile
        for definition in DEFINITIONS if name in OWNERS else ():
            self.agents[name, definition] = self.directory.agent_for(profile, definition)

    def _pass_time(self) -> None:
        """Let three calls fall into one second."""
        self._calls += 1
        self.clock.advance(seconds=self._calls % 3 == 0)


def read_all_pages(find: Callable[..., Page[Entry]]) -> Sequence[Entry]:
    """Return what all pages hold, one after the other."""
    page = find(after=None)
    entries = [*page]
    while page.after is not None:
        page = find(after=page.after)
        entries += page
    assert page.total == len(entries)
    return entries


def _outcome(call: Callable[[], object]) -> object:
    """Return what a call says in a form that both sides share, and a refusal as its name."""
    try:
        found = call()
    except Refused as refusal:
        return str(refusal)
    except AgentMemoryError as refusal:
        return type(refusal).__name__
    if isinstance(found, AgentMemory):
        return found.memory_key, found.content, found.status, found.version
    if isinstance(found, Fact):
        return found.key, found.content, found.status, found.version
    return found


def _columns(fact: Fact) -> tuple[object, ...]:
    values = vars(fact)
    return tuple(values[name] for name in values if name not in {"id", "events"})


def matching(facts: Iterable[Fact], search: str) -> Iterable[Fact]:
    needle = search.casefold()
    return [fact for fact in facts if needle in fact.key.casefold() or needle in fact.content.casefold()]


def _without_words(answer: Answer) -> Answer:
    """Return an answer without its sentences, of which the model knows only whether there is one."""
    if not answer["ok"]:
        assert answer.pop("message")
    if "note" in answer:
        answer["note"] = bool(answer["note"])
    return answer
