"""The review queue, and what arrived in it since it was looked at."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any

from flask import render_template, request, url_for
from flask.typing import ResponseReturnValue

from portal.models import EPOCH, AgentDefinition, to_microseconds
from portal.pages import Page
from portal.review_queue import SORTS, ReviewEntry
from portal.web.addresses import FactLinks, pager_links
from portal.web.administrators.blueprint import (
    ENTRIES_A_PAGE,
    QUEUE,
    administrators,
    find_counts,
    tab_links,
)
from portal.web.administrators.entries import describe
from portal.web.auth import administrators_only, me
from portal.web.lookups import get_definition
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

    def find(self, definition: str, *, limit: int = ENTRIES_A_PAGE, after: str | None) -> Page[ReviewEntry]:
        """Return a page of it."""
        return services().manager.find_review_queue(
            me().organisation, definition, search=self.search, sort=self.sort, limit=limit, after=after
        )


@administrators.get("/")
@administrators_only
def index() -> ResponseReturnValue:
    overviews = services().reports.find_definition_overviews(me().organisation)
    return render_template("administrators/index.html", overviews=overviews)


@administrators.get("/<definition:definition>/")
@administrators_only
def queue(definition: str) -> ResponseReturnValue:
    found, asked = get_definition(definition), Asked.from_request()
    # Read first: what arrives while the page is made is told as new, and not left out.
    since = to_microseconds(services().clock())
    page = asked.find(definition, after=asked.after)
    return render_template(
        "administrators/queue.html",
        entries=describe(found, page),
        page=page,
        tabs=tab_links(definition),
        tab="proposed",
        sorts=SORTS,
        arrivals=url_for("administrators.arrivals", definition=definition, since=since),
        **what_entries_need(found),
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
    asked = Asked.from_request()
    return {
        "definition": definition,
        "asked": asked,
        "counts": find_counts(definition.name),
        "reach": services().reports.count_reach(me().organisation, definition.name),
        "links": FactLinks(definition.name),
        "notice": None,
    }
