"""What lets somebody in without a password: random tokens, of which the database holds digests alone.

A session's token is in a browser's cookie, a one-time link's in its address. Deleting the row makes every
copy of the token worthless at once.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from sqlalchemy import delete
from sqlalchemy.orm import Session

from portal.models import OneTimeLink, Profile, SignInSession

TOKEN_BYTES = 32

WAYS_IN: Final[tuple[type[OneTimeLink | SignInSession], ...]] = (OneTimeLink, SignInSession)
"""The tables of tokens. Whoever deletes from both does so in this order, so that nobody waits in a circle."""


def new_token() -> str:
    """Return a token of 256 random bits, in letters that an address and a cookie can hold."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def digest_of(token: str) -> bytes:
    """Return what the database holds of a token. It takes any text, because that comes from outside."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def end_sessions(session: Session, profile: Profile) -> None:
    """Sign a person out everywhere. The caller has locked them."""
    _end(session, SignInSession, profile)


def end_ways_in(session: Session, profile: Profile) -> None:
    """End a person's one-time link, and sign them out everywhere. The caller has locked them."""
    for way_in in WAYS_IN:
        _end(session, way_in, profile)


def _end(session: Session, way_in: type[OneTimeLink | SignInSession], profile: Profile) -> None:
    session.execute(
        delete(way_in).where(
            way_in.organisation_id == profile.organisation_id, way_in.profile_id == profile.id
        ),
        execution_options={"synchronize_session": False},
    )
