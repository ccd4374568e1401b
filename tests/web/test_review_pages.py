"""What administrators see of account facts."""

from __future__ import annotations

import pytest

from tests.web.pages import Page
from tests.web.visitors import Portal, Visitor


@pytest.fixture
def root(portal: Portal) -> Visitor:
    return portal.visitor(portal.personas.root)


# All agents


def test_each_definition_says_what_waits_and_for_how_long(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    portal.clock.advance(minutes=20)
    portal.propose(portal.personas.bob, "lunch", "at noon")
    portal.account_fact(portal.personas.bob, "parking", "free")
    support, travel = root.page("/admin/").classed("agent")
    assert "2 to review The oldest was stated 20 minutes ago (1 Mar 2026, 12:00)." in support.words
    assert "1 confirmed 0 rejected 2 people use this agent" in support.words
    assert "Nothing to review" in travel.words


def test_an_organisation_without_agents_reads_what_will_be_here(portal: Portal, root: Visitor) -> None:
    for definition in portal.personas.directory.find_definitions(portal.personas.acme):
        portal.personas.directory.delete_definition(definition)
    assert "Your organisation offers no agents yet." in root.page("/admin/").root.words


# The queue


def test_the_queue_says_what_deciding_does_and_whom_it_reaches(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    page = root.page("/admin/support/")
    assert page.title == "(1) To review: Support · Agent memory"
    assert "Confirm a fact, and 1 person's agent uses it from the next turn." in page.root.words


def test_a_proposal_shows_its_key_its_text_who_and_when(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "Office Hours", "9 to 5\n  not on Fridays")
    portal.clock.advance(minutes=5)
    [entry] = root.page("/admin/support/").entries
    [content] = [part for part in entry.walk() if part.has_class("content")]
    assert content.text == "9 to 5\n  not on Fridays"
    assert content.attributes["dir"] == "auto"
    assert entry.words.startswith("office_hours 9 to 5")
    assert "Stated by Ada 5 minutes ago (1 Mar 2026, 12:00)" in entry.words


def test_the_oldest_comes_first_and_tabs_count_all_shelves(portal: Portal, root: Visitor) -> None:
    for key in ("c", "a", "b"):
        portal.propose(portal.personas.ada, key, "x")
        portal.clock.advance(minutes=1)
    portal.account_fact(portal.personas.ada, "d", "x")
    page = root.page("/admin/support/")
    assert page.keys == ["c", "a", "b"]
    tabs = [tab.words for tab in page.find("nav", **{"aria-label": "Shelves"}).walk() if tab.tag == "a"]
    assert tabs == ["To review 3", "Confirmed 1", "Rejected 0", "History"]


def test_a_long_text_is_confirmed_only_where_it_is_unfolded(portal: Portal, root: Visitor) -> None:
    text = "x" * 801
    portal.propose(portal.personas.ada, "hours", text)
    page = root.page("/admin/support/")
    [whole] = [details for details in page.find_all("details") if details.has_class("whole")]
    assert "open" not in whole.attributes
    assert text in whole.text
    assert [part.words for part in whole.walk() if part.tag == "button"] == ["Confirm hours"]
    assert len([button for button in page.find_all("button") if button.words == "Confirm hours"]) == 1


@pytest.mark.parametrize("text", ["x" * 800, "\n".join("x" * 10)], ids=["800 characters", "10 lines"])
def test_a_shorter_text_is_not_folded(portal: Portal, root: Visitor, text: str) -> None:
    portal.propose(portal.personas.ada, "hours", text)
    page = root.page("/admin/support/")
    assert [details for details in page.find_all("details") if details.has_class("whole")] == []
    assert page.classed("content")[0].text == text


def test_personal_memories_are_on_no_page_of_an_administrator(portal: Portal, root: Visitor) -> None:
    memory = portal.remember(portal.personas.ada, "tone", "a private matter")
    pages = ["/admin/", "/admin/support/", "/admin/support/confirmed", "/admin/support/rejected"]
    for path in [*pages, "/admin/support/?q=private", "/admin/support/confirmed?q=tone"]:
        entries = root.page(path)
        assert entries.keys == []
        assert "a private matter" not in entries.root.text
    for step in ("", "/delete"):
        assert root.get(f"/admin/support/facts/{memory.id}{step}").status_code == 404


def test_nobody_has_to_confirm_their_own_where_a_second_person_is_required(
    portal: Portal, root: Visitor
) -> None:
    portal.personas.directory.define_agent(portal.personas.acme, name="support", second_person_required=True)
    portal.propose(portal.personas.root, "hours", "9 to 5")
    portal.clock.advance(minutes=1)
    portal.propose(portal.personas.ada, "lunch", "at noon")
    hours, lunch = root.page("/admin/support/").entries
    assert "Stated by you" in hours.words
    assert "You stated this yourself, so somebody else has to confirm it." in hours.words
    assert [button.words for button in hours.walk() if button.tag == "button"] == ["Reject hours"]
    assert "Confirm lunch" in [button.words for button in lunch.walk() if button.tag == "button"]


# The other shelves


def test_confirmed_facts_say_who_confirmed_and_who_stated_them(portal: Portal, root: Visitor) -> None:
    portal.account_fact(portal.personas.ada, "hours", "9 to 5")
    page = root.page("/admin/support/confirmed")
    [entry] = page.entries
    assert page.title == "Confirmed: Support · Agent memory"
    assert "Confirmed by you just now (1 Mar 2026, 12:00)" in entry.words
    assert "Stated by Ada just now" in entry.words


def test_a_person_who_was_erased_is_nobody(portal: Portal, root: Visitor) -> None:
    portal.account_fact(portal.personas.ada, "hours", "9 to 5")
    portal.personas.directory.erase_profile(portal.personas.ada)
    [entry] = root.page("/admin/support/confirmed").entries
    assert "Stated by somebody who was erased" in entry.words


def test_rejected_facts_come_with_their_reason_the_newest_decision_first(
    portal: Portal, root: Visitor
) -> None:
    portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), "reject", "We open at 8.")
    portal.clock.advance(minutes=1)
    portal.decide(portal.propose(portal.personas.ada, "lunch", "at noon"), "reject")
    page = root.page("/admin/support/rejected")
    assert page.keys == ["lunch", "hours"]
    assert "Reason: We open at 8." in page.entries[1].words


