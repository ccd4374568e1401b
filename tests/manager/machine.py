"""The manager and the model, told the same things at random by two tenants.

Each tenant offers two agents to two owners, so a key means something in eight scopes, and half of the time
it is spelled in another way. After every step the database holds what the model holds, and the invariants
hold; every call is made twice, and the second time changes nothing.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
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
    "bob": ("globex", "member"),
    "eve": ("globex", "administrator"),
    "boss": ("globex", "administrator"),
}
CHIEFS = {"acme": "chief", "globex": "boss"}
OWNERS = ("ada", "root", "bob", "eve")
LIMITS: dict[str, Any] = {
    "memory_limit": 3,
    "memory_characters": 30,
    "proposal_limit": 2,
    "account_fact_limit": 2,
    "account_fact_characters": 20,
}
LOWER_LIMITS: dict[str, Any] = dict.fromkeys(LIMITS, 1)

SPELLINGS = {
    "office": ["Office", "OFFICE", " office ", "\uff4f\uff46\uff46\uff49\uff43\uff45"],
    "fiscal_year": ["Fiscal Year", "fiscal-year", "FISCAL__YEAR", "fiscal: year", "\ufb01scal.year"],
    "grösse": ["GRÖSSE", "Größe", "gro\u0308sse"],
    "ключ": ["КЛЮЧ", "Ключ"],
}
REFUSED_KEYS = ["../office", "", "of\x00fice", "\u0455\u0441\u043e\u0440\u0435", None]
CONTENTS = [
    Text("a", "a"),
    Text("line\r\nbreak", "line\nbreak"),
    Text("ü" * 10, "ü" * 10),
    Text("\N{GRINNING FACE}" * 14, "\N{GRINNING FACE}" * 14),
    Text("x" * 29, "x" * 29),
    Text("y" * 31, "y" * 31),
]
REFUSED_CONTENTS = [
    Text(" ", None, "invalid_content"),
    Text("a\x00", None, "invalid_content"),
    Text("z" * 2_001, None, "content_too_long"),
]


def spelled(key: str) -> st.SearchStrategy[Text]:
    return st.just(Text(key, key)) | st.sampled_from([Text(raw, key) for raw in SPELLINGS[key]])


keys = st.sampled_from(list(SPELLINGS)).flatmap(spelled)
any_keys = st.integers(0, 9).flatmap(
    lambda number: keys if number else st.sampled_from([Text(raw, None) for raw in REFUSED_KEYS])
)
contents = st.integers(0, 9).flatmap(lambda number: st.sampled_from(CONTENTS if number else REFUSED_CONTENTS))
owners, people = st.sampled_from(OWNERS), st.sampled_from(list(PEOPLE))
definitions, organisations = st.sampled_from(DEFINITIONS), st.sampled_from(ORGANISATIONS)
numbers = st.integers(0, 60)
"""Choose one of the ids that were ever seen: alive or gone, one's own or not."""
errors = st.sampled_from([None, 0, 0, 1])
"""By how much the version that somebody saw is wrong; None is somebody who does not say."""


