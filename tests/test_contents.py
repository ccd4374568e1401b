from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.contents import check_content, check_reason, is_storable
from portal.errors import InvalidContent, InvalidInput
from tests.corpus_inputs import NOT_TEXT, BadInput, EvilText, cases

ZWJ, ZWNJ = "\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH NON-JOINER}"
TEXT_STYLE, EMOJI_STYLE = "\ufe0e", "\ufe0f"
ACUTE = "\N{COMBINING ACUTE ACCENT}"


def refusal(text: object) -> tuple[str, str]:
    with pytest.raises(InvalidContent) as caught:
        check_content(text)
    return caught.value.code, caught.value.problem


def content_or_none(text: str) -> str | None:
    try:
        return check_content(text)
    except InvalidContent:
        return None


def leave_out(character: str, position: int) -> tuple[str, str]:
    code_point = f"U+{ord(character):04X}"
    return (
        "invalid_content",
        f"Leave out {code_point} at position {position}: this character is not stored here.",
    )


@pytest.mark.parametrize("entry", [each for each in cases("content") if each.values[0].is_refused])
def test_a_bad_content_of_the_corpus_is_refused(entry: BadInput) -> None:
    with pytest.raises(InvalidContent):
        check_content(entry.value)


@pytest.mark.parametrize("entry", [each for each in cases("content") if not each.values[0].is_refused])
def test_any_other_content_of_the_corpus_comes_back_as_it_is(entry: BadInput) -> None:
    assert check_content(entry.value) == entry.value


# What may be passed in.


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in NOT_TEXT.items()])
def test_what_is_no_text_is_refused(value: object) -> None:
    assert refusal(value) == ("invalid_content", "Give a text.")


def test_of_a_subclass_only_the_characters_count() -> None:
    content = check_content(EvilText("a\r\nb"))
    assert (type(content), content) == (str, "a\nb")


# The one change.


@pytest.mark.parametrize(
    ("text", "content"),
    [("a\r\nb", "a\nb"), ("a\rb", "a\nb"), ("a\r\r\n\nb\r", "a\n\n\nb\n"), ("a\n\rb", "a\n\nb")],
)
def test_line_breaks_become_line_feeds(text: str, content: str) -> None:
    assert check_content(text) == content


@pytest.mark.parametrize(
    "content", [" a ", "a\tb\n", "e" + ACUTE, "\N{ANGSTROM SIGN}", "\N{LATIN SMALL LIGATURE FI}", "A\xa0B"]
)
def test_nothing_else_is_trimmed_folded_or_composed(content: str) -> None:
    assert check_content(content) == content


# Size.


@pytest.mark.parametrize("character", ["x", "é", "字", "\N{GRINNING FACE}"])
def test_2000_code_points_fit_and_2001_do_not(character: str) -> None:
    assert len(check_content(character * 2000)) == 2000
    assert refusal(character * 2001) == (
        "content_too_long",
        "Shorten the text to at most 2,000 characters; this has 2,001.",
    )


def test_code_points_count_after_the_change_of_line_breaks() -> None:
    assert len(check_content("\r\n" * 39 + "x" * 1961)) == 2000


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\N{LINE SEPARATOR}", "\N{PARAGRAPH SEPARATOR}"])
def test_40_lines_fit_and_41_do_not(line_break: str) -> None:
    assert check_content(line_break.join("x" * 40))
    assert refusal(line_break.join("x" * 41)) == (
        "content_too_long",
        "Shorten the text to at most 40 lines; this has 41.",
    )


def test_a_line_break_at_the_end_begins_a_line() -> None:
    assert refusal("x\n" * 40)[0] == "content_too_long"


BLANK = [
    "",
    " \t\n",
    "\r\n",
    "\N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{LINE SEPARATOR}",
    "\N{LEFT-TO-RIGHT MARK}\N{RIGHT-TO-LEFT MARK}\N{ARABIC LETTER MARK}",
    "\N{BRAILLE PATTERN BLANK}" + EMOJI_STYLE,
    "\N{MUSICAL SYMBOL NULL NOTEHEAD}",
    "\U00013430\U00013442",
    "\N{KHITAN SMALL SCRIPT FILLER}" + ZWJ + " ",
]


@pytest.mark.parametrize("text", BLANK)
def test_a_text_without_anything_to_see_is_blank(text: str) -> None:
    assert refusal(text) == ("invalid_content", "Give a text that can be seen; this one is blank.")


