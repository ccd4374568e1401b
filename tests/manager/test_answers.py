"""The answers to an agent, to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from portal.models import Agent
from tests.factories import Clock
from tests.manager.world import World

EVERY_CALL: dict[str, Callable[[World, Any], str]] = {
    "remember": lambda world, agent: world.manager.remember(agent, "office", "text"),
    "propose": lambda world, agent: world.manager.propose_account_fact(agent, "office", "text"),
    "forget": lambda world, agent: world.manager.forget(agent, "office"),
    "list": lambda world, agent: world.manager.list(agent),
}
every_call = pytest.mark.parametrize("call", EVERY_CALL.values(), ids=EVERY_CALL)

SECRET = "Grüße an Zoë"


def usage(memories: int = 0, characters: int = 0, proposals: int = 0) -> dict[str, int]:
    return {
        "memories": memories,
        "memory_limit": 100,
        "characters": characters,
        "character_limit": 20_000,
        "proposals": proposals,
        "proposal_limit": 20,
    }


def assert_written_as(text: str, answer: dict[str, Any]) -> None:
    """Assert that a text is this answer in compact JSON: its fields in this order, in raw UTF-8."""
    assert text == json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def test_a_new_memory_is_told_with_its_usage(world: World) -> None:
    text = world.manager.remember(world.agent("ada"), "Preferred Language", "Answers in German")
    memory = {
        "key": "preferred_language",
        "content": "Answers in German",
        "status": "personal",
        "version": 1,
        "updated_at": "2026-03-01T12:00:00Z",
    }
    assert_written_as(text, {"ok": True, "outcome": "created", "memory": memory, "usage": usage(1, 17)})


def test_a_withdrawal_beside_an_account_fact_is_told_with_one_note(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.confirmed("bob", content="Hall 2")
    text = world.manager.remember(world.agent("ada"), "office", "Hall 3")
    memory = {
        "key": "office",
        "content": "Hall 3",
        "status": "personal",
        "version": 2,
        "updated_at": "2026-03-01T12:00:03Z",
    }
    note = json.loads(text)["note"]
    answer = {"ok": True, "outcome": "replaced", "memory": memory, "usage": usage(1, 6), "note": note}
    assert_written_as(text, answer)
    assert "withdrawn from review" in note
    assert "account fact" in note


def test_what_is_said_twice_is_told_as_it_was(world: World) -> None:
    first = world.remember("ada", content="line\nbreak")
    again = world.remember("ada", "Office", "line\r\nbreak")
    assert again == first | {"outcome": "unchanged"}


def test_a_forgotten_memory_is_told_by_its_key(world: World) -> None:
    world.remember("ada", "seat", "aisle")
    world.propose("ada", "office", "Hall 1")
    text = world.manager.forget(world.agent("ada"), " OFFICE ")
    assert_written_as(text, {"ok": True, "outcome": "forgotten", "key": "office", "usage": usage(1, 5)})


def test_a_list_has_both_kinds_sorted_by_code_point(world: World) -> None:
    for key in ("zebra", "Straße", "ärger", "b_1", "b1", "ключ"):
        world.remember("ada", key, "1")
    world.confirmed("bob", "über", "2")
    world.confirmed("bob", "office", "3")
    world.propose("ada", "apple", "4")
    text = world.manager.list(world.agent("ada"))
    listed = json.loads(text)
    assert_written_as(text, listed)
    assert list(listed) == ["ok", "memories", "account_facts", "usage"]
    keys = [memory["key"] for memory in listed["memories"]]
    assert keys == ["apple", "b1", "b_1", "strasse", "zebra", "ärger", "ключ"] == sorted(keys)
    assert listed["memories"][0] == {
        "key": "apple",
        "content": "4",
        "status": "proposed",
        "updated_at": "2026-03-01T12:00:11Z",
    }
    assert listed["account_facts"] == [
        {"key": "office", "content": "3", "confirmed_at": "2026-03-01T12:00:10Z"},
        {"key": "über", "content": "2", "confirmed_at": "2026-03-01T12:00:08Z"},
    ]
    assert listed["usage"] == usage(7, 7, 1)


def test_an_empty_list_has_its_usage_too(world: World) -> None:
    text = world.manager.list(world.agent("ada"))
    assert_written_as(text, {"ok": True, "memories": [], "account_facts": [], "usage": usage()})


def test_a_key_may_stand_in_both_arrays(world: World) -> None:
    world.remember("ada", content="mine")
    world.confirmed("bob", content="ours")
    listed = world.list("ada")
    assert [memory["content"] for memory in listed["memories"]] == ["mine"]
    assert [fact["content"] for fact in listed["account_facts"]] == ["ours"]


def test_the_list_is_the_same_text_while_nothing_changes(world: World) -> None:
    world.remember("ada")
    world.confirmed("bob", "fiscal_year")
    first = world.manager.list(world.agent("ada"))
    world.remember("ada")
    world.clock.advance(days=1)
    assert world.manager.list(world.agent("ada")) == first


@pytest.mark.parametrize(
    "content",
    [
        'a "quoted" \\ and a / slash',
        "tab\tand\nline",
        "\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}.",
        "Grüße, Привет, שלום, 你好, \N{GRINNING FACE}",
        "null %s %d {} \\u0041 </script>",
    ],
)
def test_texts_are_raw_in_every_answer(world: World, content: str) -> None:
    world.confirmed("bob", "fact", content)
    for text in (
        world.manager.remember(world.agent("ada"), "mine", content),
        world.manager.list(world.agent("ada")),
        world.manager.propose_account_fact(world.agent("ada"), "fact", "other"),
    ):
        assert_written_as(text, json.loads(text))
    listed = world.list("ada")
    assert (listed["memories"][0]["content"], listed["account_facts"][0]["content"]) == (content, content)


def test_times_are_whole_seconds_in_utc(world: World, clock: Clock) -> None:
    clock.advance(microseconds=999_999)
    assert json.loads(world.manager.remember(world.agent("ada"), "a", "b"))["memory"]["updated_at"] == (
        "2026-03-01T12:00:00Z"
    )
    assert world.list("ada")["memories"][0]["updated_at"] == "2026-03-01T12:00:00Z"


# Refusals: the code, a message, the canonical key, and what the rules say besides, in this order.


def refusal(text: str) -> dict[str, Any]:
    """Return a refusal without its message, which is a short sentence."""
    answer: dict[str, Any] = json.loads(text)
    assert_written_as(text, answer)
    assert list(answer)[:4] == ["ok", "error", "message", "key"]
    message = answer.pop("message")
    assert 10 < len(message) < 200
    assert message.endswith(".")
    assert SECRET not in text
    for name in ("Ada", "Bob", "Root", "acme.example"):
        assert name not in text
    return answer


@pytest.mark.parametrize("call", ["remember", "propose_account_fact"])
@pytest.mark.parametrize(
    ("key", "content", "expected"),
    [
        (f"../{SECRET}", "text", {"error": "invalid_key", "key": None}),
        (f"{SECRET}\x00", "text", {"error": "invalid_key", "key": None}),
        (None, "text", {"error": "invalid_key", "key": None}),
        ("Office", f"{SECRET}\x00", {"error": "invalid_content", "key": "office"}),
        ("Office", " \n", {"error": "invalid_content", "key": "office"}),
        ("Office", 5, {"error": "invalid_content", "key": "office"}),
        ("Office", SECRET * 200, {"error": "content_too_long", "key": "office"}),
        ("Office", f"{SECRET}\n" * 40, {"error": "content_too_long", "key": "office"}),
        ("", f"{SECRET}\x00", {"error": "invalid_key", "key": None}),
    ],
)
def test_an_unacceptable_text_is_refused_without_repeating_it(
    world: World, call: str, key: object, content: object, expected: dict[str, Any]
) -> None:
    text = getattr(world.manager, call)(world.agent("ada"), key, content)
    assert refusal(text) == {"ok": False} | expected


def test_an_unacceptable_key_cannot_be_forgotten(world: World) -> None:
    text = world.manager.forget(world.agent("ada"), f"../{SECRET}")
    assert refusal(text) == {"ok": False, "error": "invalid_key", "key": None}


def test_the_message_names_the_code_point_and_its_place(world: World) -> None:
    answer = world.remember("ada", content="ab\r\n\u202ec")
    assert "U+202E at position 4" in answer["message"]


@pytest.mark.parametrize("call", ["remember", "propose_account_fact", "forget"])
def test_a_confirmed_fact_is_shown_where_it_refuses(world: World, call: str) -> None:
    world.confirmed("bob", content="Hall 2")
    arguments = () if call == "forget" else (SECRET,)
    text = getattr(world.manager, call)(world.agent("ada"), "OFFICE", *arguments)
    assert refusal(text) == {
        "ok": False,
        "error": "already_confirmed",
        "key": "office",
        "existing": {"key": "office", "content": "Hall 2", "status": "confirmed"},
    }


def test_ones_own_rejected_fact_is_shown_with_the_reason(world: World) -> None:
    world.rejected("ada", content="Hall 2", reason="We moved")
    text = world.manager.propose_account_fact(world.agent("ada"), "office", SECRET)
    answer = refusal(text)
    assert answer == {
        "ok": False,
        "error": "already_rejected",
        "key": "office",
        "decided_at": "2026-03-01T12:00:02Z",
        "reason": "We moved",
        "existing": {"key": "office", "content": "Hall 2", "status": "rejected"},
    }


def test_anothers_rejected_fact_is_told_by_its_date_alone(world: World) -> None:
    world.rejected("bob", content="Hall 2", reason="We moved")
    text = world.manager.propose_account_fact(world.agent("ada"), "office", SECRET)
    assert refusal(text) == {
        "ok": False,
        "error": "already_rejected",
        "key": "office",
        "decided_at": "2026-03-01T12:00:02Z",
    }


def test_of_several_rejected_facts_the_newest_is_meant_unless_one_is_ones_own(world: World) -> None:
    for name in ("ada", "bob", "root"):
        assert world.propose(name, content=name)["ok"]
    for name in ("ada", "root", "bob"):
        world.decide(name, action="reject", reason=name)
    world.add_person("zoe")
    assert world.propose("zoe")["decided_at"] == "2026-03-01T12:00:06Z"
    own = world.propose("ada")
    assert (own["decided_at"], own["reason"], own["existing"]["content"]) == (
        "2026-03-01T12:00:04Z",
        "ada",
        "ada",
    )


def test_a_full_memory_is_told_with_what_is_used(world: World) -> None:
    world.set_limits(memory_limit=1)
    world.remember("ada", "seat", "aisle")
    text = world.manager.remember(world.agent("ada"), "office", SECRET)
    assert refusal(text) == {
        "ok": False,
        "error": "limit_reached",
        "key": "office",
        "usage": usage(1, 5) | {"memory_limit": 1},
    }
    assert "1 of 1 memories" in json.loads(text)["message"]


def test_full_characters_are_told_with_how_many_more_are_needed(world: World) -> None:
    world.set_limits(memory_characters=10)
    world.remember("ada", "seat", "aisle")
    text = world.manager.remember(world.agent("ada"), "seat", "a" * 11)
    assert refusal(text)["usage"] == usage(1, 5) | {"character_limit": 10}
    assert "5 of 10 characters are in use and this needs 6 more" in json.loads(text)["message"]


def test_full_proposals_are_told_apart(world: World) -> None:
    world.set_limits(proposal_limit=1)
    world.propose("ada", "seat", "aisle")
    text = world.manager.propose_account_fact(world.agent("ada"), "office", SECRET)
    assert refusal(text) == {
        "ok": False,
        "error": "proposal_limit_reached",
        "key": "office",
        "usage": usage(1, 5, 1) | {"proposal_limit": 1},
    }
    assert "1 of 1 proposals" in json.loads(text)["message"]


def test_what_is_not_there_cannot_be_forgotten(world: World) -> None:
    text = world.manager.forget(world.agent("ada"), "Office")
    assert refusal(text) == {"ok": False, "error": "not_found", "key": "office"}


def test_an_inactive_agent_is_told_so(world: World) -> None:
    agent = world.agent("ada")
    world.personas.directory.deactivate(world.person("ada"))
    for text in (
        world.manager.remember(agent, "Office", SECRET),
        world.manager.propose_account_fact(agent, "Office", SECRET),
        world.manager.forget(agent, "Office"),
    ):
        assert refusal(text) == {"ok": False, "error": "inactive", "key": "office"}
    listed = json.loads(world.manager.list(agent))
    assert list(listed) == ["ok", "error", "message"]
    assert (listed["ok"], listed["error"]) == (False, "inactive")


# The order of everything: a wrong kind of agent raises; key and content; inactive; then the rules.


@every_call
@pytest.mark.parametrize("wrong", ["ada", 1, None, object(), "the owner"])
def test_another_kind_of_agent_is_a_programming_error(
    world: World, call: Callable[[World, Any], str], wrong: object
) -> None:
    with pytest.raises(TypeError, match="Agent"):
        call(world, world.person("ada") if wrong == "the owner" else wrong)


def test_the_kind_of_agent_comes_before_the_key(world: World) -> None:
    for call in (world.manager.remember, world.manager.propose_account_fact):
        with pytest.raises(TypeError):
            call(None, "../", "")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        world.manager.forget(None, "../")  # type: ignore[arg-type]


def test_key_and_content_come_before_inactive(world: World) -> None:
    nobody = Agent(id=10**6)
    assert refusal(world.manager.remember(nobody, "../", ""))["error"] == "invalid_key"
    assert refusal(world.manager.propose_account_fact(nobody, "a", ""))["error"] == "invalid_content"
    assert refusal(world.manager.forget(nobody, "../"))["error"] == "invalid_key"
    assert refusal(world.manager.remember(nobody, "a", "b"))["error"] == "inactive"


def test_inactive_comes_before_the_rules(world: World) -> None:
    world.confirmed("bob")
    agent = world.agent("ada")
    world.personas.directory.deactivate(world.person("ada"))
    assert refusal(world.manager.propose_account_fact(agent, "office", "a"))["error"] == "inactive"
    assert refusal(world.manager.forget(agent, "office"))["error"] == "inactive"


def test_the_rules_come_before_the_ceilings(world: World) -> None:
    world.confirmed("bob", "office")
    world.rejected("bob", "seat")
    world.set_limits(memory_limit=0, proposal_limit=0, memory_characters=0)
    assert world.remember("ada", "office")["error"] == "already_confirmed"
    assert world.propose("ada", "office")["error"] == "already_confirmed"
    assert world.propose("ada", "seat")["error"] == "already_rejected"


def test_the_memory_limit_comes_before_the_proposal_limit(world: World) -> None:
    world.set_limits(memory_limit=0, proposal_limit=0)
    assert world.propose("ada")["error"] == "limit_reached"
    world.set_limits(memory_limit=1)
    assert world.propose("ada")["error"] == "proposal_limit_reached"
