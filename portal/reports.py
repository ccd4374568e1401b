"""What pages and adapters read beyond the manager's calls: counts, usage, history and exports.

Nothing here writes. Everything returned is complete without a session.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, select
from sqlalchemy.orm import joinedload

from portal.contents import is_storable
from portal.counts import COUNT_WAITING, Count, ShelfCounts, count_reach, read_shelf_counts
from portal.find_calls import after_position, count_rows
from portal.models import (
    ACCOUNT_SCOPE,
    Agent,
    AgentDefinition,
    AgentMemory,
    MemoryEvent,
    Organisation,
    Profile,
)
from portal.pages import Page, Position, Question, check_limit, cut_page
from portal.recall import (
    ACCOUNT_FACTS,
    CONFIRMED,
    HELD,
    PROPOSED,
    REJECTED,
    WITH_PEOPLE,
    read_memory,
    select_memories,
)
from portal.review_page import ReviewPageCalls
from portal.scopes import find_definition_id, id_of, select_usage, usage_of
from portal.values import Status, is_id, to_microseconds

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from portal.database import Database
    from portal.policy import Usage


@dataclass(frozen=True)
class DefinitionOverview:
    """A definition with what its administrators want to know first."""

    definition: AgentDefinition
    counts: ShelfCounts
    oldest_stated_at: dt.datetime | None
    """Since when the oldest proposal waits; None where nothing waits."""
    agents: int
    """How many active people have an agent of this definition, and so use its confirmed facts."""


@dataclass(frozen=True)
class AgentOverview:
    """One of a person's agents with what it holds."""

    definition: AgentDefinition
    usage: Usage
    account_facts: Count


@dataclass(frozen=True)
class ExportedMemory:
    """A memory of a person's export, with the definition whose agent it belongs to."""

    definition: AgentDefinition
    memory: AgentMemory


