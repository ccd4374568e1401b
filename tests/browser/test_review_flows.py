"""What administrators do at the review queue, in a real browser with JavaScript and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.desk import QUEUE, focus, on_shelf, press, propose, slow_down, wait_for_answers
from tests.browser.people import COOKIE, Person, Windows
from tests.web.visitors import Portal

UNDECIDED_KEY = ".entry:not(.receipt) h2.key"


@pytest.fixture
def root(windows: Windows, portal: Portal) -> Person:
    return windows.open(portal.personas.root)


@pytest.fixture
def bob(windows: Windows, portal: Portal) -> Person:
    """Another administrator, in a browser of their own."""
    portal.personas.directory.set_role(portal.personas.bob, "administrator")
    return windows.open(portal.personas.bob)


@pytest.fixture(params=[True, False], ids=["javascript", "no javascript"])
def either(windows: Windows, portal: Portal, request: pytest.FixtureRequest) -> Person:
    """The administrator's browser with JavaScript, and without: the same has to come of it."""
    return windows.open(portal.personas.root, javascript=request.param)


def keys(person: Person) -> list[str]:
    """Return the keys that can still be decided on a page that is here already."""
    return person.page.locator(UNDECIDED_KEY).all_inner_texts()


def expect_keys(person: Person, expected: list[str]) -> None:
    """Wait until these are the keys that can still be decided: a page may be on its way."""
    expect(person.page.locator(UNDECIDED_KEY)).to_have_text(expected)


def expect_counts(person: Person, *expected: str) -> None:
    """Wait until so many wait, and are on each of the three shelves."""
    places = ("#waiting", "#count-proposed", "#count-confirmed", "#count-rejected")
    for place, number in zip(places, expected, strict=True):
        expect(person.page.locator(place)).to_have_text(number)


# Deciding, with and without


def test_a_proposal_is_confirmed(portal: Portal, either: Person) -> None:
    propose(portal, "hours", "lunch")
    either.go(QUEUE)
    press(either, "Confirm hours")
    expect(either.page.locator("main")).to_contain_text("Everybody's agent uses it from its next turn on.")
    assert on_shelf(portal, "confirmed") == ["hours"]
    expect_keys(either, ["lunch"])
    expect_counts(either, "1", "1", "1", "0")
    expect(either.page).to_have_title("(1) To review: Support · Agent memory")
    either.expect_path(QUEUE)


def test_a_proposal_is_rejected_with_a_reason(portal: Portal, either: Person) -> None:
    propose(portal, "hours")
    page = either.go(QUEUE)
    page.get_by_text("Reason for rejecting").click()
    page.get_by_label("Optional, at most 500 characters").fill("We open at 8.")
    press(either, "Reject hours")
    expect(page.locator("main")).to_contain_text("its key cannot be proposed again")
    [fact] = portal.manager.find_rejected_account_facts(portal.personas.acme, "support")
    assert fact.decision_reason == "We open at 8."
    expect_counts(either, "0", "0", "0", "1")


@pytest.mark.parametrize("button", ["Confirm hours", "Reject hours"])
def test_a_decision_is_undone(portal: Portal, either: Person, button: str) -> None:
    propose(portal, "hours", "lunch")
    page = either.go(QUEUE)
    press(either, button)
    press(either, "Undo hours")
    expect(page.get_by_role("button", name=button)).to_be_visible()
    assert on_shelf(portal, "proposed") == ["hours", "lunch"]
    expect_keys(either, ["hours", "lunch"])
    expect_counts(either, "2", "2", "0", "0")


def test_a_proposal_is_deleted(portal: Portal, either: Person) -> None:
    propose(portal, "hours", "lunch")
    page = either.go(f"{QUEUE}?q=about")
    page.get_by_role("link", name="Delete… hours").click()
    press(either, "Delete for good")
    expect(page.locator("#messages")).to_contain_text("Deleted hours.")
    assert on_shelf(portal, "proposed") == ["lunch"]
    either.expect_path(f"{QUEUE}?q=about")


