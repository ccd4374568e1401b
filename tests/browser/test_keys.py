"""Deciding from the keyboard alone: two presses a proposal, and none unread."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.desk import QUEUE, focus, on_shelf, propose, wait_for_answers
from tests.browser.people import Windows
from tests.web.visitors import Portal

FIFTY = 50


def test_fifty_proposals_are_decided_with_two_presses_each(windows: Windows, portal: Portal) -> None:
    # Each person may have twenty waiting.
    portal.personas.directory.define_agent(portal.personas.acme, name="support", proposal_limit=FIFTY)
    propose(portal, *(f"key_{number:02}" for number in range(FIFTY)))
    root = windows.open(portal.personas.root)
    page = root.go(QUEUE)
    page.locator("article[tabindex]").first.focus()
    for number in range(FIFTY):
        page.keyboard.press("c" if number % 2 else "r")
        expect(page.locator(".receipt")).to_have_count(number + 1)
        assert focus(root) != "body"
        page.keyboard.press("j")
    wait_for_answers(root)
    assert on_shelf(portal, "proposed") == []
    assert len(on_shelf(portal, "confirmed")) == FIFTY // 2


def test_a_long_text_is_shown_whole_before_a_key_confirms_it(windows: Windows, portal: Portal) -> None:
    propose(portal, "hours", text="\n".join(f"line {number}" for number in range(30)))
    root = windows.open(portal.personas.root)
    page = root.go(QUEUE)
    page.set_viewport_size({"width": 1280, "height": 400})
    page.locator("article[tabindex]").first.focus()
    page.keyboard.press("c")
    assert on_shelf(portal, "confirmed") == []
    bottoms: list[float] = []
    while page.locator(".receipt").count() == 0 and len(bottoms) < 20:
        bottoms.append(
            page.evaluate("document.querySelector('.whole .content').getBoundingClientRect().bottom")
        )
        page.keyboard.press("c")
        wait_for_answers(root)
    assert on_shelf(portal, "confirmed") == ["hours"]
    # The last line was on the screen before the press that confirmed it, and not before the first.
    assert bottoms[-1] <= 400 < bottoms[0]


def test_keys_do_nothing_outside_of_an_entry_or_once_they_are_switched_off(
    windows: Windows, portal: Portal
) -> None:
    propose(portal, "hours")
    root = windows.open(portal.personas.root)
    page = root.go(QUEUE)
    for key in "cr":
        page.keyboard.press(key)
    portal.personas.directory.set_preferences(portal.personas.root, keyboard_shortcuts=False)
    page = root.go(QUEUE)
    page.locator("article").first.focus()
    for key in "cr":
        page.keyboard.press(key)
    wait_for_answers(root)
    assert on_shelf(portal, "proposed") == ["hours"]
