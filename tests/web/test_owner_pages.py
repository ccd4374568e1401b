"""What people see of what their agents know, and delete."""

from __future__ import annotations

import pytest

from tests.web.pages import Page
from tests.web.visitors import Portal, Visitor


@pytest.fixture
def ada(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.ada)


def sections(page: Page) -> dict[str, list[str]]:
    """Return the keys under each heading."""
    return {
        section.walk().__next__().attributes["aria-labelledby"].removeprefix("section-"): [
            key.words for key in section.walk() if key.has_class("key")
        ]
        for section in page.find_all("section")
    }


# The agents


def test_each_agent_has_a_card_with_how_full_it_is(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    portal.account_fact(portal.personas.bob, "lunch", "at noon")
    [card] = ada.page("/me/").classed("agent")
    assert "Support" in card.words
    assert "2 of 100 memories, 11 of 20,000 characters" in card.words
    assert "1 waiting for review" in card.words
    assert "1 account fact" in card.words


def test_somebody_without_an_agent_reads_what_will_be_here(ada: Visitor) -> None:
    assert "No agent has worked for you yet." in ada.page("/me/").root.words


# What one agent knows


def test_everything_stands_under_what_it_is(portal: Portal, ada: Visitor) -> None:
    personas = portal.personas
    portal.remember(personas.ada, "tone", "short")
    portal.propose(personas.ada, "hours", "9 to 5")
    portal.decide(portal.propose(personas.ada, "parking", "free"), "reject")
    portal.account_fact(personas.bob, "lunch", "at noon")
    page = ada.page("/me/support/")
    assert page.title == "Support: what it knows about me · Agent memory"
    assert sections(page) == {
        "personal": ["tone"],
        "proposed": ["hours"],
        "rejected": ["parking"],
        "confirmed": ["lunch"],
    }


def test_the_page_says_how_full_the_agent_is_and_what_deleting_does(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    page = ada.page("/me/support/")
    meter = page.find("meter")
    assert (meter.attributes["value"], meter.attributes["max"]) == ("1", "100")
    assert "1 of 100 memories, 5 of 20,000 characters" in page.root.words
    assert "gone with your agent's next turn; chat logs that are kept elsewhere stay" in page.root.words


def test_nothing_of_anybody_else_is_there(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.bob, "tone", "bob's secret")
    portal.propose(portal.personas.bob, "hours", "bob's proposal")
    portal.remember(portal.personas.ada, "elsewhere", "of another agent", "travel")
    page = ada.page("/me/support/")
    assert page.keys == []
    assert "bob's" not in page.root.text


def test_a_rejection_says_who_and_why(portal: Portal, ada: Visitor) -> None:
    portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), "reject", "We open at 8.")
    [entry] = ada.page("/me/support/").entries
    assert "We open at 8." in entry.words
    assert "Turned down by Root just now (1 Mar 2026, 12:00)" in entry.words


def test_an_account_fact_says_who_confirmed_it_and_whether_one_stated_it(
    portal: Portal, ada: Visitor
) -> None:
    portal.account_fact(portal.personas.ada, "hours", "9 to 5")
    portal.account_fact(portal.personas.bob, "lunch", "at noon")
    hours, lunch = ada.page("/me/support/").entries
    assert "Confirmed by Root just now" in hours.words
    assert "You stated this" in hours.words
    assert "You stated this" not in lunch.words


