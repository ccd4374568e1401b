"""Who did what when: to everything of a definition, to one fact, and to one key."""

from __future__ import annotations

from flask import render_template, request
from flask.typing import ResponseReturnValue

from portal.models import AgentMemory, MemoryEvent
from portal.values import EventAction, Status
from portal.web.addresses import FactLinks, list_url, pager_links
from portal.web.administrators.blueprint import (
    ENTRIES_A_PAGE,
    HISTORY,
    SHELVES,
    administrators,
    find_counts,
    tab_links,
)
from portal.web.administrators.entries import redraw
from portal.web.auth import administrators_only, me
from portal.web.lookups import get_account_fact, get_definition
from portal.web.services import services

# What happened, in the words around the key.
DEEDS = {
    EventAction.REMEMBERED: ("noted", ""),
    EventAction.PROPOSED: ("proposed", ""),
    EventAction.WITHDRAWN: ("took back", ""),
    EventAction.FORGOTTEN: ("forgot", ""),
    EventAction.CONFIRMED: ("confirmed", ""),
    EventAction.REJECTED: ("rejected", ""),
    EventAction.REOPENED: ("put", "back into the review"),
    EventAction.KEPT: ("kept", "for their own agent"),
    EventAction.DELETED: ("deleted", ""),
    EventAction.ERASED: ("erased", "with the person who stated it"),
}
REWORDED = ("changed the text of", "")


@administrators.get("/<definition:definition>/history")
@administrators_only
def history(definition: str) -> ResponseReturnValue:
    found = get_definition(definition)
    page = services().reports.find_events(
        me().organisation, definition, limit=ENTRIES_A_PAGE, after=request.args.get("after")
    )
    return render_template(
        "administrators/history.html",
        definition=found,
        counts=find_counts(definition),
        tabs=tab_links(definition),
        tab="history",
        page=page,
        links=FactLinks(definition),
        **pager_links(HISTORY, definition, page.after),
    )


@administrators.get("/<definition:definition>/facts/<memory_id:memory_id>")
@administrators_only
def fact(definition: str, memory_id: int) -> ResponseReturnValue:
    return show_fact(get_account_fact(memory_id, definition), definition)


@administrators.app_template_filter("deed")
def deed(event: MemoryEvent) -> tuple[str, str]:
    """Return the words before and after the key that say what was done."""
    if event.action == EventAction.PROPOSED and event.status_before == Status.PROPOSED:
        return REWORDED
    return DEEDS[event.action]


def show_fact(memory: AgentMemory, definition: str, reason: str = "", problem: str = "") -> str:
    """Return the page of one fact, with the reason that was sent and what is wrong with it."""
    found, organisation = get_definition(definition), me().organisation
    events = services().reports.find_events
    of_fact = events(organisation, definition, memory_id=memory.id)
    of_key = events(organisation, definition, memory_key=memory.memory_key, limit=ENTRIES_A_PAGE)
    entry = redraw(found, memory, reason=reason, problem=problem)
    return render_template(
        "administrators/fact.html",
        definition=found,
        entry=entry,
        item=next(item for item in entry.items if item.memory.id == memory.id),
        reach=services().reports.count_reach(organisation, definition),
        events=of_fact,
        others=[event for event in of_key if event.memory_id != memory.id],
        links=FactLinks(definition),
        shelf=list_url(SHELVES[memory.status], definition),
    )
