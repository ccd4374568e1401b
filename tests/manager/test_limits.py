"""Ceilings: exact to the code point, judged by net growth, and never trimming anything."""

from __future__ import annotations

import pytest

from portal.errors import AccountFactsFull
from tests.manager.world import World

FACE = "\N{GRINNING FACE}"


def test_exactly_as_many_memories_fit_as_the_limit_says(world: World) -> None:
    world.set_limits(memory_limit=3)
    for key in ("a", "b", "c"):
        assert world.remember("ada", key)["outcome"] == "created"
    before = world.state()
    assert world.remember("ada", "d")["error"] == "limit_reached"
    assert world.state() == before
    assert world.remember("ada", "a", "other")["outcome"] == "replaced"


def test_after_one_deletion_exactly_one_more_fits(world: World) -> None:
    world.set_limits(memory_limit=2)
    world.remember("ada", "a")
    world.remember("ada", "b")
    world.forget("ada", "a")
    assert world.remember("ada", "c")["ok"]
    assert world.remember("ada", "d")["error"] == "limit_reached"


@pytest.mark.parametrize("character", ["a", "ü", FACE, "\N{COMBINING ACUTE ACCENT}"], ids=ascii)
def test_characters_are_code_points_to_the_last_one(world: World, character: str) -> None:
    world.set_limits(memory_characters=10)
    world.remember("ada", "a", "12345")
    fits = f"a{character * 4}"
    assert world.remember("ada", "b", f"{fits}!")["error"] == "limit_reached"
    answer = world.remember("ada", "b", fits)
    assert (answer["outcome"], answer["usage"]["characters"]) == ("created", 10)
    assert world.remember("ada", "c", "!")["error"] == "limit_reached"
    assert world.list("ada")["usage"]["characters"] == 10


def test_a_line_break_counts_once_however_it_was_written(world: World) -> None:
    world.set_limits(memory_characters=3)
    assert world.remember("ada", content="a\r\nb")["usage"]["characters"] == 3


def test_a_replacement_is_judged_by_its_growth(world: World) -> None:
    world.set_limits(memory_characters=10, memory_limit=2)
    world.remember("ada", "a", "12345")
    world.remember("ada", "b", "12345")
    assert world.remember("ada", "a", "123456")["error"] == "limit_reached"
    assert world.remember("ada", "a", "54321")["outcome"] == "replaced"
    assert world.remember("ada", "a", "1234")["outcome"] == "replaced"
    assert world.remember("ada", "b", "123456")["outcome"] == "replaced"


def test_under_a_lowered_limit_nothing_goes_and_nothing_grows(world: World) -> None:
    for key in ("a", "b", "c"):
        world.remember("ada", key, "12345")
    world.propose("ada", "p", "12345")
    world.propose("ada", "q", "12345")
    world.set_limits(memory_limit=1, memory_characters=4, proposal_limit=1)
    assert len(world.list("ada")["memories"]) == 5
    assert world.remember("ada", "a", "123456")["error"] == "limit_reached"
    assert world.remember("ada", "d", "1")["error"] == "limit_reached"
    # The same length, shorter, the same again, rewording a proposal and withdrawing one always fit.
    assert world.remember("ada", "a", "54321")["outcome"] == "replaced"
    assert world.remember("ada", "a", "1")["outcome"] == "replaced"
    assert world.remember("ada", "a", "1")["outcome"] == "unchanged"
    assert world.propose("ada", "p", "54321")["outcome"] == "replaced"
    assert world.remember("ada", "q", "12345")["outcome"] == "replaced"
    # Becoming a proposal always counts, also where the text gets shorter.
    assert world.propose("ada", "b", "1")["error"] == "proposal_limit_reached"
    usage = world.list("ada")["usage"]
    assert (usage["memories"], usage["characters"], usage["proposals"]) == (5, 21, 1)


def test_a_limit_of_nothing_stores_nothing(world: World) -> None:
    world.set_limits(memory_limit=0)
    assert world.remember("ada")["error"] == "limit_reached"
    world.set_limits(memory_limit=100, memory_characters=0)
    assert world.remember("ada")["error"] == "limit_reached"
    world.set_limits(memory_characters=100, proposal_limit=0)
    assert world.propose("ada")["error"] == "proposal_limit_reached"
    assert world.remember("ada")["ok"]


