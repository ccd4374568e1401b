"""JSON as language models write it, made such that every reader of JSON can read it.

Agent frameworks read a call's arguments before any tool is asked, and some end the run over text that JSON
can spell and UTF-8 cannot, or over brackets without end. A tool refuses both; this lets them get there.
"""

from __future__ import annotations

import json
import re

MAX_LEVELS = 50
"""Lists and objects within each other. Every reader goes this deep; no tool of ours wants more than one."""

_HALVES = re.compile(
    r"""\\u d[89ab][0-9a-f]{2} \\u d[c-f][0-9a-f]{2}
    | \\u (?P<escaped> d[89a-f][0-9a-f]{2})
    | \\.
    | (?P<bare> [\ud800-\udfff])""",
    re.IGNORECASE | re.VERBOSE,
)
_PRIVATE_USE = 0x100000


def spell_out_halves(text: str) -> str:
    """Put a character for private use in place of each half of a surrogate pair, bare or escaped.

    No text can hold such a half. What is put in its place is refused in a key or a content as the half would
    be, where leaving it out would mend what somebody else wrote.
    """
    return _HALVES.sub(_spell_out_half, text)


def legible(arguments: str) -> str:
    """Return a call's arguments as JSON that every reader can read.

    What is readable stays as it is, and so does blank text, which stands for no arguments. What is no JSON,
    or has more than :data:`MAX_LEVELS`, becomes a JSON string of the same text, which every tool refuses.
    """
    text = spell_out_halves(arguments)
    if not text.strip():
        return text
    try:
        is_readable = _has_levels(json.loads(text), at_most=MAX_LEVELS)
    except (ValueError, RecursionError):
        is_readable = False
    return text if is_readable else json.dumps(text)


def _has_levels(value: object, *, at_most: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return parts is None or (at_most > 0 and all(_has_levels(part, at_most=at_most - 1) for part in parts))


def _spell_out_half(found: re.Match[str]) -> str:
    if found["escaped"]:
        return chr(_PRIVATE_USE + int(found["escaped"], 16))
    return chr(_PRIVATE_USE + ord(found["bare"])) if found["bare"] else found[0]
