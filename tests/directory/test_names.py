"""What names, addresses and limits may be: no database is asked."""

from __future__ import annotations

import pytest

from portal.directory import names
from portal.errors import InvalidInput

LONGEST_EMAIL = "a" * 241 + "@acme.example"


@pytest.mark.parametrize("text", ["A", "Acme & Söhne", "田中 ゆき", "عمر حدّاد", "O'Brien 👩‍💻", "ä" * 200])
def test_a_name_is_what_people_call_themselves(text: str) -> None:
    assert names.check_name("name", text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\u200b",
        "a" * 201,
        "Ac\nme",
        "Ac\rme",
        "Ac\tme",
        "Ac\u2028me",
        "Ac\x00me",
        "Ac\u202eme",
        "Ac\ud800me",
    ],
)
def test_a_name_is_visible_short_and_on_one_line(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        names.check_name("title", text)
    assert refusal.value.field == "title"


@pytest.mark.parametrize("text", ["", "Handles claims.\nPolitely.", "ä" * 2_000])
def test_a_description_may_be_empty_or_have_lines(text: str) -> None:
    assert names.check_description(text) == text


@pytest.mark.parametrize("text", ["a" * 2_001, "a\x00", "\u202e"])
def test_a_description_is_no_worse_than_a_memory(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        names.check_description(text)
    assert refusal.value.field == "description"


@pytest.mark.parametrize("text", ["a", "9", "-", "acme-1", "a" * 64])
def test_a_slug_can_stand_in_an_address(text: str) -> None:
    assert names.check_slug("slug", text) == text


@pytest.mark.parametrize(
    "text", ["", "A", "ac me", "a" * 65, "acme\n", "ac_me", "ä", "\N{CYRILLIC SMALL LETTER A}cme", "\x00"]
)
def test_anything_else_is_no_slug(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        names.check_slug("slug", text)
    assert refusal.value.field == "slug"


def test_a_definition_cannot_take_an_address_that_the_portal_needs() -> None:
    assert names.check_definition_name("support") == "support"
    for text in ("people", "Support"):
        with pytest.raises(InvalidInput, match="name: "):
            names.check_definition_name(text)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ada@acme.example", "ada@acme.example"),
        ("ADA@Acme.Example", "ada@acme.example"),
        ("ZOË@straße.example", "zoë@strasse.example"),
        (LONGEST_EMAIL, LONGEST_EMAIL),
    ],
)
def test_an_address_is_kept_as_it_is_and_compared_by_its_folded_form(text: str, key: str) -> None:
    assert names.check_email(text) == text
    assert names.email_key(text) == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "@acme.example",
        "ada@",
        "ada@acme@example",
        "ada @acme.example",
        "ada@acme.example\n",
        "ada\x00@acme.example",
        "ada\u202e@acme.example",
        "ada\ud800@acme.example",
        "a" + LONGEST_EMAIL,
    ],
)
def test_what_could_be_no_address_is_refused(text: str) -> None:
    assert names.email_key(text) is None
    with pytest.raises(InvalidInput) as refusal:
        names.check_email(text)
    assert refusal.value.field == "email"


@pytest.mark.parametrize("field", list(names.LIMITS))
def test_a_limit_is_a_whole_number_in_its_range(field: str) -> None:
    allowed = names.LIMITS[field]
    for value in (allowed.lowest, allowed.default, allowed.highest):
        assert names.check_limit(field, value) == value
    for wrong in (allowed.lowest - 1, allowed.highest + 1, True, 1.0, "1"):
        with pytest.raises(InvalidInput) as refusal:
            names.check_limit(field, wrong)  # type: ignore[arg-type]
        assert refusal.value.field == field


def test_what_is_on_or_off_is_nothing_else() -> None:
    assert names.check_flag("second_person_required", value=True) is True
    for wrong in (1, 0, "yes", None):
        with pytest.raises(InvalidInput):
            names.check_flag("second_person_required", value=wrong)  # type: ignore[arg-type]
