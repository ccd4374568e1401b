"""The pages about people and passwords, for everybody: light and dark, on a phone and on a desk."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from portal.models import Profile
from tests.browser.people import Windows
from tests.browser.states import States, everywhere, look_at, stay
from tests.web.visitors import HERE, Portal

LONG = "Wilhelmina-Adelgunde-Ludovica" * 3
PASSWORD = "a password of one's own"


@pytest.fixture
def zoe(portal: Portal) -> Profile:
    """Somebody who was invited, with as long a name and address as there are."""
    directory, acme = portal.personas.directory, portal.personas.acme
    directory.deactivate(portal.personas.bob)
    return directory.invite(acme, email=f"{LONG}@acme.example", name=LONG).profile


def send_nonsense(page: Page) -> None:
    page.get_by_label("E-mail address").fill("ada@acme.example")
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_text("Nothing was saved.")).to_be_visible()


def make_link(page: Page) -> None:
    page.get_by_role("button", name="Make a link").click()
    expect(page.get_by_label("One-time link")).to_have_value(re.compile("/welcome/"))


def mistype(page: Page) -> None:
    for number, field in enumerate(page.locator("[type=password]").all()):
        field.fill(f"another {number}")
    page.locator("main button").click()
    expect(page.get_by_text("Nothing was saved.")).to_be_visible()


@everywhere
def test_nothing_is_wrong_with_any_page_about_people(
    windows: Windows, portal: Portal, zoe: Profile, width: int
) -> None:
    root = windows.open(portal.personas.root, width=width)
    person = f"/admin/people/{zoe.id}"
    states: States = {
        "list": ("/admin/people/", stay),
        "nonsense": ("/admin/people/invite", send_nonsense),
        "person": (person, stay),
        "oneself": (f"/admin/people/{portal.personas.root.id}", stay),
        "kept out": (f"/admin/people/{portal.personas.bob.id}", stay),
        "link": (person, make_link),
        "password": ("/password", mistype),
    }
    assert look_at(root, states) == {}
    assert root.statuses == [422, 422]
    root.statuses.clear()


@everywhere
def test_nothing_is_wrong_with_a_link(windows: Windows, portal: Portal, zoe: Profile, width: int) -> None:
    path = portal.personas.directory.make_link(zoe).address("")
    somebody = windows.open(width=width)
    states = {"mistyped": (path, mistype), "dead": (f"/welcome/{'A' * 43}", stay)}
    assert look_at(somebody, states) == {}
    assert somebody.statuses == [422, 404]
    somebody.statuses.clear()


# What people do


@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without"])
def test_somebody_is_invited_sets_a_password_and_signs_in_by_keyboard(
    windows: Windows,
    portal: Portal,
    javascript: bool,  # noqa: FBT001
) -> None:
    root = windows.open(portal.personas.root, javascript=javascript).go("/admin/")
    root.get_by_role("link", name="People", exact=True).press("Enter")
    root.get_by_role("link", name="Invite somebody").press("Enter")
    root.get_by_label("E-mail address").fill("zoe@acme.example")
    root.get_by_label("Name").fill("Zoë")
    root.get_by_label("Name").press("Enter")
    address = root.get_by_label("One-time link").input_value()

    zoe = windows.open(javascript=javascript)
    page = zoe.go(address.removeprefix(HERE))
    # The first thing to fill in has the focus.
    assert zoe.focused == "input#field-password"
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your password is set.")).to_be_visible()
    page.get_by_label("E-mail").fill("zoe@acme.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Password").press("Enter")
    expect(page.locator(".who")).to_have_text("Zoë · Acme")

    page.get_by_role("link", name="Change your password").press("Enter")
    for label, text in (("Current password", PASSWORD), ("New password", "x"), ("New password again", "x")):
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Change the password").press("Enter")
    expect(page.get_by_text("Your password is changed.")).to_be_visible()
