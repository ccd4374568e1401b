"""How the portal looks and works for somebody."""

from __future__ import annotations

import pytest

from portal.errors import InvalidInput
from portal.values import Theme
from tests.factories import Personas


def test_at_first_the_system_decides_and_shortcuts_are_on(personas: Personas) -> None:
    assert (personas.ada.theme, personas.ada.keyboard_shortcuts) == (Theme.SYSTEM, True)


def test_each_choice_is_kept_until_it_is_changed(personas: Personas) -> None:
    directory = personas.directory
    assert directory.set_preferences(personas.ada, theme="dark").theme == Theme.DARK
    changed = directory.set_preferences(personas.ada, keyboard_shortcuts=False)
    assert (changed.theme, changed.keyboard_shortcuts) == (Theme.DARK, False)
    assert changed.organisation.slug == "acme"
    found = directory.find_profile("bob@acme.example")
    assert found is not None
    assert (found.theme, found.keyboard_shortcuts) == (Theme.SYSTEM, True)


@pytest.mark.parametrize("theme", ["", "DARK", "blue"])
def test_a_theme_that_is_none_is_refused(personas: Personas, theme: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        personas.directory.set_preferences(personas.ada, theme=theme)
    assert refusal.value.field == "theme"


def test_somebody_who_was_erased_has_no_preferences(personas: Personas) -> None:
    personas.directory.erase_profile(personas.ada)
    with pytest.raises(InvalidInput):
        personas.directory.set_preferences(personas.ada, theme="dark")
