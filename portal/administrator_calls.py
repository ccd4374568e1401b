"""What administrators may do with account facts: find them, decide, undo and delete."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from portal.changes import COMMAND_LINE, Actor, Change, decide_memory, remove_memory, reopen_memory
from portal.contents import check_reason
from portal.errors import (
    AccountFactsFull,
    AlreadyDecided,
    KeyAlreadyConfirmed,
    KeyTaken,
    MemoriesFull,
    MemoryChanged,
    MemoryNotFound,
    NotDecided,
    SecondPersonRequired,
    StaterGone,
    UnknownAction,
)
from portal.find_calls import FindCalls
from portal.models import ACCOUNT_SCOPE, AgentMemory, Organisation, Profile
from portal.policy import exceeded_ceiling, growth_of, has_room_for_fact, needs_second_person
from portal.recall import ACCOUNT_FACTS, CONFIRMED, HELD, REJECTED, WITH_PEOPLE, read_memory, select_memories
from portal.review_queue import ReviewQueueCalls
from portal.scopes import (
    id_of,
    lock_agent_of,
    lock_definition,
    read_account_usage,
    read_usage,
    require_administrator,
)
from portal.values import EventAction, Status

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from portal.database import Database
    from portal.models import AgentDefinition
    from portal.values import Clock


class Action(StrEnum):
    """What an administrator can do with a proposal."""

    CONFIRM = "confirm"
    REJECT = "reject"
    DELETE = "delete"


class AdministratorCalls(FindCalls, ReviewQueueCalls):
    """The calls of an administrator. Each is a transaction of its own.

    ``admin_org`` is the administrator's organisation and bounds everything: a memory of another
    organisation is not found. Whoever decides is checked against their row at that moment.
    """

    _database: Database
    _clock: Clock

    def decide_account_fact(
        self, memory_id: int, admin_org: Organisation, decided_by: Profile, action: str,
        *, expected_version: int | None = None, reason: str = "",
    ) -> AgentMemory:  # fmt: skip
        """Confirm, reject or delete a proposal.

        Of any number of decisions at once exactly one wins. Other proposals under the key stay.

        :param action: ``"confirm"``, ``"reject"`` or ``"delete"``.
        :param expected_version: the version that was on the screen; None means whatever it is now.
        :param reason: why, at most 500 code points, for the person who stated it.
        :returns: the memory as it stands after the decision, or for ``"delete"`` as it was.
        :raises portal.errors.UnknownAction: it is none of the three.
        :raises portal.errors.InvalidInput: (``reason``) it cannot be accepted.
        :raises portal.errors.NotAnAdministrator: ``decided_by`` is no active administrator of it.
        :raises portal.errors.MemoryNotFound: it has no account fact with this id.
        :raises portal.errors.AlreadyDecided: it is not a proposal any more.
        :raises portal.errors.MemoryChanged: it has another version.
        :raises portal.errors.KeyAlreadyConfirmed: (confirm) the key has a confirmed fact.
        :raises portal.errors.AccountFactsFull: (confirm) there is no room for another confirmed fact.
        :raises portal.errors.SecondPersonRequired: (confirm) they stated it themselves, and the
            definition asks for somebody else.
        """
        organisation_id, decider_id = id_of(admin_org, Organisation), id_of(decided_by, Profile)
        try:
            chosen = Action(action)
        except ValueError as exc:
            raise UnknownAction from exc
        checked_reason = check_reason(reason)

        def decide(session: Session) -> AgentMemory:
            decider = require_administrator(session, decider_id, organisation_id=organisation_id)
            fact = _Fact(session, organisation_id, memory_id, ACCOUNT_FACTS)
            fact.require_proposal(expected_version)
            if chosen == Action.CONFIRM:
                fact.require_confirmable(decider)
            change = self._change(DECIDED[chosen], Actor.profile(decider_id))
            if chosen == Action.DELETE:
                remove_memory(session, change, fact.memory, is_decision=True)
                return fact.memory
            decide_memory(session, change, fact.memory, status=STATUS_AFTER[chosen], reason=checked_reason)
            return fact.read_again()

        return self._database.write(decide)

    def delete_memory(
        self, memory_id: int, admin_org: Organisation, *, deleted_by: Profile | None = None,
        expected_version: int | None = None,
    ) -> None:  # fmt: skip
        """Delete a memory outright. The only way in which a confirmed fact can go.

        Deleting a rejected fact opens its key again once no other rejected fact holds it.

        :param deleted_by: who does it; personal memories do not exist for them. None is the command line,
            which may delete any memory of the organisation.
        :raises portal.errors.NotAnAdministrator: ``deleted_by`` is no active administrator of it.
        :raises portal.errors.MemoryNotFound: there is none with this id.
        :raises portal.errors.MemoryChanged: it has another version than ``expected_version``.
        """
        organisation_id = id_of(admin_org, Organisation)
        actor = COMMAND_LINE
        statuses: Sequence[Status] = HELD + CONFIRMED + REJECTED
        if deleted_by is not None:
            actor, statuses = Actor.profile(id_of(deleted_by, Profile)), ACCOUNT_FACTS

        def remove(session: Session) -> None:
            if actor.profile_id is not None:
                require_administrator(session, actor.profile_id, organisation_id=organisation_id)
            fact = _Fact(session, organisation_id, memory_id, statuses)
            fact.require_version(expected_version)
            change = self._change(EventAction.DELETED, actor)
            remove_memory(session, change, fact.memory, is_decision=True)

        self._database.write(remove)

    def reopen_account_fact(
        self, memory_id: int, admin_org: Organisation, reopened_by: Profile,
        *, expected_version: int | None = None,
    ) -> AgentMemory:  # fmt: skip
        """Undo a confirmation or a rejection: the fact is a proposal again, at its old place.

        :returns: the proposal.
        :raises portal.errors.NotAnAdministrator: ``reopened_by`` is no active administrator of it.
        :raises portal.errors.MemoryNotFound: it has no account fact with this id.
        :raises portal.errors.NotDecided: it is a proposal.
        :raises portal.errors.MemoryChanged: it has another version than ``expected_version``.
        :raises portal.errors.StaterGone: who stated it was erased.
        :raises portal.errors.KeyTaken: who stated it has recorded another fact under the key since.
        :raises portal.errors.MemoriesFull: who stated it has no room for it.
        """
        organisation_id, reopener_id = id_of(admin_org, Organisation), id_of(reopened_by, Profile)

        def reopen(session: Session) -> AgentMemory:
            require_administrator(session, reopener_id, organisation_id=organisation_id)
            fact = _Fact(session, organisation_id, memory_id, ACCOUNT_FACTS)
            fact.require_decided(expected_version)
            fact.require_holdable()
            reopen_memory(
                session, self._change(EventAction.REOPENED, Actor.profile(reopener_id)), fact.memory
            )
            return fact.read_again()

        return self._database.write(reopen)

    def _change(self, action: EventAction, actor: Actor) -> Change:
        return Change(action, actor, self._clock())


DECIDED = {
    Action.CONFIRM: EventAction.CONFIRMED,
    Action.REJECT: EventAction.REJECTED,
    Action.DELETE: EventAction.DELETED,
}
STATUS_AFTER = {Action.CONFIRM: Status.CONFIRMED, Action.REJECT: Status.REJECTED}


class _Fact:
    """A memory that an administrator acts on, as it stands under the locks of its scopes."""

    memory: AgentMemory

    def __init__(
        self, session: Session, organisation_id: int, memory_id: int, statuses: Sequence[Status]
    ) -> None:
        self._session = session
        self._organisation_id = organisation_id
        self._memory_id = memory_id
        self._statuses = statuses
        seen = self._read()
        # What a memory belongs to does not change, but what it is may, until the locks are granted.
        definition = lock_definition(
            session, organisation_id=organisation_id, definition_id=seen.definition_id
        )
        self._stater = lock_agent_of(
            session,
            organisation_id=organisation_id,
            definition_id=seen.definition_id,
            owner_id=seen.stated_by_id,
        )
        self.memory = self._read()
        # It is there, because the memory is.
        self._definition = cast("AgentDefinition", definition)

    def _read(self) -> AgentMemory:
        memory = read_memory(
            self._session,
            organisation_id=self._organisation_id,
            memory_id=self._memory_id,
            statuses=self._statuses,
        )
        if memory is None:
            raise MemoryNotFound(self._memory_id)
        return memory

    def _find_under_key(self, scope_id: int, statuses: Sequence[Status]) -> AgentMemory | None:
        found: AgentMemory | None = self._session.scalars(
            select_memories(AgentMemory, organisation_id=self._organisation_id, statuses=statuses)
            .where(
                AgentMemory.definition_id == self.memory.definition_id,
                AgentMemory.scope_id == scope_id,
                AgentMemory.memory_key == self.memory.memory_key,
            )
            .options(*WITH_PEOPLE)
        ).one_or_none()
        return found

    def require_version(self, expected_version: int | None) -> None:
        """Refuse where the caller saw another version."""
        if expected_version is not None and expected_version != self.memory.version:
            raise MemoryChanged(self.memory)

    def require_proposal(self, expected_version: int | None) -> None:
        """Refuse unless it is still the proposal that the caller saw."""
        if self.memory.status != Status.PROPOSED:
            raise AlreadyDecided(self.memory)
        self.require_version(expected_version)

    def require_confirmable(self, decider: Profile) -> None:
        """Refuse where the key, the definition's ceilings or its policy do not allow a confirmation."""
        confirmed = self._find_under_key(ACCOUNT_SCOPE, CONFIRMED)
        if confirmed is not None:
            raise KeyAlreadyConfirmed(self.memory, confirmed)
        if not has_room_for_fact(read_account_usage(self._session, self._definition), self.memory.content):
            raise AccountFactsFull(self.memory)
        if needs_second_person(self._definition, self.memory.stated_by_id, decider):
            raise SecondPersonRequired(self.memory)

    def require_decided(self, expected_version: int | None) -> None:
        """Refuse unless it is still the decided fact that the caller saw."""
        if self.memory.status == Status.PROPOSED:
            raise NotDecided(self.memory)
        self.require_version(expected_version)

    def require_holdable(self) -> None:
        """Refuse where the person who stated it cannot hold it as a proposal again."""
        if self._stater is None:
            raise StaterGone(self.memory)
        if self._find_under_key(self._stater.owner_id, HELD) is not None:
            raise KeyTaken(self.memory)
        growth = growth_of(None, self.memory.content, proposes=True)
        if exceeded_ceiling(read_usage(self._session, self._stater), growth) is not None:
            raise MemoriesFull(self.memory)

    def read_again(self) -> AgentMemory:
        """Return the memory as this transaction has written it."""
        self.memory = self._read()
        return self.memory
