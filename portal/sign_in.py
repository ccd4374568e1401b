"""Signing in: who is at the other end of a request, and with which password.

Whoever signs in gets a random token, and the database a row with its digest. The row is what counts:
deleting it makes every copy of the token worthless at once.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import math
import secrets
from dataclasses import dataclass

from sqlalchemy import Select, and_, bindparam, delete, select, update
from sqlalchemy.orm import Session, contains_eager

from portal.contents import is_storable
from portal.database import Database
from portal.driver_rows import RowReader
from portal.models import Clock, Organisation, Profile, SignInSession, from_microseconds, utc_now
from portal.passwords import verify_password
from portal.throttle import Throttle, forget_tries, subject_of

logger = logging.getLogger(__name__)

TOKEN_BYTES = 32

ADMINISTRATOR_IDLE_TIME = dt.timedelta(minutes=30)
MEMBER_IDLE_TIME = dt.timedelta(hours=8)
LONGEST_SESSION = dt.timedelta(hours=12)
SEEN_PRECISION = dt.timedelta(minutes=1)
"""A session's last use is written down at most this often."""

PROFILES = RowReader(Profile)
ORGANISATIONS = RowReader(Organisation)

# Made once, and run on the driver: every request of the portal asks this.
FIND_SIGNED_IN = (
    select(SignInSession.created_at, SignInSession.seen_at, *PROFILES.columns, *ORGANISATIONS.columns)
    .join(
        Profile,
        and_(
            Profile.organisation_id == SignInSession.organisation_id, Profile.id == SignInSession.profile_id
        ),
    )
    .join(Organisation, Organisation.id == Profile.organisation_id)
    .where(SignInSession.token_digest == bindparam("digest"), Profile.active, Organisation.active)
)


@dataclass(frozen=True)
class SignedIn:
    """Somebody who is signed in.

    ``token`` is what their browser holds. ``profile`` is detached and has its organisation loaded.
    ``seen_at`` is when the session was last used, a minute more or less.
    """

    token: str
    profile: Profile
    seen_at: dt.datetime


@dataclass(frozen=True)
class SignInRefused:
    """Nobody was signed in: the address and the password are not a pair, or there were too many tries.

    ``retry_after_seconds`` is None in the first case. In the second the password was not even looked at.
    """

    retry_after_seconds: int | None = None


class SignIn:
    """Signs people in and out, and tells who is signed in.

    It is safe to share between threads. Each call is one or two transactions of its own.

    :param database: where people, sessions and failures are kept.
    :param clock: gives the time now, aware and in UTC.
    """

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._throttle = Throttle(database, clock)

    def sign_in(self, email: str, password: str, client: str) -> SignedIn | SignInRefused:
        """Sign somebody in who knows the password of an active profile in an active organisation.

        The try is counted and committed before any hashing, so that tries at the same moment count too.
        After five failures the address is closed to this client for a minute, then after each further
        failure for twice as long, 15 minutes at most. Signing in clears the count. An address that
        nobody has is treated the same, and takes as long.

        :param email: an e-mail address, compared case-insensitively; any text, it comes from a form.
        :param password: any text.
        :param client: the network address that the request came from.
        :returns: who is signed in now, with a new session; or why nobody is.
        """
        address = email.casefold()
        subject = subject_of(address, client)
        wait = self._throttle.count_try(subject)
        if wait is not None:
            logger.warning("sign-in refused: too many tries", extra={"action": "sign_in_throttled"})
            return SignInRefused(math.ceil(wait.total_seconds()))
        profile = self._find_alive(address)
        if not verify_password(profile.password_hash if profile else None, password) or profile is None:
            logger.info("sign-in refused", extra={"action": "sign_in_refused"})
            return SignInRefused()
        return self._open_session(profile, subject)

    def find_signed_in(self, token: str) -> SignedIn | None:
        """Return who holds a token, or None where that is nobody any more.

        It is nobody once the session ended, was idle for 30 minutes (administrators) or 8 hours
        (members) or is 12 hours old, and while the person or the organisation is not active.
        """
        rows = self._database.fetch_rows(FIND_SIGNED_IN, {"digest": _digest(token)})
        if not rows:
            return None
        [(created, seen, *found)] = rows
        organisation = ORGANISATIONS.read(found[PROFILES.width :])
        profile = PROFILES.read(found[: PROFILES.width], organisation=organisation)
        created_at, seen_at = from_microseconds(created), from_microseconds(seen)
        is_over = self._is_over(profile, created_at=created_at, seen_at=seen_at)
        return None if is_over else SignedIn(token, profile, seen_at)

    def note_seen(self, signed_in: SignedIn) -> None:
        """Keep a session from going idle. It writes at most once a minute."""
        now = self._clock()
        if now - signed_in.seen_at < SEEN_PRECISION:
            return
        seen = (
            update(SignInSession)
            .where(SignInSession.token_digest == _digest(signed_in.token))
            .values(seen_at=now)
        )
        self._database.write(lambda session: session.execute(seen))

    def sign_out(self, token: str) -> None:
        """End the session of a token, if there is one; every copy of the token is worthless then."""
        ended = delete(SignInSession).where(SignInSession.token_digest == _digest(token))
        self._database.write(lambda session: session.execute(ended))

    def _find_alive(self, address: str) -> Profile | None:
        if not is_storable(address):
            return None
        question = _select_alive().where(Profile.email_key == address)
        return self._database.read(lambda session: session.scalar(question))

    def _open_session(self, profile: Profile, subject: bytes) -> SignedIn | SignInRefused:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        now = self._clock()

        def work(session: Session) -> Profile | None:
            # While the password was hashed somebody may have changed it or switched the profile off, and
            # that ended the sessions that there were. The lock makes a later change wait and end this one.
            question = _select_alive().where(
                Profile.id == profile.id, Profile.password_hash == profile.password_hash
            )
            alive = session.scalar(question.with_for_update(read=True, of=Profile))
            if alive is not None:
                session.execute(
                    delete(SignInSession).where(SignInSession.created_at <= now - LONGEST_SESSION)
                )
                forget_tries(session, subject)
                session.add(_new_row(alive, token, now))
            return alive

        alive = self._database.write(work)
        if alive is None:
            return SignInRefused()
        logger.info("signed in", extra={"action": "signed_in", "profile_id": alive.id})
        return SignedIn(token, alive, now)

    def _is_over(self, profile: Profile, *, created_at: dt.datetime, seen_at: dt.datetime) -> bool:
        now = self._clock()
        idle_time = ADMINISTRATOR_IDLE_TIME if profile.is_administrator else MEMBER_IDLE_TIME
        return now - seen_at >= idle_time or now - created_at >= LONGEST_SESSION


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()


def _new_row(profile: Profile, token: str, now: dt.datetime) -> SignInSession:
    return SignInSession(
        token_digest=_digest(token),
        organisation_id=profile.organisation_id,
        profile_id=profile.id,
        created_at=now,
        seen_at=now,
    )


def _select_alive() -> Select[Profile]:
    """Select people who may sign in at all, each with the organisation."""
    return (
        select(Profile)
        .join(Organisation, Organisation.id == Profile.organisation_id)
        .where(Profile.active, Organisation.active)
        .options(contains_eager(Profile.organisation))
    )
