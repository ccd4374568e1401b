"""Deciding, deleting and reopening: preconditions in order, what exceptions carry, and what is left."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from portal.errors import (
    AccountFactsFull,
    AgentMemoryError,
    AlreadyDecided,
    DecisionRefused,
    InvalidInput,
    KeyAlreadyConfirmed,
    KeyTaken,
    MemoriesFull,
    MemoryChanged,
    MemoryNotFound,
    NotAnAdministrator,
    NotDecided,
    SecondPersonRequired,
    StaterGone,
    UnknownAction,
)
from portal.models import AgentMemory
from tests.manager.world import KEY, World, contents

FAR_OFF = 2**62


def decide(
    world: World, memory_id: Any, action: Any = "confirm", by: str = "root", **more: Any
) -> AgentMemory:
    return world.manager.decide_account_fact(memory_id, world.acme, world.person(by), action, **more)


def test_a_confirmed_fact_says_who_decided_it_when_and_why(world: World) -> None:
    world.propose("ada", content="Hall 1")
    confirmed = world.decide("ada", action="confirm", reason="Checked\r\ntwice")
    assert (confirmed.status, confirmed.content, confirmed.version) == ("confirmed", "Hall 1", 2)
    assert confirmed.decided_by is not None
    assert confirmed.stated_by is not None
    assert (confirmed.stated_by.name, confirmed.decided_by.name) == ("Ada", "Root")
    assert confirmed.decided_at == confirmed.updated_at == dt.datetime(2026, 3, 1, 12, 0, 2, tzinfo=dt.UTC)
    assert confirmed.stated_at == confirmed.created_at == dt.datetime(2026, 3, 1, 12, 0, 1, tzinfo=dt.UTC)
    assert confirmed.decision_reason == "Checked\ntwice"


def test_deleting_a_proposal_returns_it_as_it_was_and_leaves_the_key_free(world: World) -> None:
    world.propose("ada", content="Hall 1")
    deleted = world.decide("ada", action="delete", reason="Not ours")
    assert (deleted.status, deleted.content, deleted.version) == ("proposed", "Hall 1", 1)
    assert deleted.stated_by is not None
    assert (deleted.stated_by.name, deleted.decided_by, deleted.decision_reason) == ("Ada", None, "")
    assert world.rows() == []
    assert world.propose("ada")["outcome"] == "created"
    assert world.row("ada").id != deleted.id


def test_a_rejected_key_is_closed_in_its_definition_only(world: World) -> None:
    world.rejected("ada")
    assert world.propose("bob")["error"] == "already_rejected"
    assert world.propose("bob", definition="travel")["ok"]
    assert world.propose("eve")["ok"]


def test_a_proposal_of_somebody_who_left_can_be_decided_and_reopened(world: World) -> None:
    world.propose("ada")
    world.personas.directory.deactivate(world.person("ada"))
    confirmed = world.decide("ada")
    reopened = world.manager.reopen_account_fact(confirmed.id, world.acme, world.root)
    assert reopened.status == "proposed"
    assert world.decide("ada", action="reject").status == "rejected"


def test_administrators_decide_on_what_they_stated_themselves_unless_a_second_person_is_required(
    world: World,
) -> None:
    assert world.confirmed("root", "seat").status == "confirmed"
    world.set_limits(second_person_required=True)
    world.propose("root")
    with pytest.raises(SecondPersonRequired) as refusal:
        world.decide("root")
    assert refusal.value.memory.memory_key == "office"
    assert world.row("root").status == "proposed"
    deputy = world.add_person("deputy", "administrator")
    assert decide(world, world.row("root").id, by="deputy").decided_by_id == deputy.id


@pytest.mark.parametrize("action", ["reject", "delete"])
def test_nobody_else_is_required_to_turn_down_ones_own(world: World, action: str) -> None:
    world.set_limits(second_person_required=True)
    world.propose("root")
    assert world.decide("root", action=action).memory_key == "office"


def test_what_a_second_person_is_required_for_is_per_definition(world: World) -> None:
    world.set_limits("travel", second_person_required=True)
    assert world.confirmed("root").status == "confirmed"


# The preconditions, each of which holds or not. The first in this order that does not hold decides, whatever
# else is wrong.

Precondition = tuple[str, type[AgentMemoryError]]
PRECONDITIONS: list[Precondition] = [
    ("action", UnknownAction),
    ("administrator", NotAnAdministrator),
    ("existence", MemoryNotFound),
    ("proposal", AlreadyDecided),
    ("version", MemoryChanged),
    ("free key", KeyAlreadyConfirmed),
    ("room", AccountFactsFull),
    ("second person", SecondPersonRequired),
]


@pytest.mark.parametrize(
    ("first", "second"),
    list(itertools.combinations_with_replacement(PRECONDITIONS, 2)),
    ids=lambda precondition: precondition[0],
)
def test_of_two_broken_preconditions_the_first_is_told(
    world: World, first: Precondition, second: Precondition
) -> None:
    broken, expected = {first[0], second[0]}, first[1]
    # Root states what root will decide on.
    world.propose("ada", content="Hall 1")
    world.propose("root", content="Hall 2")
    memory = world.row("root")
    version = memory.version
    if "proposal" in broken:
        # A confirmed fact of one's own stands in the way of nothing but itself.
        version = world.decide("root", action="reject").version
    if "free key" in broken:
        world.decide("ada", action="confirm")
    world.set_limits(
        account_fact_limit=0 if "room" in broken else 100, second_person_required="second person" in broken
    )
    before = world.state()
    with pytest.raises(expected) as refusal:
        world.manager.decide_account_fact(
            FAR_OFF if "existence" in broken else memory.id,
            world.acme,
            world.person("bob") if "administrator" in broken else world.root,
            "approve" if "action" in broken else "confirm",
            expected_version=version + 1 if "version" in broken else version,
        )
    assert type(refusal.value) is expected
    assert world.state() == before


def test_with_no_precondition_broken_the_same_call_confirms(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("root", content="Hall 2")
    memory = world.row("root")
    assert decide(world, memory.id, expected_version=memory.version).status == "confirmed"


@pytest.mark.parametrize("action", ["approve", "", "CONFIRM", None, 1, ["confirm"], object()])
def test_another_action_is_unknown_whoever_asks(world: World, action: Any) -> None:
    world.propose("ada")
    with pytest.raises(UnknownAction):
        decide(world, FAR_OFF, action, by="bob")
    assert world.row("ada").status == "proposed"


@pytest.mark.parametrize("memory_id", [0, -1, FAR_OFF, 2**63, 2**70, None, "1", 1.5, "", object()])
def test_an_id_that_never_was_is_not_found(world: World, memory_id: Any) -> None:
    manager, where, root, ada = world.manager, world.acme, world.root, world.person("ada")
    for call in (
        lambda: manager.decide_account_fact(memory_id, where, root, "confirm"),
        lambda: manager.delete_memory(memory_id, where, deleted_by=root),
        lambda: manager.delete_memory(memory_id, where),
        lambda: manager.reopen_account_fact(memory_id, where, root),
        lambda: manager.delete_own_memory(memory_id, ada),
        lambda: manager.keep_own_memory(memory_id, ada),
    ):
        with pytest.raises(MemoryNotFound) as refusal:
            call()
        assert str(refusal.value) == "no such memory"


def test_foreign_personal_and_missing_give_the_same_answer(world: World) -> None:
    world.remember("ada", "personal")
    world.propose("eve", "foreign")
    manager, where, root = world.manager, world.acme, world.root
    for memory_id in (world.row("ada", "personal").id, world.row("eve", "foreign").id, FAR_OFF):
        for call in (
            lambda memory_id: decide(world, memory_id, "reject"),
            lambda memory_id: manager.delete_memory(memory_id, where, deleted_by=root),
            lambda memory_id: manager.reopen_account_fact(memory_id, where, root),
        ):
            with pytest.raises(MemoryNotFound) as refusal:
                call(memory_id)
            assert (type(refusal.value), str(refusal.value)) == (MemoryNotFound, "no such memory")


def test_the_command_line_reaches_no_other_organisation_either(world: World) -> None:
    world.remember("eve")
    with pytest.raises(MemoryNotFound):
        world.manager.delete_memory(world.row("eve").id, world.acme)
    assert len(world.rows()) == 1


# What the exceptions carry, for a page that has to show what its reader did not know.


def test_already_decided_carries_what_it_is_who_decided_and_when(world: World) -> None:
    world.propose("ada")
    world.decide("ada", action="reject", reason="We moved")
    with pytest.raises(AlreadyDecided) as refusal:
        decide(world, world.row("ada").id, expected_version=1)
    memory = refusal.value.memory
    assert memory.decided_by is not None
    assert (memory.status, memory.decided_by.name, memory.decision_reason) == ("rejected", "Root", "We moved")
    assert memory.decided_at == dt.datetime(2026, 3, 1, 12, 0, 2, tzinfo=dt.UTC)


def test_changed_carries_the_current_text(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("ada", content="Hall 2")
    for call in (
        lambda: decide(world, world.row("ada").id, expected_version=1),
        lambda: world.manager.delete_memory(
            world.row("ada").id, world.acme, deleted_by=world.root, expected_version=1
        ),
    ):
        with pytest.raises(MemoryChanged) as refusal:
            call()
        memory = refusal.value.memory
        assert (memory.content, memory.version, memory.status) == ("Hall 2", 2, "proposed")
        assert memory.stated_by is not None
        assert memory.stated_by.name == "Ada"


def test_key_already_confirmed_carries_both_facts(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.confirmed("bob", content="Hall 2")
    with pytest.raises(KeyAlreadyConfirmed) as refusal:
        world.decide("ada")
    memory, confirmed = refusal.value.memory, refusal.value.confirmed
    assert contents([memory, confirmed]) == ["Hall 1", "Hall 2"]
    assert confirmed.stated_by is not None
    assert confirmed.decided_by is not None
    assert (confirmed.stated_by.name, confirmed.decided_by.name) == ("Bob", "Root")


@pytest.mark.parametrize(
    "error",
    [AlreadyDecided, NotDecided, MemoryChanged, AccountFactsFull, MemoriesFull, SecondPersonRequired,
     StaterGone, KeyTaken],
)  # fmt: skip
def test_messages_hold_ids_and_no_text(error: type[DecisionRefused]) -> None:
    refusal = error(AgentMemory(id=17, memory_key="secret key", content="secret text"))
    assert "17" in str(refusal)
    assert "secret" not in f"{refusal} {refusal!r}"
    assert isinstance(refusal, AgentMemoryError)


# Versions: an administrator confirms what was on the screen.


def test_rewording_invalidates_the_page_and_repeating_does_not(world: World) -> None:
    world.propose("ada", content="Hall 1")
    seen = world.row("ada")
    world.propose("ada", content="Hall 1")
    world.propose("ada", " OFFICE", "Hall 1")
    assert world.row("ada").version == seen.version
    world.propose("ada", content="Hall 2")
    with pytest.raises(MemoryChanged):
        decide(world, seen.id, "confirm", expected_version=seen.version)
    seen = world.row("ada")
    world.propose("ada", content="Hall 2")
    assert decide(world, seen.id, "reject", expected_version=seen.version).content == "Hall 2"


def test_a_proposal_that_was_withdrawn_and_proposed_again_is_another_version(world: World) -> None:
    world.propose("ada")
    world.remember("ada")
    world.propose("ada")
    with pytest.raises(MemoryChanged):
        decide(world, world.row("ada").id, expected_version=1)
    assert decide(world, world.row("ada").id, expected_version=3).version == 4


def test_a_forgotten_proposal_is_never_confirmed_as_its_successor(world: World) -> None:
    world.propose("ada", content="Hall 1")
    seen = world.row("ada")
    world.forget("ada")
    world.propose("ada", content="Hall 2")
    with pytest.raises(MemoryNotFound):
        decide(world, seen.id, expected_version=seen.version)
    assert world.row("ada").content == "Hall 2"


def test_without_a_version_whatever_it_is_now_is_decided(world: World) -> None:
    world.propose("ada", content="Hall 1")
    world.propose("ada", content="Hall 2")
    assert decide(world, world.row("ada").id).content == "Hall 2"


# The reason obeys the rules for contents and has at most 500 code points.


@pytest.mark.parametrize("action", ["confirm", "reject", "delete"])
@pytest.mark.parametrize(
    "reason", ["a" * 501, "\N{GRINNING FACE}" * 501, "a\x00", "\u202e", "\ud800", None, 5]
)
def test_a_reason_that_cannot_be_accepted_is_refused(world: World, action: str, reason: Any) -> None:
    world.propose("ada")
    before = world.state()
    with pytest.raises(InvalidInput) as refusal:
        decide(world, world.row("ada").id, action, reason=reason)
    assert refusal.value.field == "reason"
    assert world.state() == before


@pytest.mark.parametrize("reason", ["\N{GRINNING FACE}" * 500, "Zu alt\n\tund falsch", ""])
def test_a_reason_comes_back_as_it_was_given(world: World, reason: str) -> None:
    world.propose("ada")
    assert world.decide("ada", action="reject", reason=reason).decision_reason == reason
    assert world.propose("ada")["reason"] == reason


def test_a_blank_reason_is_none(world: World) -> None:
    world.propose("ada")
    assert world.decide("ada", action="reject", reason=" \n").decision_reason == ""


def test_an_unknown_action_comes_before_the_reason(world: World) -> None:
    with pytest.raises(UnknownAction):
        decide(world, 1, "approve", reason="\x00")


# Deleting outright: the only way in which a confirmed fact can go.


@pytest.mark.parametrize(
    ("put", "recalled"), [(World.confirmed, [KEY]), (World.rejected, [])], ids=["confirmed", "rejected"]
)
def test_a_deleted_fact_is_gone_for_everybody(
    world: World, put: Callable[..., AgentMemory], recalled: list[str]
) -> None:
    fact = put(world, "ada")
    assert [known["key"] for known in world.list("bob")["account_facts"]] == recalled
    world.manager.delete_memory(fact.id, world.acme, deleted_by=world.root, expected_version=fact.version)
    assert world.rows() == []
    assert world.list("bob")["account_facts"] == []
    with pytest.raises(MemoryNotFound):
        world.manager.delete_memory(fact.id, world.acme, deleted_by=world.root)
    assert world.propose("bob")["outcome"] == "created"


def test_a_key_opens_again_once_no_other_rejected_fact_holds_it(world: World) -> None:
    for name in ("ada", "bob"):
        world.propose(name)
    facts = [world.decide(name, action="reject") for name in ("ada", "bob")]
    world.manager.delete_memory(facts[0].id, world.acme, deleted_by=world.root)
    assert world.propose("ada")["error"] == "already_rejected"
    world.manager.delete_memory(facts[1].id, world.acme, deleted_by=world.root)
    assert world.propose("ada")["ok"]


def test_who_deletes_comes_before_what_is_deleted_and_that_before_its_version(world: World) -> None:
    fact = world.confirmed("ada")
    delete, where = world.manager.delete_memory, world.acme
    with pytest.raises(NotAnAdministrator):
        delete(FAR_OFF, where, deleted_by=world.person("bob"), expected_version=7)
    with pytest.raises(MemoryNotFound):
        delete(FAR_OFF, where, deleted_by=world.root, expected_version=7)
    with pytest.raises(MemoryChanged):
        delete(fact.id, where, deleted_by=world.root, expected_version=7)
    with pytest.raises(MemoryChanged):
        delete(fact.id, where, expected_version=7)
    assert world.row("ada").status == "confirmed"


# Reopening: the row is a proposal again, at its old place in the queue, its decision cleared.


def reopen(world: World, memory_id: int, by: str = "root", **more: Any) -> AgentMemory:
    return world.manager.reopen_account_fact(memory_id, world.acme, world.person(by), **more)


@pytest.mark.parametrize("action", ["confirm", "reject"])
def test_a_reopened_fact_is_the_proposal_that_it_was(world: World, action: str) -> None:
    world.propose("ada", content="Hall 1")
    stated_at = world.row("ada").stated_at
    decided = world.decide("ada", action=action, reason="We moved")
    world.clock.advance(days=1)
    reopened = reopen(world, decided.id, expected_version=decided.version)
    assert (reopened.id, reopened.status, reopened.content) == (decided.id, "proposed", "Hall 1")
    assert (reopened.stated_at, reopened.version) == (stated_at, 3)
    assert reopened.updated_at == world.clock.now
    assert (reopened.decided_by, reopened.decided_at, reopened.decision_reason) == (None, None, "")
    assert reopened.stated_by is not None
    assert world.list("ada")["memories"][0]["status"] == "proposed"
    assert world.list("bob")["account_facts"] == []
    assert world.decide("ada").status == "confirmed"


def test_reopening_a_rejected_fact_opens_its_key(world: World) -> None:
    fact = world.rejected("ada")
    reopen(world, fact.id)
    assert world.propose("bob")["ok"]


def test_a_fact_whose_stater_was_erased_cannot_be_reopened(world: World) -> None:
    fact = world.confirmed("ada")
    world.personas.directory.erase_profile(world.person("ada"))
    with pytest.raises(StaterGone) as refusal:
        reopen(world, fact.id)
    assert refusal.value.memory.stated_by is None
    world.manager.delete_memory(fact.id, world.acme, deleted_by=world.root)
    assert world.rows() == []


def test_a_fact_under_whose_key_its_stater_holds_another_cannot_be_reopened(world: World) -> None:
    fact = world.rejected("ada")
    world.remember("ada", content="Hall 2")
    with pytest.raises(KeyTaken):
        reopen(world, fact.id)
    world.forget("ada")
    assert reopen(world, fact.id).status == "proposed"


@pytest.mark.parametrize(
    "limits", [{"memory_limit": 1}, {"memory_characters": 8}, {"proposal_limit": 1}], ids=str
)
def test_a_fact_for_which_its_stater_has_no_room_cannot_be_reopened(
    world: World, limits: dict[str, Any]
) -> None:
    fact = world.confirmed("ada", content="text")
    world.propose("ada", "seat", "aisle")
    world.set_limits(**limits)
    before = world.state()
    with pytest.raises(MemoriesFull):
        reopen(world, fact.id)
    assert world.state() == before
    world.set_limits(**{name: value + 1 for name, value in limits.items()})
    assert reopen(world, fact.id).status == "proposed"


def test_the_preconditions_of_reopening_come_in_order(world: World) -> None:
    world.propose("ada", "waiting")
    fact = world.rejected("ada")
    world.remember("ada", content="Hall 2")
    world.set_limits(memory_limit=0)
    with pytest.raises(NotAnAdministrator):
        reopen(world, FAR_OFF, "bob", expected_version=7)
    with pytest.raises(MemoryNotFound):
        reopen(world, FAR_OFF, expected_version=7)
    with pytest.raises(NotDecided):
        reopen(world, world.row("ada", "waiting").id, expected_version=7)
    with pytest.raises(MemoryChanged):
        reopen(world, fact.id, expected_version=7)
    with pytest.raises(KeyTaken):
        reopen(world, fact.id, expected_version=2)
    world.forget("ada")
    with pytest.raises(MemoriesFull):
        reopen(world, fact.id, expected_version=2)