# One fact


def test_a_fact_has_a_page_with_the_whole_text(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "hours", "x" * 2_000)
    page = root.page(root.page("/admin/support/?q=xx").link("hours"))
    assert (page.title, page.heading) == ("hours: Support · Agent memory", "hours")
    assert page.classed("content")[0].text == "x" * 2_000
    assert page.link("Support") == "/admin/support/?q=xx"
    assert {"Confirm hours", "Reject hours"} <= {button.words for button in page.find_all("button")}


def test_a_decided_fact_has_a_page_without_a_decision(portal: Portal, root: Visitor) -> None:
    portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), "reject", "We open at 8.")
    page = root.page(root.page("/admin/support/rejected").link("hours"))
    assert "Reason: We open at 8." in page.root.words
    assert page.main_buttons == ["Put back into the review hours"]


# Empty shelves


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/admin/support/", "Nothing was proposed yet."),
        ("/admin/support/confirmed", "Nothing is confirmed yet."),
        ("/admin/support/rejected", "Nothing was rejected."),
    ],
)
def test_an_empty_shelf_says_what_will_be_there(root: Visitor, path: str, words: str) -> None:
    [empty] = root.page(path).classed("empty")
    assert empty.words.startswith(words)


def test_a_queue_where_all_is_decided_says_so(portal: Portal, root: Visitor) -> None:
    portal.account_fact(portal.personas.ada, "hours", "9 to 5")
    page = root.page("/admin/support/")
    assert page.classed("empty")[0].words == "All done: nothing waits for review."
    assert page.title == "To review: Support · Agent memory"


