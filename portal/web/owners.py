"""What agents know about the person who is signed in. The person is never a part of the address."""

from __future__ import annotations

import datetime as dt
import re

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from portal.errors import DecisionRefused, KeyAlreadyConfirmed, MemoriesFull
from portal.models import AgentMemory
from portal.recall import HELD
from portal.values import EPOCH, Status, to_microseconds
from portal.web.addresses import list_url
from portal.web.auth import me
from portal.web.errors import Words
from portal.web.forms import at_most_one
from portal.web.fragments import wants_fragment
from portal.web.lookups import get_definition, get_own_memory
from portal.web.messages import tell
from portal.web.owner_page import LIST, find_own, show
from portal.web.services import services

# From here on a meter says in words that there is little room.
NEARLY_FULL = 0.9

KEEP_REFUSALS = {
    KeyAlreadyConfirmed: Words(
        "Its key has an account fact",
        "Your agent uses that one, and no agent can change it. If it is wrong, ask an administrator.",
    ),
    MemoriesFull: Words(
        "Your agent has no room for this",
        "What it holds is read in every turn, so it is limited. Delete something else, then keep this.",
    ),
}

# Microseconds since 1970, until the year 2286.
_TIME = re.compile(r"[0-9]{1,16}", re.ASCII)

owners = Blueprint("owners", __name__, url_prefix="/me")


@owners.get("/")
def index() -> ResponseReturnValue:
    overviews = services().reports.find_agent_overviews(me())
    held = sum(overview.usage.memories for overview in overviews)
    return render_template("owners/index.html", overviews=overviews, held=held)


@owners.get("/<definition:definition>/")
def memories(definition: str) -> ResponseReturnValue:
    return show("owners/memories.html", definition)


@owners.get("/<definition:definition>/prompt")
def prompt(definition: str) -> ResponseReturnValue:
    found, agent = get_definition(definition), services().directory.find_agent(me(), definition)
    block = None if agent is None else services().manager.prompt_block(agent)
    return render_template("owners/prompt.html", definition=found, block=block)


@owners.get("/<definition:definition>/memories/<memory_id:memory_id>/delete")
def delete_page(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_held_memory(memory_id, definition)
    if not wants_fragment():
        return show("owners/delete.html", definition, memory=memory)
    # Within the list somebody can go back too, and the entry is as it was.
    is_back = request.args.get("step") == "back"
    return show("owners/_memory.html" if is_back else "owners/_question.html", definition, memory=memory)


@owners.post("/<definition:definition>/memories/<memory_id:memory_id>/delete")
def delete(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_held_memory(memory_id, definition)
    services().manager.delete_own_memory(memory.id, me())
    if wants_fragment():
        return show("owners/_deleted.html", definition, memory=memory)
    tell("Deleted", memory, "Your agent forgets it with its next turn.")
    return redirect(list_url(LIST, definition), 303)


@owners.post("/<definition:definition>/memories/<memory_id:memory_id>/keep")
def keep(definition: str, memory_id: int) -> ResponseReturnValue:
    rejected = get_own_memory(memory_id, definition)
    kept = services().manager.keep_own_memory(rejected.id, me())
    if wants_fragment():
        return show("owners/_kept.html", definition, memory=rejected)
    tell("Kept", kept, "Your agent uses it from its next turn on, and nobody else's does.")
    return redirect(list_url(LIST, definition), 303)


@owners.get("/<definition:definition>/delete-all")
def delete_all_page(definition: str) -> ResponseReturnValue:
    held = [memory for memory in find_own(definition) if memory.status in HELD]
    # The newest of what is shown, and not the time now: a change on its way may be older than the page.
    as_of = max((to_microseconds(memory.updated_at) for memory in held), default=0)
    return render_template(
        "owners/delete_all.html",
        definition=get_definition(definition),
        memories=held,
        proposals=sum(memory.status == Status.PROPOSED for memory in held),
        as_of=as_of,
    )


@owners.post("/<definition:definition>/delete-all")
def delete_all(definition: str) -> ResponseReturnValue:
    get_definition(definition)
    deleted = services().manager.delete_own_memories(me(), definition, as_of=time_shown())
    usage = services().reports.find_usage(me(), definition)
    flash(say_how_many(deleted, usage.memories if usage else 0), "ok")
    return redirect(url_for(LIST, definition=definition), 303)


@owners.errorhandler(DecisionRefused)
def show_refusal(refusal: DecisionRefused) -> ResponseReturnValue:
    """Answer why a fact that was turned down cannot be kept."""
    template = "owners/_conflict.html" if wants_fragment() else "owners/conflict.html"
    page = show(
        template,
        (request.view_args or {})["definition"],
        memory=refusal.memory,
        words=KEEP_REFUSALS[type(refusal)],
        confirmed=refusal.confirmed if isinstance(refusal, KeyAlreadyConfirmed) else None,
    )
    return page, 409


@owners.app_template_test("nearly_full")
def is_nearly_full(used: int, limit: int) -> bool:
    """Whether a meter is to say so in words, because its colour alone may not be seen."""
    return used >= limit * NEARLY_FULL


def get_held_memory(memory_id: int, definition: str) -> AgentMemory:
    """Return what this person's agent holds. What was decided is not theirs to delete."""
    memory = get_own_memory(memory_id, definition)
    if memory.status not in HELD:
        abort(404)
    return memory


def time_shown() -> dt.datetime | None:
    """Return until when the page knew what there was. A script may leave it out, our form never does."""
    value = at_most_one("as_of")
    if value is None:
        return None
    if not _TIME.fullmatch(value):
        abort(400)
    return EPOCH + dt.timedelta(microseconds=int(value))


def say_how_many(deleted: int, left: int) -> str:
    """Say what became of a person's memories, also of those that they had not seen."""
    if not deleted and not left:
        return "There was nothing left to delete."
    done = f"Deleted {count_words(deleted)}."
    if not left:
        return f"{done} Your agent knows nothing about you any more."
    return f"{done} {count_words(left)} stored or changed after you saw the page {verb(left)} still here."


def count_words(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def verb(number: int) -> str:
    return "is" if number == 1 else "are"
