"""Search: a literal part of key or content, upper and lower case alike, the same on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from portal.manager import AgentMemoryManager
from portal.pages import Page
from tests.databases import Databases, opened
from tests.factories import Clock, create_personas
from tests.manager.twins import read_all_pages
from tests.manager.world import World

FACTS = {
    "percent": "100% sure",
    "under_score": "a",
    "backslash": "C:\\temp\\%",
    "street": "Die Straße",
    "city": "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}stanbul",
    "poem": "ΟΔΥΣΣΕΥΣ",
    "quotes": '\'; DROP TABLE "x" --',
    "lines": "first\nsecond",
    "face": "\N{GRINNING FACE}",
    "ligature": "o\N{LATIN SMALL LIGATURE FFI}ce",
    "decomposed": "cafe\N{COMBINING ACUTE ACCENT}",
    "größe": "XL",
}
EVERYTHING = sorted({"grösse", *FACTS} - {"größe"})

SEARCHES = [
    # `%`, `_` and `\` mean themselves, and so does everything else that some database gives a meaning.
    ("%", ["backslash", "percent"]),
    ("100%", ["percent"]),
    ("1%s", []),
    ("_", ["under_score"]),
    ("r_s", ["under_score"]),
    ("u_d", []),
    ("\\", ["backslash"]),
    ("\\%", ["backslash"]),
    ("temp\\\\", []),
    ("'", ["quotes"]),
    ("drop table", ["quotes"]),
    ("*", []),
    (".", []),
    ("[a-z]", []),
    # Upper and lower case are alike in every script, by casefolding and nothing else.
    ("PERCENT", ["percent"]),
    ("SURE", ["percent"]),
    ("straße", ["street"]),
    ("STRASSE", ["street"]),
    ("\N{LATIN CAPITAL LETTER SHARP S}", ["grösse", "street"]),
    ("GRÖSSE", ["grösse"]),
    ("größe", ["grösse"]),
    ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}STANBUL", ["city"]),
    ("istanbul", []),
    ("STANBUL", ["city"]),
    ("οδυσσευς", ["poem"]),
    ("οδυσσευσ", ["poem"]),
    ("OFFICE", ["ligature"]),
    ("café", []),
    ("CAFE\N{COMBINING ACUTE ACCENT}", ["decomposed"]),
    ("\N{GRINNING FACE}", ["face"]),
    # A part may span lines and spaces, but not key and content.
    ("first\nsecond", ["lines"]),
    ("first second", []),
    ("t\nd", []),
    ("quotes'", []),
    ("quotes\x1f'", []),
    ("\x1f", []),
    ("percent100", []),
    # What cannot be stored finds nothing.
    ("\x00", []),
    ("sure\x00", []),
    ("\ud800", []),
    ("first\r\nsecond", []),
    ("x" * 100_000, []),
    # Nothing finds everything.
    ("", EVERYTHING),
]


@pytest.fixture(scope="module")
def library(databases: Databases) -> Iterator[World]:
    """Every fact four times: held by Ada and proposed by Bob, and for travel confirmed and rejected."""
    with databases.migrated() as url, opened(url) as database:
        clock = Clock()
        manager = AgentMemoryManager(database, clock=clock)
        world = World(database, manager, create_personas(database, clock=clock), clock)
        for key, content in FACTS.items():
            world.remember("ada", key, content)
            world.propose("bob", key, content)
        for key, content in FACTS.items():
            world.propose("ada", key, content, definition="travel")
            world.propose("bob", key, content, definition="travel")
        for memory in world.manager.find_proposed_account_facts(world.acme, "travel"):
            assert memory.stated_by is not None
            action = {"Ada": "confirm", "Bob": "reject"}[memory.stated_by.name]
            manager.decide_account_fact(memory.id, world.acme, world.root, action)
        yield world


@pytest.mark.parametrize(("search", "keys"), SEARCHES, ids=[ascii(search)[:40] for search, _ in SEARCHES])
def test_a_search_finds_the_same_on_every_list(library: World, search: str, keys: list[str]) -> None:
    manager, where = library.manager, library.acme
    for page in (
        manager.find_proposed_account_facts(where, "support", search=search),
        manager.find_confirmed_account_facts(where, "travel", search=search),
        manager.find_rejected_account_facts(where, "travel", search=search),
        manager.find_own_memories(where, library.person("ada"), "support", search=search),
        manager.find_review_queue(where, "support", search=search),
    ):
        assert sorted(entry.memory_key for entry in page) == keys
        assert page.total == len(keys)


@pytest.mark.parametrize("limit", [1, 2, 50])
def test_a_search_is_turned_page_by_page(library: World, limit: int) -> None:
    finds: list[Callable[..., Page[Any]]] = [
        library.manager.find_proposed_account_facts,
        library.manager.find_review_queue,
    ]
    for find in finds:
        pages = read_all_pages(partial(find, library.acme, "support", search="S", limit=limit))
        everything = find(library.acme, "support", search="S")
        assert 2 < len(everything) < len(FACTS)
        assert [entry.memory_key for entry in pages] == [entry.memory_key for entry in everything]


def test_a_search_follows_a_reworded_proposal(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("ada", content="Room 2")
    find = world.manager.find_proposed_account_facts
    assert len(find(world.acme, "support", search="hall")) == 0
    assert len(find(world.acme, "support", search="room")) == 1
    world.remember("ada", content="Room 2")
    world.propose("ada", content="Room 2")
    assert len(find(world.acme, "support", search="room")) == 1


def test_a_search_finds_no_other_tenants_and_no_other_peoples(world: World) -> None:
    world.propose("eve", content="Hall 1")
    world.remember("bob", content="Hall 2")
    manager, where = world.manager, world.acme
    assert len(manager.find_proposed_account_facts(where, "support", search="hall")) == 0
    assert len(manager.find_own_memories(where, world.person("ada"), "support", search="hall")) == 0
