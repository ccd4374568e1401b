"""What stands in an entry of the review queue: its proposals, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from portal.differences import Part, word_difference
from portal.hints import Hint, LookAlikes, hints_for
from portal.models import AgentDefinition, AgentMemory, Profile
from portal.policy import needs_second_person
from portal.review_queue import Fact, ReviewEntry
from portal.web.auth import me
from portal.web.errors import Words
from portal.web.filters import times
from portal.web.services import services

KEY_IN_USE = "Its key has a confirmed fact, so this cannot be confirmed."
OWN = "You stated this yourself, so somebody else has to confirm it."


@dataclass(frozen=True)
class Flag:
    """A hint in words, and the confirmed key that it is about, where there is one."""

    words: str
    key: str = ""


class Item(NamedTuple):
    """A proposal with what an administrator should know before deciding on it; or what became of one."""

    memory: AgentMemory | Fact
    flags: Sequence[Flag] = ()
    hindrance: str = ""
    """Why this person cannot confirm it, or nothing."""
    in_use: Fact | None = None
    """The fact in use under its key."""
    difference: Sequence[Part] = ()
    """What it says otherwise than that."""
    receipt: Words | None = None
    """What was done to it just now."""
    can_undo: bool = False
    reason: str = ""
    """A reason for rejecting it that was sent, and could not be accepted because of `problem`."""
    problem: str = ""
    has_focus: bool = False


class Entry(NamedTuple):
    """A key with its proposals, or what is left of it after a decision.

    ``items`` are the proposals and, in its old place among them, what was decided just now.
    """

    memory_key: str
    items: Sequence[Item]
    confirmed: Fact | None = None
    rejected: Fact | None = None
    """The newest rejection under the key."""

    @property
    def is_group(self) -> bool:
        """Whether there is something to compare."""
        return len(self.items) + (self.confirmed is not None) > 1

    @property
    def is_selectable(self) -> bool:
        """Whether it may be decided together with others, without another look."""
        [*others, last] = self.items
        return not others and not (self.confirmed or last.flags or last.hindrance)


def describe(
    definition: AgentDefinition, entries: Iterable[ReviewEntry[Fact]], confirmed_keys: Iterable[str]
) -> Sequence[Entry]:
    """Return entries as they are shown.

    :param confirmed_keys: those of the definition.
    """
    reviewer, confirmed = me(), LookAlikes(confirmed_keys)
    return [_describe_one(definition, entry, confirmed, reviewer) for entry in entries]


def redraw(definition: AgentDefinition, memory: AgentMemory, **about: Any) -> Entry:
    """Return the entry of a memory's key as it stands now, with the memory itself where it stood.

    :param memory: a proposal, or what became of one.
    :param about: what its item says besides.
    """
    organisation = me().organisation
    found = services().manager.find_review_entry(organisation, definition.name, memory.memory_key)
    keys = services().reports.find_confirmed_keys(organisation, definition.name)
    [entry] = describe(definition, [found], keys) if found else [Entry(memory.memory_key, [])]
    others = [item for item in entry.items if item.memory.id != memory.id]
    itself = next((item for item in entry.items if item.memory.id == memory.id), Item(memory))
    is_proposal = itself in entry.items
    in_use = entry.confirmed if entry.confirmed and entry.confirmed.id != memory.id else None
    return entry._replace(
        items=sorted([*others, itself._replace(**about)], key=_place),
        # Where nothing else is proposed there is nothing to compare what was decided with.
        confirmed=in_use if others or is_proposal else None,
    )


def _describe_one(
    definition: AgentDefinition, entry: ReviewEntry[Fact], confirmed: LookAlikes, reviewer: Profile
) -> Entry:
    in_use = entry.confirmed
    look_alike = confirmed.find(entry.memory_key)
    items = [
        Item(
            memory,
            flags=_flags(memory, entry, look_alike),
            hindrance=_hindrance(definition, memory, in_use, reviewer),
            in_use=in_use,
            difference=word_difference(in_use.content, memory.content) if in_use else (),
        )
        for memory in entry.proposals
    ]
    newest_rejection = entry.rejected[0] if entry.rejected else None
    return Entry(entry.memory_key, items, confirmed=in_use, rejected=newest_rejection)


def _flags(memory: Fact, entry: ReviewEntry[Fact], look_alike: str | None) -> Sequence[Flag]:
    hints = hints_for(
        memory.content,
        times_changed=memory.times_changed,
        was_rejected=bool(entry.rejected),
        look_alike=look_alike,
    )
    return [_flag(hint, memory, look_alike) for hint in hints]


def _flag(hint: Hint, memory: Fact, look_alike: str | None) -> Flag:
    match hint:
        case Hint.CHANGED:
            return Flag(f"{hint} {times(memory.times_changed)}")
        case Hint.LOOK_ALIKE:
            return Flag(hint, look_alike or "")
    return Flag(hint)


def _hindrance(definition: AgentDefinition, memory: Fact, confirmed: Fact | None, reviewer: Profile) -> str:
    if confirmed is not None:
        return KEY_IN_USE
    stater_id = memory.stated_by.id if memory.stated_by else None
    return OWN if needs_second_person(definition, stater_id, reviewer) else ""


def _place(item: Item) -> tuple[datetime, int]:
    return item.memory.stated_at, item.memory.id
