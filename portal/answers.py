"""The answers to an agent, as JSON text.

A message is a short sentence that tells a model what it can do now. It never names another person and
never repeats a content that was refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portal.policy import Usage
from portal.recall import as_json, format_time, json_template, quoted
from portal.values import Status

if TYPE_CHECKING:
    from portal.errors import InvalidContent, InvalidKey
    from portal.holding import ConfirmedFact, Held, NoRoom
    from portal.models import AgentMemory

INACTIVE_MESSAGE = "This agent is not active any more: nothing can be remembered or recalled with it."
WITHDRAWN_NOTE = "The proposal under this key is withdrawn from review: it is about this person only now."
FACT_STANDS_NOTE = (
    "A confirmed account fact under this key stands beside it; only an administrator removes it."
)
FACT_STAYS_NOTE = "A confirmed account fact under this key stays; only an administrator removes it."
REMEMBER_CONFIRMED = """\
A confirmed account fact has this key and is in use. Use another key for what is about this person only."""
PROPOSE_CONFIRMED = """\
A confirmed account fact has this key. Put the difference to the person: only an administrator deletes it."""
FORGET_CONFIRMED = """\
This is a confirmed account fact. Only an administrator can delete it; tell the person so."""
ALREADY_REJECTED = """\
An administrator rejected an account fact under this key. Remember it for this person alone, or drop it."""
PROPOSALS_FULL = """\
%d of %d proposals wait for an administrator. Remember it for this person, or propose it again later."""
MEMORIES_FULL = """\
Memory is full: %d of %d memories are in use. Forget what matters least, or replace one under its key."""
CHARACTERS_FULL = """\
No room: %d of %d characters are in use and this needs %d more. Forget what matters least, or shorten it."""


# The answer of most calls that write; an encoder would take longer for it than the database for the row.
_STORED = json_template({
    "ok": "true",
    "outcome": '"%s"',
    "memory": {
        "key": "%s",
        "content": "%s",
        "status": '"%s"',
        "version": "%d",
        "updated_at": '"%s"',
    },
    "usage": dict.fromkeys(Usage._fields, "%d"),
})  # fmt: skip


def stored(held: Held) -> str:
    """Answer that a memory is stored as it now stands."""
    memory = held.memory
    answer = _STORED % (
        held.outcome,
        quoted(memory.memory_key),
        quoted(memory.content),
        memory.status,
        memory.version,
        format_time(memory.updated_at),
        *held.usage,
    )
    if not held.was_withdrawn and not held.is_beside_fact:
        return answer
    notes = [WITHDRAWN_NOTE] * held.was_withdrawn + [FACT_STANDS_NOTE] * held.is_beside_fact
    return f'{answer[:-1]},"note":{quoted(" ".join(notes))}}}'


def forgotten(memory_key: str, usage: Usage, *, notes: list[str]) -> str:
    """Answer that a memory is gone."""
    return as_json(
        {"ok": True, "outcome": "forgotten", "key": memory_key, "usage": usage.as_json()} | _note(notes)
    )


def invalid_key(error: InvalidKey) -> str:
    """Refuse a text that cannot be a key."""
    return _refusal("invalid_key", error.problem, key=None)


def invalid_content(error: InvalidContent, memory_key: str) -> str:
    """Refuse a text that cannot be a content."""
    return _refusal(error.code, error.problem, key=memory_key)


def inactive(memory_key: str) -> str:
    """Refuse an agent whose owner or organisation is inactive, or that does not exist."""
    return _refusal("inactive", INACTIVE_MESSAGE, key=memory_key)


def inactive_list() -> str:
    """Refuse to list for such an agent."""
    return as_json({"ok": False, "error": "inactive", "message": INACTIVE_MESSAGE})


def not_found(memory_key: str) -> str:
    """Refuse to forget what is not there."""
    message = "Nothing is remembered under this key. List the memories to see their keys."
    return _refusal("not_found", message, key=memory_key)


def already_confirmed(memory_key: str, confirmed: ConfirmedFact, message: str) -> str:
    """Refuse because an administrator confirmed a fact under the key, and show that fact."""
    existing = _existing(memory_key, confirmed.content, Status.CONFIRMED)
    return _refusal("already_confirmed", message, key=memory_key, existing=existing)


def already_rejected(rejected: AgentMemory, *, is_own: bool) -> str:
    """Refuse a proposal because the key is closed; reason and content only for whoever stated them."""
    assert rejected.decided_at is not None  # noqa: S101 - a rejected fact has a date, says the table's check
    more: dict[str, Any] = {"decided_at": format_time(rejected.decided_at)}
    if is_own:
        existing = _existing(rejected.memory_key, rejected.content, rejected.status)
        more |= {"reason": rejected.decision_reason, "existing": existing}
    return _refusal("already_rejected", ALREADY_REJECTED, key=rejected.memory_key, **more)


def ceiling_reached(no_room: NoRoom, memory_key: str) -> str:
    """Refuse a write that does not fit, with what is used and what the limit is."""
    usage, growth = no_room.usage, no_room.growth
    if no_room.code == "proposal_limit_reached":
        message = PROPOSALS_FULL % (usage.proposals, usage.proposal_limit)
    elif growth.memories > 0 and usage.memories + growth.memories > usage.memory_limit:
        message = MEMORIES_FULL % (usage.memories, usage.memory_limit)
    else:
        message = CHARACTERS_FULL % (usage.characters, usage.character_limit, growth.characters)
    return _refusal(no_room.code, message, key=memory_key, usage=usage.as_json())


def _refusal(error: str, message: str, *, key: str | None, **more: Any) -> str:
    return as_json({"ok": False, "error": error, "message": message, "key": key, **more})


def _existing(memory_key: str, content: str, status: Status) -> dict[str, str]:
    return {"key": memory_key, "content": content, "status": status}


def _note(notes: list[str]) -> dict[str, str]:
    return {"note": " ".join(notes)} if notes else {}
