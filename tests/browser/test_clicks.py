"""The fault to fear most: a click meant for one entry decides on another one, which nobody read."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.desk import (
    QUEUE,
    SlowPath,
    middle_of,
    on_shelf,
    press,
    propose,
    slow_down,
    wait_for_answers,
)
from tests.browser.people import Person, Windows
from tests.web.visitors import Portal


@pytest.fixture
def path(portal: Portal) -> SlowPath:
    return slow_down(portal.app)


@pytest.fixture
def root(windows: Windows, portal: Portal) -> Person:
    """An administrator before three entries, of which the first is much taller than its receipt would be."""
    propose(portal, "hours", text="\n".join(["https://a.example", *"bcdefghi"]))
    propose(portal, "lunch", "parking")
    person = windows.open(portal.personas.root)
    # High enough that nothing has to be scrolled to.
    person.page.set_viewport_size({"width": 1280, "height": 1600})
    person.go(QUEUE)
    return person


@pytest.mark.parametrize("width", [1280, 375])
@pytest.mark.parametrize("pause", ["at once", "once the receipt is there"])
def test_the_second_click_of_a_double_click_confirms_nothing(
    portal: Portal, path: SlowPath, root: Person, width: int, pause: str
) -> None:
    page = root.page
    page.set_viewport_size({"width": width, "height": 900})
    path.forms = 0
    confirm = page.get_by_role("button", name="Confirm hours")
    confirm.scroll_into_view_if_needed()
    page.mouse.move(*middle_of(confirm))
    page.mouse.down(click_count=1)
    page.mouse.up(click_count=1)
    if pause != "at once":
        page.wait_for_selector(".receipt")
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    page.wait_for_selector(".receipt")
    wait_for_answers(root)
    assert on_shelf(portal, "confirmed") == ["hours"]
    assert path.forms == 1


def test_a_second_click_on_whatever_moved_up_is_ignored(portal: Portal, root: Person) -> None:
    """The receipt is made to go, so that the next entry does come to lie under the pointer."""
    page = root.page
    page.mouse.move(*middle_of(page.get_by_role("button", name="Confirm hours")))
    page.mouse.down(click_count=1)
    page.mouse.up(click_count=1)
    page.wait_for_selector(".receipt")
    page.evaluate("document.querySelector('.receipt').remove()")
    page.mouse.move(*middle_of(page.get_by_role("button", name="Confirm lunch")))
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    wait_for_answers(root)
    assert on_shelf(portal, "confirmed") == ["hours"]


def test_a_slow_second_click_finds_the_receipt_and_not_the_next_entry(portal: Portal, root: Person) -> None:
    page = root.page
    x, y = middle_of(page.get_by_role("button", name="Confirm hours"))
    below = page.get_by_role("button", name="Confirm lunch")
    place = middle_of(below)
    page.mouse.click(x, y)
    page.wait_for_selector(".receipt")
    assert middle_of(below) == place
    page.mouse.click(x, y)
    wait_for_answers(root)
    assert on_shelf(portal, "confirmed") == ["hours"]


def test_a_message_or_an_arrival_moves_nothing(root: Person) -> None:
    page = root.page
    place = middle_of(page.get_by_role("button", name="Confirm lunch"))
    press(root, "Confirm parking")
    expect(page.locator("#status")).to_have_text("Confirmed parking. 2 left to review.")
    page.evaluate("document.querySelector('#arrivals').innerHTML = '3 new proposals. <a href=\"\">Show</a>'")
    page.evaluate("document.querySelector('#alert').innerHTML = '<p class=notice>Nothing was saved.</p>'")
    assert middle_of(page.get_by_role("button", name="Confirm lunch")) == place


def test_clicks_on_two_entries_decide_both(portal: Portal, path: SlowPath, root: Person) -> None:
    path.seconds = 0.5
    press(root, "Confirm hours")
    press(root, "Confirm parking")
    expect(root.page.locator(".receipt")).to_have_count(2)
    assert on_shelf(portal, "confirmed") == ["hours", "parking"]