def test_times_are_told_both_ways(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    portal.clock.advance(hours=3)
    [time] = ada.page("/me/support/").find_all("time")
    assert time.words == "3 hours ago (1 Mar 2026, 12:00)"
    assert time.attributes["datetime"] == "2026-03-01T12:00:00Z"


def test_a_long_text_is_folded_and_whole(portal: Portal, ada: Visitor) -> None:
    text = "\n".join(f"line {number}" for number in range(11))
    portal.remember(portal.personas.ada, "tone", text)
    whole = ada.page("/me/support/").find("details")
    assert "Show all (77 characters)" in whole.words
    assert text in whole.text


# Search, sections, pages


def test_search_looks_in_keys_and_texts_of_all_sections(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    portal.remember(portal.personas.ada, "shoes", "size 40")
    portal.account_fact(portal.personas.bob, "lunch", "SHORTLY after noon")
    page = ada.page("/me/support/?q=short")
    assert page.keys == ["tone", "lunch"]
    assert page.find("input", type="search").attributes["value"] == "short"
    assert ada.page(page.link("Clear")).keys == ["shoes", "tone", "lunch"]


def test_a_search_without_a_match_repeats_what_was_searched_for(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    assert "Nothing here has “zzz” in its key or text." in ada.page("/me/support/?q=zzz").root.words


@pytest.mark.parametrize(
    ("status", "shown"),
    [("", 4), ("personal", 1), ("proposed", 1), ("rejected", 1), ("confirmed", 1), ("nonsense", 4)],
)
def test_the_page_can_be_narrowed_to_a_section(ada: Visitor, status: str, shown: int) -> None:
    page = ada.page(f"/me/support/?status={status}")
    assert len(page.find_all("section")) == shown
    [current] = page.find_all("a", **{"aria-current": "page"})
    assert current.words.startswith(
        {"personal": "About you", "proposed": "Waiting", "rejected": "Turned", "confirmed": "Account"}.get(
            status, "Everything"
        )
    )


def test_many_account_facts_have_pages_of_their_own(portal: Portal, ada: Visitor) -> None:
    agent = portal.personas.agent(portal.personas.bob)
    portal.personas.directory.define_agent(portal.personas.acme, name="support", proposal_limit=100)
    for number in range(51):
        portal.manager.propose_account_fact(agent, f"fact_{number:02}", "x")
    for memory in portal.manager.find_proposed_account_facts(portal.personas.acme, "support"):
        portal.decide(memory, "confirm")
    first = ada.page("/me/support/")
    assert len(first.entries) == 50
    second = ada.page(first.link("Next page"))
    assert second.keys == ["fact_50"]
    assert sections(second).keys() == {"confirmed"}
    assert ada.page(second.link("First page")).keys == first.keys


# Deleting


def test_deleting_shows_what_will_go_and_then_it_is_gone(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    question = ada.page(ada.page("/me/support/").link("Delete… tone"))
    assert question.heading == "Delete this?"
    assert (question.keys, "short" in question.root.words) == (["tone"], True)
    after = ada.follow(ada.press(question, "Delete for good"))
    assert after.keys == []
    assert after.messages == ["Deleted tone. Your agent forgets it with its next turn."]


def test_a_change_of_mind_leads_back_and_changes_nothing(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    question = ada.page(ada.page("/me/support/?q=short").link("Delete… tone"))
    assert question.link("Keep it") == "/me/support/?q=short"
    assert ada.page("/me/support/").keys == ["tone"]


def test_deleting_a_proposal_takes_it_out_of_the_review(portal: Portal, ada: Visitor) -> None:
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    question = ada.page(ada.page("/me/support/").link("Delete… hours"))
    assert "It is also taken out of the review." in question.root.words
    ada.press(question, "Delete for good")
    assert portal.manager.find_proposed_account_facts(portal.personas.acme, "support").total == 0


def test_deleting_keeps_the_filters(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    question = ada.page(ada.page("/me/support/?q=sh%26ort&status=personal&q=short").link("All agents"))
    assert question.heading == "What agents know about me"
    page = ada.page("/me/support/?q=short&status=personal")
    answer = ada.press(ada.page(page.link("Delete… tone")), "Delete for good")
    assert answer.headers["Location"] == "/me/support/?q=short&status=personal"


def test_deleting_twice_finds_nothing_the_second_time(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    question = ada.page(ada.page("/me/support/").link("Delete… tone"))
    assert ada.press(question, "Delete for good").status_code == 303
    answer = ada.press(question, "Delete for good")
    assert answer.status_code == 404
    assert Page(answer.text).heading == "There is nothing here"


@pytest.mark.parametrize("action", ["confirm", "reject"])
def test_what_was_decided_is_not_its_owners_to_delete(portal: Portal, ada: Visitor, action: str) -> None:
    memory = portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), action)
    page = ada.page("/me/support/")
    assert page.keys == ["hours"]
    assert [link for link in page.links if link.startswith("Delete")] == []
    path = f"/me/support/memories/{memory.id}/delete"
    assert (ada.get(path).status_code, ada.post(path).status_code) == (404, 404)
    assert ada.page("/me/support/").keys == ["hours"]
