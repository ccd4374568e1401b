from __future__ import annotations

import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from portal.errors import InvalidKey
from portal.keys import canonical_key
from tests.corpus_inputs import NOT_TEXT, BadInput, EvilText, bad_inputs, cases

# What the corpus's keys become, by entry; whatever is not named here is refused. The corpus leaves it
# open whether keys that look reserved (K10) are taken.
CANONICAL = {entry.id: "office_hours" for entry in bad_inputs("key", "K6")} | {
    "K7-080": "0ffice_hours",
    "K7-081": "off1ce_hours",
    "K7-082": "offlce_hours",
    "K7-083": "0ff1ce_h0urs",
    "K9-116": "préférences",
    "K9-117": "предпочтения",
    "K9-118": "営業時間",
    "K9-120": "strasse",
    "K10-123": "admin",
    "K10-125": "constructor",
    "K10-128": "true",
    "K10-131": "nan",
    "K10-133": "id",
    "K10-134": "con",
}


def canonical_or_none(text: object) -> str | None:
    try:
        return canonical_key(text)
    except InvalidKey:
        return None


def accepted(text: str) -> str:
    """Return the key of a text that Hypothesis made, or have it make another."""
    key = canonical_or_none(text)
    if key is None:
        reject()
    return key


def problem(text: object) -> str:
    with pytest.raises(InvalidKey) as caught:
        canonical_key(text)
    return caught.value.problem


@pytest.mark.parametrize("entry", cases("key"))
def test_a_key_of_the_corpus_is_folded_or_refused(entry: BadInput) -> None:
    assert canonical_or_none(entry.value) == CANONICAL.get(entry.id)


def test_the_corpus_expects_the_same() -> None:
    decided = [entry for entry in bad_inputs("key") if entry.category != "K10"]
    assert {entry.id for entry in decided if not entry.is_refused} == CANONICAL.keys() - {
        entry.id for entry in bad_inputs("key", "K10")
    }


# Step 1: what may be passed in.


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in NOT_TEXT.items()])
def test_what_is_no_text_is_refused(value: object) -> None:
    assert problem(value) == "Write the key as text, for example preferred_language."


def test_every_type_of_the_corpus_is_tried() -> None:
    described = {entry.value for entry in bad_inputs("key/content")}
    assert described - NOT_TEXT.keys() == {"str subclass with evil __str__", "missing argument"}


@pytest.mark.parametrize("text", ["Office Hours", "office_hours"])
def test_of_a_subclass_only_the_characters_count(text: str) -> None:
    key = canonical_key(EvilText(text))
    assert (type(key), key) == (str, "office_hours")


def test_128_code_points_may_be_passed_in_and_64_remain() -> None:
    assert canonical_key("a" * 32 + "-" * 65 + "b" * 31) == "a" * 32 + "_" + "b" * 31
    assert problem("a" + " " * 127 + "b") == "Use a shorter key: at most 64 characters."


@pytest.mark.parametrize("letter", ["a", "A", "é", "я"])
def test_64_code_points_fit_and_65_do_not(letter: str) -> None:
    assert canonical_key(letter * 64) == letter.lower() * 64
    assert problem(letter * 65) == "Use a shorter key: at most 64 characters."


INVISIBLE_RANGES = [
    *[(point, point) for point in (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)],
    *[(point, point) for point in (0x13441, 0x13442, 0x16FE4)],
    (0x180B, 0x180D),
    (0x180F, 0x180F),
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
]


def test_every_invisible_letter_mark_and_symbol_is_refused_as_such() -> None:
    points = [point for first, last in INVISIBLE_RANGES for point in range(first, last + 1)]
    assert {problem(f"a{chr(point)}") for point in points} == {
        "Write the key without control, invisible or unassigned characters."
    }


@example("\x00", "a")
@example("\x7f", "a")
@example("\u200b", "a")
@example("\U000e0041", "a")
@example("\ud83d", "a")
@example("\udfff", "a")
@example("\ue000", "a")
@example("\U0010fffd", "a")
@example("\u0378", "a")
@example("\U0010ffff", "a")
@example("\u2028", "a")
@example("\u2029", "a")
@given(st.characters(categories=["Cc", "Cf", "Co", "Cn"]), st.sampled_from("a ("))
def test_control_format_surrogate_private_unassigned_and_line_characters_are_refused(
    character: str, before: str
) -> None:
    assert problem(before + character) == "Write the key without control, invisible or unassigned characters."


# Steps 2 and 3: folding and separators.

