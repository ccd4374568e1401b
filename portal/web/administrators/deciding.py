"""Deciding on a proposal, undoing that, and why it may not be possible."""

from __future__ import annotations

from typing import Any

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import NotFound

from portal.errors import (
    AccountFactsFull,
    AlreadyDecided,
    DecisionRefused,
    InvalidInput,
    KeyAlreadyConfirmed,
    KeyTaken,
    MemoriesFull,
    MemoryChanged,
    MemoryNotFound,
    NotDecided,
    SecondPersonRequired,
    StaterGone,
)
from portal.models import AgentDefinition, AgentMemory
from portal.values import Status
from portal.web.addresses import FactLinks, list_url
from portal.web.administrators.blueprint import QUEUE, administrators
from portal.web.administrators.entries import redraw
from portal.web.administrators.history import show_fact
from portal.web.administrators.queue import Asked, what_entries_need
from portal.web.auth import administrators_only, me
from portal.web.errors import GONE, Words, show_http_error
from portal.web.forms import DecisionForm, expected_version
from portal.web.fragments import wants_fragment
from portal.web.lookups import get_account_fact, get_definition
from portal.web.messages import tell
from portal.web.services import services

STATUS_AFTER = {"confirm": Status.CONFIRMED, "reject": Status.REJECTED}

# What was done, and what follows from it.
DONE = {
    "confirm": Words("Confirmed", "Everybody's agent uses it from its next turn on."),
    "reject": Words("Rejected", "No agent uses it, and its key cannot be proposed again."),
    "delete": Words("Deleted", "The proposal is gone. Its key can be proposed again."),
    "reopen": Words("Undone", "It waits for review again, at its old place."),
}

REFUSALS = {
    AlreadyDecided: Words("This was decided already", "Below is what became of it."),
    NotDecided: Words("There is nothing to undo", "It waits for review."),
    MemoryChanged: Words(
        "This changed while you were reading",
        "Below is how it stands now. The earlier text is not kept, so please read it again.",
    ),
    KeyAlreadyConfirmed: Words(
        "This key has a confirmed fact",
        "A confirmed fact is never replaced. If the proposal is better, delete the fact in use first.",
    ),
    AccountFactsFull: Words(
        "There is no room for another confirmed fact",
        "Agents read all of them in every turn, so they are limited. Delete one that nobody needs first.",
    ),
    SecondPersonRequired: Words(
        "Somebody else has to confirm this", "You stated it yourself, and here nobody confirms their own."
    ),
    StaterGone: Words("This cannot be undone", "The person who stated it was erased since."),
    KeyTaken: Words(
        "This cannot be undone", "The person who stated it has recorded another fact under its key since."
    ),
    MemoriesFull: Words(
        "This cannot be undone", "The agent of the person who stated it has no room for it any more."
    ),
}


@administrators.post("/<definition:definition>/facts/<memory_id:memory_id>/decide")
@administrators_only
def decide(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_account_fact(memory_id, definition)
    form = DecisionForm.from_request()
    try:
        decided = services().manager.decide_account_fact(
            memory_id,
            me().organisation,
            me(),
            form.action,
            expected_version=form.version,
            reason=form.reason,
        )
    except AlreadyDecided as refusal:
        if not is_mine_already(refusal.memory, form.action):
            raise
        decided = refusal.memory
    except InvalidInput as refusal:
        return refuse_reason(definition, memory, form.reason, refusal.problem)
    return answer(definition, decided, form.action)


@administrators.post("/<definition:definition>/facts/<memory_id:memory_id>/reopen")
@administrators_only
def reopen(definition: str, memory_id: int) -> ResponseReturnValue:
    get_account_fact(memory_id, definition)
    reopened = services().manager.reopen_account_fact(
        memory_id, me().organisation, me(), expected_version=expected_version()
    )
    return answer(definition, reopened, "reopen")


@administrators.errorhandler(DecisionRefused)
def show_refusal(refusal: DecisionRefused) -> ResponseReturnValue:
    """Answer with how things stand now, and a fresh form where there is still something to decide."""
    found = get_definition((request.view_args or {})["definition"])
    words = REFUSALS[type(refusal)]
    if wants_fragment():
        return show_entry(found, refusal.memory, notice=words), 409
    page = render_template(
        "administrators/conflict.html",
        entry=redraw(found, refusal.memory),
        words=words,
        shelf=list_url(QUEUE, found.name),
        **what_entries_need(found),
    )
    return page, 409


@administrators.errorhandler(MemoryNotFound)
@administrators.errorhandler(NotFound)
def show_gone(_: Exception) -> ResponseReturnValue:
    """Answer that there is no such fact; in a list that is still open, with what else changed there."""
    name = (request.view_args or {}).get("definition", "")
    found = services().directory.find_definition(me().organisation, name)
    if not wants_fragment() or found is None or not me().is_administrator:
        return show_http_error(NotFound())
    return render_template(
        "administrators/_gone.html",
        **what_entries_need(found)
        | {"page": Asked.from_request().find(name, limit=1, after=None), "words": GONE, "done": None},
    ), 404


def is_mine_already(memory: AgentMemory, action: str) -> bool:
    """Whether this administrator decided just so before: a second click or a reload is no conflict."""
    return memory.decided_by_id == me().id and memory.status == STATUS_AFTER.get(action)


def answer(definition: str, memory: AgentMemory, action: str) -> ResponseReturnValue:
    """Answer that something was done: in place of the entry, or on the list with a message."""
    words, can_undo = DONE[action], action in STATUS_AFTER
    if not wants_fragment():
        undo = FactLinks(definition).reopen % memory.id if can_undo else None
        tell(words.heading, memory, words.text, undo=undo)
        return redirect(list_url(QUEUE, definition), 303)
    if action == "reopen":
        return show_entry(get_definition(definition), memory, done=words, has_focus=True)
    return show_entry(get_definition(definition), memory, done=words, receipt=words, can_undo=can_undo)


def refuse_reason(definition: str, memory: AgentMemory, reason: str, problem: str) -> ResponseReturnValue:
    """Answer with the form again, the reason in it and what is wrong with it beside it."""
    if wants_fragment():
        return show_entry(get_definition(definition), memory, reason=reason, problem=problem), 422
    return show_fact(memory, definition, reason=reason, problem=problem), 422


def show_entry(
    definition: AgentDefinition,
    memory: AgentMemory,
    *,
    done: Words | None = None,
    notice: Words | None = None,
    **about: Any,
) -> str:
    """Return the fragment that takes the place of a memory's entry, with all that changes beside it.

    :param done: what was done.
    :param notice: why nothing was.
    :param about: what the memory's own part of the entry says besides.
    """
    return render_template(
        "administrators/_answer.html",
        **what_entries_need(definition)
        | {
            "entry": redraw(definition, memory, **about),
            "page": Asked.from_request().find(definition.name, limit=1, after=None),
            "memory_key": memory.memory_key,
            "done": done,
            "notice": notice,
        },
    )
