"""The review queue and the shelves: what administrators see of account facts, and decide about them."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from portal.errors import AlreadyDecided, InvalidInput
from portal.models import AgentMemory, Status
from portal.pages import Page
from portal.web.addresses import FactLinks, list_url, pager_links
from portal.web.auth import administrators_only, me
from portal.web.forms import DecisionForm, expected_version
from portal.web.lookups import get_account_fact, get_definition
from portal.web.messages import tell
from portal.web.services import services

FACTS_A_PAGE = 50

SHELVES = {
    Status.PROPOSED: "administrators.queue",
    Status.CONFIRMED: "administrators.confirmed",
    Status.REJECTED: "administrators.rejected",
}
STATUS_AFTER = {"confirm": Status.CONFIRMED, "reject": Status.REJECTED}

# What was done, and what follows from it.
DECIDED = {
    "confirm": ("Confirmed", "Everybody's agent uses it from its next turn on."),
    "reject": ("Rejected", "No agent uses it, and its key cannot be proposed again."),
    "delete": ("Deleted", "The proposal is gone. Its key can be proposed again."),
}
DELETED = {
    Status.PROPOSED: "The proposal is gone. Its key can be proposed again.",
    Status.CONFIRMED: "Agents forget it with their next turn.",
    Status.REJECTED: "Its key can be proposed again, unless another rejected fact has it too.",
}

administrators = Blueprint("administrators", __name__, url_prefix="/admin")


@administrators.get("/")
@administrators_only
def index() -> ResponseReturnValue:
    overviews = services().reports.find_definition_overviews(me().organisation)
    return render_template("administrators/index.html", overviews=overviews)


@administrators.get("/<definition:definition>/")
@administrators_only
def queue(definition: str) -> ResponseReturnValue:
    reach = services().reports.count_reach(me().organisation, definition)
    return show_shelf("administrators/queue.html", definition, Status.PROPOSED, reach=reach)


@administrators.get("/<definition:definition>/confirmed")
@administrators_only
def confirmed(definition: str) -> ResponseReturnValue:
    return show_shelf("administrators/confirmed.html", definition, Status.CONFIRMED)


@administrators.get("/<definition:definition>/rejected")
@administrators_only
def rejected(definition: str) -> ResponseReturnValue:
    return show_shelf("administrators/rejected.html", definition, Status.REJECTED)


@administrators.get("/<definition:definition>/facts/<memory_id:memory_id>")
@administrators_only
def fact(definition: str, memory_id: int) -> ResponseReturnValue:
    return show_fact("administrators/fact.html", get_account_fact(memory_id, definition), definition)


@administrators.post("/<definition:definition>/facts/<memory_id:memory_id>/decide")
@administrators_only
def decide(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_account_fact(memory_id, definition)
    form = DecisionForm.from_request()
    try:
        services().manager.decide_account_fact(
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
    except InvalidInput as refusal:
        page = show_fact(
            "administrators/fact.html", memory, definition, reason=form.reason, problem=refusal.problem
        )
        return page, 422
    done, more = DECIDED[form.action]
    tell(done, memory, more)
    return redirect(list_url("administrators.queue", definition), 303)


@administrators.get("/<definition:definition>/facts/<memory_id:memory_id>/delete")
@administrators_only
def delete_page(definition: str, memory_id: int) -> ResponseReturnValue:
    return show_fact("administrators/delete.html", get_account_fact(memory_id, definition), definition)


@administrators.post("/<definition:definition>/facts/<memory_id:memory_id>/delete")
@administrators_only
def delete(definition: str, memory_id: int) -> ResponseReturnValue:
    memory = get_account_fact(memory_id, definition)
    services().manager.delete_memory(
        memory_id, me().organisation, deleted_by=me(), expected_version=expected_version()
    )
    tell("Deleted", memory, DELETED[memory.status])
    return redirect(list_url(SHELVES[memory.status], definition), 303)


def is_mine_already(memory: AgentMemory, action: str) -> bool:
    """Whether this administrator decided just so before: a second click or a reload is no conflict."""
    return memory.decided_by_id == me().id and memory.status == STATUS_AFTER.get(action)


def find_shelf(definition: str, status: Status, search: str) -> Page[AgentMemory]:
    manager = services().manager
    find = {
        Status.PROPOSED: manager.find_proposed_account_facts,
        Status.CONFIRMED: manager.find_confirmed_account_facts,
        Status.REJECTED: manager.find_rejected_account_facts,
    }[status]
    after = request.args.get("after")
    return find(me().organisation, definition, search=search, limit=FACTS_A_PAGE, after=after)


def show_shelf(template: str, definition: str, status: Status, **more: object) -> str:
    found, search = get_definition(definition), request.args.get("q", "")
    page = find_shelf(definition, status, search)
    return render_template(
        template,
        definition=found,
        status=status,
        counts=services().reports.find_shelf_counts(me().organisation, definition),
        page=page,
        search=search,
        shelf_links={each: url_for(endpoint, definition=definition) for each, endpoint in SHELVES.items()},
        links=FactLinks(definition),
        **pager_links(SHELVES[status], definition, page.after),
        **more,
    )


def show_fact(
    template: str, memory: AgentMemory, definition: str, reason: str = "", problem: str = ""
) -> str:
    """Return a page about one fact, with the reason that was sent and what is wrong with it."""
    return render_template(
        template,
        definition=get_definition(definition),
        memory=memory,
        links=FactLinks(definition),
        shelf=list_url(SHELVES[memory.status], definition),
        reason=reason,
        problem=problem,
    )
