"""The corpus of bad inputs: what is accepted comes back, and what is refused writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest

from portal.contents import check_content
from portal.errors import InvalidContent, InvalidKey
from portal.keys import canonical_key
from portal.manager import AgentMemoryManager
from tests.corpus_inputs import NOT_TEXT, BadInput, EvilText, bad_inputs
from tests.databases import Databases, opened
from tests.factories import Clock, create_personas
from tests.invariants import assert_canonical_keys, assert_nothing_written
from tests.manager.world import World

MANY = 1_000_000


@pytest.fixture(scope="module")
def shelf(databases: Databases) -> Iterator[World]:
    """A world with room for all of the corpus."""
    with databases.migrated() as url, opened(url) as database:
        clock = Clock()
        personas = create_personas(database, clock=clock)
        world = World(database, AgentMemoryManager(database, clock=clock), personas, clock)
        world.set_limits(
            memory_limit=10_000,
            memory_characters=MANY,
            proposal_limit=10_000,
            account_fact_limit=10_000,
            account_fact_characters=MANY,
        )
        # Made when first asked for, and here before anything is compared, whichever test comes first.
        world.agent("ada")
        yield world


def sorted_out(surface: str) -> tuple[Sequence[BadInput], Sequence[BadInput]]:
    """Return the entries of a surface that the rules accept, and those that they refuse."""
    check = canonical_key if surface == "key" else check_content
    accepted, refused = [], []
    for entry in bad_inputs(surface):
        try:
            check(entry.value)
        except (InvalidKey, InvalidContent):
            refused.append(entry)
        else:
            accepted.append(entry)
    return accepted, refused


ACCEPTED_KEYS, REFUSED_KEYS = sorted_out("key")
ACCEPTED_CONTENTS, REFUSED_CONTENTS = sorted_out("content")
# Composing or decomposing changes nothing of the corpus that is accepted.
COMPOSABLE = BadInput(
    "composable", "", "content", "e\u0301, \N{ANGSTROM SIGN}, \N{LATIN SMALL LIGATURE FI}", "accept"
)


def ids(entry: BadInput) -> str:
    return entry.id


def test_the_corpus_has_both_kinds_of_both_surfaces() -> None:
    numbers = map(len, (ACCEPTED_KEYS, REFUSED_KEYS, ACCEPTED_CONTENTS, REFUSED_CONTENTS))
    assert min(numbers) > 10


@pytest.mark.parametrize("entry", [*ACCEPTED_CONTENTS, COMPOSABLE], ids=ids)
def test_an_accepted_content_comes_back_code_point_for_code_point(shelf: World, entry: BadInput) -> None:
    """Through the answer, the list, the lists of facts and the search, personal, proposed and confirmed."""
    content = entry.value.replace("\r\n", "\n").replace("\r", "\n")
    key, proposed_key = f"content_{entry.id}".lower(), f"fact_{entry.id}".lower()
    assert shelf.remember("ada", key, entry.value)["memory"]["content"] == content
    assert shelf.propose("bob", proposed_key, entry.value)["memory"]["content"] == content
    held = {memory["key"]: memory["content"] for memory in shelf.list("ada")["memories"]}
    assert held[key.replace("-", "_")] == content
    find = shelf.manager.find_proposed_account_facts
    (found,) = (fact for fact in find(shelf.acme, "support", search=content) if fact.content == content)
    confirmed = shelf.manager.decide_account_fact(found.id, shelf.acme, shelf.root, "confirm")
    assert confirmed.content == content
    facts = {fact["key"]: fact["content"] for fact in shelf.list("ada")["account_facts"]}
    assert facts[proposed_key.replace("-", "_")] == content


@pytest.mark.parametrize("entry", ACCEPTED_KEYS, ids=ids)
def test_an_accepted_key_means_one_memory_however_it_is_spelled(shelf: World, entry: BadInput) -> None:
    key = canonical_key(entry.value)
    shelf.forget("ada", key)
    assert shelf.remember("ada", entry.value, entry.id)["memory"]["key"] == key
    assert shelf.remember("ada", key, entry.id)["outcome"] == "unchanged"
    held = {memory["key"]: memory["content"] for memory in shelf.list("ada")["memories"]}
    assert held[key] == entry.id
    own = shelf.manager.find_own_memories(shelf.acme, shelf.person("ada"), "support", search=key)
    assert key in [memory.memory_key for memory in own]
    assert shelf.forget("ada", entry.value) | {"usage": {}} == {
        "ok": True,
        "outcome": "forgotten",
        "key": key,
        "usage": {},
    }
    assert_canonical_keys(shelf.state())


def test_keys_of_every_script_are_in_the_same_order_on_every_database(shelf: World) -> None:
    keys = sorted({canonical_key(entry.value) for entry in ACCEPTED_KEYS})
    for key in keys:
        shelf.remember("root", key)
    assert [memory["key"] for memory in shelf.list("root")["memories"]] == keys


@pytest.mark.parametrize("entry", REFUSED_KEYS, ids=ids)
def test_a_refused_key_writes_nothing(shelf: World, entry: BadInput) -> None:
    before = shelf.state()
    for answer in (
        shelf.remember("ada", entry.value),
        shelf.propose("ada", entry.value),
        shelf.forget("ada", entry.value),
    ):
        assert (answer["error"], answer["key"]) == ("invalid_key", None)
    assert_nothing_written(before, shelf.state())


@pytest.mark.parametrize("entry", REFUSED_CONTENTS, ids=ids)
def test_a_refused_content_writes_nothing_and_replaces_nothing(shelf: World, entry: BadInput) -> None:
    shelf.remember("ada", "stays", "as it is")
    before = shelf.state()
    for answer in (shelf.remember("ada", "stays", entry.value), shelf.propose("ada", "stays", entry.value)):
        assert answer["error"] in {"invalid_content", "content_too_long"}
        assert answer["key"] == "stays"
    assert_nothing_written(before, shelf.state())


@pytest.mark.parametrize("name", NOT_TEXT)
def test_what_is_no_text_is_an_answer_and_writes_nothing(shelf: World, name: str) -> None:
    value = NOT_TEXT[name]
    before = shelf.state()
    assert shelf.remember("ada", value)["error"] == "invalid_key"
    assert shelf.forget("ada", value)["error"] == "invalid_key"
    assert shelf.propose("ada", "key", value)["error"] == "invalid_content"
    assert_nothing_written(before, shelf.state())


def test_a_text_whose_methods_lie_counts_by_its_characters(shelf: World) -> None:
    text = shelf.manager.remember(shelf.agent("bob"), EvilText("Evil Key"), EvilText("What it says"))
    memory = json.loads(text)["memory"]
    assert (memory["key"], memory["content"]) == ("evil_key", "What it says")
    assert json.loads(shelf.manager.forget(shelf.agent("bob"), EvilText("EVIL key")))["ok"]