def test_a_search_without_a_match_offers_everything(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    page = root.page("/admin/support/?q=zzz")
    assert "Nothing here has “zzz” in its key or text." in page.classed("empty")[0].words
    assert page.links.count("Clear filters") == 2
    assert root.page("/admin/support/").keys == ["hours"]


# Search and pages


def test_search_says_how_many_it_found(portal: Portal, root: Visitor) -> None:
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    portal.propose(portal.personas.ada, "lunch", "AT NOON")
    page = root.page("/admin/support/?q=at+noon")
    assert page.keys == ["lunch"]
    assert page.classed("result")[0].words == "1 key with “at noon”"
    assert page.title == "(2) To review: Support · Agent memory"


@pytest.fixture
def many(portal: Portal) -> list[str]:
    """The keys of 101 proposals, the oldest first."""
    portal.personas.directory.define_agent(portal.personas.acme, name="support", proposal_limit=200)
    portal.personas.directory.define_agent(portal.personas.acme, name="support", memory_limit=200)
    keys = [f"fact_{number:03}" for number in range(101)]
    agent = portal.personas.agent(portal.personas.ada)
    for key in keys:
        portal.manager.propose_account_fact(agent, key, "x")
        portal.clock.advance(seconds=1)
    return keys


def test_fifty_stand_on_a_page_and_deciding_skips_none(root: Visitor, many: list[str]) -> None:
    first = root.page("/admin/support/?q=x")
    assert first.keys == many[:50]
    second = root.page(first.link("Next page"))
    assert second.keys == many[50:100]
    root.press(first, f"Confirm {many[0]}")
    answer = root.press(second, f"Reject {many[50]}")
    assert answer.headers["Location"].startswith("/admin/support/?q=x&sort=oldest&after=")
    again = root.follow(answer)
    assert again.keys == many[51:101]
    assert "Next page" not in again.links
    assert root.page(again.link("First page")).keys == many[1:50] + many[51:52]


def test_a_page_that_was_emptied_leads_to_the_first(root: Visitor, many: list[str]) -> None:
    last = root.page(root.page(root.page("/admin/support/").link("Next page")).link("Next page"))
    assert last.keys == many[100:]
    page = root.follow(root.press(last, f"Reject {many[100]}"))
    assert page.classed("empty")[0].words == "Nothing is left on this page. Go to the first page"
    assert root.page(page.link("Go to the first page")).keys == many[:50]


@pytest.mark.parametrize("after", ["nonsense", "%00", "", "WyJ4Il0"])
def test_a_cursor_that_was_never_given_out_means_page_one(root: Visitor, many: list[str], after: str) -> None:
    assert root.page(f"/admin/support/?after={after}").keys == many[:50]


def test_links_of_rows_carry_the_filters(portal: Portal, root: Visitor) -> None:
    fact = portal.propose(portal.personas.ada, "hours", "a&b=c")
    page: Page = root.page("/admin/support/?q=a%26b%3Dc&nonsense=1")
    assert page.link("Delete… hours") == f"/admin/support/facts/{fact.id}/delete?q=a%26b%3Dc"
    assert page.form("Confirm hours").action == f"/admin/support/facts/{fact.id}/decide?q=a%26b%3Dc"


def test_a_definition_may_be_called_like_the_largest_id(portal: Portal, root: Visitor) -> None:
    name = str(2**63 - 1)
    portal.personas.directory.define_agent(portal.personas.acme, name=name)
    fact = portal.propose(portal.personas.ada, "hours", "x", name)
    page = root.page(f"/admin/{name}/?q=x")
    assert page.link("hours") == f"/admin/{name}/facts/{fact.id}?q=x"
