"""Looking at pages in their states: where, and what is done there before it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import faults
from tests.browser.people import Person

States = Mapping[str, tuple[str, Callable[[Page], None]]]

everywhere = pytest.mark.parametrize("width", [320, 1280])


def stay(page: Page) -> None:
    expect(page.get_by_role("main")).to_be_visible()


def look_at(person: Person, states: States) -> dict[str, list[str]]:
    """Return what is wrong in which state."""
    found = {}
    for name, (path, act) in states.items():
        act(person.go(path))
        found[name] = faults(person.page)
    return {name: wrong for name, wrong in found.items() if wrong}
