"""Makes stories happen: by the calls of the directory and the manager, at the times that they tell."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from portal.database import Database
from portal.demo.story import Decided, Kind, Person, Proposed, Remembered, Story
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import Agent, AgentMemory, Profile
from portal.passwords import hash_password

Progress = Callable[[int, int], None]


def seed(
    database: Database, stories: Sequence[Story], *, password: str, now: dt.datetime, progress: Progress
) -> None:
    """Put stories into a database that has none of their organisations, and perhaps no schema yet.

    :param password: everybody's.
    :param now: the moment that the stories lead up to, aware and in UTC.
    :param progress: called after each step with how many are done, and of how many.
    :raises RuntimeError: a story does not work out, because an agent's call was refused.
    """
    total = sum(len(story.people) + len(story.kinds) + len(story.steps) for story in stories)
    database.upgrade()
    # Hashing is slow on purpose, and everybody has the same password.
    password_hash = hash_password(password)
    steps = chain.from_iterable(_Telling(database, story, password_hash, now).happen() for story in stories)
    for done, _ in enumerate(steps, start=1):
        progress(done, total)


class _Telling:
    """One story on its way into a database, with a clock that goes by it."""

    def __init__(self, database: Database, story: Story, password_hash: str, now: dt.datetime) -> None:
        self._story = story
        self._password_hash = password_hash
        self._now = now
        self._time = now - dt.timedelta(days=story.steps[0].days_ago + 1)
        self._profiles: dict[Person, Profile] = {}
        self._directory = Directory(database, clock=lambda: self._time)
        self._manager = AgentMemoryManager(database, clock=lambda: self._time)

    def happen(self) -> Iterator[None]:
        """Do what the story tells, and pause after each step."""
        self._organisation = self._directory.create_organisation(name=self._story.name, slug=self._story.slug)
        for person in self._story.people:
            self._add_person(person)
            yield
        for kind in self._story.kinds:
            self._add_kind(kind)
            yield
        for step in self._story.steps:
            self._time = self._now - dt.timedelta(days=step.days_ago)
            if isinstance(step, Decided):
                self._decide(step)
            else:
                self._record(step)
            yield

    def _add_person(self, person: Person) -> None:
        self._profiles[person] = self._directory.create_profile(
            self._organisation,
            email=person.email,
            name=person.name,
            role=person.role,
            password_hash=self._password_hash,
        )

    def _add_kind(self, kind: Kind) -> None:
        self._directory.define_agent(
            self._organisation,
            name=kind.name,
            title=kind.title,
            description=kind.description,
            memory_limit=kind.memory_limit,
            second_person_required=kind.second_person_required,
        )

    def _agent_of(self, person: Person, kind: Kind) -> Agent:
        return self._directory.agent_for(self._profiles[person], kind.name)

    def _record(self, step: Remembered) -> None:
        is_proposal = isinstance(step, Proposed)
        call = self._manager.propose_account_fact if is_proposal else self._manager.remember
        answer = json.loads(call(self._agent_of(step.owner, step.kind), step.key, step.content))
        if not answer["ok"]:
            raise RuntimeError(f"the story cannot record {step.key}: {answer['error']}")

    def _decide(self, step: Decided) -> None:
        proposal = self._find_proposal(step)
        self._manager.decide_account_fact(
            proposal.id,
            self._organisation,
            self._profiles[step.by],
            step.action,
            expected_version=proposal.version,
            reason=step.reason,
        )

    def _find_proposal(self, step: Decided) -> AgentMemory:
        stater = self._profiles[step.owner]
        for proposal in self._manager.find_proposed_account_facts(self._organisation, step.kind.name):
            if proposal.memory_key == step.key and proposal.stated_by_id == stater.id:
                return proposal
        raise RuntimeError(f"the story decides on {step.key}, which nobody proposed")