def test_exactly_as_many_proposals_wait_as_the_limit_says(world: World) -> None:
    world.set_limits(proposal_limit=2)
    world.propose("ada", "a")
    world.propose("ada", "b")
    world.remember("ada", "c")
    assert world.propose("ada", "c")["error"] == "proposal_limit_reached"
    assert world.row("ada", "c").status == "personal"
    assert world.propose("ada", "a", "reworded")["outcome"] == "replaced"
    # Deciding makes room, and so does withdrawing.
    world.decide("ada", "a", "reject")
    assert world.propose("ada", "c")["outcome"] == "replaced"
    world.remember("ada", "c")
    assert world.propose("ada", "d")["ok"]


def test_ceilings_are_each_agents_own(world: World) -> None:
    world.set_limits(memory_limit=1, proposal_limit=1)
    world.propose("ada")
    assert world.propose("bob")["ok"]
    assert world.remember("ada", definition="travel")["ok"]
    assert world.remember("eve")["ok"]


def test_what_is_decided_counts_towards_no_agents_ceiling(world: World) -> None:
    world.set_limits(memory_limit=1, memory_characters=4)
    world.confirmed("ada", "a")
    world.rejected("ada", "b")
    assert world.list("ada")["usage"]["memories"] == 0
    assert world.remember("ada", "c")["ok"]


def test_confirming_gives_the_stater_room(world: World) -> None:
    world.set_limits(memory_limit=1)
    world.propose("ada", "a")
    assert world.remember("ada", "b")["error"] == "limit_reached"
    world.decide("ada", "a")
    assert world.remember("ada", "b")["ok"]


def test_exactly_as_many_facts_are_confirmed_as_the_limit_says(world: World) -> None:
    world.set_limits(account_fact_limit=2)
    fact = world.confirmed("ada", "a")
    world.confirmed("bob", "b")
    world.propose("ada", "c")
    before = world.state()
    with pytest.raises(AccountFactsFull) as refusal:
        world.decide("ada", "c")
    assert refusal.value.memory.memory_key == "c"
    assert world.state() == before
    # Rejecting and deleting need no room; deleting a fact makes some.
    world.manager.delete_memory(fact.id, world.acme, deleted_by=world.root)
    assert world.decide("ada", "c").status == "confirmed"


def test_the_characters_of_confirmed_facts_are_code_points_to_the_last_one(world: World) -> None:
    world.set_limits(account_fact_characters=10)
    world.confirmed("ada", "a", FACE * 6)
    world.propose("bob", "b", FACE * 5)
    with pytest.raises(AccountFactsFull):
        world.decide("bob", "b")
    world.propose("bob", "b", FACE * 4)
    assert world.decide("bob", "b").content == FACE * 4
    world.propose("bob", "c", "a")
    with pytest.raises(AccountFactsFull):
        world.decide("bob", "c")


def test_under_a_lowered_limit_of_facts_none_goes_and_none_comes(world: World) -> None:
    world.confirmed("ada", "a", "12345")
    world.confirmed("ada", "b", "12345")
    world.propose("ada", "c", "1")
    for facts, characters in ((1, 100), (100, 5)):
        world.set_limits(account_fact_limit=facts, account_fact_characters=characters)
        with pytest.raises(AccountFactsFull):
            world.decide("ada", "c")
        assert len(world.list("bob")["account_facts"]) == 2


def test_the_ceilings_of_facts_are_each_definitions_own(world: World) -> None:
    world.set_limits(account_fact_limit=1)
    world.confirmed("ada")
    world.propose("ada", definition="travel")
    (elsewhere,) = world.manager.find_proposed_account_facts(world.acme, "travel")
    assert world.manager.decide_account_fact(elsewhere.id, world.acme, world.root, "confirm").version == 2


def test_the_longest_content_fits_and_comes_back(world: World) -> None:
    content = FACE * 2_000
    assert world.remember("ada", "a" * 64, content)["ok"]
    assert world.remember("ada", "a" * 65, content)["error"] == "invalid_key"
    assert world.remember("ada", "b", f"{content}!")["error"] == "content_too_long"
    assert world.list("ada")["memories"][0]["content"] == content


def test_a_definition_begins_with_the_defaults(world: World) -> None:
    assert world.list("ada")["usage"] == {
        "memories": 0,
        "memory_limit": 100,
        "characters": 0,
        "character_limit": 20_000,
        "proposals": 0,
        "proposal_limit": 20,
    }
    for number in range(100):
        assert world.remember("ada", f"key_{number}")["ok"]
    assert world.remember("ada", "one_more")["error"] == "limit_reached"
