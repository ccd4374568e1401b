"""What people do with their own memories, in a real browser with JavaScript and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from portal.models import AgentMemory
from tests.browser.people import COOKIE, Person, Windows
from tests.factories import PASSWORD
from tests.web.visitors import Portal

LIST = "/me/support/"


@pytest.fixture
def tone(portal: Portal) -> AgentMemory:
    """One memory, between two others."""
    for key in ("shoes", "umbrella"):
        portal.remember(portal.personas.ada, key, f"about {key}")
    return portal.remember(portal.personas.ada, "tone", "short")


@pytest.fixture
def rejected(portal: Portal) -> AgentMemory:
    hours = portal.propose(portal.personas.ada, "hours", "9 to 5")
    return portal.decide(hours, "reject", "We open at 8.")


@pytest.fixture
def ada(windows: Windows, portal: Portal) -> Person:
    return windows.open(portal.personas.ada)


@pytest.fixture(params=[True, False], ids=["javascript", "no javascript"])
def either(windows: Windows, portal: Portal, request: pytest.FixtureRequest) -> Person:
    """Her browser with JavaScript, and without: the same has to come of it."""
    return windows.open(portal.personas.ada, javascript=request.param)


def entry(person: Person, memory: AgentMemory) -> Locator:
    return person.page.locator(f"#memory-{memory.id}")


def press(person: Person, name: str) -> None:
    person.page.get_by_role("button", name=name, exact=True).click()


def follow(person: Person, name: str) -> None:
    person.page.get_by_role("link", name=name, exact=True).click()


def keys_held(portal: Portal) -> list[str]:
    answer = json.loads(portal.manager.list(portal.personas.agent(portal.personas.ada)))
    return [memory["key"] for memory in answer["memories"]]


# Deleting in place


def test_a_memory_is_deleted_in_place(portal: Portal, ada: Person, tone: AgentMemory) -> None:
    page = ada.go(LIST)
    below = page.get_by_role("link", name="Delete… umbrella").bounding_box()
    follow(ada, "Delete… tone")
    expect(entry(ada, tone)).to_contain_text("Delete this?")
    assert (ada.focused, ada.path) == (f"article#memory-{tone.id}", LIST)
    press(ada, "Delete for good tone")
    expect(entry(ada, tone)).to_have_text("Deleted tone. Your agent forgets it with its next turn.")
    assert (ada.focused, ada.path) == (f"article#memory-{tone.id}", LIST)
    expect(page.locator("#status")).to_have_text("Deleted tone. Your agent holds 2 of 100 memories now.")
    expect(page.locator("#usage")).to_contain_text("2 of 100 memories")
    expect(page.locator("#count-personal")).to_have_text("2")
    expect(page.get_by_role("link", name="Delete all 2…")).to_be_visible()
    # What comes after may have moved down for the question, and never up under the pointer.
    after = page.get_by_role("link", name="Delete… umbrella").bounding_box()
    assert below is not None
    assert after is not None
    assert after["y"] >= below["y"]
    page.reload()
    expect(entry(ada, tone)).to_have_count(0)
    assert keys_held(portal) == ["shoes", "umbrella"]


def test_the_keyboard_is_enough(portal: Portal, ada: Person, tone: AgentMemory) -> None:
    page = ada.go(LIST)
    page.get_by_role("link", name="Delete… tone").focus()
    page.keyboard.press("Enter")
    expect(entry(ada, tone)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Delete for good tone")).to_be_focused()
    page.keyboard.press("Enter")
    expect(entry(ada, tone)).to_contain_text("Deleted tone.")
    expect(entry(ada, tone)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Delete… umbrella")).to_be_focused()
    assert keys_held(portal) == ["shoes", "umbrella"]


def test_somebody_who_thinks_better_of_it_is_back_where_they_were(
    portal: Portal, ada: Person, tone: AgentMemory
) -> None:
    page = ada.go(LIST)
    before = entry(ada, tone).inner_text()
    follow(ada, "Delete… tone")
    follow(ada, "Keep it tone")
    expect(page.get_by_role("link", name="Delete… tone")).to_be_focused()
    expect(entry(ada, tone)).to_have_text(before, use_inner_text=True)
    assert "tone" in keys_held(portal)


def test_a_double_click_asks_and_deletes_nothing(portal: Portal, ada: Person, tone: AgentMemory) -> None:
    page = ada.go(LIST)
    page.get_by_role("link", name="Delete… tone").dblclick()
    expect(entry(ada, tone)).to_contain_text("Delete this?")
    page.wait_for_load_state("networkidle")
    expect(page.locator(".receipt")).to_have_count(0)
    assert keys_held(portal) == ["shoes", "tone", "umbrella"]


def test_a_double_click_on_the_answer_deletes_one(portal: Portal, ada: Person, tone: AgentMemory) -> None:
    page = ada.go(LIST)
    follow(ada, "Delete… tone")
    follow(ada, "Delete… umbrella")
    page.get_by_role("button", name="Delete for good tone").dblclick()
    expect(entry(ada, tone)).to_contain_text("Deleted tone.")
    page.wait_for_load_state("networkidle")
    expect(page.locator(".receipt")).to_have_count(1)
    assert keys_held(portal) == ["shoes", "umbrella"]


def test_what_the_agent_forgot_meanwhile_is_no_longer_here(
    portal: Portal, ada: Person, tone: AgentMemory
) -> None:
    page = ada.go(LIST)
    portal.manager.forget(portal.personas.agent(portal.personas.ada), "tone")
    follow(ada, "Delete… tone")
    expect(page.locator(".receipt")).to_contain_text("No longer here.")
    expect(page.locator(".receipt")).to_be_focused()
    expect(entry(ada, tone)).to_have_count(0)
    ada.expect_status(404)


@pytest.mark.usefixtures("tone")
def test_whoever_was_signed_out_signs_in_and_is_told_that_nothing_was_saved(
    portal: Portal, ada: Person
) -> None:
    page = ada.go(f"{LIST}?q=short")
    follow(ada, "Delete… tone")
    expect(page.get_by_role("article")).to_contain_text("Delete this?")
    portal.clock.advance(hours=9)
    press(ada, "Delete for good tone")
    page.wait_for_url("**/sign-in**")
    expect(page.locator("#messages")).to_contain_text("You were signed out, so nothing was saved.")
    ada.expect_status(401)
    page.get_by_label("E-mail").fill("ada@acme.example")
    page.get_by_label("Password").fill(PASSWORD)
    press(ada, "Sign in")
    page.wait_for_url(f"**{LIST}?q=short")
    assert "tone" in keys_held(portal)


def test_a_stale_page_is_renewed_and_the_second_press_works(
    portal: Portal, ada: Person, tone: AgentMemory
) -> None:
    page = ada.go(LIST)
    follow(ada, "Delete… tone")
    # Signing in again somewhere in this browser takes the tokens of every open page.
    cookie = portal.visitor(portal.personas.ada).client.get_cookie(COOKIE, "127.0.0.1")
    assert cookie is not None
    page.context.add_cookies([{"name": COOKIE, "value": cookie.value, "url": ada.address}])
    press(ada, "Delete for good tone")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved.")
    expect(page.get_by_role("button", name="Delete for good tone")).to_be_focused()
    ada.expect_status(400)
    press(ada, "Delete for good tone")
    expect(entry(ada, tone)).to_contain_text("Deleted tone.")
    expect(page.get_by_role("alert")).to_have_text("")


def test_a_lost_network_is_told_and_the_question_stays(
    portal: Portal, ada: Person, tone: AgentMemory
) -> None:
    page = ada.go(LIST)
    follow(ada, "Delete… tone")
    page.context.set_offline(offline=True)
    press(ada, "Delete for good tone")
    expect(page.get_by_role("alert")).not_to_be_empty()
    expect(page.get_by_role("button", name="Delete for good tone")).to_be_focused()
    ada.complaints.clear()
    page.context.set_offline(offline=False)
    press(ada, "Delete for good tone")
    expect(entry(ada, tone)).to_contain_text("Deleted tone.")
    assert "tone" not in keys_held(portal)


def test_back_forward_and_reload_show_what_there_is_now(
    portal: Portal, either: Person, tone: AgentMemory
) -> None:
    page = either.go(LIST)
    follow(either, "Delete… tone")
    press(either, "Delete for good tone" if either.has_javascript else "Delete for good")
    expect(page.get_by_text("Your agent forgets it with its next turn.")).to_be_visible()
    either.go("/me/")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("knows about me")
    expect(entry(either, tone)).to_have_count(0)
    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_have_text("What agents know about me")
    expect(page.get_by_text("2 of 100 memories")).to_be_visible()
    page.reload()
    expect(page.get_by_text("2 of 100 memories")).to_be_visible()
    assert keys_held(portal) == ["shoes", "umbrella"]


# Without JavaScript


def test_without_javascript_a_page_asks(windows: Windows, portal: Portal, tone: AgentMemory) -> None:
    ada = windows.open(portal.personas.ada, javascript=False)
    page = ada.go(f"{LIST}?q=short")
    follow(ada, "Delete… tone")
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete this?")
    follow(ada, "Keep it")
    ada.expect_path(f"{LIST}?q=short")
    follow(ada, "Delete… tone")
    press(ada, "Delete for good")
    ada.expect_path(f"{LIST}?q=short")
    expect(page.locator("#messages")).to_have_text("Deleted tone. Your agent forgets it with its next turn.")
    expect(entry(ada, tone)).to_have_count(0)


def test_without_javascript_a_lost_session_leads_back_to_the_list(
    windows: Windows, portal: Portal, tone: AgentMemory
) -> None:
    ada = windows.open(portal.personas.ada, javascript=False)
    page = ada.go(f"/me/support/memories/{tone.id}/delete?q=short")
    portal.clock.advance(hours=9)
    press(ada, "Delete for good")
    expect(page.locator("#messages")).to_contain_text("You were signed out, so nothing was saved.")
    page.get_by_label("E-mail").fill("ada@acme.example")
    page.get_by_label("Password").fill(PASSWORD)
    press(ada, "Sign in")
    ada.expect_path(f"{LIST}?q=short")


# Keeping


def test_a_fact_that_was_turned_down_is_kept_in_place(
    portal: Portal, ada: Person, rejected: AgentMemory
) -> None:
    page = ada.go(LIST)
    expect(entry(ada, rejected)).to_contain_text("We open at 8.")
    press(ada, "Keep it for my agent hours")
    expect(entry(ada, rejected)).to_contain_text("Kept.")
    expect(entry(ada, rejected)).to_be_focused()
    expect(page.locator("#personal article")).to_contain_text("9 to 5")
    expect(page.locator("#count-personal")).to_have_text("1")
    # What was put elsewhere works like what was there from the start.
    follow(ada, "Delete… hours")
    press(ada, "Delete for good hours")
    expect(page.locator("#personal .receipt")).to_be_focused()
    expect(page.get_by_role("button", name="Keep it for my agent hours")).to_be_visible()
    assert keys_held(portal) == []


def test_without_javascript_it_is_kept_too(windows: Windows, portal: Portal, rejected: AgentMemory) -> None:
    ada = windows.open(portal.personas.ada, javascript=False)
    page = ada.go(f"{LIST}?status=rejected")
    press(ada, "Keep it for my agent hours")
    ada.expect_path(f"{LIST}?status=rejected")
    expect(page.locator("#messages")).to_contain_text("Kept hours.")
    expect(entry(ada, rejected)).to_contain_text("Your agent keeps this for you.")
    assert keys_held(portal) == ["hours"]


def test_a_key_that_was_confirmed_meanwhile_is_refused_and_offered_again(
    portal: Portal, either: Person
) -> None:
    other = portal.propose(portal.personas.bob, "hours", "8 to 4")
    mine = portal.decide(portal.propose(portal.personas.ada, "hours", "9 to 5"), "reject")
    page = either.go(LIST)
    portal.decide(other, "confirm")
    press(either, "Keep it for my agent hours")
    refused = entry(either, mine)
    expect(refused).to_contain_text("Nothing was saved. Its key has an account fact.")
    expect(refused).to_contain_text("8 to 4")
    expect(refused).to_contain_text("9 to 5")
    # A new page has the focus nowhere, so there it goes where the page says.
    expect(refused).to_be_focused()
    either.expect_status(409)
    portal.manager.delete_memory(other.id, portal.personas.acme)
    press(either, "Keep it for my agent hours")
    expect(page.locator("body")).to_contain_text("Your agent uses it from its next turn on")
    assert keys_held(portal) == ["hours"]


# All at once


@pytest.mark.usefixtures("tone")
def test_all_are_deleted_but_what_was_stored_meanwhile(portal: Portal, either: Person) -> None:
    page = either.go(LIST)
    follow(either, "Delete all 3…")
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete these 3?")
    portal.clock.advance(seconds=1)
    portal.remember(portal.personas.ada, "new", "stored meanwhile")
    press(either, "Delete these 3")
    expect(page.locator("#messages")).to_have_text(
        "Deleted 3 memories. 1 memory stored or changed after you saw the page is still here."
    )
    assert keys_held(portal) == ["new"]


# Reading and taking away


@pytest.mark.usefixtures("tone")
def test_people_find_narrow_and_read(portal: Portal, either: Person) -> None:
    portal.account_fact(portal.personas.bob, "lunch", "at noon")
    page = either.go("/me/")
    follow(either, "Support")
    page.get_by_role("searchbox").fill("NOON")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.get_by_role("article")).to_contain_text("Confirmed by Root")
    follow(either, "About you 0")
    expect(page.get_by_text("Nothing here has “NOON” in its key or text.")).to_be_visible()
    follow(either, "Clear filters")
    expect(page.get_by_role("article")).to_have_count(4)
    follow(either, "What the agent reads")
    block = portal.manager.prompt_block(portal.personas.agent(portal.personas.ada))
    expect(page.locator("pre")).to_be_visible()
    assert page.locator("pre").text_content() == block


@pytest.mark.parametrize("kind", ["CSV", "JSON"])
@pytest.mark.usefixtures("tone")
def test_people_take_everything_away(either: Person, tmp_path: Path, kind: str) -> None:
    page = either.go("/me/")
    with page.expect_download() as started:
        follow(either, f"Download as {kind}")
    file = tmp_path / "export"
    started.value.save_as(file)
    assert started.value.suggested_filename == f"agent-memory-2026-03-01.{kind.lower()}"
    assert "about umbrella" in file.read_text()
