"""What agents know about the person who is signed in. The person is never a part of the address."""

from __future__ import annotations

from flask import Blueprint, abort, redirect, render_template, request
from flask.typing import ResponseReturnValue

from portal.models import Status
from portal.recall import HELD
from portal.web.addresses import RowLinks, list_url, pager_links
from portal.web.auth import me
from portal.web.lookups import get_definition, get_own_memory
from portal.web.messages import tell
from portal.web.services import services

FACTS_A_PAGE = 50

LIST = "owners.memories"

# What the page can be narrowed to; "" is everything.
SECTIONS = ("", *Status)

owners = Blueprint("owners", __name__, url_prefix="/me")


@owners.get("/")
def index() -> ResponseReturnValue:
    return render_template("owners/index.html", overviews=services().reports.find_agent_overviews(me()))


@owners.get("/<definition:definition>/")
def memories(definition: str) -> ResponseReturnValue:
    found, search, status = get_definition(definition), request.args.get("q", ""), request.args.get("status")
    manager = services().manager
    # A person's own memories are few, by their ceilings, and shown whole; only account facts have pages.
    own = manager.find_own_memories(me().organisation, me(), definition, search=search)
    facts = manager.find_confirmed_account_facts(
        me().organisation, definition, search=search, limit=FACTS_A_PAGE, after=request.args.get("after")
    )
    return render_template(
        "owners/memories.html",
        definition=found,
        usage=services().reports.find_usage(me(), definition),
        sections={each: [memory for memory in own if memory.status == each] for each in Status},
        facts=facts,
        search=search,
        shown=status if status in SECTIONS else "",
        section_links={each: list_url(LIST, definition, status=each, after=None) for each in SECTIONS},
        delete_link=RowLinks("owners.delete_page", definition),
        **pager_links(LIST, definition, facts.after, status=Status.CONFIRMED),
    )


@owners.get("/<definition:definition>/memories/<memory_id:memory_id>/delete")
def delete_page(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_own_memory(memory_id, definition)
    if memory.status not in HELD:
        abort(404)
    return render_template(
        "owners/delete.html",
        definition=get_definition(definition),
        memory=memory,
        back=list_url(LIST, definition),
        delete_link=RowLinks("owners.delete", definition),
    )


@owners.post("/<definition:definition>/memories/<memory_id:memory_id>/delete")
def delete(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_own_memory(memory_id, definition)
    services().manager.delete_own_memory(memory.id, me())
    tell("Deleted", memory, "Your agent forgets it with its next turn.")
    return redirect(list_url(LIST, definition), 303)
