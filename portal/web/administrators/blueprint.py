"""What all pages of administrators share: the blueprint, the shelves, and how much waits."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint

from portal.counts import Count, ShelfCounts
from portal.values import Status
from portal.web.addresses import path_of
from portal.web.auth import me
from portal.web.services import services

ENTRIES_A_PAGE = 50

QUEUE = "administrators.queue"
HISTORY = "administrators.history"

SHELVES = {
    Status.PROPOSED: QUEUE,
    Status.CONFIRMED: "administrators.confirmed",
    Status.REJECTED: "administrators.rejected",
}

administrators = Blueprint("administrators", __name__, url_prefix="/admin")


@administrators.app_template_global()
def proposals_waiting() -> Count:
    """Return how many proposals wait for the administrators of this person's organisation."""
    return services().reports.count_waiting(me().organisation)


def find_counts(definition: str) -> ShelfCounts:
    """Return how many facts are on each shelf of a definition."""
    return services().reports.find_shelf_counts(me().organisation, definition)


def tab_links(definition: str) -> Mapping[str, str]:
    """Return the addresses of a definition's tabs."""
    endpoints = [*SHELVES.items(), ("history", HISTORY)]
    return {tab: path_of(endpoint, definition=definition) for tab, endpoint in endpoints}