FOLDED = {
    "Preferred Language": "preferred_language",
    "preferred-language": "preferred_language",
    "PREFERRED_LANGUAGE": "preferred_language",
    "a _-.:/ b": "a_b",
    "  a  ": "a",
    "\N{NO-BREAK SPACE}a\N{OGHAM SPACE MARK}b\N{EM SPACE}": "a_b",
    "a\N{FULLWIDTH SOLIDUS}b\N{FULLWIDTH COLON}c\N{FULLWIDTH FULL STOP}d": "a_b_c_d",
    "a\N{FULLWIDTH LOW LINE}\N{FULLWIDTH HYPHEN-MINUS}b": "a_b",
    "a\N{HORIZONTAL ELLIPSIS}b": "a_b",
    "\N{ACCOUNT OF}": "a_c",
    "\N{LATIN CAPITAL LETTER SHARP S}": "ss",
    "\N{LATIN SMALL LIGATURE FFI}": "ffi",
    "\N{LATIN SMALL LETTER LONG S}": "s",
    "\N{KELVIN SIGN}": "k",
    "x\N{SUPERSCRIPT TWO}": "x2",
    "\N{ROMAN NUMERAL EIGHT}": "viii",
    "\N{CIRCLED DIGIT SEVEN}": "7",
    "\N{MATHEMATICAL BOLD DIGIT FOUR}": "4",
    "e\N{COMBINING ACUTE ACCENT}": "é",
    "J\N{COMBINING CARON}": "\N{LATIN SMALL LETTER J WITH CARON}",
    # Without a locale the dot stays, so that two spellings of one Turkish word may be two keys.
    "\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}l": "i\N{COMBINING DOT ABOVE}l",
    "KATI": "kati",
    "kat\N{LATIN SMALL LETTER DOTLESS I}": "kat\N{LATIN SMALL LETTER DOTLESS I}",
    "ΛΌΓΟΣ": "λόγοσ",
    "λόγος": "λόγοσ",
    "\N{GREEK SMALL LETTER OMEGA WITH YPOGEGRAMMENI}δή": "ωιδή",
    "δ\N{COMBINING GREEK YPOGEGRAMMENI}": "δι",
    "\N{HALFWIDTH KATAKANA LETTER KA}\N{HALFWIDTH KATAKANA VOICED SOUND MARK}": "ガ",
    "\N{CHEROKEE SMALL LETTER TSA}\N{CHEROKEE SMALL LETTER LA}": (
        "\N{CHEROKEE LETTER TSA}\N{CHEROKEE LETTER LA}"
    ),
    "\N{HANGUL CHOSEONG KIYEOK}\N{HANGUL JUNGSEONG A}": "가",
}


@pytest.mark.parametrize(("text", "key"), FOLDED.items())
def test_case_width_and_separators_make_no_difference(text: str, key: str) -> None:
    assert canonical_key(text) == key


@pytest.mark.parametrize("separator", "_-.:/")
@pytest.mark.parametrize("place", ["{}a", "a{}", " {}a", "a{} ", "{} a", "a {}", "{}"])
def test_a_separator_other_than_a_space_stands_at_no_edge(separator: str, place: str) -> None:
    assert problem(place.format(separator)) == "Begin and end the key with a letter or digit."


@pytest.mark.parametrize(
    "text", ["../x", "\N{FULLWIDTH SOLIDUS}x", "x\N{HORIZONTAL ELLIPSIS}", "x\N{DIGIT ONE FULL STOP}"]
)
def test_nor_does_one_that_appears_by_folding(text: str) -> None:
    assert problem(text) == "Begin and end the key with a letter or digit."


@pytest.mark.parametrize("text", ["", " ", "\N{IDEOGRAPHIC SPACE}\N{OGHAM SPACE MARK}"])
def test_an_empty_key_is_refused(text: str) -> None:
    assert problem(text) == "Give the key a name, for example preferred_language."


# Step 4: letters, digits and marks.


@pytest.mark.parametrize("character", "!\"#$%&'()*+,;<=>?@[\\]^`{|}~")
def test_ascii_punctuation_is_refused(character: str) -> None:
    assert problem(f"a{character}b") == "Use only letters, digits and _ in the key."


@pytest.mark.parametrize(
    "character",
    [
        "\N{EN DASH}",
        "\N{NON-BREAKING HYPHEN}",
        "\N{UNDERTIE}",
        "\N{MIDDLE DOT}",
        "\N{EURO SIGN}",
        "\N{GRINNING FACE}",
        "\N{RUNIC ARLAUG SYMBOL}",
        "\N{VULGAR FRACTION ONE HALF}",
        "\N{IDEOGRAPHIC NUMBER ZERO}",  # beside Latin letters it would be read as an o
        "\N{RIGHT SINGLE QUOTATION MARK}",
        "\N{IDEOGRAPHIC FULL STOP}",
    ],
)
def test_other_punctuation_symbols_and_numbers_are_refused(character: str) -> None:
    assert problem(f"a{character}b") == "Use only letters, digits and _ in the key."


