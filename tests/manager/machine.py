"""Random conversations of two tenants, each of which offers two agents to two owners.

So a key means something in eight scopes, and half of the time it is spelled in another way.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from portal.database import Database
from tests.manager.twins import CHIEFS, DEFINITIONS, LIMITS, ORGANISATIONS, OWNERS, PEOPLE, Twins
from tests.model import HELD, Text

LOWER_LIMITS: dict[str, Any] = {
    "memory_limit": 1,
    "memory_characters": 5,
    "proposal_limit": 1,
    "account_fact_limit": 1,
    "account_fact_characters": 5,
}

SPELLINGS = {
    "office": ["Office", "OFFICE", " office ", "\uff4f\uff46\uff46\uff49\uff43\uff45"],
    "fiscal_year": ["Fiscal Year", "fiscal-year", "FISCAL__YEAR", "fiscal: year", "\ufb01scal.year"],
    "grösse": ["GRÖSSE", "Größe", "gro\u0308sse"],
    "ключ": ["КЛЮЧ", "Ключ"],
}
REFUSED_KEYS = [
    Text(raw, None) for raw in ("../office", "", "of\x00fice", "\u0455\u0441\u043e\u0440\u0435", None)
]
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


good_keys = st.sampled_from(["office", *SPELLINGS]).flatmap(spelled)
keys = st.integers(0, 9).flatmap(lambda number: good_keys if number else st.sampled_from(REFUSED_KEYS))
contents = st.integers(0, 9).flatmap(lambda number: st.sampled_from(CONTENTS if number else REFUSED_CONTENTS))
owners = st.sampled_from(OWNERS)
callers = st.sampled_from([*PEOPLE, *[None] * 6])
"""Who makes an administrator's call; None is the one who may."""
definitions, organisations = st.sampled_from(DEFINITIONS), st.sampled_from(ORGANISATIONS)
numbers = st.integers(0, 99)
errors = st.sampled_from([None, 0, 0, 1])
"""By how much the version that somebody saw is wrong; None is somebody who does not say."""
limits = st.sampled_from([1, 2, 5, None])


