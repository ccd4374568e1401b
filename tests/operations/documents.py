"""What stands in a document: its blocks, each with the section that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SETTING = re.compile(r"^\| `(?P<name>PORTAL_\w+)` \| (?P<default>[^|]+) \|", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    section: str
    language: str
    code: str


def blocks_of(document: str) -> Iterator[Block]:
    """Go through the fenced blocks of a document."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        # A comment in a block looks like a heading; so only what is outside of blocks counts.
        before = FENCE.sub("", text[: fence.start()])
        sections = HEADING.findall(before)
        yield Block(sections[-1], fence["language"], fence["code"])


def settings_of(document: str) -> dict[str, str]:
    """Return the defaults that a document's table of settings tells, by variable."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return {row["name"]: row["default"].strip() for row in SETTING.finditer(text)}
