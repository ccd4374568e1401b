"""Contents: what a memory may say, and what a search or a reason may hold.

A content is refused or stored as it is, never mended: the person who reads it, the administrator who
confirms it and the model that recalls it must all get the same text, with nothing in it that one of
them cannot see. That costs a few legitimate texts: the flags of England, Scotland and Wales (made of tag
characters), variants of Han characters and the selectors of Mongolian.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from portal.errors import InvalidContent, InvalidInput

if TYPE_CHECKING:
    import regex

MAX_CONTENT_LENGTH = 2000
"""Code points of a content, counted with every line break as one."""

MAX_CONTENT_LINES = 40
"""Lines of a content; a line break at its end begins another line."""

MAX_REASON_LENGTH = 500
"""Code points of the reason for a decision."""

_MAX_MARKS_IN_A_ROW = 4
_LINE_BREAKS = "\n\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}"

# Ranges of a character class, refused wherever they stand.
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # all but tab and line feed
_REFUSED = "".join(
    (
        _CONTROLS,
        r"\xad\u034f\u17b4\u17b5\u180e\u200b\u2060-\u206f\ufeff",  # drawn as nothing
        r"\u115f\u1160\u3164\uffa0",  # Hangul fillers
        r"\u202a-\u202e",  # bidirectional embeddings and overrides; the isolates are in U+2060 to 206F
        r"\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a",  # controls of annotations and scores
        r"\u180b-\u180d\u180f\ufe00-\ufe0d",  # variation selectors but two
        # Tags, the other variation selectors, and what Unicode reserves for more that is drawn as nothing.
        r"\ufff0-\ufff8\U000e0000-\U000e0fff",
        r"\ud800-\udfff",  # halves of surrogate pairs, which no database stores
        r"\ue000-\uf8ff\U000f0000-\U0010ffff",  # private use, and the noncharacters among it
        r"\ufdd0-\ufdef",  # noncharacters, with the last two of each plane
        *(rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(15)),
    )
)
# Refused depending on what stands before them.
_VARIATION_SELECTORS = "\ufe0e\ufe0f"
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"

_UNSTORABLE = re.compile(f"[{_REFUSED}]")
_SUSPICIOUS = re.compile(f"[{_REFUSED}{_VARIATION_SELECTORS}{_JOINERS}]")
# Most contents are ASCII, and a class of few ranges is searched ten times as fast.
_SUSPICIOUS_IN_ASCII = re.compile(f"[{_CONTROLS}]")

# Non-spacing marks are neither words nor space to `re`: this finds every pile of them, and little else.
_MARKS_PERHAPS = re.compile(rf"[^\w\s\x00-\x7f]{{{_MAX_MARKS_IN_A_ROW + 1},}}")

# White space is drawn as nothing, and so are direction marks, joiners and selectors, the empty Braille
# pattern, the controls and blanks of hieroglyphs and Khitan, and a note without a head.
_BLANK = r"\s\u061c\u200c-\u200f\u2800\ufe0e\ufe0f" + r"\U00013430-\U00013442\U00016fe4\U0001d159"
_VISIBLE = re.compile(f"[^{_BLANK}]")


def check_content(text: object) -> str:
    r"""Return the content to store: the text with `\r\n` and `\r` as `\n`, otherwise unchanged.

    ``text`` is what a model or a person wants remembered. It may be anything, because it comes from
    outside; of a subclass of `str` only the characters count, not its methods.

    Raises `InvalidContent` with the code ``"content_too_long"`` where the text, after that change, has
    more than 2,000 code points or 40 lines, and ``"invalid_content"`` where it is no text, blank, or
    holds a character that is not stored. The problem then names the code point as U+XXXX and its
    position, counted from 1 in code points of the text after that change.
    """
    content = _accept(text, MAX_CONTENT_LENGTH)
    if not _VISIBLE.search(content):
        raise InvalidContent("Give a text that can be seen; this one is blank.")
    return content


def check_reason(text: object) -> str:
    """Return the reason to store with a decision: the text as for a content, or "" where it is blank.

    ``text`` is what the administrator wrote, at most 500 code points and 40 lines.

    Raises `InvalidInput` for the field ``reason`` where `check_content` would refuse, except that a
    reason may be blank.
    """
    try:
        reason = _accept(text, MAX_REASON_LENGTH)
    except InvalidContent as refusal:
        raise InvalidInput("reason", refusal.problem) from None
    return reason if _VISIBLE.search(reason) else ""


def is_storable(text: str) -> bool:
    r"""Tell whether a text could stand in something stored.

    It could not where it holds a character that contents never hold, such as NUL, `\r` or half of a
    surrogate pair. Databases differ in what they do with those, so a search for them must not reach one.
    """
    return not _UNSTORABLE.search(text)


def _accept(text: object, max_length: int) -> str:
    try:
        plain = str.__str__(text)
    except TypeError:
        raise InvalidContent("Give a text.") from None
    content = plain.replace("\r\n", "\n").replace("\r", "\n")
    if len(content) <= max_length and content.isascii() and content.isprintable():
        # Most are one line of ASCII, which is all stored.
        return content
    if len(content) > max_length:
        raise _too_long(f"{max_length:,} characters; this has {len(content):,}")
    lines = 1 + sum(map(content.count, _LINE_BREAKS))
    if lines > MAX_CONTENT_LINES:
        raise _too_long(f"{MAX_CONTENT_LINES} lines; this has {lines:,}")
    _check_characters(content)
    if not content.isascii():
        _check_marks(content)
    return content


def _too_long(limit: str) -> InvalidContent:
    return InvalidContent(f"Shorten the text to at most {limit}.", code="content_too_long")


def _check_characters(content: str) -> None:
    suspicious = _SUSPICIOUS_IN_ASCII if content.isascii() else _SUSPICIOUS
    for found in suspicious.finditer(content):
        character, position = found[0], found.start()
        if character in _VARIATION_SELECTORS:
            allowed = _follows(content, position, "LNPS")
        else:
            allowed = character in _JOINERS and _follows(content, position, "LM")
        if not allowed:
            raise _refusal(content, position, "this character is not stored here")


def _follows(content: str, position: int, kinds: str) -> bool:
    """Tell whether an emoji, or a character of one of the general categories, stands before a position."""
    before = content[position - 1 : position]
    return before != "" and (unicodedata.category(before)[0] in kinds or _emoji().match(before) is not None)


@cache
def _emoji() -> regex.Pattern[str]:
    # Loaded here because hardly any content needs it: Python's own tables do not know emoji.
    import regex  # noqa: PLC0415

    return regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Presentation}]")


def _check_marks(content: str) -> None:
    for run in _MARKS_PERHAPS.finditer(content):
        marks = 0
        for position in range(*run.span()):
            marks = marks + 1 if unicodedata.category(content[position]) == "Mn" else 0
            if marks > _MAX_MARKS_IN_A_ROW:
                raise _refusal(content, position, "too many marks on one character")


def _refusal(content: str, position: int, reason: str) -> InvalidContent:
    code_point = ord(content[position])
    return InvalidContent(f"Leave out U+{code_point:04X} at position {position + 1}: {reason}.")
