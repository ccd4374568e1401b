"""What forms send, read in one place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flask import abort, request

from portal.errors import InvalidInput
from portal.passwords import check_password
from portal.values import Role

# More digits than that are no version of anything, and a column of 32 bits could not compare with them.
_VERSION = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True)
class SignInForm:
    """Somebody wants to sign in."""

    email: str = ""
    password: str = ""
    destination: str = ""

    @classmethod
    def from_request(cls) -> SignInForm:
        """Read the form. Whatever is missing is empty, and signs nobody in."""
        return cls(
            email=request.form.get("email", ""),
            password=request.form.get("password", ""),
            destination=request.form.get("next", ""),
        )


@dataclass(frozen=True)
class PasswordForm:
    """Somebody wants to have another password."""

    current: str
    password: str
    again: str

    @classmethod
    def from_request(cls) -> PasswordForm:
        """Read the form. Whatever is missing is empty, and no password."""
        return cls(*(at_most_one(name) or "" for name in ("current", "password", "again")))

    def find_problems(self) -> dict[str, str]:
        """Return what is wrong with the new password, by field."""
        try:
            check_password(self.password)
        except InvalidInput as refusal:
            return problems_of(refusal)
        return {} if self.again == self.password else {"again": "The two new passwords differ."}


@dataclass(frozen=True)
class InvitationForm:
    """An administrator wants to invite somebody."""

    email: str = ""
    name: str = ""
    role: str = Role.MEMBER.value

    @classmethod
    def from_request(cls) -> InvitationForm:
        """Read the form. Whatever is missing is empty, and nobody's."""
        return cls(*(at_most_one(name) or "" for name in ("email", "name", "role")))


@dataclass(frozen=True)
class DecisionForm:
    """An administrator wants to confirm, reject or delete a proposal."""

    action: str
    version: int | None
    reason: str

    @classmethod
    def from_request(cls) -> DecisionForm:
        """Read the form, or refuse it with 400 where a part is missing, doubled or nonsense."""
        action = at_most_one("action")
        if action is None:
            abort(400)
        return cls(action=action, version=expected_version(), reason=at_most_one("reason") or "")


def expected_version() -> int | None:
    """Return the version that the form was made for. A script may leave it out, our forms never do."""
    version = at_most_one("version")
    if version is None:
        return None
    if not _VERSION.fullmatch(version):
        abort(400)
    return int(version)


def problems_of(refusal: InvalidInput) -> dict[str, str]:
    """Return what is wrong with a field as a sentence, under its name."""
    problem = refusal.problem.rstrip(".")
    return {refusal.field: f"{problem[:1].upper()}{problem[1:]}."}


def at_most_one(name: str) -> str | None:
    """Return the value of a field, None where it is missing; a doubled one is refused with 400.

    Of two values a proxy, a browser and we might each believe another one.
    """
    values = request.form.getlist(name)
    if len(values) > 1:
        abort(400)
    return values[0] if values else None