def test_a_long_text_is_confirmed_once_it_is_unfolded(portal: Portal, either: Person) -> None:
    propose(portal, "hours", text="word " * 300 + "end")
    page = either.go(QUEUE)
    confirm = page.get_by_role("button", name="Confirm hours")
    expect(confirm).to_be_hidden()
    page.get_by_text("Read the whole to confirm").click()
    expect(page.locator(".excerpt")).to_be_hidden()
    confirm.click()
    expect(page.locator("main")).to_contain_text("Everybody's agent uses it")
    assert on_shelf(portal, "confirmed") == ["hours"]


def test_several_are_decided_together(portal: Portal, either: Person) -> None:
    propose(portal, "hours", "lunch", "parking")
    page = either.go(QUEUE)
    page.get_by_label("Select hours").check()
    page.get_by_label("Select parking").check()
    press(either, "Confirm 2 selected…" if either.has_javascript else "Confirm selected…")
    expect(page.locator("h1")).to_have_text("Confirm these 2 proposals?")
    expect(page.locator("h2.key")).to_have_text(["hours", "parking"])
    assert on_shelf(portal, "confirmed") == []
    press(either, "Confirm 2")
    expect(page.locator("h1")).to_have_text("Confirmed 2 of 2")
    assert on_shelf(portal, "confirmed") == ["hours", "parking"]
    page.get_by_role("link", name="Back to the list").click()
    expect_keys(either, ["lunch"])


def test_choices_of_looks_and_keys_are_kept(portal: Portal, either: Person) -> None:
    propose(portal, "hours")
    page = either.go(QUEUE)
    page.get_by_label("Theme").select_option("dark")
    press(either, "Save")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert either.path.rstrip("?") == QUEUE
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(14, 18, 24)"


# In place


def test_focus_goes_to_the_receipt_and_back_to_the_proposal(portal: Portal, root: Person) -> None:
    propose(portal, "hours", "lunch")
    page = root.go(QUEUE)
    press(root, "Confirm hours")
    expect(page.locator("#status")).to_have_text("Confirmed hours. 1 left to review.")
    assert focus(root).startswith("Confirmed hours")
    press(root, "Undo hours")
    expect(page.locator("#status")).to_have_text("Undone hours. 2 left to review.")
    assert focus(root).startswith("hours about hours")


def test_whoever_goes_on_while_the_answer_is_awaited_keeps_their_place(portal: Portal, root: Person) -> None:
    slow = slow_down(portal.app)
    propose(portal, "hours", "lunch")
    page = root.go(QUEUE)
    slow.seconds = 0.7
    press(root, "Confirm hours")
    page.get_by_role("link", name="lunch", exact=True).focus()
    expect(page.locator(".receipt")).to_be_visible()
    assert focus(root) == "lunch"


def test_a_group_is_drawn_again_when_one_of_it_is_decided(portal: Portal, root: Person) -> None:
    propose(portal, "hours")
    portal.propose(portal.personas.bob, "hours", "8 to 4")
    page = root.go(QUEUE)
    press(root, "Confirm hours, proposal 1")
    expect(page.locator(".version.receipt")).to_contain_text("Confirmed hours")
    assert focus(root).startswith("Confirmed hours")
    other = page.locator(".version:not(.receipt)")
    expect(other).to_contain_text("Its key has a confirmed fact, so this cannot be confirmed.")
    expect(other.locator("ins").first).to_contain_text("8")
    # The one for what is selected.
    expect(page.get_by_role("button", name="Confirm")).to_have_count(1)
    press(root, "Reject hours, proposal 2")
    expect(page.locator("#status")).to_have_text("Rejected hours. Nothing is left to review.")
    assert on_shelf(portal, "rejected") == ["hours"]


# Two administrators at once


def test_a_conflict_says_who_was_faster_and_changes_this_entry_only(
    portal: Portal, root: Person, bob: Person
) -> None:
    propose(portal, "hours", "lunch")
    page = root.go(QUEUE)
    bob.go(QUEUE)
    press(bob, "Reject hours")
    expect(bob.page.locator(".receipt")).to_be_visible()
    press(root, "Confirm hours")
    expect(page.locator(".entry").first).to_contain_text("This was decided already.")
    expect(page.locator(".entry").first).to_contain_text("Rejected by Bob")
    assert focus(root).startswith("Nothing was saved.")
    expect_counts(root, "1", "1", "0", "1")
    expect_keys(root, ["hours", "lunch"])
    expect(page.get_by_role("button", name="Confirm lunch")).to_be_visible()
    root.expect_status(409)


