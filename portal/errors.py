"""Everything that this package raises on purpose.

::

    AgentMemoryError
    ├── InvalidInput            a value that a person or a program passed in cannot be accepted
    │   ├── InvalidKey          … a memory key
    │   └── InvalidContent      … a memory's content
    ├── NameTaken               the name or address is in use
    ├── LastAdministrator       the organisation would be left without an active administrator
    ├── OwnAccess               administrators leave their own access to other administrators
    ├── LinkNotValid            the one-time link cannot be used, or not any more
    ├── UnknownAction           no such decision
    ├── NotAnAdministrator      whoever decides is not an active administrator of the organisation
    ├── MemoryNotFound          no such memory here, or not one that the caller may touch
    ├── MaintenanceFailed       a backup, a restore or the like could not be carried out
    └── DecisionRefused         the memory is there, but not as the caller thought
        ├── AlreadyDecided      it is not a proposal any more
        ├── NotDecided          it is a proposal already
        ├── MemoryChanged       it was changed since the caller read it
        ├── KeyAlreadyConfirmed the key has a confirmed fact
        ├── AccountFactsFull    no room for another confirmed fact
        ├── MemoriesFull        no room in the stater's own memories
        ├── SecondPersonRequired nobody confirms what they stated themselves
        ├── StaterGone          the person who stated it was erased
        └── KeyTaken            the person has recorded another fact under the key since

Messages hold ids and codes. They never hold a memory's text, because messages end up in logs; what a
page needs to show stands in attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from portal.models import AgentMemory


class AgentMemoryError(Exception):
    """The root of what this package raises on purpose."""


class InvalidInput(AgentMemoryError, ValueError):
    """A value cannot be accepted as it is; nothing was written.

    ``field`` names the argument, and ``problem`` is a sentence that a person can act on. Neither
    repeats the value.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidKey(InvalidInput):
    """A text cannot be a memory key."""

    def __init__(self, problem: str) -> None:
        super().__init__("memory_key", problem)


class InvalidContent(InvalidInput):
    """A text cannot be a memory's content.

    ``code`` is ``"content_too_long"`` where the text is only too long, else ``"invalid_content"``.
    """

    def __init__(self, problem: str, *, code: str = "invalid_content") -> None:
        super().__init__("content", problem)
        self.code = code


class NameTaken(AgentMemoryError):
    """A name, slug or e-mail address is in use; nothing was written. ``field`` says which."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field}: this is already taken")
        self.field = field


class LastAdministrator(AgentMemoryError):
    """The organisation would be left without an active administrator; nothing was written."""

    def __init__(self, profile_id: int) -> None:
        super().__init__(f"profile {profile_id} is the last active administrator of the organisation")
        self.profile_id = profile_id


class OwnAccess(AgentMemoryError):
    """An administrator would take away, or get round, their own access; nothing was written."""

    def __init__(self, profile_id: int) -> None:
        super().__init__(f"profile {profile_id} cannot do this to itself; another administrator can")
        self.profile_id = profile_id


class LinkNotValid(AgentMemoryError):
    """A one-time link was used, was replaced by a newer one, has expired, or never was.

    Which of them it is, nobody is told. Nothing was written.
    """

    def __init__(self) -> None:
        super().__init__("this one-time link is not valid, or not any more")


class UnknownAction(AgentMemoryError, ValueError):
    """The action is none of ``confirm``, ``reject`` and ``delete``; nothing was written."""

    def __init__(self) -> None:
        super().__init__("the action must be confirm, reject or delete")


class NotAnAdministrator(AgentMemoryError):
    """Whoever acts is not an active administrator of the organisation; nothing was written."""

    def __init__(self, profile_id: int | None) -> None:
        super().__init__(f"profile {profile_id} is not an active administrator of this organisation")
        self.profile_id = profile_id


class MemoryNotFound(AgentMemoryError):
    """There is no such memory for this caller.

    The answer is the same for an id that never was, another organisation's, and one that the caller
    may not touch. Nothing was written.
    """

    def __init__(self, memory_id: object) -> None:
        super().__init__("no such memory")
        self.memory_id = memory_id


class MaintenanceFailed(AgentMemoryError):
    """A backup, a restore or the like could not be carried out; the message says why.

    What it would have made is not there, and what was there is as it was.
    """


class DecisionRefused(AgentMemoryError):
    """A memory is not in the state that the call needs; nothing was written.

    ``memory`` is the row as it stands now, complete (with who stated and decided it), so that a page
    can show what the caller did not know.
    """

    reason = "the memory is not in the state that this needs"

    def __init__(self, memory: AgentMemory) -> None:
        super().__init__(f"memory {memory.id}: {self.reason}")
        self.memory = memory


class AlreadyDecided(DecisionRefused):
    """It is not a proposal any more; ``memory`` says what it is, who decided and when."""

    reason = "it is not a proposal any more"


class NotDecided(DecisionRefused):
    """It is a proposal, so there is no decision to undo."""

    reason = "it is still a proposal"


class MemoryChanged(DecisionRefused):
    """It has another version than the caller read; ``memory`` holds the current text."""

    reason = "it was changed since it was read"


class KeyAlreadyConfirmed(DecisionRefused):
    """The key has a confirmed fact, which is ``confirmed``; ``memory`` is the one that was refused."""

    reason = "its key has a confirmed fact"

    def __init__(self, memory: AgentMemory, confirmed: AgentMemory) -> None:
        super().__init__(memory)
        self.confirmed = confirmed


class AccountFactsFull(DecisionRefused):
    """Confirming would exceed the definition's limit of confirmed facts or of characters in them."""

    reason = "there is no room for another account fact"


class MemoriesFull(DecisionRefused):
    """The person who stated it has no room for another memory or proposal."""

    reason = "the person who stated it has no room for it"


class SecondPersonRequired(DecisionRefused):
    """The definition's policy lets nobody confirm what they stated themselves."""

    reason = "somebody else must confirm it"


class StaterGone(DecisionRefused):
    """The person who stated it was erased, so nobody could hold it."""

    reason = "the person who stated it was erased"


class KeyTaken(DecisionRefused):
    """The person who stated it has recorded another fact under the key since."""

    reason = "its key has another fact of the same person"
