"""Every page of an owner, and the way in, for everybody: light and dark, on a phone and on a desk."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.accessibility import faults
from tests.browser.people import Windows
from tests.browser.states import States, everywhere, look_at, stay
from tests.web.visitors import Portal

LONG = "\n".join(f"line {number}: " + "a-word-that-goes-on-and-on-" * 5 for number in range(12))


def tell_everything(portal: Portal) -> None:
    """Let each section have something, with the longest words and directions that there are."""
    personas = portal.personas
    portal.remember(personas.ada, "k" * 64, LONG)
    portal.remember(personas.ada, "greeting", "שלום, and hello")
    portal.remember(personas.ada, "tone", "x" * 300)
    portal.propose(personas.ada, "opening", "9 to 5")
    portal.propose(personas.ada, "hours", "9 to 5")
    for key in ("hours", "lunch"):
        portal.propose(personas.bob, key, "8 to 4")
    parking = portal.propose(personas.ada, "parking", "free")
    portal.decide(parking, "reject", "Only on Sundays.")
    for fact in portal.manager.find_proposed_account_facts(personas.acme, "support"):
        if fact.memory_key in {"hours", "lunch"}:
            portal.decide(fact, "reject" if fact.stated_by_id == personas.ada.id else "confirm", "No.")
    # Four are held now, so the meter says that it is full.
    personas.directory.define_agent(personas.acme, name="support", memory_limit=4)


def ask(page: Page) -> None:
    page.get_by_role("link", name="Delete… tone").click()
    expect(page.locator(".asking")).to_be_visible()


def delete(page: Page) -> None:
    ask(page)
    page.get_by_role("button", name="Delete for good tone").click()
    expect(page.locator(".receipt")).to_contain_text("Deleted")


def keep_in_vain(page: Page) -> None:
    page.get_by_role("button", name="Keep it for my agent hours").click()
    expect(page.get_by_text("Nothing was saved.")).to_be_visible()


def keep(page: Page) -> None:
    page.get_by_role("button", name="Keep it for my agent parking").click()
    expect(page.locator(".receipt")).to_contain_text("Kept")


def unfold(page: Page) -> None:
    page.get_by_text("Show all").click()


# Where, and what is done there before it is looked at. The order counts: some of it changes things.
STATES: States = {
    "agents": ("/me/", stay),
    "list": ("/me/support/", unfold),
    "search": ("/me/support/?q=9", stay),
    "no match": ("/me/support/?q=nothing-like-it", stay),
    "empty": ("/me/travel/", stay),
    "prompt": ("/me/support/prompt", stay),
    "no prompt": ("/me/travel/prompt", stay),
    "delete all": ("/me/support/delete-all", stay),
    "nothing to delete": ("/me/travel/delete-all", stay),
    "question": ("/me/support/", ask),
    "refusal": ("/me/support/?status=rejected", keep_in_vain),
    "deleted": ("/me/support/", delete),
    "kept": ("/me/support/", keep),
    "no such page": ("/me/nowhere/", stay),
}


@everywhere
def test_nothing_is_wrong_with_any_page_of_an_owner(windows: Windows, portal: Portal, width: int) -> None:
    tell_everything(portal)
    ada = windows.open(portal.personas.ada, width=width)
    assert look_at(ada, STATES) == {}
    # The refusal and the page that is not there.
    assert ada.statuses == [409, 404]
    ada.statuses.clear()


@everywhere
def test_nothing_is_wrong_with_a_question_on_a_page_of_its_own(
    windows: Windows, portal: Portal, width: int
) -> None:
    memory = portal.remember(portal.personas.ada, "tone", LONG)
    ada = windows.open(portal.personas.ada, width=width)
    assert look_at(ada, {"question": (f"/me/support/memories/{memory.id}/delete", stay)}) == {}


def knock(page: Page) -> None:
    page.get_by_label("E-mail").fill("ada@acme.example")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("is wrong")).to_be_visible()


@everywhere
def test_nothing_is_wrong_with_the_way_in(windows: Windows, width: int) -> None:
    somebody = windows.open(width=width)
    assert look_at(somebody, {"door": ("/sign-in", stay), "knocked": ("/sign-in", knock)}) == {}
    somebody.expect_status(422)


def test_what_is_wrong_is_seen(windows: Windows) -> None:
    page = windows.open().go("/sign-in")
    page.evaluate("document.querySelector('h1').remove(); document.querySelector('label').remove()")
    page.evaluate("document.body.style.width = '3000px'")
    found = " ".join(faults(page))
    assert "page-has-heading-one" in found
    assert "label" in found
    assert "scrolls sideways by" in found
