"""What a reviewer should look at twice: pure functions of the text and of what is known about its key.

Hints are never verdicts. They miss what they do not know and point at what is harmless; nothing is
refused, sorted or hidden because of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Hint(StrEnum):
    """What a hint says, in the words that a reviewer reads."""

    CHANGED = "Text changed"
    REJECTED_BEFORE = "Rejected before"
    INSTRUCTION = "Reads like an instruction"
    LINK = "Contains a link"
    SECRET = "Looks like a secret"  # noqa: S105 - the words on the page
    DIRECTION_MARKS = "Hidden direction marks"
    JOINING_MARKS = "Hidden joining marks"
    LOOK_ALIKE = "Looks like another confirmed key"


@dataclass(frozen=True)
class Piece:
    """A part of a text: something to read, or one invisible mark with its name."""

    text: str
    mark: str = ""
    """The name of the invisible mark that ``text`` is, empty for what can be read."""


# As rare as they are in what people write, the rarest first.
_RAREST_FIRST = "`<]:/0123456789_-.zqxjkvbpygfwmucldrhsnioate' "


def _by_rarest_character(*words: str) -> Mapping[str, Sequence[str]]:
    """Return words by the rarest of their characters: a text without that one has none of them.

    Looking for one character is thirty times as fast as looking for a word.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        found[min(word, key=_RAREST_FIRST.index)].append(word)
    return dict(found)


