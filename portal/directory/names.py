"""What names, addresses and limits may be. Refused, never repaired."""

from __future__ import annotations

import re
from dataclasses import dataclass

from portal.contents import check_content, is_storable
from portal.errors import InvalidContent, InvalidInput
from portal.values import Role, Theme

MAX_NAME_CHARACTERS = 200
# https://www.rfc-editor.org/errata/eid1690 - what fits into SMTP's path.
MAX_EMAIL_CHARACTERS = 254

RESERVED_DEFINITION_NAMES = frozenset({"people"})
"""Definition names that the portal's addresses need for something else."""

_SLUG = re.compile(r"[a-z0-9-]{1,64}")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_NOT_ON_ONE_LINE = re.compile("[\t\r\n\u2028\u2029]")


@dataclass(frozen=True)
class Range:
    """The smallest and the largest value that a limit may have, and what a new definition gets."""

    lowest: int
    highest: int
    default: int


LIMITS = {
    "memory_limit": Range(0, 10_000, 100),
    "memory_characters": Range(0, 1_000_000, 20_000),
    "proposal_limit": Range(0, 10_000, 20),
    "account_fact_limit": Range(0, 10_000, 100),
    "account_fact_characters": Range(0, 1_000_000, 20_000),
}
"""Every limit of a definition. 0 means that nothing is stored at all."""


def check_name(field: str, text: str) -> str:
    """Return a name or title of 1 to 200 code points on one line.

    :raises portal.errors.InvalidInput: it is blank, too long, has several lines, or holds a character that
        no content of a memory may hold either.
    """
    _check_text(field, text)
    if _NOT_ON_ONE_LINE.search(text):
        raise InvalidInput(field, "use one line, without tabs")
    if len(text) > MAX_NAME_CHARACTERS:
        raise InvalidInput(field, f"give at most {MAX_NAME_CHARACTERS} characters")
    return text


def check_description(text: str) -> str:
    """Return a description: nothing, or what a content of a memory may be.

    :raises portal.errors.InvalidInput: (``description``) it is too long, or holds a character that does not
        belong there.
    """
    return _check_text("description", text) if text else text


def check_slug(field: str, text: str) -> str:
    """Return a name that can stand in an address.

    :raises portal.errors.InvalidInput: it is not 1 to 64 characters of a to z, 0 to 9 and ``-``.
    """
    if not is_slug(text):
        raise InvalidInput(field, "use 1 to 64 characters of a to z, 0 to 9 and -")
    return text


def is_slug(text: str) -> bool:
    """Tell whether something could be stored under this name at all."""
    return _SLUG.fullmatch(text) is not None


def check_definition_name(text: str) -> str:
    """Return the name of an agent definition.

    :raises portal.errors.InvalidInput: (``name``) it is no slug, or reserved.
    """
    if text in RESERVED_DEFINITION_NAMES:
        raise InvalidInput("name", "this name is reserved for the portal's own pages")
    return check_slug("name", text)


def check_email(text: str) -> str:
    """Return an e-mail address that could be one; whether mail arrives there is not for us to know.

    :raises portal.errors.InvalidInput: (``email``) it could not be one.
    """
    if email_key(text) is None:
        problem = f"give an address such as ada@example.org, of at most {MAX_EMAIL_CHARACTERS} characters"
        raise InvalidInput("email", problem)
    return text


def email_key(text: str) -> str | None:
    """Return what an address is compared by, or None where the text could be no address."""
    if len(text) > MAX_EMAIL_CHARACTERS or not _EMAIL.fullmatch(text) or not is_storable(text):
        return None
    return text.casefold()


def check_role(text: str) -> Role:
    """Return the role of that name.

    :raises portal.errors.InvalidInput: (``role``) there is no such role.
    """
    try:
        return Role(text)
    except ValueError as exc:
        raise InvalidInput("role", "give member or administrator") from exc


def check_theme(text: str) -> Theme:
    """Return the theme of that name.

    :raises portal.errors.InvalidInput: (``theme``) there is no such theme.
    """
    try:
        return Theme(text)
    except ValueError as exc:
        raise InvalidInput("theme", "give system, light or dark") from exc


def check_limit(field: str, value: int) -> int:
    """Return a limit that a definition may have.

    :raises portal.errors.InvalidInput: it is not a whole number in the limit's range.
    """
    allowed = LIMITS[field]
    # In Python a bool is an int, but nobody means it as a limit.
    if type(value) is not int or not allowed.lowest <= value <= allowed.highest:
        raise InvalidInput(field, f"give a whole number from {allowed.lowest} to {allowed.highest:,}")
    return value


def check_flag(field: str, value: bool) -> bool:  # noqa: FBT001 - it is the value
    """Return what is on or off, and nothing that merely counts as true.

    :raises portal.errors.InvalidInput: it is neither True nor False.
    """
    if type(value) is not bool:
        raise InvalidInput(field, "give True or False")
    return value


def _check_text(field: str, text: str) -> str:
    try:
        return check_content(text)
    except InvalidContent as refusal:
        raise InvalidInput(field, refusal.problem) from None