@pytest.mark.parametrize("text", BLANK)
def test_one_visible_character_among_them_is_enough(text: str) -> None:
    assert check_content(f"{text}.") == f"{text}.".replace("\r\n", "\n")


# Characters refused wherever they stand.

REFUSED = [
    (0x00, 0x08),
    (0x0B, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200B),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xF8FF),
    (0xFDD0, 0xFDEF),
    (0xFE00, 0xFE0D),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
    (0xF0000, 0x10FFFF),
    *[(plane * 0x10000 + 0xFFFE, plane * 0x10000 + 0xFFFF) for plane in range(15)],
]


REFUSED_POINTS = frozenset(chain.from_iterable(range(first, last + 1) for first, last in REFUSED))
NEIGHBOURS = {first - 1 for first, _ in REFUSED} | {last + 1 for _, last in REFUSED}


def test_exactly_these_are_never_stored() -> None:
    assert {point for point in range(0x110000) if not is_storable(chr(point))} == REFUSED_POINTS


@pytest.mark.parametrize("character", [chr(point) for pair in REFUSED for point in pair if point != 0x0D])
def test_a_refusal_names_the_code_point_and_its_position(character: str) -> None:
    assert refusal(f"a\r\nb{character}c") == leave_out(character, 4)


@pytest.mark.parametrize("point", sorted(NEIGHBOURS & set(range(0x110000)) - REFUSED_POINTS))
def test_their_neighbours_are_stored(point: int) -> None:
    assert check_content(f"a{chr(point)}") == f"a{chr(point)}"


def test_the_first_refused_character_is_named() -> None:
    assert refusal(f"a{ZWJ}b\x1b\x07") == leave_out("\x1b", 4)


# Characters allowed in their place.


@pytest.mark.parametrize(
    "content",
    [
        "❤️ ☎︎",
        "1️⃣ #️⃣ *️⃣",
        "‼️ ©️ ↔️ 〰️ Ⓜ️ ㊗️",
        "🏳️‍🌈 👁️‍🗨️ 🏴‍☠️",
        "👩‍👩‍👧‍👦 👩🏽‍🤝‍👨🏿 ❤️‍🔥 🧑🏻‍❤️‍💋‍🧑🏿",
        "🇩🇪" + ZWJ + "🇫🇷",
        "می‌خواهم کتاب‌هایی",
        "க்‌ஷ क्‍ष ශ්‍රී ന്‍",
        f"e{ACUTE}{ZWNJ}x",
        "۱۲۳ \N{RIGHT-TO-LEFT MARK}\N{LEFT-TO-RIGHT MARK}\N{ARABIC LETTER MARK}",
        # Reserved for an emoji to come, so that Python does not know it yet.
        f"\U0001fafe{ZWJ}x \U0001fafe{EMOJI_STYLE}",
    ],
)
def test_emoji_and_scripts_keep_their_joiners_and_selectors(content: str) -> None:
    assert check_content(content) == content


@pytest.mark.parametrize("joiner", [ZWJ, ZWNJ])
@pytest.mark.parametrize(
    "before",
    [
        "",
        " ",
        "1",
        "#",
        ".",
        "$",
        ZWJ,
        ZWNJ,
        "\n",
        "\N{RIGHTWARDS ARROW}",
        "\N{ARABIC LETTER MARK}",
        "\u0378",
    ],
)
def test_a_joiner_stands_only_after_a_letter_a_mark_or_an_emoji(before: str, joiner: str) -> None:
    first = before if before in {ZWJ, ZWNJ} else ""
    text = f"{before}{joiner}a"
    assert refusal(text) == leave_out(first or joiner, text.index(first or joiner) + 1)


@pytest.mark.parametrize("selector", [TEXT_STYLE, EMOJI_STYLE])
@pytest.mark.parametrize(
    "before", ["", " ", "\t", "e" + ACUTE, "ok" + ZWJ, "1" + TEXT_STYLE, "1" + EMOJI_STYLE, "\u0378"]
)
def test_a_variation_selector_stands_only_after_a_base(before: str, selector: str) -> None:
    assert refusal(f"{before}{selector}a") == leave_out(selector, len(before) + 1)


# Marks.

NIKUD = "\N{HEBREW POINT SHEVA}"


@pytest.mark.parametrize(
    "content", ["Z" + 4 * ACUTE + "a" + 4 * ACUTE, "ש" + 2 * ACUTE + 2 * NIKUD, "🙂🙂🙂🙂🙂🙂", "……――««»»"]
)
def test_four_non_spacing_marks_in_a_row_are_kept(content: str) -> None:
    assert check_content(content) == content