class ManagerMachine(RuleBasedStateMachine):
    """Says to the manager and to the model the same things, and compares."""

    database: ClassVar[Database]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.directory = Directory(self.database, clock=self.clock)
        self.manager = AgentMemoryManager(self.database, clock=self.clock)
        self.steps = 0
        self.ids: list[int] = []
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
        self.state = read_state(self.database)

    def teardown(self) -> None:
        for organisation in self.organisations.values():
            self.directory.delete_organisation(organisation)
        assert read_state(self.database) == State({}, {}, {}, {}, {}, {})

    # What an agent does.

    @rule(who=owners, definition=definitions, key=any_keys, content=contents)
    def remember(self, who: str, definition: str, key: Text, content: Text) -> None:
        agent = self.agents[who, definition]
        before = self.state
        answer = self._say(
            agent,
            lambda: self.manager.remember(agent, key.raw, content.raw),
            lambda: self.model.remember(who, definition, key, content),
        )
        if answer.get("error") == "limit_reached":
            text = str(content.accepted)
            assert_refusal_was_needed(before, agent.id, answer["key"], text, proposes=False)

    @rule(who=owners, definition=definitions, key=any_keys, content=contents)
    def propose(self, who: str, definition: str, key: Text, content: Text) -> None:
        agent = self.agents[who, definition]
        before = self.state
        answer = self._say(
            agent,
            lambda: self.manager.propose_account_fact(agent, key.raw, content.raw),
            lambda: self.model.propose(who, definition, key, content),
        )
        if answer.get("error") in {"limit_reached", "proposal_limit_reached"}:
            text = str(content.accepted)
            assert_refusal_was_needed(before, agent.id, answer["key"], text, proposes=True)

    @rule(who=owners, definition=definitions, key=any_keys)
    def forget(self, who: str, definition: str, key: Text) -> None:
        agent = self.agents[who, definition]
        self._say(
            agent,
            lambda: self.manager.forget(agent, key.raw),
            lambda: self.model.forget(who, definition, key),
        )

    # What an administrator does, or somebody who is none, or one of another organisation.

    @rule(
        number=numbers,
        organisation=organisations,
        by=people,
        action=st.sampled_from(["confirm", "confirm", "reject", "delete", "approve"]),
        error=errors,
    )
    def decide(self, number: int, organisation: str, by: str, action: str, error: int | None) -> None:
        self._decide(self._choose(number), organisation, by, action, error)

    @rule(number=numbers, by=people, action=st.sampled_from(["confirm", "confirm", "reject"]))
    def decide_on_what_waits(self, number: int, by: str, action: str) -> None:
        """Decide as the portal does; the rule above seldom meets a proposal and its administrator."""
        waiting = [fact for fact in self.model.facts if fact.status == "proposed"]
        if waiting:
            fact = waiting[number % len(waiting)]
            by = by if PEOPLE[by][0] == fact.organisation else CHIEFS[fact.organisation]
            self._decide(fact.id, fact.organisation, by, action, 0)

    @rule(number=numbers, organisation=organisations, by=people | st.none(), error=errors)
    def delete(self, number: int, organisation: str, by: str | None, error: int | None) -> None:
        memory_id = self._choose(number)
        version = self._version(memory_id, error)
        self._do(
            lambda: self.manager.delete_memory(
                memory_id,
                self.organisations[organisation],
                deleted_by=None if by is None else self.profiles[by],
                expected_version=version,
            ),
            lambda: self.model.delete(memory_id, organisation, by, expected_version=version),
        )

    @rule(number=numbers, by=people, error=errors, is_ours=st.booleans())
    def reopen(self, number: int, by: str, error: int | None, *, is_ours: bool) -> None:
        memory_id = self._choose(number)
        version = self._version(memory_id, error)
        organisation = PEOPLE[by][0] if is_ours else "acme"
        self._do(
            lambda: self.manager.reopen_account_fact(
                memory_id, self.organisations[organisation], self.profiles[by], expected_version=version
            ),
            lambda: self.model.reopen(memory_id, organisation, by, expected_version=version),
        )

    # What people do with their own.

    @rule(number=numbers, owner=people)
    def delete_own(self, number: int, owner: str) -> None:
        memory_id = self._choose(number)
        self._do(
            lambda: self.manager.delete_own_memory(memory_id, self.profiles[owner]),
            lambda: self.model.delete_own(memory_id, owner),
        )

    @rule(owner=owners, definition=definitions | st.none(), seconds=st.integers(0, 3) | st.none())
    def delete_all_own(self, owner: str, definition: str | None, seconds: int | None) -> None:
        as_of = None if seconds is None else self.clock.now - dt.timedelta(seconds=seconds)
        self._do(
            lambda: self.manager.delete_own_memories(self.profiles[owner], definition, as_of=as_of),
            lambda: self.model.delete_all_own(owner, definition, as_of),
        )

    @rule(number=numbers, owner=owners)
    def keep(self, number: int, owner: str) -> None:
        own = [fact.id for fact in self.model.facts if (fact.stated_by, fact.status) == (owner, "rejected")]
        memory_id = own[0] if own else self._choose(number)
        self._do(
            lambda: self.manager.keep_own_memory(memory_id, self.profiles[owner]),
            lambda: self.model.keep(memory_id, owner),
        )

    # What changes around them.

    @rule(organisation=organisations, definition=definitions, limits=st.sampled_from([LIMITS, LOWER_LIMITS]))
    def set_limits(self, organisation: str, definition: str, limits: dict[str, Any]) -> None:
        self.directory.define_agent(self.organisations[organisation], name=definition, **limits)
        for name, value in limits.items():
            setattr(self.model.definitions[organisation, definition], name, value)
        self._compare()

    @rule(organisation=organisations, definition=definitions, is_required=st.booleans())
    def set_policy(self, organisation: str, definition: str, *, is_required: bool) -> None:
        self.directory.define_agent(
            self.organisations[organisation], name=definition, second_person_required=is_required
        )
        self.model.definitions[organisation, definition].second_person_required = is_required
        self._compare()

    @rule(owner=owners)
    def leave_or_return(self, owner: str) -> None:
        is_active = not self.model.people[owner].active
        change = self.directory.activate if is_active else self.directory.deactivate
        change(self.profiles[owner])
        self.model.people[owner].active = is_active
        self._compare()

    @rule(owner=owners, role=st.sampled_from(["member", "administrator"]))
    def change_role(self, owner: str, role: str) -> None:
        self.directory.set_role(self.profiles[owner], role)
        self.model.people[owner].role = role
        self._compare()

    @rule(organisation=organisations)
    def close_or_open(self, organisation: str) -> None:
        is_active = not self.model.active[organisation]
        directory = self.directory
        change = directory.activate_organisation if is_active else directory.deactivate_organisation
        change(self.organisations[organisation])
        self.model.active[organisation] = is_active
        self._compare()

    @rule(owner=owners)
    def erase(self, owner: str) -> None:
        """Erase a person; somebody new takes the place."""
        self.directory.erase_profile(self.profiles[owner])
        self.model.erase(owner)
        self.model.people[owner] = Person(*PEOPLE[owner])
        self._create_person(owner)
        self._compare()

    # What they see.

    @rule(
        organisation=organisations,
        definition=definitions,
        limit=st.sampled_from([1, 2, 5, None]),
        search=st.sampled_from(["", "", "O", "ü", "Ö", "%"]),
    )
    def look_at_facts(self, organisation: str, definition: str, limit: int | None, search: str) -> None:
        where = self.organisations[organisation], definition
        for status, find in (
            ("proposed", self.manager.find_proposed_account_facts),
            ("confirmed", self.manager.find_confirmed_account_facts),
            ("rejected", self.manager.find_rejected_account_facts),
        ):
            shown = read_all_pages(partial(find, *where, search=search, limit=limit))
            expected = _matching(self.model.shelf(organisation, definition, status), search)
            assert [memory.id for memory in shown] == [fact.id for fact in expected]
        assert_nothing_personal_is_shown(self.database, self.state, *where)

    @rule(
        owner=owners, organisation=organisations, definition=definitions, limit=st.sampled_from([1, 2, None])
    )
    def look_at_own(self, owner: str, organisation: str, definition: str, limit: int | None) -> None:
        find = self.manager.find_own_memories
        where = self.organisations[organisation], self.profiles[owner], definition
        shown = read_all_pages(partial(find, *where, limit=limit))
        expected = self.model.own(owner, definition) if PEOPLE[owner][0] == organisation else []
        assert [memory.id for memory in shown] == [fact.id for fact in expected]

    @rule(organisation=organisations, definition=definitions, limit=st.sampled_from([1, 2, None]))
    def look_at_the_queue(self, organisation: str, definition: str, limit: int | None) -> None:
        find = self.manager.find_review_queue
        entries = read_all_pages(partial(find, self.organisations[organisation], definition, limit=limit))
        waiting = self.model.shelf(organisation, definition, "proposed")
        rejected = self.model.shelf(organisation, definition, "rejected")
        assert [entry.memory_key for entry in entries] == list(dict.fromkeys(fact.key for fact in waiting))
        for entry in entries:
            key = entry.memory_key
            assert [memory.id for memory in entry.proposals] == [
                each.id for each in waiting if each.key == key
            ]
            assert [memory.id for memory in entry.rejected] == [
                each.id for each in rejected if each.key == key
            ]
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

    def _decide(self, memory_id: int, organisation: str, by: str, action: str, error: int | None) -> None:
        version = self._version(memory_id, error)
        self._do(
            lambda: self.manager.decide_account_fact(
                memory_id,
                self.organisations[organisation],
                self.profiles[by],
                action,
                expected_version=version,
                reason="Checked",
            ),
            lambda: self.model.decide(
                memory_id, organisation, by, action, expected_version=version, reason="Checked"
            ),
        )

    def _compare(self) -> None:
        """Assert that the database holds what the model holds, row by row and event by event."""
        self.state = assert_invariants(self.database, self.state)
        places = {
            (each.definition_id, each.scope_id, each.memory_key): each
            for each in self.state.memories.values()
        }
        for fact in self.model.facts:
            if not fact.id:
                agent = self.agents[str(fact.stated_by), fact.definition]
                fact.id = places[agent.definition_id, agent.owner_id, fact.key].id
                self.ids.append(fact.id)
        rows = {row.id: self._describe(row) for row in self.state.memories.values()}
        assert rows == {fact.id: _row_of(fact) for fact in self.model.facts}
        events = {
            memory_id: [self._describe_event(event) for event in found]
            for (_, memory_id), found in self.state.events.items()
        }
        assert events == {fact.id: fact.events for fact in self.model.facts + self.model.gone}

    def _adopt_ids(self) -> None:
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
            row.version,
            self._name_of(row.stated_by_id),
            row.stated_at,
            row.created_at,
            row.updated_at,
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
        """Let two of three calls be in the same second."""
        self.steps += 1
        self.clock.advance(seconds=self.steps % 3 == 0)

    def _choose(self, number: int) -> int:
        return self.ids[number % len(self.ids)] if self.ids else number + 1

    def _version(self, memory_id: int, error: int | None) -> int | None:
        if error is None:
            return None
        return error + next((fact.version for fact in self.model.facts if fact.id == memory_id), 1)


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
    if isinstance(found, AgentMemory | Fact):
        return found.id, found.version, str(found.status), found.content
    return found


def _row_of(fact: Fact) -> tuple[object, ...]:
    return (
        fact.organisation,
        fact.definition,
        fact.key,
        fact.content,
        fact.status,
        fact.version,
        fact.stated_by,
        fact.stated_at,
        fact.created_at,
        fact.updated_at,
        fact.decided_by,
        fact.decided_at,
        fact.reason,
    )


def _matching(facts: Iterable[Fact], search: str) -> Iterable[Fact]:
    needle = search.casefold()
    return [fact for fact in facts if needle in fact.key.casefold() or needle in fact.content.casefold()]


def _without_words(answer: Answer) -> Answer:
    """Return an answer without its sentences, of which the model knows only whether there is one."""
    if not answer["ok"]:
        assert answer.pop("message")
    if "note" in answer:
        answer["note"] = bool(answer["note"])
    return answer