class MemoryReports(ReviewPageCalls):
    """The read calls beside the manager's. Safe to share between threads.

    ``admin_org`` bounds what an administrator sees, ``owner`` what a person sees of their own.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def find_definition_overviews(self, admin_org: Organisation) -> Sequence[DefinitionOverview]:
        """Return every definition of the organisation, by title, with its counts."""
        organisation_id = id_of(admin_org, Organisation)

        def find(session: Session) -> Sequence[DefinitionOverview]:
            definitions = session.scalars(
                select(AgentDefinition).where(AgentDefinition.organisation_id == organisation_id)
            ).all()
            return [_overview(session, definition) for definition in sorted(definitions, key=_title)]

        return self._database.read(find)

    def find_shelf_counts(self, admin_org: Organisation, agent_def_name: str) -> ShelfCounts:
        """Return how many proposals, confirmed and rejected facts a definition has."""
        organisation_id = id_of(admin_org, Organisation)

        def find(session: Session) -> ShelfCounts:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            return (
                ShelfCounts()
                if definition_id is None
                else read_shelf_counts(session, organisation_id, definition_id)
            )

        return self._database.read(find)

    def count_waiting(self, admin_org: Organisation) -> Count:
        """Return how many proposals wait in all definitions of the organisation."""
        place = {"organisation_id": id_of(admin_org, Organisation)}
        [(waiting,)] = self._database.fetch_rows(COUNT_WAITING, place)
        return Count.of(waiting)

    def count_reach(self, admin_org: Organisation, agent_def_name: str) -> int:
        """Return how many active people's agents use a definition's confirmed facts."""
        organisation_id = id_of(admin_org, Organisation)

        def count(session: Session) -> int:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            return count_reach(session, organisation_id, definition_id or 0)

        return self._database.read(count)

    def count_arrivals(self, admin_org: Organisation, agent_def_name: str, since: dt.datetime) -> Count:
        """Return how many of the proposals that wait became one after ``since``, an aware time."""
        organisation_id = id_of(admin_org, Organisation)

        def count(session: Session) -> Count:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            waiting = select_memories(AgentMemory.id, organisation_id=organisation_id, statuses=PROPOSED)
            return _count(
                session,
                waiting.where(AgentMemory.definition_id == definition_id, AgentMemory.stated_at > since),
            )

        return self._database.read(count)

    def find_account_fact(
        self, memory_id: int, admin_org: Organisation, agent_def_name: str
    ) -> AgentMemory | None:
        """Return an account fact of the definition. A personal memory's id finds nothing."""
        organisation_id = id_of(admin_org, Organisation)
        return self._database.read(
            lambda session: _read_one(session, organisation_id, agent_def_name, memory_id, ACCOUNT_FACTS)
        )

    def find_own_memory(self, memory_id: int, owner: Profile, agent_def_name: str) -> AgentMemory | None:
        """Return what this person's agent holds under an id, or a rejected fact that they stated."""
        owner_id = id_of(owner, Profile)

        def find(session: Session) -> AgentMemory | None:
            organisation_id = _organisation_of(session, owner_id)
            memory = _read_one(session, organisation_id, agent_def_name, memory_id, HELD + REJECTED)
            return memory if memory is not None and memory.stated_by_id == owner_id else None

        return self._database.read(find)

    def find_agent_overviews(self, owner: Profile) -> Sequence[AgentOverview]:
        """Return this person's agents, by title, with what each holds."""
        owner_id = id_of(owner, Profile)

        def find(session: Session) -> Sequence[AgentOverview]:
            definitions = session.scalars(_own_definitions(owner_id)).all()
            return [
                AgentOverview(
                    definition=definition,
                    usage=_usage(session, definition, owner_id),
                    account_facts=_count_confirmed(session, definition.organisation_id, definition.id),
                )
                for definition in sorted(definitions, key=_title)
            ]

        return self._database.read(find)

    def find_usage(self, owner: Profile, agent_def_name: str) -> Usage | None:
        """Return what this person's agent holds and may hold, or None for a name without a definition."""
        owner_id = id_of(owner, Profile)

        def find(session: Session) -> Usage | None:
            organisation_id = _organisation_of(session, owner_id)
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            definition = session.scalars(
                select(AgentDefinition).where(
                    AgentDefinition.organisation_id == organisation_id, AgentDefinition.id == definition_id
                )
            ).one_or_none()
            return None if definition is None else _usage(session, definition, owner_id)

        return self._database.read(find)

    def find_events(
        self, admin_org: Organisation, agent_def_name: str, *, memory_id: int | None = None,
        memory_key: str | None = None, limit: int | None = None, after: str | None = None,
    ) -> Page[MemoryEvent]:  # fmt: skip
        """Return what happened to a definition's account facts, the newest first.

        Events of personal memories are nobody's history; those of a proposal that was taken back lost
        their key and are not here either.

        :param memory_id: only this fact's.
        :param memory_key: only those of facts under this canonical key.
        :param limit: as in :class:`portal.find_calls.FindCalls`, ``after`` too.
        """
        organisation_id = id_of(admin_org, Organisation)
        limit = check_limit(limit)
        is_one = memory_id is not None
        if (is_one and not is_id(memory_id)) or not is_storable(memory_key or ""):
            return Page()
        asked = (organisation_id, agent_def_name, memory_id or 0, memory_key or "")
        question = Question("events", asked, (int, int, int))

        def find(session: Session) -> Page[MemoryEvent]:
            definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
            events = select(MemoryEvent).where(
                MemoryEvent.organisation_id == organisation_id,
                MemoryEvent.definition_id == definition_id,
                MemoryEvent.memory_key.is_not(None),
            )
            if memory_id is not None:
                events = events.where(MemoryEvent.memory_id == memory_id)
            if memory_key is not None:
                events = events.where(MemoryEvent.memory_key == memory_key)
            order = (MemoryEvent.at, MemoryEvent.memory_id, MemoryEvent.version)
            position = question.position(after, limit=limit)
            page = after_position(events, order, position, is_descending=True)
            if limit is not None:
                page = page.limit(limit + 1)
            rows = session.scalars(page.options(joinedload(MemoryEvent.actor))).all()
            total = len(rows) if limit is None else count_rows(session, events)
            return cut_page(question, rows, map(_event_position, rows), limit=limit, total=total)

        return self._database.read(find)

    def export_person(self, owner: Profile) -> Iterator[ExportedMemory]:
        """Go through everything that is stored of what this person's agents were told.

        That is what the agents hold, and the rejected and confirmed facts that this person stated. One
        agent is read at a time, so the whole is never in memory.
        """
        owner_id = id_of(owner, Profile)
        definitions = self._database.read(lambda session: session.scalars(_own_definitions(owner_id)).all())
        for definition in sorted(definitions, key=lambda definition: definition.name):
            for memory in self._database.read(partial(_read_stated, definition, owner_id)):
                yield ExportedMemory(definition, memory)