def test_what_changed_meanwhile_is_read_again_and_then_confirmed(portal: Portal, root: Person) -> None:
    propose(portal, "hours")
    page = root.go(QUEUE)
    portal.propose(portal.personas.ada, "hours", "8 to 4")
    press(root, "Confirm hours")
    expect(page.locator(".entry")).to_contain_text("This changed while you were reading.")
    expect(page.locator(".entry")).to_contain_text("8 to 4")
    assert on_shelf(portal, "confirmed") == []
    root.expect_status(409)
    press(root, "Confirm hours")
    expect(page.locator(".receipt")).to_be_visible()
    assert on_shelf(portal, "confirmed") == ["hours"]


def test_what_was_taken_back_is_no_longer_here(portal: Portal, root: Person) -> None:
    propose(portal, "hours", "lunch")
    page = root.go(QUEUE)
    portal.manager.forget(portal.personas.agent(portal.personas.ada), "hours")
    press(root, "Confirm hours")
    expect(page.locator(".entry").first).to_contain_text("No longer here.")
    assert focus(root).startswith("No longer here.")
    expect_counts(root, "1", "1", "0", "0")
    root.expect_status(404)


# What goes wrong on the way


def test_a_slow_answer_takes_one_press(portal: Portal, root: Person) -> None:
    slow = slow_down(portal.app)
    propose(portal, "hours", "lunch")
    page = root.go(QUEUE)
    slow.seconds, slow.forms = 5, 0
    button = page.get_by_role("button", name="Confirm hours")
    button.click()
    page.wait_for_timeout(700)
    button.click()
    assert focus(root) == "Confirm hours"
    expect(page.locator(".receipt")).to_be_visible(timeout=9_000)
    assert slow.forms == 1
    assert on_shelf(portal, "confirmed") == ["hours"]


def test_an_expired_session_leads_to_the_door_and_back(portal: Portal, root: Person) -> None:
    propose(portal, "hours")
    page = root.go(f"{QUEUE}?q=about")
    portal.clock.advance(hours=1)
    press(root, "Confirm hours")
    expect(page.locator("#messages")).to_contain_text("You were signed out, so nothing was saved.")
    root.expect_status(401)
    page.get_by_label("E-mail").fill("root@acme.example")
    page.get_by_label("Password").fill("correct horse battery staple")
    press(root, "Sign in")
    root.expect_path(f"{QUEUE}?q=about")
    expect_keys(root, ["hours"])


def test_with_a_stale_token_the_second_press_works(windows: Windows, portal: Portal, root: Person) -> None:
    propose(portal, "hours")
    page = root.go(QUEUE)
    again = portal.visitor(portal.personas.root).client.get_cookie(COOKIE, "127.0.0.1")
    assert again is not None
    windows.contexts[0].add_cookies([{"name": COOKIE, "value": again.value, "url": root.address}])
    press(root, "Confirm hours")
    expect(page.locator("#alert")).to_contain_text("Nothing was saved. It is fresh now")
    assert focus(root) == "Confirm hours"
    root.expect_status(400)
    press(root, "Confirm hours")
    expect(page.locator(".receipt")).to_be_visible()
    expect(page.locator("#alert")).to_be_empty()


def test_a_lost_network_is_told_and_the_next_press_works(
    windows: Windows, portal: Portal, root: Person
) -> None:
    propose(portal, "hours")
    page = root.go(QUEUE)
    windows.contexts[0].set_offline(True)
    press(root, "Confirm hours")
    expect(page.locator("#alert")).to_contain_text("There was no answer.")
    assert focus(root) == "Confirm hours"
    windows.contexts[0].set_offline(False)
    assert [complaint for complaint in root.complaints if "Failed to fetch" not in complaint] == []
    root.complaints.clear()
    press(root, "Confirm hours")
    expect(page.locator(".receipt")).to_be_visible()
    expect(page.locator("#alert")).to_be_empty()


