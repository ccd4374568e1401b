"""What administrators decide and delete, and what they are told where that is not possible."""

from __future__ import annotations

import pytest

from portal.models import AgentMemory
from tests.web.pages import Page
from tests.web.visitors import Portal, Visitor


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


@pytest.fixture
def fact(portal: Portal) -> AgentMemory:
    return portal.propose(portal.personas.ada, "hours", "9 to 5")


def decide_path(fact: AgentMemory) -> str:
    return f"/admin/support/facts/{fact.id}/decide"


def shelves(root: Visitor) -> tuple[list[str], list[str], list[str]]:
    """Return the keys on each shelf."""
    queue, confirmed, rejected = (
        root.page(f"/admin/support/{name}").keys for name in ("", "confirmed", "rejected")
    )
    return queue, confirmed, rejected


# Done


@pytest.mark.parametrize(
    ("button", "expected", "message"),
    [
        (
            "Confirm hours",
            ([], ["hours"], []),
            "Confirmed hours. Everybody's agent uses it from its next turn on.",
        ),
        (
            "Reject hours",
            ([], [], ["hours"]),
            "Rejected hours. No agent uses it, and its key cannot be proposed again.",
        ),
    ],
)
@pytest.mark.usefixtures("fact")
def test_a_decision_is_one_press(
    root: Visitor, button: str, expected: tuple[list[str], ...], message: str
) -> None:
    answer = root.press(root.page("/admin/support/"), button)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/admin/support/")
    assert root.follow(answer).messages == [f"{message} Undo hours"]
    assert shelves(root) == expected


@pytest.mark.usefixtures("fact")
def test_a_message_is_told_once(root: Visitor) -> None:
    root.press(root.page("/admin/support/"), "Confirm hours")
    assert len(root.page("/admin/support/").messages) == 1
    assert root.page("/admin/support/").messages == []


@pytest.mark.usefixtures("fact")
def test_a_rejection_can_say_why(portal: Portal, root: Visitor) -> None:
    root.press(root.page("/admin/support/"), "Reject hours", reason="We open at 8.")
    assert "Reason: We open at 8." in root.page("/admin/support/rejected").entries[0].words
    assert "We open at 8." in portal.visitor(portal.personas.ada).page("/me/support/").root.words


@pytest.mark.usefixtures("fact")
def test_a_proposal_is_deleted_on_a_page_of_its_own(root: Visitor) -> None:
    question = root.page(root.page("/admin/support/?q=9").link("Delete… hours"))
    assert question.heading == "Delete this proposal?"
    assert question.link("Keep it") == "/admin/support/?q=9"
    answer = root.press(question, "Delete for good")
    assert answer.headers["Location"] == "/admin/support/?q=9"
    assert root.follow(answer).messages == [
        "Deleted hours. The proposal is gone. Its key can be proposed again."
    ]
    assert shelves(root) == ([], [], [])


@pytest.mark.parametrize(
    ("action", "shelf", "heading", "message"),
    [
        ("confirm", "confirmed", "Delete this confirmed fact?", "Agents forget it with their next turn."),
        (
            "reject",
            "rejected",
            "Delete this rejected fact?",
            "Its key can be proposed again, unless another rejected fact has it too.",
        ),
    ],
)
def test_a_decided_fact_is_deleted_on_a_page_of_its_own(
    portal: Portal, root: Visitor, fact: AgentMemory, action: str, shelf: str, heading: str, message: str
) -> None:
    portal.decide(fact, action)
    question = root.page(root.page(f"/admin/support/{shelf}?q=9").link("Delete… hours"))
    assert question.heading == heading
    answer = root.press(question, "Delete for good")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/admin/support/{shelf}?q=9")
    assert root.follow(answer).messages == [f"Deleted hours. {message}"]
    assert shelves(root) == ([], [], [])


@pytest.mark.parametrize("button", ["Confirm hours", "Reject hours"])
@pytest.mark.usefixtures("fact")
def test_the_same_press_again_is_no_conflict(root: Visitor, button: str) -> None:
    page = root.page("/admin/support/")
    once, again = root.press(page, button), root.press(page, button)
    assert (once.status_code, again.status_code) == (303, 303)
    assert len(root.follow(again).messages) == 2


