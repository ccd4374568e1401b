"""Addresses: where people are sent, and how those of a long list are made cheaply."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from flask import current_app, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter, ValidationError

from portal.values import MAX_ID

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# What open pages ask by themselves, now and then.
POLLED_ENDPOINTS = frozenset({"administrators.arrivals"})

MAX_NEXT_CHARACTERS = 512
# One slash and then neither a second one nor a backslash: browsers take both for the start of a host.
_OWN_PATH = re.compile(r"/(?![/\\])[!-~]*", re.ASCII)

# Nobody wants to be sent there after signing in.
_NO_DESTINATIONS = frozenset(
    {"accounts.welcome", "auth.sign_in_page", "health.healthz", "metrics.show", "static"}
)

# Where somebody goes on whose form was not carried out.
_LISTS = {
    "administrators": "administrators.queue",
    "owners": "owners.memories",
    "people": "people.index",
}

# What a list's address carries besides the list, and the addresses of its forms pass on.
_FILTERS = ("q", "status", "sort", "after")


class IdConverter(BaseConverter):
    """An id of a row. Anything that could be no such id has no route."""

    regex = r"[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        """Return the id, unless a database could not even compare with it."""
        row_id = int(value)
        if row_id > MAX_ID:
            raise ValidationError
        return row_id


class DefinitionConverter(BaseConverter):
    """The name of an agent definition."""

    regex = r"[a-z0-9-]{1,64}"


class TokenConverter(BaseConverter):
    """The token of a one-time link, which is in nobody's log."""

    regex = r"[A-Za-z0-9_-]{43}"


def own_destination(target: str | None) -> str | None:
    """Return ``target`` if it is a page of ours that a browser may be sent to, else None."""
    if target is None or len(target) > MAX_NEXT_CHARACTERS or not _OWN_PATH.fullmatch(target):
        return None
    path = re.split(r"[?#]", target, maxsplit=1)[0]
    try:
        endpoint, _ = current_app.url_map.bind("").match(path, method="GET")
    except HTTPException:
        return None
    return None if endpoint in _NO_DESTINATIONS else target


def path_of(endpoint: str, **values: Any) -> str:
    """Return what Flask's ``url_for`` does, which builds each address anew, at a tenth of the cost.

    Templates know it by that name. It keeps those that name nothing but a definition.
    """
    definition = values.get("definition")
    if len(values) > (definition is not None):
        return url_for(endpoint, **values)
    return _path(request.script_root, endpoint, definition)


@lru_cache(maxsize=1_024)
def _path(_root: str, endpoint: str, definition: str | None) -> str:
    return url_for(endpoint, definition=definition)


def list_url(endpoint: str, definition: str | None = None, **changes: str | None) -> str:
    """Return the address of a list with the filters of this request's query, so that they survive.

    :param definition: whose list it is; None where the list is not about agents.
    """
    given: dict[str, Any] = {name: value for name, value in (_filters() | changes).items() if value}
    return path_of(endpoint, definition=definition, **given)


def pager_links(
    endpoint: str, definition: str | None, cursor: str | None, **changes: str | None
) -> dict[str, str | None]:
    """Return the addresses that a list's search form and pager need.

    :param cursor: where the next page begins, None on the last page.
    :param changes: filters that the pages have besides those of this request.
    """
    is_first = not _filters()["after"]
    return {
        "everything": path_of(endpoint, definition=definition),
        "first": None if is_first else list_url(endpoint, definition, after=None, **changes),
        "next": list_url(endpoint, definition, after=cursor, **changes) if cursor else None,
    }


def page_to_return_to() -> str | None:
    """Return the page that this request asked for, or, where it sent a form, the list it came from."""
    if request.method in SAFE_METHODS:
        query = request.query_string.decode("latin-1")
        return quote(request.path) + (f"?{query}" if query else "")
    if request.blueprint not in _LISTS or request.view_args is None:
        return None
    return list_url(_LISTS[request.blueprint], request.view_args.get("definition"))


def row_link(endpoint: str, definition: str) -> str:
    """Return the address of a page about each memory of a list, with its filters, and ``%d`` for the id.

    They are all alike but for the id, and asking the URL map for each costs more than drawing the row.
    """
    start, end = _parts(request.script_root, endpoint, definition)
    filters = {name: value for name, value in _filters().items() if value}
    query = f"?{urlencode(filters)}" if filters else ""
    return f"{start}%d{end}{query.replace('%', '%%')}"


@lru_cache(maxsize=1_024)
def _parts(_root: str, endpoint: str, definition: str) -> tuple[str, str]:
    """Return what stands before and after the id in an address."""
    path = url_for(endpoint, definition=definition, memory_id=MAX_ID)
    # The last one, because a definition can have any number for a name.
    start, _, end = path.rpartition(str(MAX_ID))
    return start, end


class FactLinks:
    """The addresses of the pages about each account fact of a list, each with ``%d`` for its id."""

    def __init__(self, definition: str) -> None:
        self.fact = row_link("administrators.fact", definition)
        self.decide = row_link("administrators.decide", definition)
        self.delete = row_link("administrators.delete_page", definition)
        self.reopen = row_link("administrators.reopen", definition)


def _filters() -> dict[str, str | None]:
    return {name: request.args.get(name) for name in _FILTERS}
