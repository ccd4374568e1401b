"""The specification as a plain program without a database: what each call answers and what is kept.

It is slow, forgets nothing and knows no transaction, so that it can be read beside the specification.
Organisations, definitions and people go by their names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from portal.recall import format_time

HELD = {"personal", "proposed"}
DECIDED = {"confirmed", "rejected"}

Answer = dict[str, Any]


class Refused(Exception):
    """A call raises; the text is the name of the exception."""


@dataclass
class Person:
    organisation: str
    role: str = "member"
    active: bool = True


@dataclass
class Definition:
    memory_limit: int
    memory_characters: int
    proposal_limit: int
    account_fact_limit: int
    account_fact_characters: int
    second_person_required: bool = False


@dataclass
class Event:
    version: int
    action: str
    before: str | None
    after: str | None
    actor_kind: str
    actor: str | None
    key: str | None


@dataclass
class Fact:
    """A row. Its ``id`` is whatever the database says once it is there."""

    organisation: str
    definition: str
    key: str
    content: str
    status: str
    stated_by: str | None
    stated_at: dt.datetime
    created_at: dt.datetime
    updated_at: dt.datetime
    version: int = 1
    decided_by: str | None = None
    decided_at: dt.datetime | None = None
    reason: str = ""
    id: int = 0
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True)
class Text:
    """An argument as it is passed in, and what the rules for texts make of it: a text or a code."""

    raw: object
    accepted: str | None
    code: str = ""


@dataclass
class Model:
    clock: Callable[[], dt.datetime]
    people: dict[str, Person]
    definitions: dict[tuple[str, str], Definition]
    active: dict[str, bool]
    """Which organisations are active."""
    facts: list[Fact] = field(default_factory=list)
    gone: list[Fact] = field(default_factory=list)
    """What was deleted, for its events."""

    # What an agent does.

    def remember(self, who: str, definition: str, key: Text, content: Text) -> Answer:
        refusal = self._refuse_text(who, key, content)
        if refusal:
            return refusal
        held = self.held_under(who, definition, str(key.accepted))
        confirmed = self.confirmed_under(self.people[who].organisation, definition, str(key.accepted))
        if held is None and confirmed is not None:
            return _refusal("already_confirmed", key.accepted, existing=_existing(confirmed))
        withdraws = held is not None and held.status == "proposed"
        answer = self._store(
            who,
            definition,
            key,
            content,
            "personal",
            "withdrawn" if withdraws else "remembered",
            ("agent", who),
        )
        if answer["ok"] and (withdraws or confirmed):
            answer["note"] = True
        return answer

    def propose(self, who: str, definition: str, key: Text, content: Text) -> Answer:
        refusal = self._refuse_text(who, key, content)
        if refusal:
            return refusal
        organisation = self.people[who].organisation
        confirmed = self.confirmed_under(organisation, definition, str(key.accepted))
        if confirmed is not None:
            return _refusal("already_confirmed", key.accepted, existing=_existing(confirmed))
        closed = [
            fact for fact in self.shelf(organisation, definition, "rejected") if fact.key == key.accepted
        ]
        if closed:
            meant = next((fact for fact in closed if fact.stated_by == who), closed[0])
            return _closed(meant, is_own=meant.stated_by == who)
        return self._store(who, definition, key, content, "proposed", "proposed", ("agent", who))

    def forget(self, who: str, definition: str, key: Text) -> Answer:
        refusal = self._refuse_text(who, key, None)
        if refusal:
            return refusal
        held = self.held_under(who, definition, str(key.accepted))
        confirmed = self.confirmed_under(self.people[who].organisation, definition, str(key.accepted))
        if held is not None:
            self._remove(held, "forgotten", ("agent", who))
            note = {"note": True} if confirmed else {}
            return {
                "ok": True, "outcome": "forgotten", "key": key.accepted, "usage": self.usage(who, definition)
            } | note  # fmt: skip
        if confirmed is not None:
            return _refusal("already_confirmed", key.accepted, existing=_existing(confirmed))
        return _refusal("not_found", key.accepted)

    # What an administrator does.

    def decide(
        self,
        memory_id: int,
        organisation: str,
        by: str,
        action: str,
        *,
        expected_version: int | None,
        reason: str,
    ) -> Fact:
        if action not in {"confirm", "reject", "delete"}:
            raise Refused("UnknownAction")
        self._require_administrator(by, organisation)
        fact = self._find(memory_id, organisation, {"proposed", *DECIDED})
        if fact.status != "proposed":
            raise Refused("AlreadyDecided")
        _require_version(fact, expected_version)
        if action == "delete":
            return self._remove(fact, "deleted", ("profile", by), by_administrator=True)
        if action == "confirm":
            self._require_confirmable(fact, by)
        self._change(
            fact,
            {"confirm": "confirmed", "reject": "rejected"}[action],
            {"confirm": "confirmed", "reject": "rejected"}[action],
            ("profile", by),
        )
        fact.decided_by, fact.decided_at, fact.reason = by, self.clock(), reason
        return fact

    def see(self, memory_id: int, organisation: str, by: str) -> Fact:
        """Return a fact that an administrator is shown."""
        self._require_administrator(by, organisation)
        return self._find(memory_id, organisation, {"proposed", *DECIDED})

    def delete(
        self, memory_id: int, organisation: str, by: str | None, *, expected_version: int | None
    ) -> None:
        if by is not None:
            self._require_administrator(by, organisation)
        fact = self._find(memory_id, organisation, DECIDED | ({"proposed"} if by else HELD))
        _require_version(fact, expected_version)
        actor = ("command line", None) if by is None else ("profile", by)
        self._remove(fact, "deleted", actor, by_administrator=True)

    def reopen(self, memory_id: int, organisation: str, by: str, *, expected_version: int | None) -> Fact:
        self._require_administrator(by, organisation)
        fact = self._find(memory_id, organisation, {"proposed", *DECIDED})
        if fact.status == "proposed":
            raise Refused("NotDecided")
        _require_version(fact, expected_version)
        if fact.stated_by is None:
            raise Refused("StaterGone")
        if self.held_under(fact.stated_by, fact.definition, fact.key) is not None:
            raise Refused("KeyTaken")
        if self._refuse_growth(fact.stated_by, fact.definition, None, fact.content, proposes=True):
            raise Refused("MemoriesFull")
        self._change(fact, "reopened", "proposed", ("profile", by))
        fact.decided_by, fact.decided_at, fact.reason = None, None, ""
        return fact

    # What people do with their own.

    def delete_own(self, memory_id: int, owner: str) -> None:
        self._remove(self._find_own(memory_id, owner, HELD), "deleted", ("profile", owner))

    def delete_all_own(self, owner: str, definition: str | None, as_of: dt.datetime | None) -> int:
        doomed = [
            fact
            for fact in self.facts
            if self.is_live(owner)
            and (fact.stated_by, fact.status in HELD) == (owner, True)
            and definition in {None, fact.definition}
            and (as_of is None or fact.updated_at <= as_of)
        ]
        for fact in doomed:
            self._remove(fact, "deleted", ("profile", owner))
        return len(doomed)

    def keep(self, memory_id: int, owner: str) -> Fact:
        rejected = self._find_own(memory_id, owner, {"rejected"})
        definition, key = rejected.definition, rejected.key
        held = self.held_under(owner, definition, key)
        if held is None and self.confirmed_under(rejected.organisation, definition, key) is not None:
            raise Refused("KeyAlreadyConfirmed")
        text = Text(rejected.content, rejected.content)
        answer = self._store(owner, definition, Text(key, key), text, "personal", "kept", ("profile", owner))
        if not answer["ok"]:
            raise Refused("MemoriesFull")
        kept = self.held_under(owner, definition, key)
        assert kept is not None
        return kept

    def erase(self, person: str) -> None:
        """Forget a person; somebody new may then go by the name."""
        for fact in [fact for fact in self.facts if fact.stated_by == person]:
            if fact.status != "confirmed":
                self._remove(fact, "erased", ("command line", None))
        for fact in self.facts + self.gone:
            fact.stated_by = None if fact.stated_by == person else fact.stated_by
            fact.decided_by = None if fact.decided_by == person else fact.decided_by
            for event in fact.events:
                event.actor = None if event.actor == person else event.actor

    # What is there.

    def held_under(self, who: str, definition: str, key: str) -> Fact | None:
        return _only(fact for fact in self.held_by(who, definition) if fact.key == key)

    def held_by(self, who: str, definition: str) -> list[Fact]:
        return [
            fact
            for fact in self.facts
            if (fact.stated_by, fact.definition) == (who, definition) and fact.status in HELD
        ]

    def confirmed_under(self, organisation: str, definition: str, key: str) -> Fact | None:
        return _only(fact for fact in self.shelf(organisation, definition, "confirmed") if fact.key == key)

    def shelf(self, organisation: str, definition: str, status: str) -> list[Fact]:
        """Return the facts with a status, in the order in which administrators see them."""
        found = [
            fact
            for fact in self.facts
            if (fact.organisation, fact.definition, fact.status) == (organisation, definition, status)
        ]
        if status == "rejected":
            return sorted(found, key=lambda fact: (fact.decided_at, fact.id), reverse=True)
        if status == "proposed":
            return sorted(found, key=lambda fact: (fact.stated_at, fact.id))
        return sorted(found, key=lambda fact: fact.key)

    def own(self, owner: str, definition: str) -> list[Fact]:
        """Return what somebody's own page shows."""
        found = [
            fact
            for fact in self.facts
            if (fact.stated_by, fact.definition) == (owner, definition) and fact.status != "confirmed"
        ]
        return sorted(found, key=lambda fact: (fact.key, fact.status == "rejected"))

    def usage(self, who: str, definition: str) -> dict[str, int]:
        limits = self.definitions[self.people[who].organisation, definition]
        held = self.held_by(who, definition)
        return {
            "memories": len(held),
            "memory_limit": limits.memory_limit,
            "characters": sum(len(fact.content) for fact in held),
            "character_limit": limits.memory_characters,
            "proposals": sum(fact.status == "proposed" for fact in held),
            "proposal_limit": limits.proposal_limit,
        }

    # The rules that the calls share.

    def is_live(self, who: str) -> bool:
        person = self.people[who]
        return person.active and self.active[person.organisation]

    def _refuse_text(self, who: str, key: Text, content: Text | None) -> Answer | None:
        if key.accepted is None:
            return _refusal("invalid_key", None)
        if content is not None and content.accepted is None:
            return _refusal(content.code, key.accepted)
        return None if self.is_live(who) else _refusal("inactive", key.accepted)

    def _refuse_growth(
        self, who: str, definition: str, held: Fact | None, content: str, *, proposes: bool
    ) -> str | None:
        usage = self.usage(who, definition)
        grows = len(content) - (len(held.content) if held else 0)
        becomes_proposed = proposes and (held is None or held.status != "proposed")
        if held is None and usage["memories"] + 1 > usage["memory_limit"]:
            return "limit_reached"
        if grows > 0 and usage["characters"] + grows > usage["character_limit"]:
            return "limit_reached"
        if becomes_proposed and usage["proposals"] + 1 > usage["proposal_limit"]:
            return "proposal_limit_reached"
        return None

    def _store(
        self,
        who: str,
        definition: str,
        key: Text,
        content: Text,
        status: str,
        action: str,
        actor: tuple[str, str],
    ) -> Answer:
        text, name = str(content.accepted), str(key.accepted)
        held = self.held_under(who, definition, name)
        outcome = "created" if held is None else "replaced"
        if held is not None and (held.content, held.status) == (text, status):
            outcome = "unchanged"
        else:
            code = self._refuse_growth(who, definition, held, text, proposes=status == "proposed")
            if code:
                return _refusal(code, name, usage=self.usage(who, definition))
            held = self._write(who, definition, name, held, text, status, action, actor)
        memory = {
            "key": name,
            "content": text,
            "status": status,
            "version": held.version,
            "updated_at": format_time(held.updated_at),
        }
        return {"ok": True, "outcome": outcome, "memory": memory, "usage": self.usage(who, definition)}

    def _write(
        self, who: str, definition: str, key: str, held: Fact | None, text: str, status: str, action: str,
        actor: tuple[str, str],
    ) -> Fact:  # fmt: skip
        now = self.clock()
        if held is None:
            organisation = self.people[who].organisation
            held = Fact(organisation, definition, key, text, status, who, now, now, now)
            self.facts.append(held)
            self._record(held, 1, action, None, status, actor)
            return held
        if status == "proposed" and held.status != "proposed":
            held.stated_at = now
        if status == "personal":
            _hide_key(held)
        held.content = text
        self._change(held, action, status, actor)
        return held

    def _change(self, fact: Fact, action: str, status: str, actor: tuple[str, str | None]) -> None:
        before, fact.status = fact.status, status
        fact.version += 1
        fact.updated_at = self.clock()
        self._record(fact, fact.version, action, before, status, actor)

    def _remove(
        self, fact: Fact, action: str, actor: tuple[str, str | None], *, by_administrator: bool = False
    ) -> Fact:
        was_decided = any(event.action in DECIDED and event.key for event in fact.events)
        self._record(fact, fact.version + 1, action, fact.status, None, actor)
        if fact.status == "proposed" and not by_administrator and not was_decided:
            _hide_key(fact)
        self.facts.remove(fact)
        self.gone.append(fact)
        return fact

    @staticmethod
    def _record(
        fact: Fact,
        version: int,
        action: str,
        before: str | None,
        after: str | None,
        actor: tuple[str, str | None],
    ) -> None:
        key = fact.key if "personal" not in {after, before if after is None else after} else None
        fact.events.append(Event(version, action, before, after, *actor, key))

    def _require_administrator(self, who: str, organisation: str) -> None:
        person = self.people[who]
        if not self.is_live(who) or (person.organisation, person.role) != (organisation, "administrator"):
            raise Refused("NotAnAdministrator")

    def _require_confirmable(self, fact: Fact, by: str) -> None:
        definition = self.definitions[fact.organisation, fact.definition]
        if self.confirmed_under(fact.organisation, fact.definition, fact.key) is not None:
            raise Refused("KeyAlreadyConfirmed")
        facts = self.shelf(fact.organisation, fact.definition, "confirmed")
        characters = sum(len(each.content) for each in facts) + len(fact.content)
        if len(facts) + 1 > definition.account_fact_limit or characters > definition.account_fact_characters:
            raise Refused("AccountFactsFull")
        if definition.second_person_required and fact.stated_by == by:
            raise Refused("SecondPersonRequired")

    def _find(self, memory_id: int, organisation: str, statuses: Iterable[str]) -> Fact:
        for fact in self.facts:
            if (fact.id, fact.organisation) == (memory_id, organisation) and fact.status in statuses:
                return fact
        raise Refused("MemoryNotFound")

    def _find_own(self, memory_id: int, owner: str, statuses: Iterable[str]) -> Fact:
        fact = self._find(memory_id, self.people[owner].organisation, statuses)
        if fact.stated_by != owner or not self.is_live(owner):
            raise Refused("MemoryNotFound")
        return fact


def _only(found: Iterable[Fact]) -> Fact | None:
    facts: Sequence[Fact] = list(found)
    assert len(facts) <= 1
    return facts[0] if facts else None


def _refusal(error: str, key: str | None, **more: Any) -> Answer:
    return {"ok": False, "error": error, "key": key, **more}


def _existing(fact: Fact) -> dict[str, str]:
    return {"key": fact.key, "content": fact.content, "status": fact.status}


def _closed(fact: Fact, *, is_own: bool) -> Answer:
    assert fact.decided_at is not None
    own = {"reason": fact.reason, "existing": _existing(fact)} if is_own else {}
    return _refusal("already_rejected", fact.key, decided_at=format_time(fact.decided_at), **own)


def _hide_key(fact: Fact) -> None:
    for event in fact.events:
        event.key = None


def _require_version(fact: Fact, expected_version: int | None) -> None:
    if expected_version not in {None, fact.version}:
        raise Refused("MemoryChanged")