@pytest.mark.usefixtures("fact")
def test_a_repeated_deletion_finds_nothing(root: Visitor) -> None:
    question = root.page(root.page("/admin/support/").link("Delete… hours"))
    assert root.press(question, "Delete for good").status_code == 303
    assert root.press(question, "Delete for good").status_code == 404


# Fields that cannot be


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"action": ""},
        {"action": "CONFIRM"},
        {"action": "confirm\0"},
        {"action": "confirmed"},
        {"action": ["confirm", "confirm"]},
        {"action": ["confirm", "reject"]},
        {"action": "confirm", "version": ["1", "1"]},
        {"action": "confirm", "version": "abc"},
        {"action": "confirm", "version": "-1"},
        {"action": "confirm", "version": ""},
        {"action": "confirm", "version": "9" * 30},
        {"action": "confirm", "version": "\u0661"},
        {"action": "reject", "reason": ["one", "other"]},
    ],
    ids=str,
)
def test_nonsense_is_refused(root: Visitor, fact: AgentMemory, fields: dict[str, str]) -> None:
    assert root.post(decide_path(fact), **fields).status_code == 400
    assert shelves(root) == (["hours"], [], [])


def test_an_action_in_the_address_does_not_count(root: Visitor, fact: AgentMemory) -> None:
    assert root.post(f"{decide_path(fact)}?action=confirm").status_code == 400