ACUTE, CIRCLE, VOWEL_AA = (
    "\N{COMBINING ACUTE ACCENT}",
    "\N{COMBINING ENCLOSING CIRCLE}",
    "\N{DEVANAGARI VOWEL SIGN AA}",
)
KA, ANUDATTA = "\N{DEVANAGARI LETTER KA}", "\N{DEVANAGARI STRESS SIGN ANUDATTA}"


@pytest.mark.parametrize(
    "text", [ACUTE, f"{ACUTE}a", f"1{ACUTE}", f"a_{ACUTE}", f"a {ACUTE}b", "\N{DIAERESIS}a"]
)
def test_a_mark_stands_only_after_a_letter(text: str) -> None:
    assert problem(text) == "Put marks and accents in the key only after letters, at most three in a row."


@pytest.mark.parametrize(
    "text",
    [
        "q" + 3 * ACUTE,
        f"q{ACUTE}{CIRCLE}{ACUTE}",
        KA + 3 * ANUDATTA + VOWEL_AA + 3 * ANUDATTA,
        KA + 5 * VOWEL_AA,
    ],
)
def test_three_marks_in_a_row_that_take_no_space_are_kept(text: str) -> None:
    assert canonical_key(text) == text


@pytest.mark.parametrize(
    "text", ["q" + 4 * ACUTE, f"q{ACUTE}{CIRCLE}{ACUTE}{CIRCLE}", KA + VOWEL_AA + 4 * ANUDATTA]
)
def test_a_fourth_is_refused(text: str) -> None:
    assert problem(text) == "Put marks and accents in the key only after letters, at most three in a row."


# Step 5: scripts.


@pytest.mark.parametrize(
    "key",
    [
        "تفضيلات_اللغة",
        "خواهش_۲۴",
        "٢٠٢٦",
        "שעות_פעילות",
        "γλώσσα",
        "пам\N{MODIFIER LETTER APOSTROPHE}ять",
        "o\N{MODIFIER LETTER TURNED COMMA}zbek",
        "նախապատվություն",
        "पसंदीदा_भाषा_१२",
        "ভাষা",
        "மொழி",
        "తెలుగు",
        "ภาษาที่ต้องการ",
        "བོད_སྐད",
        "ភាសាខ្មែរ",
        "မြန်မာ",
        "ქართული",
        "አማርኛ",
        "tiếng_việt",
        "ẹ̀kọ́",
        "стол\N{COMBINING RING ABOVE}",
        "カレンダー設定",
        "ひらがなとカタカナ",
        "google_カレンダー",
        "wifi密碼",
        "二零二六年",
        "注音ㄓㄨ",
        "한국어_설정",
        "韓國어_wifi",
    ],
)
def test_words_of_many_scripts_are_keys_as_they_are(key: str) -> None:
    assert canonical_key(key) == key


@pytest.mark.parametrize(
    "text",
    [
        "предпочтение_language",
        "office_предпочтение",
        "προτιμήσεις_языка",
        "한국어_ひらがな",
        "ㄓ_ひらがな",
        "ㄓ_한국어",
        "язык_設定",
        "price_٣",
        "язык_٣",
        "पसंद_۳",
        "q\N{DEVANAGARI VOWEL SIGN AA}",
        "q\N{ARABIC FATHATAN}",
        "язы\N{KATAKANA-HIRAGANA PROLONGED SOUND MARK}к",
    ],
)
def test_scripts_and_their_digits_and_marks_do_not_mix(text: str) -> None:
    assert problem(text) == "Write the key in one script, without mixing alphabets or their digits."


LOOK_ALIKES = [
    "\u0455\u0441\u043e\u0440\u0435",  # Cyrillic, like "scope"
    "\u0421\u0410\u0425\u0410\u0420",  # "sugar" in Russian, a real word, in capitals
    "\u0455\u0441\u043e\u0440\u0435_1",
    "\u0440\u0430\u0301\u0443",  # a mark does not make another letter of it
    "\u03bf\u03c1\u03b1",  # Greek, like "opa"
    "\u0585\u057d\u0578",  # Armenian, like "oun"
    "\u13aa\u13df",  # Cherokee, like "GO"
    "\u05e1\u05d5\u05e1",  # "horse" in Hebrew
    "\u0627\u0647",  # Arabic, like "lo"
    "\N{AHOM LETTER KA}",  # like "rn", which is how Unicode sees "m"
]


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_a_word_that_could_be_read_as_latin_is_refused(text: str) -> None:
    assert problem(text) == "Choose another word for the key: each of its letters looks like a Latin letter."


