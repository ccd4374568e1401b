"""How often somebody may try a password: five times, then with growing delays, and never locked out for good.

Tries are counted for an address and a client together, so nobody can keep somebody else out from elsewhere.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from portal.database import Database
from portal.models import SignInThrottle
from portal.values import Clock

FREE_FAILURES = 5
FAILURE_WINDOW = dt.timedelta(minutes=15)
"""Failures are forgotten after this long without another."""
FIRST_DELAY = dt.timedelta(minutes=1)
LONGEST_DELAY = dt.timedelta(minutes=15)

# A provider hands a household this much of IPv6, so one client has all of its addresses.
IPV6_CLIENT_BITS = 64


def subject_of(address: str, client: str) -> bytes:
    """Return whose tries are counted together, as a digest: one address, tried by one client.

    :param address: an e-mail address, casefolded; any text.
    :param client: the network address that the request came from.
    """
    text = f"{_network_of(client)}\n{address}"
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


class Throttle:
    """Counts tries. It is safe to share between threads.

    :param database: where they are counted.
    :param clock: gives the time now, aware and in UTC.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def count_try(self, subject: bytes) -> dt.timedelta | None:
        """Count a try as failed until it succeeds; or return how long to wait before the next one.

        It is committed before the password is looked at, so that tries at the same moment count too.
        """
        return self._database.write(lambda session: self._count_try(session, subject))

    def _count_try(self, session: Session, subject: bytes) -> dt.timedelta | None:
        now = self._clock()
        # Before our own row is locked: two transactions that delete and lock in any order would deadlock.
        long_ago = now - FAILURE_WINDOW - LONGEST_DELAY
        session.execute(delete(SignInThrottle).where(SignInThrottle.failed_at <= long_ago))
        tries = self._lock_tries(session, subject, now)
        if tries.blocked_until is not None and now < tries.blocked_until:
            return tries.blocked_until - now
        is_forgotten = now - (tries.blocked_until or tries.failed_at) >= FAILURE_WINDOW
        tries.failures = 1 if is_forgotten else tries.failures + 1
        tries.failed_at = now
        tries.blocked_until = _blocked_until(now, tries.failures)
        return None

    def _lock_tries(self, session: Session, subject: bytes, now: dt.datetime) -> SignInThrottle:
        """Return the row of a subject, new where there was none, and locked either way.

        Looking first and inserting then would let two first tries at the same moment collide.
        """
        insert = sqlite.insert if self._database.is_sqlite else postgresql.insert
        row = insert(SignInThrottle).values(subject=subject, failures=0, failed_at=now)
        locked = row.on_conflict_do_update(index_elements=["subject"], set_={"subject": row.excluded.subject})
        return session.scalars(locked.returning(SignInThrottle)).one()


def forget_tries(session: Session, subject: bytes) -> None:
    """Let somebody who knew the password begin anew."""
    session.execute(delete(SignInThrottle).where(SignInThrottle.subject == subject))


def _network_of(client: str) -> str:
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), IPV6_CLIENT_BITS), strict=False))


def _blocked_until(now: dt.datetime, failures: int) -> dt.datetime | None:
    doublings = failures - FREE_FAILURES
    if doublings < 0:
        return None
    # More doublings than reach the longest delay would overflow what a timedelta can hold.
    return now + min(FIRST_DELAY * (1 << min(doublings, 8)), LONGEST_DELAY)