# Who speaks to the model rather than about the account. Each is a shape that injected texts were seen to
# have: they address the reader, claim a role, close a fence, or order what every answer must hold.
INSTRUCTIONS = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override|bypass)\b .{0,40}
        \b(?:instructions?|rules?|prompts?|polic(?:y|ies)|everything|above|previous|guidelines?)\b
    | \b(?:ignorier|missacht|vergiss|vergesst) \w* .{0,40} \b(?:anweisung|regel|vorgabe|bisherig|vorherig)
    | \b(?:ignore[sz]?|oublie[sz]?|ignora|ignorar|olvida) \b .{0,40} \b(?:instruc|consignes|règles|reglas)
    | \b(?:you\ are\ now|from\ now\ on|act\ as|pretend\ (?:to|you)|developer\ mode|system\ prompt)\b
    | \b(?:always|never)\b .{0,30}
        \b(?:answer|reply|respond|say|tell|reveal|mention|end|include|approve|need|ask|call|use|send)
    | \b(?:do\ not|don't|must|please)\ (?:ever\ )?(?:answer|reply|respond|tell|reveal|mention|follow|obey)\b
    | \b(?:call|invoke|run|execute)\b .{0,20} \b(?:tool|function|command|forget|remember|delete)\b
    | (?:^|\n|>) \s* (?:system|assistant|human|user|developer|tool) \s* :
    | </?(?:system|assistant|user|human|memory|memories|instructions?|tool_?\w*|prompt|data)\b [^>]* >
    | <\| | \[/?inst\] | <<<? \s* (?:end|begin|sys) | "role"\s*: | ^\s*```
    | \b(?:approved|confirmed|verified)\b .{0,20} \bby\b .{0,20} \badmin
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)

# Each pattern can match only where one of its words stands. Looking for words is thirty times as fast as the
# pattern, and most texts have none.
_INSTRUCTION_WORDS = _by_rarest_character(
    *("ignor", "disregard", "forget", "override", "bypass", "missacht", "vergiss", "vergesst", "oublie"),
    *("olvida", "you are now", "from now on", "act as", "pretend", "developer", "system", "always", "never"),
    *("do not", "don't", "must", "please", "tool", "function", "command", "remember", "delete", "assistant"),
    *("human", "user", "<", "inst]", "role", "```", "approved", "confirmed", "verified"),
)
_SECRET_WORDS = _by_rarest_character(
    *("-----begin", "eyj", "sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    *("github_pat_", "glpat-", "xox", "aiza", "ya29.", "npm_", "pypi-", "akia", "asia", "password", "passwd"),
    *("passphrase", "passwort", "de passe", "kennwort", "contrase", "secret", "pin", "bearer"),
    *("apikey", "api key", "api_key", "api-key", "accesstoken", "access token", "access_token"),
    "access-token",
)
_LINK_WORDS = _by_rarest_character(
    *("://", "www.", "mailto:", "tel:", "javascript:", "data:", ".com", ".org", ".net", ".io", ".dev"),
    *(".app", ".ai", ".co", ".eu", ".de", ".fr", ".uk", ".ch", ".at", ".it", ".es", ".nl", ".ru", ".cn"),
    *(".jp", ".info", ".biz"),
)

LINK = re.compile(
    r"""
    \b[a-z][a-z0-9+.-]{1,20}:// \S
    | \bwww\.\w
    | \b(?:mailto|tel|javascript|data): \S
    | (?<![\w@.-]) (?:[a-z0-9-]+\.)+
        (?:com|org|net|io|dev|app|ai|co|eu|de|fr|uk|ch|at|it|es|nl|ru|cn|jp|info|biz)
        (?:/\S*|\b(?!\.?\w|@))
    """,
    re.IGNORECASE | re.VERBOSE,
)

SECRET = re.compile(
    r"""
    -----BEGIN\ [A-Z\ ]*(?:KEY|CERTIFICATE)
    | \beyJ[\w-]{8,}\.[\w-]*\.
    | \b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?\w{12,}
    | \b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AIza|ya29\.|npm_|pypi-)[\w-]{10,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | (?i:\b(?:password|passwd|passphrase|passwort|kennwort|contraseña|mot\ de\ passe|secret|api[\ _-]?key
        |access[\ _-]?token|pin(?:\ code)?|client[\ _-]?secret)\b \s*(?:is|ist|es|est|=|:)\s* \S{3,})
    | (?i:\bbearer\s+[\w.~+/-]{8,})
    """,
    re.VERBOSE,
)
IDENTITY_NUMBER = re.compile(r"\b\d{3}-\d{2}-\d{4}\b")
IDENTITY_DIGITS = 9
CARD_DIGITS = 13
CARD_NUMBER = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")
MIN_OF_EACH_KIND = 3
LONG_WORD_LENGTH = 24
LONG_WORD = re.compile(rf"[A-Za-z0-9+/_=-]{{{LONG_WORD_LENGTH},}}")

_DIGIT = re.compile(r"\d")
_ASCII_DIGITS = "0123456789"

_DIRECTION_MARKS = "\u200e\u200f\u061c"
_JOINERS = "\u200c\u200d"
_MARKS = re.compile(f"[{_DIRECTION_MARKS}{_JOINERS}]")
_EUROPEAN = re.compile(r"[A-Za-z0-9\u00c0-\u024f\u0370-\u052f]")

# Shapes that are read for one another in ordinary type.
_LOOK_ALIKES = (
    ("rn", "m"),
    ("vv", "w"),
    ("0", "o"),
    ("1", "l"),
    ("i", "l"),
    ("5", "s"),
    ("8", "b"),
    ("_", ""),
)


class LookAlikes:
    """The confirmed keys of a definition, found by what else can be read for them.

    :param keys: canonical keys.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: defaultdict[str, list[str]] = defaultdict(list)
        for key in keys:
            self._keys[_skeleton(key)].append(key)

    def find(self, memory_key: str) -> str | None:
        """Return one that is another key but can be read for this one, or None."""
        read_alike = self._keys.get(_skeleton(memory_key), ())
        return next((other for other in read_alike if other != memory_key), None)


def hints_for(
    content: str, *, times_changed: int = 0, was_rejected: bool = False, look_alike: str | None = None
) -> Sequence[Hint]:
    """Return the hints for a proposal, in the order in which they are shown.

    :param times_changed: how often its text was changed while it waited.
    :param was_rejected: whether a fact was rejected under its key.
    :param look_alike: another confirmed key that can be read for its key, see :class:`LookAlikes`.
    """
    hints = list(hints_of_text(content))
    if was_rejected:
        hints.insert(0, Hint.REJECTED_BEFORE)
    if times_changed:
        hints.insert(0, Hint.CHANGED)
    if look_alike is not None:
        hints.append(Hint.LOOK_ALIKE)
    return hints


# Whoever reviews sees most texts of a page again after each decision.
@lru_cache(maxsize=1_024)
def hints_of_text(text: str) -> tuple[Hint, ...]:
    """Return the hints that a text gives by itself."""
    marks = {piece.text for piece in show_marks(text) if piece.mark} if has_marks(text) else frozenset()
    found = (
        (Hint.INSTRUCTION, reads_like_instruction(text)),
        (Hint.LINK, contains_link(text)),
        (Hint.SECRET, looks_like_secret(text)),
        (Hint.DIRECTION_MARKS, not marks.isdisjoint(_DIRECTION_MARKS)),
        (Hint.JOINING_MARKS, not marks.isdisjoint(_JOINERS)),
    )
    return tuple(hint for hint, is_found in found if is_found)


def reads_like_instruction(text: str) -> bool:
    """Whether a text speaks to the agent that will read it, rather than of the account."""
    plain = unicodedata.normalize("NFKC", text)
    return _has_word(plain, _INSTRUCTION_WORDS) and INSTRUCTIONS.search(plain) is not None


def contains_link(text: str) -> bool:
    """Whether a text holds an address that a model or a person might follow. E-mail addresses are none."""
    return _has_word(text, _LINK_WORDS) and LINK.search(text) is not None


def looks_like_secret(text: str) -> bool:
    """Whether a text holds what looks like a key, a password, a card or an identity number."""
    if _has_word(text, _SECRET_WORDS) and SECRET.search(text) is not None:
        return True
    digits = _count_digits(text)
    return (
        (digits >= IDENTITY_DIGITS and IDENTITY_NUMBER.search(text) is not None)
        or (digits >= CARD_DIGITS and any(map(is_card_number, CARD_NUMBER.findall(text))))
        or (digits >= MIN_OF_EACH_KIND and any(map(is_random, _long_words(text))))
    )


def show_marks(text: str) -> Iterator[Piece]:
    """Split a text so that the marks which a reader cannot see stand alone, with their names.

    Joiners belong to the spelling of many scripts and to emoji; they are shown only beside Latin, Greek
    and Cyrillic letters and digits, where they do nothing but make two texts differ.
    """
    start = 0
    for match in _MARKS.finditer(text):
        character, index = match.group(), match.start()
        if character in _JOINERS and not _is_out_of_place(text, index):
            continue
        if start < index:
            yield Piece(text[start:index])
        yield Piece(character, unicodedata.name(character).lower())
        start = index + 1
    if start < len(text):
        yield Piece(text[start:])


def has_marks(text: str) -> bool:
    """Whether a text may hold a mark that a reader cannot see; for most texts the answer comes at once."""
    return not text.isascii() and any(mark in text for mark in _DIRECTION_MARKS + _JOINERS)


def _has_word(text: str, words: Mapping[str, Sequence[str]]) -> bool:
    # A pattern that ignores case takes a Turkish i for an i, and a long s for an s; `lower` does not.
    if text.isascii():
        lowered = text.lower()
    else:
        lowered = text.replace("\u0130", "i").lower().replace("\u0131", "i").replace("\u017f", "s")
    for character, with_it in words.items():
        if character in lowered:
            for word in with_it:
                if word in lowered:
                    return True
    return False


def _count_digits(text: str) -> int:
    """Count the digits of any script."""
    if text.isascii():
        return sum(map(text.count, _ASCII_DIGITS))
    return len(_DIGIT.findall(text))


def _long_words(text: str) -> list[str]:
    """Return what may be a generated key by its length and characters."""
    if max(map(len, text.split()), default=0) < LONG_WORD_LENGTH:
        return []
    return LONG_WORD.findall(text)


def _is_out_of_place(text: str, index: int) -> bool:
    neighbours = text[max(index - 1, 0) : index] + text[index + 1 : index + 2]
    return _EUROPEAN.search(neighbours) is not None


def is_card_number(text: str) -> bool:
    """Whether the digits pass the check of ISO/IEC 7812 (Luhn)."""
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [sum(divmod(digit * 2, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_random(word: str) -> bool:
    """Whether a long word mixes digits, lower and upper case, as generated keys do and names do not."""
    kinds = (str.isdigit, str.islower, str.isupper)
    return all(sum(map(kind, word)) >= MIN_OF_EACH_KIND for kind in kinds)


# A page compares each of its keys with all that are confirmed.
@lru_cache(maxsize=4_096)
def _skeleton(key: str) -> str:
    plain = "".join(
        character for character in unicodedata.normalize("NFD", key) if not unicodedata.combining(character)
    )
    for shape, same in _LOOK_ALIKES:
        plain = plain.replace(shape, same)
    return plain
