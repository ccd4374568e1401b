"""Memory keys: one canonical form, in which keys are compared, stored and shown.

A model writes `Preferred Language` today and `preferred-language` tomorrow and means one fact; a person
must be able to tell two facts apart by looking at their keys. The first asks for folding, the second
for refusing what cannot be seen or looks like something else.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from string import ascii_letters
from typing import TYPE_CHECKING

from portal.errors import InvalidKey

if TYPE_CHECKING:
    import regex

MAX_KEY_INPUT_LENGTH = 128
"""Code points of a key as it is passed in."""

MAX_KEY_LENGTH = 64
"""Code points of a key in its canonical form."""

_CANONICAL_ASCII = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_SEPARATORS = re.compile(r"[\s_.:/-]+")
_EDGE_SEPARATORS = tuple("_-.:/")

_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Nothing is drawn for these, although Unicode calls them letters, marks or symbols. The second part is
# the variation selectors.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00013441\U00013442\U00016fe4"
).union(map(chr, (*range(0x180B, 0x180E), 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))

# The shape of a key is judged on one letter for each character: L for a letter, N for a digit, n for a
# non-spacing or enclosing mark, c for a mark that takes space, _ for itself and ? for everything else.
_SHAPE = re.compile(r"(?:[N_]|L(?:n{1,3}(?!n)|c)*)+")
_ROLES = {"Nd": "N", "Mn": "n", "Me": "n", "Mc": "c"}

_SCRIPTS_WRITTEN_TOGETHER = (
    ("Latin", "Han", "Hiragana", "Katakana"),
    ("Latin", "Han", "Bopomofo"),
    ("Latin", "Han", "Hangul"),
)


def canonical_key(text: object) -> str:
    """Return the canonical form of a memory key.

    Case, width, and the choice and number of separators make no difference: `Preferred Language`,
    `preferred-language` and `PREFERRED__LANGUAGE` all give `preferred_language`. A canonical key
    gives itself.

    ``text`` is what a model, a person or a program passed as the key. It may be anything, because it
    comes from outside; what is no `str` of at most 128 code points is refused, and of a subclass of
    `str` only the characters count, not its methods.

    The answer has 1 to 64 code points: letters of one script (Japanese, Chinese and Korean in their
    usual mixtures, also with Latin), their marks, ASCII digits or the script's own, and single `_`
    between them.

    Raises `InvalidKey` for everything else, with a sentence that says what to write instead and repeats
    nothing of the text.
    """
    try:
        plain = str.__str__(text)
    except TypeError:
        raise InvalidKey("Write the key as text, for example preferred_language.") from None
    if len(plain) > MAX_KEY_INPUT_LENGTH:
        raise InvalidKey(f"Use a shorter key: at most {MAX_KEY_LENGTH} characters.")
    if len(plain) <= MAX_KEY_LENGTH and _CANONICAL_ASCII.fullmatch(plain):
        return plain
    _check_visible(plain)
    key = _join_words(_fold(plain))
    if not _CANONICAL_ASCII.fullmatch(key):
        _check_shape(key)
        _check_script(key)
    return key


def _check_visible(plain: str) -> None:
    if plain.isascii() and plain.isprintable():
        return
    if any(unicodedata.category(each) in _REFUSED_CATEGORIES or each in _INVISIBLE for each in plain):
        raise InvalidKey("Write the key without control, invisible or unassigned characters.")


def _fold(plain: str) -> str:
    # Folding the case of a normal form can leave that form (ǰ falls apart), hence the second pass.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())


def _join_words(folded: str) -> str:
    words = folded.strip()
    if words.startswith(_EDGE_SEPARATORS) or words.endswith(_EDGE_SEPARATORS):
        raise InvalidKey("Begin and end the key with a letter or digit.")
    key = _SEPARATORS.sub("_", words)
    if not key:
        raise InvalidKey("Give the key a name, for example preferred_language.")
    if len(key) > MAX_KEY_LENGTH:
        raise InvalidKey(f"Use a shorter key: at most {MAX_KEY_LENGTH} characters.")
    return key


def _check_shape(key: str) -> None:
    roles = "".join(map(_role, key))
    if "?" in roles:
        raise InvalidKey("Use only letters, digits and _ in the key.")
    if not _SHAPE.fullmatch(roles):
        raise InvalidKey("Put marks and accents in the key only after letters, at most three in a row.")


def _role(character: str) -> str:
    if character.isalpha():
        return "L"
    return "_" if character == "_" else _ROLES.get(unicodedata.category(character), "?")


def _check_script(key: str) -> None:
    if _is_written_in(key, "Latin"):
        return
    # Loaded here because few keys get this far, and the tables take a tenth of a second to load.
    from confusable_homoglyphs.categories import alias  # noqa: PLC0415

    own_scripts = ((alias(character),) for character in key)
    if not any(_is_written_in(key, *scripts) for scripts in (*_SCRIPTS_WRITTEN_TOGETHER, *own_scripts)):
        raise InvalidKey("Write the key in one script, without mixing alphabets or their digits.")
    letters = [character for character in key if character.isalpha()]
    if letters and all(letter in _ascii_look_alikes() for letter in letters):
        raise InvalidKey("Choose another word for the key: each of its letters looks like a Latin letter.")


def _is_written_in(key: str, *scripts: str) -> bool:
    return _script_pattern(scripts).fullmatch(key) is not None


@cache
def _script_pattern(scripts: tuple[str, ...]) -> regex.Pattern[str]:
    import regex  # noqa: PLC0415 - as above

    # Script extensions place what a few scripts share, such as the long vowel mark of Hiragana and
    # Katakana. Of the general diacritics they name only the best-known users, so those go with any
    # letter. Common to all scripts are ASCII digits, _ and a few letters, such as the Uzbek turned comma.
    own = "".join(rf"\p{{scx={script}}}" for script in scripts)
    return regex.compile(
        rf"[{own}\p{{scx=Common}}\p{{scx=Inherited}}\p{{Block=Combining_Diacritical_Marks}}]+"
    )


@cache
def _ascii_look_alikes() -> frozenset[str]:
    """Return the ASCII letters, and what Unicode finds confusable with one.

    The table links each character to its prototype and back, so that a look-alike is one step from an
    ASCII letter, or two where the letter has a prototype itself (`m` has `rn`).
    """
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415 - as above

    near = {link["c"] for letter in ascii_letters for link in confusables_data.get(letter, ())}
    far = {link["c"] for neighbour in near for link in confusables_data.get(neighbour, ())}
    # Unicode's file puts right-to-left characters between direction marks, and the table keeps those.
    return frozenset(found.strip("\u200e") for found in near | far)
