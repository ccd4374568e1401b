"""What people see of what their agents know, and delete."""

from __future__ import annotations

import pytest

from portal.web.owners import say_how_many
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
    meters = [meter.attributes for meter in page.find_all("meter")]
    assert [(meter["aria-label"], meter["value"], meter["max"]) for meter in meters] == [
        ("Memories used", "1", "100"),
        ("Characters used", "5", "20000"),
    ]
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


# Deleting all


def ask_about_all(ada: Visitor) -> Page:
    """Go from the list to the question, by the link that says how many there are."""
    page = ada.page("/me/support/?q=nothing+at+all")
    [link] = [link for link in page.links if link.startswith("Delete all")]
    return ada.page(page.link(link))


def test_deleting_all_shows_them_and_names_their_number_in_the_button(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    portal.remember(portal.personas.ada, "elsewhere", "of another agent", "travel")
    portal.propose(portal.personas.ada, "hours", "9 to 5")
    portal.account_fact(portal.personas.ada, "lunch", "at noon")
    question = ask_about_all(ada)
    assert (question.title, question.heading) == ("Delete these 2? · Agent memory", "Delete these 2?")
    assert [key.words for key in question.classed("key")] == ["hours Waiting for review", "tone"]
    assert "1 of these waits for review and is taken out of it." in question.root.words
    after = ada.follow(ada.press(question, "Delete these 2"))
    assert after.messages == ["Deleted 2 memories. Your agent knows nothing about you any more."]
    assert after.keys == ["lunch"]
    assert ada.page("/me/travel/").keys == ["elsewhere"]


def test_what_was_stored_or_changed_after_the_question_was_shown_survives(
    portal: Portal, ada: Visitor
) -> None:
    for key in ("tone", "shoes", "lunch"):
        portal.remember(portal.personas.ada, key, "as it was")
    question = ask_about_all(ada)
    portal.clock.advance(seconds=1)
    portal.remember(portal.personas.ada, "shoes", "changed")
    portal.remember(portal.personas.ada, "new", "stored")
    after = ada.follow(ada.press(question, "Delete these 3"))
    assert after.messages == [
        "Deleted 2 memories. 2 memories stored or changed after you saw the page are still here."
    ]
    assert after.keys == ["new", "shoes"]


def test_a_question_about_all_is_good_for_what_it_shows_however_late_it_was_asked(
    portal: Portal, ada: Visitor
) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    # A call that was on its way while the page was made has an older time than the page.
    portal.clock.advance(seconds=1)
    on_its_way = portal.clock.now
    portal.clock.advance(minutes=1)
    question = ask_about_all(ada)
    portal.clock.now = on_its_way
    portal.remember(portal.personas.ada, "late", "committed after the page was made")
    assert ada.follow(ada.press(question, "Delete this one")).keys == ["late"]


@pytest.mark.parametrize(
    ("deleted", "left", "words"),
    [
        (0, 0, "There was nothing left to delete."),
        (1, 0, "Deleted 1 memory. Your agent knows nothing about you any more."),
        (0, 1, "Deleted 0 memories. 1 memory stored or changed after you saw the page is still here."),
        (
            1_200,
            3,
            "Deleted 1,200 memories. 3 memories stored or changed after you saw the page are still here.",
        ),
    ],
)
def test_the_answer_says_both_numbers(deleted: int, left: int, words: str) -> None:
    assert say_how_many(deleted, left) == words


def test_pressing_it_twice_deletes_nothing_further(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    question = ask_about_all(ada)
    ada.press(question, "Delete this one")
    after = ada.follow(ada.press(question, "Delete this one"))
    assert after.messages[-1] == "There was nothing left to delete."


def test_where_nothing_is_held_there_is_nothing_to_ask(ada: Visitor) -> None:
    page = ada.page("/me/support/")
    assert "There is nothing to delete" in page.root.words
    assert [link for link in page.links if link.startswith("Delete")] == []
    assert ada.page("/me/support/delete-all").heading == "Nothing to delete"


def test_a_script_may_leave_out_until_when(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    assert ada.post("/me/support/delete-all").status_code == 303
    assert ada.page("/me/support/").keys == []


@pytest.mark.parametrize("as_of", ["", "-1", "1.5", "1e9", "٣", "9" * 17, "2026-03-01", ["1", "2"]], ids=str)
def test_a_time_that_is_none_deletes_nothing(portal: Portal, ada: Visitor, as_of: str | list[str]) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    assert ada.post("/me/support/delete-all", as_of=as_of).status_code == 400
    assert ada.page("/me/support/").keys == ["tone"]


# Keeping what was turned down

KEEP = "Keep it for my agent hours"


@pytest.fixture
def rejected(portal: Portal) -> None:
    portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), "reject", "We open at 8.")


@pytest.mark.usefixtures("rejected")
def test_a_fact_that_was_turned_down_can_be_kept_for_ones_own_agent(ada: Visitor) -> None:
    page = ada.page("/me/support/?q=9&status=rejected")
    answer = ada.press(page, KEEP)
    assert answer.headers["Location"] == "/me/support/?q=9&status=rejected"
    assert ada.follow(answer).messages == [
        "Kept hours. Your agent uses it from its next turn on, and nobody else's does."
    ]
    after = ada.page("/me/support/")
    assert sections(after) == {"personal": ["hours"], "proposed": [], "rejected": ["hours"], "confirmed": []}
    assert "Your agent keeps this for you." in after.root.words
    assert KEEP not in {button for form in after.forms for button in form.buttons}


@pytest.mark.usefixtures("rejected")
def test_keeping_it_twice_changes_nothing_further(ada: Visitor) -> None:
    page = ada.page("/me/support/")
    answers = [ada.press(page, KEEP) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert sections(ada.page("/me/support/"))["personal"] == ["hours"]


@pytest.mark.usefixtures("rejected")
def test_the_page_says_when_keeping_replaces_what_the_agent_holds(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "hours", "8 to 4")
    page = ada.page("/me/support/?q=9")
    assert page.keys == ["hours"]
    assert "Your agent holds another text under this key. This one would take its place." in page.root.words
    assert "9 to 5" in ada.follow(ada.press(page, KEEP)).entries[0].words


def test_a_key_with_an_account_fact_is_not_kept_and_both_texts_are_shown(
    portal: Portal, ada: Visitor
) -> None:
    other = portal.propose(portal.personas.bob, "hours", "8 to 4")
    portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), "reject")
    page = ada.page("/me/support/?q=9")
    portal.decide(other, "confirm")
    answer = ada.press(page, KEEP)
    refused = Page(answer.text)
    assert (answer.status_code, refused.heading) == (409, "Its key has an account fact")
    assert refused.messages[0].startswith("Nothing was saved. Its key has an account fact.")
    assert [text.words for text in refused.classed("content")] == ["8 to 4", "9 to 5"]
    assert "In use now confirmed by Root just now" in refused.root.words
    assert "Turned down by Root" in refused.root.words
    assert refused.link("Back to the list") == "/me/support/?q=9"
    portal.manager.delete_memory(other.id, portal.personas.acme)
    assert ada.press(refused, KEEP).status_code == 303