class ManagerMachine(RuleBasedStateMachine):
    """What the twins are told. They compare themselves."""

    database: ClassVar[Database]

    def __init__(self) -> None:
        super().__init__()
        self.twins = self.make_twins()

    def make_twins(self) -> Twins:
        return Twins(self.database)

    def teardown(self) -> None:
        self.twins.delete_everything()

    @initialize()
    def compete(self) -> None:
        """Begin with two proposals under a key in each tenant, of which one is rejected."""
        for owner in OWNERS:
            self.twins.propose(owner, "support", Text("office", "office"), CONTENTS[0])
        for owner in ("root", "bob"):
            (fact,) = self.twins.model.held_by(owner, "support")
            self.twins.decide(fact.id, fact.organisation, CHIEFS[fact.organisation], "reject", fact.version)

    @rule(who=owners, definition=definitions, key=keys, content=contents, forgets=st.integers(0, 4))
    def remember(self, who: str, definition: str, key: Text, content: Text, forgets: int) -> None:
        if forgets:
            self.twins.remember(who, definition, key, content)
        else:
            self.twins.forget(who, definition, key)

    @rule(who=owners, definition=definitions, key=keys, content=contents)
    def propose(self, who: str, definition: str, key: Text, content: Text) -> None:
        self.twins.propose(who, definition, key, content)

    @rule(
        action=st.sampled_from(["confirm"] * 4 + ["reject"] * 2 + ["delete", "approve"]),
        number=numbers,
        by=callers,
        error=errors,
    )
    def decide(self, action: str, number: int, by: str | None, error: int | None) -> None:
        memory_id, organisation, by = self._meet(number, by, {"proposed"})
        self.twins.decide(memory_id, organisation, by, action, self._version(memory_id, error))

    @rule(
        action=st.sampled_from(["reopen", "delete", "command line"]), number=numbers, by=callers, error=errors
    )
    def undo(self, action: str, number: int, by: str | None, error: int | None) -> None:
        memory_id, organisation, by = self._meet(number, by, {"confirmed", "rejected"})
        version = self._version(memory_id, error)
        if action == "reopen":
            self.twins.reopen(memory_id, organisation, by, version)
        else:
            self.twins.delete(memory_id, organisation, None if action == "command line" else by, version)

    @rule(
        call=st.sampled_from(["delete", "keep", "keep", "delete all"]),
        owner=owners,
        number=numbers,
        definition=definitions | st.none(),
        seconds=st.integers(0, 3) | st.none(),
    )
    def look_after_own(
        self, call: str, owner: str, number: int, definition: str | None, seconds: int | None
    ) -> None:
        if call == "delete":
            self.twins.delete_own(self._choose(number, HELD, owner), owner)
        elif call == "keep":
            self.twins.keep(self._choose(number, {"rejected"}, owner), owner)
        else:
            as_of = None if seconds is None else self.twins.clock.now - dt.timedelta(seconds=seconds)
            self.twins.delete_all_own(owner, definition, as_of)

    @rule(
        change=st.sampled_from(["define", "define", "leave", "close", "swap roles", "erase"]),
        owner=owners,
        definition=definitions,
        number=numbers,
        key=good_keys,
    )
    def change(self, change: str, owner: str, definition: str, number: int, key: Text) -> None:
        organisation = PEOPLE[owner][0]
        if change == "define":
            policy = {"second_person_required": number % 2 == 0}
            self.twins.define(organisation, definition, (LIMITS if number % 3 else LOWER_LIMITS) | policy)
        elif change == "leave":
            self.twins.set_active(owner, is_active=False)
            self._try_everything(owner, definition, number, key)
            self.twins.set_active(owner, is_active=True)
        elif change == "close":
            self.twins.set_organisation_active(organisation, is_active=False)
            self._try_everything(owner, definition, number, key)
            self.twins.set_organisation_active(organisation, is_active=True)
        elif change == "swap roles":
            is_member = self.twins.model.people[owner].role == "member"
            self.twins.set_role(owner, "administrator" if is_member else "member")
        else:
            self.twins.erase(owner)

    @rule(
        owner=owners,
        organisation=organisations,
        definition=definitions,
        limit=limits,
        search=st.sampled_from(["", "", "O", "ü", "Ö", "%"]),
    )
    def look(self, owner: str, organisation: str, definition: str, limit: int | None, search: str) -> None:
        self.twins.look_at_facts(organisation, definition, limit, search)
        self.twins.look_at_own(owner, organisation, definition, limit, search)
        self.twins.look_at_the_queue(organisation, definition, limit)

    def _try_everything(self, owner: str, definition: str, number: int, key: Text) -> None:
        """Let somebody who is away try what they could do before."""
        self.twins.remember(owner, definition, key, CONTENTS[0])
        self.twins.keep(self._choose(number, {"rejected"}, owner), owner)
        self.twins.delete_all_own(owner, None, None)
        memory_id, organisation, by = self._meet(number, owner, {"proposed"})
        self.twins.decide(memory_id, organisation, by, "confirm", None)

    def _choose(self, number: int, statuses: set[str], owner: str | None = None) -> int:
        """Choose a memory that a call is for, or, one time in four, any that there ever was."""
        meant = [
            fact.id
            for fact in self.twins.model.facts
            if number % 4 and fact.status in statuses and owner in {None, fact.stated_by}
        ]
        ids = meant or self.twins.ids
        return ids[number % len(ids)]

    def _meet(self, number: int, by: str | None, statuses: set[str]) -> tuple[int, str, str]:
        """Choose a memory, an organisation and a caller, who are of one organisation or of two."""
        memory_id = self._choose(number, statuses)
        organisation = next(
            (fact.organisation for fact in self.twins.model.facts if fact.id == memory_id), "acme"
        )
        if by is None:
            return memory_id, organisation, CHIEFS[organisation]
        return memory_id, organisation if number % 2 else PEOPLE[by][0], by

    def _version(self, memory_id: int, error: int | None) -> int | None:
        if error is None:
            return None
        facts = self.twins.model.facts
        return error + next((fact.version for fact in facts if fact.id == memory_id), 1)
