"""Signing in: who is at the other end of a request, and the password that lets them in.

Whoever signs in gets a random token, and the database a row with its digest. The row is what counts:
deleting it makes every copy of the token worthless at once.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, bindparam, delete, select, update
from sqlalchemy.orm import Session, contains_eager, joinedload

from portal.contents import is_storable
from portal.database import Database
from portal.driver_rows import RowReader
from portal.models import Organisation, Profile, SignInSession
from portal.passwords import check_password, hash_password, verify_password
from portal.throttle import Throttle, forget_tries, subject_of
from portal.tokens import digest_of, end_ways_in, new_token
from portal.transactions import fetch_in
from portal.values import ActorKind, Clock, from_microseconds, utc_now

logger = logging.getLogger(__name__)

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
    """Nothing was done: the address and the password are not a pair, or there were too many tries.

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
            return _refuse_for(wait)
        profile = self._find_alive(address)
        if not verify_password(profile.password_hash if profile else None, password) or profile is None:
            logger.info("sign-in refused", extra={"action": "sign_in_refused"})
            return SignInRefused()
        return self._open_session(profile, subject)

    def change_password(
        self, signed_in: SignedIn, current: str, new: str, client: str
    ) -> SignedIn | SignInRefused:
        """Give somebody who is signed in another password of their own choice.

        A wrong current password is a failed try like one of signing in, and counts with those. Every session
        of theirs ends, and so does a one-time link; a new session takes the place of the one they asked from.

        :param current: the password that they have, as proof that it is them; any text.
        :param new: 1 to 1,024 bytes.
        :param client: the network address that the request came from.
        :returns: them with their new session; or why nothing was changed.
        :raises portal.errors.InvalidInput: (``password``) the new one cannot be accepted; no try was counted.
        """
        check_password(new)
        profile = signed_in.profile
        subject = subject_of(profile.email_key, client)
        wait = self._throttle.count_try(subject)
        if wait is not None:
            return _refuse_for(wait)
        if not verify_password(profile.password_hash, current):
            logger.info("password not changed", extra=_ids("password_refused", profile))
            return SignInRefused()
        return self._replace_password(signed_in, hash_password(new), subject)

    def find_signed_in(self, token: str) -> SignedIn | None:
        """Return who holds a token, or None where that is nobody any more.

        It is nobody once the session ended, was idle for 30 minutes (administrators) or 8 hours
        (members) or is 12 hours old, and while the person or the organisation is not active.
        """
        rows = self._database.fetch_rows(FIND_SIGNED_IN, {"digest": digest_of(token)})
        return self._signed_in(token, rows)

    def _signed_in(self, token: str, rows: Sequence[Sequence[Any]]) -> SignedIn | None:
        """Return who is in a row of ``FIND_SIGNED_IN``, if there is one and the session is not over."""
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
            .where(SignInSession.token_digest == digest_of(signed_in.token))
            .values(seen_at=now)
        )
        self._database.write(lambda session: session.execute(seen))

    def sign_out(self, token: str) -> None:
        """End the session of a token, if there is one; every copy of the token is worthless then."""
        ended = delete(SignInSession).where(SignInSession.token_digest == digest_of(token))
        self._database.write(lambda session: session.execute(ended))

    def _find_alive(self, address: str) -> Profile | None:
        if not is_storable(address):
            return None
        question = _select_alive().where(Profile.email_key == address)
        return self._database.read(lambda session: session.scalar(question))

    def _open_session(self, profile: Profile, subject: bytes) -> SignedIn | SignInRefused:
        token = new_token()
        now = self._clock()

        def work(session: Session) -> Profile | None:
            # While the password was hashed somebody may have changed it or switched the profile off, and
            # that ended the sessions that there were. The lock makes a later change wait and end this one.
            question = _select_alive().where(
                Profile.id == profile.id, Profile.password_hash == profile.password_hash
            )
            alive = session.scalar(question.with_for_update(key_share=True, of=Profile))
            if alive is not None:
                session.execute(
                    delete(SignInSession).where(SignInSession.created_at <= now - LONGEST_SESSION)
                )
                forget_tries(session, subject)
                alive.last_signed_in_at = now
                session.add(_new_row(alive, token, now))
            return alive

        alive = self._database.write(work)
        if alive is None:
            return SignInRefused()
        logger.info("signed in", extra={"action": "signed_in", "profile_id": alive.id})
        return SignedIn(token, alive, now)

    def _replace_password(
        self, signed_in: SignedIn, password_hash: str, subject: bytes
    ) -> SignedIn | SignInRefused:
        token, now, profile_id = new_token(), self._clock(), signed_in.profile.id

        def work(session: Session) -> Profile | None:
            # While passwords were hashed somebody may have ended this session, as setting another password
            # does. Whoever does locks the person first, so it has happened once we have the lock, or waits.
            lock = select(Profile.id).where(Profile.id == profile_id)
            session.execute(lock.with_for_update(key_share=True))
            rows = fetch_in(session, FIND_SIGNED_IN, {"digest": digest_of(signed_in.token)})
            if self._signed_in(signed_in.token, rows) is None:
                return None
            changed = session.get_one(Profile, profile_id, options=[joinedload(Profile.organisation)])
            changed.password_hash = password_hash
            end_ways_in(session, changed)
            forget_tries(session, subject)
            session.add(_new_row(changed, token, now))
            return changed

        changed = self._database.write(work)
        if changed is None:
            return SignInRefused()
        logger.info("person changed", extra=_ids("person_password_changed", changed))
        return SignedIn(token, changed, now)

    def _is_over(self, profile: Profile, *, created_at: dt.datetime, seen_at: dt.datetime) -> bool:
        now = self._clock()
        idle_time = ADMINISTRATOR_IDLE_TIME if profile.is_administrator else MEMBER_IDLE_TIME
        return now - seen_at >= idle_time or now - created_at >= LONGEST_SESSION


def _refuse_for(wait: dt.timedelta) -> SignInRefused:
    logger.warning("sign-in refused: too many tries", extra={"action": "sign_in_throttled"})
    return SignInRefused(math.ceil(wait.total_seconds()))


def _ids(action: str, profile: Profile) -> dict[str, object]:
    """Return what the log says of somebody who does something to themselves."""
    return {
        "action": action,
        "organisation_id": profile.organisation_id,
        "person_id": profile.id,
        "actor": ActorKind.PROFILE.value,
        "profile_id": profile.id,
    }


def _new_row(profile: Profile, token: str, now: dt.datetime) -> SignInSession:
    return SignInSession(
        token_digest=digest_of(token),
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