def test_fields_that_nobody_asked_for_change_nothing(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    more = {"status": "confirmed", "organisation_id": str(portal.personas.globex.id), "content": "mine"}
    assert root.post(decide_path(fact), action="reject", **more).status_code == 303
    assert shelves(root) == ([], [], ["hours"])
    assert "9 to 5" in root.page("/admin/support/rejected").root.words


@pytest.mark.parametrize(
    "reason", ["x" * 501, "right\u202eto left", "\ue000"], ids=["long", "bidi", "private"]
)
def test_a_reason_that_cannot_be_is_shown_with_what_is_wrong(
    root: Visitor, fact: AgentMemory, reason: str
) -> None:
    answer = root.post(decide_path(fact), action="reject", version=str(fact.version), reason=reason)
    page = Page(answer.text)
    assert answer.status_code == 422
    assert page.messages[0].startswith("Nothing was saved. The reason cannot be accepted as it is.")
    [problem] = page.classed("problem")
    assert problem.words in page.messages[0]
    [field] = page.find_all("textarea")
    assert field.text.removeprefix("\n") == reason
    assert shelves(root) == (["hours"], [], [])
    assert root.press(page, "Reject hours", reason="because").status_code == 303


# Conflicts


@pytest.mark.parametrize("action", ["confirm", "reject", "delete"])
def test_what_was_changed_meanwhile_is_shown_and_not_decided(
    portal: Portal, root: Visitor, fact: AgentMemory, action: str
) -> None:
    portal.propose(portal.personas.ada, "hours", "8 to 4")
    answer = root.post(f"{decide_path(fact)}?q=8", action=action, version=str(fact.version))
    page = Page(answer.text)
    assert (answer.status_code, page.heading) == (409, "This changed while you were reading")
    assert page.messages[0].startswith("Nothing was saved.")
    assert "8 to 4" in page.entries[0].words
    assert "Stated by Ada just now" in page.entries[0].words
    assert page.link("Back to the list") == "/admin/support/?q=8"
    assert shelves(root) == (["hours"], [], [])
    assert root.press(page, "Confirm hours").headers["Location"] == "/admin/support/?q=8"


@pytest.mark.parametrize("version", ["0", "999999999"])
def test_a_version_that_never_was_is_a_change(root: Visitor, fact: AgentMemory, version: str) -> None:
    assert root.post(decide_path(fact), action="confirm", version=version).status_code == 409


def test_without_a_version_a_script_decides_what_there_is(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    portal.propose(portal.personas.ada, "hours", "8 to 4")
    assert root.post(decide_path(fact), action="confirm").status_code == 303


@pytest.mark.parametrize(
    ("first", "then", "tag"),
    [("confirm", "reject", "Confirmed"), ("reject", "confirm", "Rejected"), ("reject", "delete", "Rejected")],
)
def test_what_was_decided_meanwhile_says_what_became_of_it(
    portal: Portal, fact: AgentMemory, first: str, then: str, tag: str
) -> None:
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    bob = portal.visitor(portal.personas.bob)
    portal.decide(fact, first)
    answer = bob.post(decide_path(fact), action=then, version=str(fact.version))
    page = Page(answer.text)
    assert (answer.status_code, page.heading) == (409, "This was decided already")
    assert f"{tag} by Root just now" in page.entries[0].words
    assert page.main_buttons == []


def test_somebody_elses_same_decision_is_a_conflict_too(portal: Portal, fact: AgentMemory) -> None:
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    bob = portal.visitor(portal.personas.bob)
    portal.decide(fact, "confirm")
    assert bob.post(decide_path(fact), action="confirm").status_code == 409


def test_deleted_meanwhile_is_gone(portal: Portal, root: Visitor, fact: AgentMemory) -> None:
    page = root.page("/admin/support/")
    portal.manager.delete_own_memory(fact.id, portal.personas.ada)
    answer = root.press(page, "Confirm hours")
    assert (answer.status_code, Page(answer.text).heading) == (404, "There is nothing here")


def test_a_key_with_a_confirmed_fact_shows_both_texts(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    page = root.page("/admin/support/")
    portal.account_fact(portal.personas.bob, "hours", "8 to 4")
    answer = root.press(page, "Confirm hours")
    conflict = Page(answer.text)
    assert (answer.status_code, conflict.heading) == (409, "This key has a confirmed fact")
    _, in_use, proposed = conflict.entries
    assert "8 to 4" in in_use.words
    assert "Confirmed hours by you just now" in in_use.words
    assert "9 to 5" in proposed.words
    buttons = [button.words for button in proposed.walk() if button.tag == "button"]
    assert buttons == ["Reject hours, proposal 1"]
    assert fact.id != portal.manager.find_confirmed_account_facts(portal.personas.acme, "support")[0].id


def test_no_room_for_another_confirmed_fact_says_what_to_do(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    portal.personas.directory.define_agent(portal.personas.acme, name="support", account_fact_limit=0)
    answer = root.post(decide_path(fact), action="confirm")
    page = Page(answer.text)
    assert (answer.status_code, page.heading) == (409, "There is no room for another confirmed fact")
    assert shelves(root) == (["hours"], [], [])


def test_ones_own_proposal_needs_a_second_person_where_the_policy_says_so(
    portal: Portal, root: Visitor
) -> None:
    fact = portal.propose(portal.personas.root, "hours", "9 to 5")
    page = root.page("/admin/support/")
    portal.personas.directory.define_agent(portal.personas.acme, name="support", second_person_required=True)
    answer = root.press(page, "Confirm hours")
    conflict = Page(answer.text)
    assert (answer.status_code, conflict.heading) == (409, "Somebody else has to confirm this")
    assert "Confirm hours" not in [button.words for button in conflict.find_all("button")]
    assert shelves(root) == ([fact.memory_key], [], [])


def test_a_fact_that_was_reopened_is_not_deleted_by_a_page_from_before(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    portal.decide(fact, "confirm")
    question = root.page(root.page("/admin/support/confirmed").link("Delete… hours"))
    portal.manager.reopen_account_fact(fact.id, portal.personas.acme, portal.personas.root)
    answer = root.press(question, "Delete for good")
    assert (answer.status_code, Page(answer.text).heading) == (409, "This changed while you were reading")
    assert shelves(root) == (["hours"], [], [])


def test_an_undo_from_before_undoes_no_other_decision(
    portal: Portal, root: Visitor, fact: AgentMemory
) -> None:
    told = root.follow(root.press(root.page("/admin/support/"), "Confirm hours"))
    portal.manager.reopen_account_fact(fact.id, portal.personas.acme, portal.personas.root)
    portal.decide(fact, "reject")
    assert root.press(told, "Undo hours").status_code == 409
    assert shelves(root) == ([], [], ["hours"])