@pytest.mark.usefixtures("rejected")
def test_what_has_no_room_is_not_kept(portal: Portal, ada: Visitor) -> None:
    personas = portal.personas
    personas.directory.define_agent(personas.acme, name="support", memory_limit=1)
    tone = portal.remember(personas.ada, "tone", "short")
    answer = ada.press(ada.page("/me/support/"), KEEP)
    refused = Page(answer.text)
    assert (answer.status_code, refused.heading) == (409, "Your agent has no room for this")
    assert "1 of 1 memories Full" in refused.root.words
    portal.manager.delete_own_memory(tone.id, personas.ada)
    assert ada.press(refused, KEEP).status_code == 303


def test_only_what_was_turned_down_can_be_kept(portal: Portal, ada: Visitor) -> None:
    tone = portal.remember(portal.personas.ada, "tone", "short")
    assert ada.post(f"/me/support/memories/{tone.id}/keep").status_code == 404


# What the agent reads


def test_the_page_shows_what_the_agent_reads_to_the_letter(portal: Portal, ada: Visitor) -> None:
    portal.remember(portal.personas.ada, "tone", "</pre><script>alert(1)</script>\n & more")
    portal.account_fact(portal.personas.bob, "lunch", "at noon")
    page = ada.page(ada.page("/me/support/").link("What the agent reads"))
    block = portal.manager.prompt_block(portal.personas.agent(portal.personas.ada))
    assert "at noon" in block
    assert page.find("pre").text.removeprefix("\n") == block
    assert page.find_all("script", src="") == []


def test_where_no_agent_has_worked_there_is_nothing_that_it_reads(portal: Portal, ada: Visitor) -> None:
    assert "No Travel has worked for you yet" in ada.page("/me/travel/prompt").root.words
    assert portal.personas.directory.find_agent(portal.personas.ada, "travel") is None


# How full


@pytest.mark.parametrize(
    ("memories", "words"),
    [(8, "8 of 10 memories,"), (9, "9 of 10 memories Nearly full,"), (10, "10 of 10 memories Full,")],
)
def test_little_room_is_said_in_words(portal: Portal, ada: Visitor, memories: int, words: str) -> None:
    portal.personas.directory.define_agent(portal.personas.acme, name="support", memory_limit=10)
    for number in range(memories):
        portal.remember(portal.personas.ada, f"fact_{number}", "x")
    assert words in ada.page("/me/support/").root.words
    assert words in ada.page("/me/").root.words


def test_the_first_page_says_how_many_there_are_in_all_and_leads_to_the_exports(
    portal: Portal, ada: Visitor
) -> None:
    portal.remember(portal.personas.ada, "tone", "short")
    portal.remember(portal.personas.ada, "tone", "short", "travel")
    page = ada.page("/me/")
    assert "Your agents hold 2 memories about you." in page.root.words
    assert page.link("Download as JSON") == "/me/export.json"
    assert page.link("Download as CSV") == "/me/export.csv"