@pytest.mark.parametrize(
    ("content", "character", "position"),
    [
        ("ok Z" + 5 * ACUTE, ACUTE, 9),
        ("ש" + 3 * ACUTE + 9 * NIKUD, NIKUD, 6),
        ("🙂🙂" + 5 * ACUTE, ACUTE, 7),
        (4 * ACUTE + "ok" + 4 * ACUTE + "ok" + 5 * ACUTE, ACUTE, 17),
        (4 * ACUTE + "🙂" + 5 * ACUTE, ACUTE, 10),
    ],
)
def test_a_fifth_is_refused(content: str, character: str, position: int) -> None:
    assert refusal(content) == (
        "invalid_content",
        f"Leave out U+{ord(character):04X} at position {position}: too many marks on one character.",
    )


def test_marks_that_enclose_or_take_space_are_not_counted() -> None:
    content = (
        "Z"
        + 4 * ACUTE
        + "\N{COMBINING ENCLOSING CIRCLE}"
        + 4 * ACUTE
        + "क"
        + 9 * "\N{DEVANAGARI VOWEL SIGN AA}"
    )
    assert check_content(content) == content


def test_every_non_spacing_mark_is_counted() -> None:
    # The search for piles leaves out words and space, so that no mark may ever count as either.
    marks = [chr(point) for point in range(0x110000) if unicodedata.category(chr(point)) == "Mn"]
    assert {mark for mark in marks if re.match(r"[\w\s]", mark)} == set()


# What holds for every text.


# What somebody might trim, fold or compose, and what is accepted after some characters only.
touchy = st.sampled_from(
    [*"\r\n a\u200d\ufe0f\N{ANGSTROM SIGN}\N{LATIN SMALL LIGATURE FI}", "\r\n", f"e{ACUTE}"]
)


@given((st.lists(touchy, max_size=10) | st.lists(st.characters() | touchy, max_size=60)).map("".join))
def test_a_text_comes_back_code_point_for_code_point_or_is_refused(text: str) -> None:
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    assert content_or_none(text) in {None, normal}
    assert content_or_none(normal) == content_or_none(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=60))
def test_letters_numbers_punctuation_and_symbols_are_stored(text: str) -> None:
    fillers = str.maketrans("", "", "\u115f\u1160\u3164\uffa0")
    content = f"{text}.".translate(fillers)
    assert check_content(content) == content


# Reasons.


@pytest.mark.parametrize("text", BLANK)
def test_a_blank_reason_is_none(text: str) -> None:
    assert check_reason(text) == ""


def test_a_reason_comes_back_like_a_content() -> None:
    assert check_reason(" Said\r\nso ") == " Said\nso "


def test_a_reason_has_at_most_500_code_points() -> None:
    assert check_reason("\r\n" + "é" * 499) == "\n" + "é" * 499
    with pytest.raises(InvalidInput) as caught:
        check_reason("é" * 501)
    assert (caught.value.field, caught.value.problem) == (
        "reason",
        "Shorten the text to at most 500 characters; this has 501.",
    )


@pytest.mark.parametrize("text", [None, b"no", "a\x00", "\u200b", ZWJ, "e" + 5 * ACUTE, "\n".join("x" * 41)])
def test_a_reason_obeys_the_rules_for_contents(text: object) -> None:
    _, problem = refusal(text)
    with pytest.raises(InvalidInput) as caught:
        check_reason(text)
    assert (type(caught.value), caught.value.field, caught.value.problem) == (InvalidInput, "reason", problem)


# Searches.


@pytest.mark.parametrize(
    "text", ["", " ", "%_\\", "İ STRASSE", ZWJ, EMOJI_STYLE, "\N{RIGHT-TO-LEFT MARK}", "a\nb\t"]
)
def test_what_may_stand_in_a_content_can_be_searched_for(text: str) -> None:
    assert is_storable(text)


@pytest.mark.parametrize("text", ["a\x00b", "\r\n", "\ud83d", "\x7f", "\uffff"])
def test_what_may_not_finds_nothing(text: str) -> None:
    assert not is_storable(text)


def test_plain_contents_load_no_tables() -> None:
    program = """
import sys
from portal.contents import check_content
check_content("Grüße, 営業時間, میخواهم")
print("regex" in sys.modules)
check_content("\\N{WOMAN}\\N{ZERO WIDTH JOINER}\\N{PERSONAL COMPUTER}")
print("regex" in sys.modules)
"""
    command = [sys.executable, "-X", "utf8", "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False", "True"]