def _organisation_of(session: Session, profile_id: int) -> int:
    """Return the id of somebody's organisation, and for nobody 0, which is no organisation's."""
    organisation_id = select(Profile.organisation_id).where(Profile.id == profile_id)
    return session.scalars(organisation_id).one_or_none() or 0


def _read_one(
    session: Session,
    organisation_id: int,
    agent_def_name: str,
    memory_id: int,
    statuses: Sequence[Status],
) -> AgentMemory | None:
    """Return a memory of one definition, complete."""
    definition_id = find_definition_id(session, organisation_id=organisation_id, name=agent_def_name)
    memory = read_memory(session, organisation_id=organisation_id, memory_id=memory_id, statuses=statuses)
    return memory if memory is not None and memory.definition_id == definition_id else None


def _title(definition: AgentDefinition) -> tuple[str, int]:
    """Return what definitions are sorted by, upper and lower case alike; databases differ in that."""
    return definition.title.casefold(), definition.id


def _count(session: Session, statement: Select[Any]) -> Count:
    return Count.of(count_rows(session, statement))


def _count_confirmed(session: Session, organisation_id: int, definition_id: int) -> Count:
    facts = select_memories(AgentMemory.id, organisation_id=organisation_id, statuses=CONFIRMED)
    # One range of the primary key.
    of_definition = (AgentMemory.definition_id == definition_id, AgentMemory.scope_id == ACCOUNT_SCOPE)
    return _count(session, facts.where(*of_definition))


def _overview(session: Session, definition: AgentDefinition) -> DefinitionOverview:
    organisation_id = definition.organisation_id
    oldest = select_memories(AgentMemory.stated_at, organisation_id=organisation_id, statuses=PROPOSED)
    return DefinitionOverview(
        definition=definition,
        counts=read_shelf_counts(session, organisation_id, definition.id),
        oldest_stated_at=session.scalars(
            oldest.where(AgentMemory.definition_id == definition.id)
            .order_by(AgentMemory.stated_at, AgentMemory.id)
            .limit(1)
        ).first(),
        agents=count_reach(session, organisation_id, definition.id),
    )


def _own_definitions(owner_id: int) -> Select[AgentDefinition]:
    return select(AgentDefinition).where(
        Profile.id == owner_id,
        Agent.organisation_id == Profile.organisation_id,
        Agent.owner_id == Profile.id,
        AgentDefinition.organisation_id == Agent.organisation_id,
        AgentDefinition.id == Agent.definition_id,
    )


def _usage(session: Session, definition: AgentDefinition, owner_id: int) -> Usage:
    memories, characters, proposals = session.execute(
        select_usage(
            organisation_id=definition.organisation_id, definition_id=definition.id, owner_id=owner_id
        )
    ).one()
    return usage_of(definition, memories=memories, characters=characters, proposals=proposals)


def _read_stated(definition: AgentDefinition, owner_id: int, session: Session) -> Sequence[AgentMemory]:
    """Return one person's rows in one definition; confirmed ones stand in the account's scope."""
    stated = select_memories(
        AgentMemory, organisation_id=definition.organisation_id, statuses=HELD + CONFIRMED + REJECTED
    ).where(
        AgentMemory.definition_id == definition.id,
        AgentMemory.scope_id.in_([owner_id, ACCOUNT_SCOPE, -owner_id]),
        AgentMemory.stated_by_id == owner_id,
    )
    in_order = stated.order_by(AgentMemory.memory_key, AgentMemory.scope_id.desc())
    rows: Sequence[AgentMemory] = session.scalars(in_order.options(*WITH_PEOPLE)).all()
    return rows


def _event_position(event: MemoryEvent) -> Position:
    return to_microseconds(event.at), event.memory_id, event.version
