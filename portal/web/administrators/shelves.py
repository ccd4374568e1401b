"""What was decided: the confirmed and the rejected facts, and deleting one for good."""

from __future__ import annotations

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue

from portal.models import AgentMemory
from portal.pages import Page
from portal.values import Status
from portal.web.addresses import FactLinks, list_url, pager_links
from portal.web.administrators.blueprint import (
    ENTRIES_A_PAGE,
    SHELVES,
    administrators,
    find_counts,
    tab_links,
)
from portal.web.auth import administrators_only, me
from portal.web.forms import expected_version
from portal.web.lookups import get_account_fact, get_definition
from portal.web.messages import tell
from portal.web.services import services

DELETED = {
    Status.PROPOSED: "The proposal is gone. Its key can be proposed again.",
    Status.CONFIRMED: "Agents forget it with their next turn.",
    Status.REJECTED: "Its key can be proposed again, unless another rejected fact has it too.",
}


@administrators.get("/<definition:definition>/confirmed")
@administrators_only
def confirmed(definition: str) -> ResponseReturnValue:
    return show_shelf(definition, Status.CONFIRMED)


@administrators.get("/<definition:definition>/rejected")
@administrators_only
def rejected(definition: str) -> ResponseReturnValue:
    return show_shelf(definition, Status.REJECTED)


@administrators.get("/<definition:definition>/facts/<memory_id:memory_id>/delete")
@administrators_only
def delete_page(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_account_fact(memory_id, definition)
    return render_template(
        "administrators/delete.html",
        definition=get_definition(definition),
        memory=memory,
        links=FactLinks(definition),
        shelf=list_url(SHELVES[memory.status], definition),
    )


@administrators.post("/<definition:definition>/facts/<memory_id:memory_id>/delete")
@administrators_only
def delete(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_account_fact(memory_id, definition)
    services().manager.delete_memory(
        memory_id, me().organisation, deleted_by=me(), expected_version=expected_version()
    )
    tell("Deleted", memory, DELETED[memory.status])
    return redirect(list_url(SHELVES[memory.status], definition), 303)


def find_shelf(definition: str, status: Status, search: str) -> Page[AgentMemory]:
    manager = services().manager
    is_confirmed = status == Status.CONFIRMED
    find = manager.find_confirmed_account_facts if is_confirmed else manager.find_rejected_account_facts
    after = request.args.get("after")
    return find(me().organisation, definition, search=search, limit=ENTRIES_A_PAGE, after=after)


def show_shelf(definition: str, status: Status) -> str:
    found, search = get_definition(definition), request.args.get("q", "")
    page = find_shelf(definition, status, search)
    return render_template(
        f"administrators/{status}.html",
        definition=found,
        counts=find_counts(definition),
        tabs=tab_links(definition),
        tab=status,
        page=page,
        search=search,
        links=FactLinks(definition),
        **pager_links(SHELVES[status], definition, page.after),
    )