def test_a_fault_is_told_with_its_number(portal: Portal, root: Person) -> None:
    portal.app.config["PROPAGATE_EXCEPTIONS"] = False
    propose(portal, "hours")
    page = root.go(QUEUE)
    portal.app.view_functions["administrators.decide"] = lambda definition, memory_id: (
        definition * (memory_id // 0)
    )
    press(root, "Confirm hours")
    expect(page.locator("#alert")).to_contain_text("give the number")
    expect_keys(root, ["hours"])
    assert focus(root) == "Confirm hours"
    root.expect_status(500)


# The browser's own buttons


@pytest.mark.parametrize("change", ["Confirm hours", "Reject hours"])
def test_reload_back_and_forward_show_what_is(portal: Portal, either: Person, change: str) -> None:
    propose(portal, "hours", "lunch")
    page = either.go(QUEUE)
    press(either, change)
    expect(page.get_by_role("button", name="Undo hours")).to_be_visible()
    page.reload()
    expect_keys(either, ["lunch"])
    either.go("/admin/support/history")
    page.go_back()
    expect_keys(either, ["lunch"])
    page.go_forward()
    expect(page.locator(".events li").first).to_contain_text("hours")
    page.go_back()
    expect(page.locator("#count-proposed")).to_have_text("1")


def test_back_after_a_deletion_shows_what_is(portal: Portal, either: Person) -> None:
    propose(portal, "hours", "lunch")
    page = either.go(QUEUE)
    page.get_by_role("link", name="Delete… hours").click()
    press(either, "Delete for good")
    expect_keys(either, ["lunch"])
    page.go_back()
    either.go(QUEUE)
    expect_keys(either, ["lunch"])
    # The question about what is not there any more.
    either.statuses.clear()


# Long lists


def fill(portal: Portal, number: int) -> list[str]:
    """Let so many proposals be made in one and the same moment."""
    directory, acme = portal.personas.directory, portal.personas.acme
    directory.define_agent(acme, name="support", proposal_limit=100)
    names = [f"fact_{each:02}" for each in range(number)]
    for name in names:
        portal.propose(portal.personas.ada, name, "x")
    return names


def test_sixty_of_one_moment_are_decided_while_paging(portal: Portal, either: Person) -> None:
    names = fill(portal, 60)
    page = either.go(QUEUE)
    first = keys(either)
    assert len(first) == 50
    following = page.get_by_role("link", name="Next page").get_attribute("href")
    for key in first[:3]:
        press(either, f"Confirm {key}")
        expect(page.get_by_role("button", name=f"Confirm {key}")).to_have_count(0)
    either.go(str(following))
    rest = keys(either)
    assert sorted(first + rest) == names
    for key in rest:
        press(either, f"Reject {key}")
        expect(page.get_by_role("button", name=f"Reject {key}")).to_have_count(0)
    page.reload()
    expect(page.locator(".empty")).to_contain_text("Nothing is left on this page.")
    page.get_by_role("link", name="Go to the first page").click()
    expect_keys(either, first[3:])
    expect_counts(either, "47", "47", "3", "10")


# What arrives


def test_arrivals_are_told_where_nothing_moves(portal: Portal, root: Person) -> None:
    root.page.clock.install()
    propose(portal, "hours")
    page = root.go(QUEUE)
    place = page.locator(".entry").bounding_box()
    portal.clock.advance(seconds=1)
    propose(portal, "lunch", "parking")
    page.clock.fast_forward(61_000)
    expect(page.locator("#arrivals")).to_have_text("2 new proposals. Show")
    assert page.locator(".entry").bounding_box() == place
    page.get_by_role("link", name="Show").click()
    expect_keys(root, ["parking", "lunch", "hours"])


def test_asking_for_arrivals_keeps_nobody_signed_in(portal: Portal, root: Person) -> None:
    root.page.clock.install()
    propose(portal, "hours")
    page = root.go(QUEUE)
    for _ in range(4):
        portal.clock.advance(minutes=10)
        page.clock.fast_forward(61_000)
        wait_for_answers(root)
    press(root, "Confirm hours")
    expect(page.locator("#messages")).to_contain_text("You were signed out")
    root.expect_status(401)