@pytest.mark.parametrize(
    "key",
    [
        "сахарный",  # one letter tells it from Latin
        "ιδέα",
        "s\N{LATIN SMALL LETTER DOTLESS I}n\N{LATIN SMALL LETTER DOTLESS I}r",  # another letter, but Latin
        "\N{LATIN SMALL LETTER ALPHA}",
        "०१",  # no letter at all
    ],
)
def test_other_words_with_look_alikes_are_keys(key: str) -> None:
    assert canonical_key(key) == key


# What holds for every key.

LATIN_IN_ALL_FORMS = "aZ09_-.:/ \xa0éÉßẞKİǰŉﬁ\u0131\u017f\u0300\u0307\u030c\u0323\u0331\u0345"
GREEK_IN_ALL_FORMS = "αάΑΆςσΣΐΰᾳᾼᾴῷͺ\u0384῁ \u0301\u0308\u0313\u0342\u0345"
BLOCKS_OF_SCRIPTS = [
    (0x00C0, 0x0370),
    (0x0370, 0x0400),
    (0x0400, 0x0530),
    (0x0590, 0x0700),
    (0x0900, 0x0980),
    (0x0E00, 0x0E80),
    (0x1100, 0x1200),
    (0x13A0, 0x13FE),
    (0x1E00, 0x2000),
    (0x2100, 0x2190),
    (0x3040, 0x3100),
    (0xA640, 0xA6A0),
    (0xFB1D, 0xFDFC),
    (0xFE70, 0xFFDD),
    (0x1D400, 0x1D800),
]
WORDS = st.one_of(
    st.text(st.sampled_from(LATIN_IN_ALL_FORMS), min_size=1, max_size=6),
    st.text(st.sampled_from(GREEK_IN_ALL_FORMS), min_size=1, max_size=6),
    *(
        st.text(
            st.characters(min_codepoint=first, max_codepoint=last, categories=["L", "M", "Nd"]), max_size=5
        )
        for first, last in BLOCKS_OF_SCRIPTS
    ),
)


@settings(max_examples=1000)
@given(WORDS)
@example("\N{GREEK SMALL LETTER IOTA WITH DIALYTIKA AND TONOS}")
@example("\N{LATIN SMALL LETTER J WITH CARON}\N{COMBINING DOT BELOW}")
@example("\N{GREEK SMALL LETTER ALPHA WITH YPOGEGRAMMENI}\N{COMBINING ACUTE ACCENT}")
@example("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}\N{COMBINING DOT BELOW}")
@example("\N{GREEK YPOGEGRAMMENI}")
@example("\N{DIAERESIS}")
@example("\N{LATIN SMALL LETTER N PRECEDED BY APOSTROPHE}")
def test_a_canonical_key_gives_itself(text: str) -> None:
    key = accepted(text)
    assert canonical_or_none(key) == key


@settings(max_examples=300)
@given(WORDS)
def test_a_canonical_key_has_its_shape(text: str) -> None:
    key = accepted(text)
    assert re.fullmatch(r"[^\W_](?:_?[^_])*", key)
    assert 1 <= len(key) <= 64
    assert {unicodedata.category(each)[0] for each in key.replace("_", "")} <= set("LMN")


def test_every_character_that_is_a_key_gives_a_key_that_gives_itself() -> None:
    # Han characters and Hangul syllables, which have no case, would take their time.
    points = [*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x1F000)]
    keys = {key for point in points if (key := canonical_or_none(chr(point)))}
    assert {key for key in keys if canonical_or_none(key) != key} == set()


@given(st.text(st.sampled_from("abyz019 _-.:/"), min_size=1, max_size=64))
def test_case_and_the_choice_and_number_of_separators_never_matter(text: str) -> None:
    key = accepted(text)
    assert canonical_key(text.upper()) == key
    assert canonical_key(re.sub("[ _.:/-]", "- ", text.strip())) == key


@given(st.text("qxz", min_size=3, max_size=200))
def test_a_refusal_repeats_nothing_of_the_text(text: str) -> None:
    with pytest.raises(InvalidKey) as caught:
        canonical_key(f"({text}")
    assert text not in str(caught.value)


def test_ascii_keys_load_no_tables() -> None:
    program = """
import sys
from portal.keys import canonical_key
canonical_key("Preferred Language")
print([name for name in ("regex", "confusable_homoglyphs") if name in sys.modules])
canonical_key("язык")
print([name for name in ("regex", "confusable_homoglyphs") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "['regex', 'confusable_homoglyphs']"]
