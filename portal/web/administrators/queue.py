"""The review queue, and what arrived in it since it was looked at."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any

from flask import render_template, request, url_for
from flask.typing import ResponseReturnValue

from portal.counts import ReviewCounts
from portal.models import AgentDefinition, AgentMemory
from portal.pages import Page
from portal.queue_statements import SORTS
from portal.review_queue import QueueQuestion, ReviewEntry
from portal.values import EPOCH, to_microseconds
from portal.web.addresses import FactLinks, pager_links
from portal.web.administrators.blueprint import (
    ENTRIES_A_PAGE,
    QUEUE,
    administrators,
    tab_links,
)
from portal.web.administrators.entries import describe
from portal.web.auth import administrators_only, me
from portal.web.lookups import get_definition, get_review_page
from portal.web.services import services

OLDEST = "oldest"

# More digits than a column of 64 bits, and than any time that a page of ours says, has.
_MICROSECONDS = re.compile(r"[0-9]{1,16}", re.ASCII)


@dataclass(frozen=True)
class Asked:
    """What somebody wants to see of the queue."""

    search: str
    sort: str
    after: str | None

    @classmethod
    def from_request(cls) -> Asked:
        """Read the address. An order that there is not is the first one."""
        sort = request.args.get("sort", OLDEST)
        return cls(
            search=request.args.get("q", ""),
            sort=sort if sort in SORTS else OLDEST,
            after=request.args.get("after"),
        )

    def find(
        self, definition: str, *, limit: int = ENTRIES_A_PAGE, after: str | None
    ) -> Page[ReviewEntry[AgentMemory]]:
        """Return a page of it."""
        return services().manager.find_review_queue(
            me().organisation, definition, search=self.search, sort=self.sort, limit=limit, after=after
        )

    def of(self, definition: str) -> QueueQuestion:
        """Return the question that the page is the answer to."""
        return QueueQuestion(definition, self.search, self.sort, ENTRIES_A_PAGE, self.after)


@administrators.get("/")
@administrators_only
def index() -> ResponseReturnValue:
    overviews = services().reports.find_definition_overviews(me().organisation)
    return render_template("administrators/index.html", overviews=overviews)


@administrators.get("/<definition:definition>/")
@administrators_only
def queue(definition: str) -> ResponseReturnValue:
    asked = Asked.from_request()
    # Read first: what arrives while the page is made is told as new, and not left out.
    since = to_microseconds(services().clock())
    found = get_review_page(asked.of(definition))
    page = found.entries
    return render_template(
        "administrators/queue.html",
        entries=describe(found.definition, page, found.confirmed_keys),
        page=page,
        tabs=tab_links(definition),
        tab="proposed",
        sorts=SORTS,
        arrivals=url_for("administrators.arrivals", definition=definition, since=since),
        **beside_entries(found.definition, asked, found.counts),
        **pager_links(QUEUE, definition, page.after, sort=asked.sort),
    )


@administrators.get("/<definition:definition>/arrivals")
@administrators_only
def arrivals(definition: str) -> ResponseReturnValue:
    get_definition(definition)
    since = request.args.get("since", "")
    if not _MICROSECONDS.fullmatch(since):
        return "", 204
    moment = EPOCH + dt.timedelta(microseconds=int(since))
    count = services().reports.count_arrivals(me().organisation, definition, moment)
    if not count.number:
        return "", 204
    newest = url_for(QUEUE, definition=definition, sort="newest")
    return render_template("administrators/_arrivals.html", count=count, newest=newest)


def what_entries_need(definition: AgentDefinition) -> dict[str, Any]:
    """Return what the templates of entries expect, on the page of the queue and in fragments of it."""
    counts = services().reports.find_review_counts(me().organisation, definition.name)
    return beside_entries(definition, Asked.from_request(), counts)


def beside_entries(definition: AgentDefinition, asked: Asked, counts: ReviewCounts) -> dict[str, Any]:
    return {
        "definition": definition,
        "asked": asked,
        "counts": counts.shelves,
        "waiting": counts.waiting,
        "reach": counts.reach,
        "links": FactLinks(definition.name),
        "notice": None,
    }
