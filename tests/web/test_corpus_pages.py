"""The whole corpus on the pages of both databases: shown as text, and answered whatever it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

import pytest
from jinja2 import FileSystemBytecodeCache

from portal.contents import check_content
from portal.errors import InvalidContent, InvalidKey
from portal.keys import canonical_key
from tests.corpus_inputs import BadInput, bad_inputs
from tests.databases import Databases, opened
from tests.invariants import assert_invariants
from tests.scale import sample
from tests.web.pages import Element, shape
from tests.web.visitors import HERE, Portal, Visitor, running_portal

MANY = 10_000
CHARACTERS = 1_000_000


@pytest.fixture(params=["sqlite_files", pytest.param("postgres_server", marks=pytest.mark.postgres)])
def library(request: pytest.FixtureRequest, compiled_templates: FileSystemBytecodeCache) -> Iterator[Portal]:
    """A portal with room for all of the corpus."""
    databases: Databases = request.getfixturevalue(request.param)
    with (
        databases.migrated() as url,
        opened(url) as database,
        running_portal(database, templates=compiled_templates) as portal,
    ):
        portal.personas.directory.define_agent(
            portal.personas.acme,
            name="support",
            memory_limit=MANY,
            memory_characters=CHARACTERS,
            proposal_limit=MANY,
            account_fact_limit=MANY,
            account_fact_characters=CHARACTERS,
        )
        yield portal


def accepted(surface: str) -> Sequence[BadInput]:
    return [entry for entry in bad_inputs(surface) if is_accepted(entry)]


def is_accepted(entry: BadInput) -> bool:
    check = canonical_key if entry.surface == "key" else check_content
    try:
        check(entry.value)
    except (InvalidKey, InvalidContent):
        return False
    return True


def plain(content: str) -> str:
    """Return a text of the same length and with the same lines that is harmless beyond doubt."""
    return re.sub(r"[^\n]", "x", content)


def entries(visitor: Visitor, path: str) -> dict[str, Element]:
    """Return the entries of all pages of a list, by their keys."""
    found: dict[str, Element] = {}
    while path:
        page = visitor.page(path)
        found |= {
            next(key.words for key in entry.walk() if key.has_class("key")): entry for entry in page.entries
        }
        [path] = [link.attributes["href"] for link in page.find_all("a") if link.words == "Next page"] or [""]
    return found


SPACED = "  What stands\n\n  at the sides stays. \n"
LISTS = ("/admin/support/", "/admin/support/confirmed", "/admin/support/rejected", "/me/support/")


def test_every_accepted_content_is_text_on_every_list(library: Portal) -> None:
    """I-19: each has the elements that the same length of plain letters has, and nothing else."""
    texts: dict[str, str] = {}
    values = [entry.value for entry in sample(accepted("content"), one_in=6)]
    for number, content in enumerate([*map(check_content, values), SPACED]):
        texts |= {f"fact_{number}": content, f"plain_{number}": plain(content)}
    for status, action in (("waiting", ""), ("confirmed", "confirm"), ("rejected", "reject")):
        for name, content in texts.items():
            memory = library.propose(library.personas.root, f"{status}_{name}", content)
            if action:
                library.decide(memory, action)
    root = library.visitor(library.personas.root)
    for path in LISTS:
        found = entries(root, path)
        evil = [key for key in found if "_fact_" in key]
        assert len(evil) >= len(texts) / 2
        for key in evil:
            assert shape(found[key]) == shape(found[key.replace("_fact_", "_plain_")]), (path, key)
            assert_says(found[key], texts[key.partition("_")[2]])


def assert_says(entry: Element, content: str) -> None:
    """I-18: the text is there code point for code point, where no marks show what is hidden in it."""
    shown = [part for part in entry.walk() if part.has_class("content")]
    if all(inside.tag != "mark" for part in shown for inside in part.walk()):
        assert content in [part.text for part in shown]


def test_every_accepted_key_is_text_on_every_list(library: Portal) -> None:
    keys = {canonical_key(entry.value) for entry in accepted("key")}
    for key in keys:
        library.propose(library.personas.root, key, "x")
    found = entries(library.visitor(library.personas.root), "/admin/support/")
    assert found.keys() == keys
    assert len({tuple(shape(entry)) for entry in found.values()}) == 1


def test_whatever_is_sent_is_answered(library: Portal) -> None:
    """I-22: every text of the corpus as a reason, a search, an address and a password."""
    fact = library.propose(library.personas.ada, "hours", "9 to 5")
    root, nobody = library.visitor(library.personas.root), library.visitor()
    texts = [entry.value for surface in ("content", "key") for entry in bad_inputs(surface)]
    for text in sample(texts, one_in=12):
        decision = {"action": "reject", "version": "99", "reason": text}
        assert send(root, f"/admin/support/facts/{fact.id}/decide", **decision) in {409, 413, 422}
        query = urlencode({"q": text[:2_000]}, errors="surrogatepass")
        for path in LISTS:
            assert root.get(f"{path}?{query}").status_code == 200
    # Each of these takes as long as a password takes.
    for text in sample(texts, one_in=50):
        assert send(nobody, "/sign-in", email=text, password=text) in {413, 422}
    assert_invariants(library.database)


def send(visitor: Visitor, path: str, **fields: str) -> int:
    fields["csrf_token"] = visitor.token()
    body = urlencode(fields, errors="surrogatepass")
    kind = "application/x-www-form-urlencoded"
    return visitor.client.post(path, data=body, content_type=kind, base_url=HERE).status_code
