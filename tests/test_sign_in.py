"""Signing in and out, what ends a session, and how often somebody may try."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from portal.database import Database
from portal.errors import InvalidInput
from portal.models import Profile, SignInSession, SignInThrottle
from portal.passwords import verify_password
from portal.sign_in import SignedIn, SignIn, SignInRefused
from tests.factories import PASSWORD, Clock, Personas, create_personas
from tests.quick_passwords import give_everybody_a_password

ADA, ROOT = "ada@acme.example", "root@acme.example"
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def personas(database: Database, clock: Clock) -> Personas:
    personas = create_personas(database, clock=clock)
    give_everybody_a_password(database)
    return personas


@pytest.fixture
def sign_in(database: Database, clock: Clock) -> SignIn:
    return SignIn(database, clock=clock)


@pytest.fixture
def ada(personas: Personas, sign_in: SignIn) -> SignedIn:
    return signed_in(sign_in, personas.ada.email)


@pytest.fixture
def root(personas: Personas, sign_in: SignIn) -> SignedIn:
    return signed_in(sign_in, personas.root.email)


def signed_in(sign_in: SignIn, email: str) -> SignedIn:
    answer = sign_in.sign_in(email, PASSWORD, HERE)
    assert isinstance(answer, SignedIn)
    return answer


def fail(sign_in: SignIn, *, times: int, email: str = ADA, client: str = HERE) -> list[SignInRefused]:
    answers = [sign_in.sign_in(email, "wrong", client) for _ in range(times)]
    assert all(isinstance(answer, SignInRefused) for answer in answers)
    return [answer for answer in answers if isinstance(answer, SignInRefused)]


def who_holds(sign_in: SignIn, token: str) -> Profile | None:
    found = sign_in.find_signed_in(token)
    return None if found is None else found.profile


def count(database: Database, table: type[SignInSession | SignInThrottle]) -> int | None:
    return database.read(lambda session: session.scalar(select(func.count()).select_from(table)))


# Who gets in


def test_the_right_password_signs_in_who_owns_it(sign_in: SignIn, ada: SignedIn) -> None:
    found = who_holds(sign_in, ada.token)
    assert found is not None
    assert (found.email, found.organisation.name) == (ADA, "Acme")


@pytest.mark.usefixtures("personas")
def test_capitals_in_the_address_do_not_matter(sign_in: SignIn) -> None:
    assert signed_in(sign_in, "ADA@Acme.example").profile.email == ADA


@pytest.mark.parametrize(
    ("email", "password"),
    [
        pytest.param(ADA, "wrong", id="wrong password"),
        pytest.param("nobody@acme.example", PASSWORD, id="unknown address"),
        pytest.param(ADA, "", id="no password"),
        pytest.param("", "", id="nothing at all"),
        pytest.param(f"{ADA} ", PASSWORD, id="space after the address"),
        pytest.param("\uff41da@acme.example", PASSWORD, id="full-width letter"),
        pytest.param(f"{ADA}\0", PASSWORD, id="NUL in the address"),
        pytest.param("\ud800", PASSWORD, id="half a surrogate pair as the address"),
        pytest.param(ADA, f"{PASSWORD}\0", id="NUL in the password"),
        pytest.param(ADA, "\ud800", id="half a surrogate pair as the password"),
        pytest.param(ADA, "a" * 1_000_000, id="a password of a megabyte"),
    ],
)
@pytest.mark.usefixtures("personas")
def test_anything_else_is_refused_with_the_same_answer(sign_in: SignIn, email: str, password: str) -> None:
    assert sign_in.sign_in(email, password, HERE) == SignInRefused(retry_after_seconds=None)


def test_a_profile_that_was_switched_off_cannot_sign_in(personas: Personas, sign_in: SignIn) -> None:
    personas.directory.deactivate(personas.ada)
    assert sign_in.sign_in(ADA, PASSWORD, HERE) == SignInRefused()


def test_nobody_of_a_suspended_organisation_can_sign_in(personas: Personas, sign_in: SignIn) -> None:
    personas.directory.deactivate_organisation(personas.acme)
    assert sign_in.sign_in(ROOT, PASSWORD, HERE) == SignInRefused()


def test_a_profile_without_a_password_cannot_sign_in(personas: Personas, sign_in: SignIn) -> None:
    personas.directory.create_profile(personas.acme, email="sso@acme.example", name="Somebody")
    assert sign_in.sign_in("sso@acme.example", "", HERE) == SignInRefused()


# What the browser holds, and what the database holds


@pytest.mark.usefixtures("personas")
def test_each_signing_in_has_a_token_of_its_own_of_256_bits(sign_in: SignIn) -> None:
    tokens = {signed_in(sign_in, ADA).token for _ in range(3)}
    assert len(tokens) == 3
    assert {len(token) for token in tokens} == {43}


def test_the_token_is_nowhere_in_the_database(database: Database, ada: SignedIn) -> None:
    row = database.read(lambda session: session.scalars(select(SignInSession)).one())
    assert ada.token.encode() not in row.token_digest
    assert len(row.token_digest) == 32


@pytest.mark.parametrize("token", ["", "x", "\ud800", "\0", "a" * 100_000])
def test_a_token_that_was_never_given_out_is_nobodys(sign_in: SignIn, token: str) -> None:
    assert who_holds(sign_in, token) is None


# What ends a session


def test_signing_out_makes_copies_of_the_token_worthless(sign_in: SignIn, ada: SignedIn) -> None:
    other = signed_in(sign_in, ADA)
    sign_in.sign_out(ada.token)
    assert who_holds(sign_in, ada.token) is None
    assert who_holds(sign_in, other.token) is not None


def test_switching_a_profile_off_ends_its_sessions_for_good(
    personas: Personas, sign_in: SignIn, ada: SignedIn
) -> None:
    personas.directory.deactivate(personas.ada)
    assert who_holds(sign_in, ada.token) is None
    personas.directory.activate(personas.ada)
    assert who_holds(sign_in, ada.token) is None


def test_a_profile_that_is_not_active_is_nobody_even_with_a_session(
    database: Database, personas: Personas, sign_in: SignIn, ada: SignedIn
) -> None:
    def switch_off_only(active: bool) -> None:  # noqa: FBT001 - the value of the column
        database.write(lambda session: setattr(session.get(Profile, personas.ada.id), "active", active))

    switch_off_only(False)  # noqa: FBT003
    assert who_holds(sign_in, ada.token) is None
    switch_off_only(True)  # noqa: FBT003
    assert who_holds(sign_in, ada.token) is not None


def test_suspending_the_organisation_ends_everybodys_sessions(
    personas: Personas, sign_in: SignIn, ada: SignedIn
) -> None:
    personas.directory.deactivate_organisation(personas.acme)
    assert who_holds(sign_in, ada.token) is None


def test_a_new_password_ends_the_sessions(personas: Personas, sign_in: SignIn, ada: SignedIn) -> None:
    personas.directory.set_password(personas.ada, "another one")
    assert who_holds(sign_in, ada.token) is None
    assert isinstance(sign_in.sign_in(ADA, PASSWORD, HERE), SignInRefused)


def test_a_new_role_keeps_the_session_and_shows_at_once(
    personas: Personas, sign_in: SignIn, ada: SignedIn
) -> None:
    personas.directory.set_role(personas.ada, "administrator")
    found = who_holds(sign_in, ada.token)
    assert found is not None
    assert found.is_administrator


@pytest.mark.parametrize(
    ("email", "alive_minutes", "over_minutes"),
    [pytest.param(ADA, 479, 480, id="member"), pytest.param(ROOT, 29, 30, id="administrator")],
)
@pytest.mark.usefixtures("personas")
def test_an_idle_session_ends(
    sign_in: SignIn, clock: Clock, email: str, alive_minutes: int, over_minutes: int
) -> None:
    token = signed_in(sign_in, email).token
    clock.advance(minutes=alive_minutes)
    assert who_holds(sign_in, token) is not None
    clock.advance(minutes=over_minutes - alive_minutes)
    assert who_holds(sign_in, token) is None


def test_using_a_session_keeps_it_from_going_idle(sign_in: SignIn, clock: Clock, root: SignedIn) -> None:
    clock.advance(minutes=20)
    sign_in.note_seen(root)
    clock.advance(minutes=20)
    assert who_holds(sign_in, root.token) is not None


def test_the_last_use_is_written_at_most_once_a_minute(
    database: Database, sign_in: SignIn, clock: Clock, ada: SignedIn
) -> None:
    def last_use() -> dt.datetime:
        return database.read(lambda session: session.scalars(select(SignInSession.seen_at)).one())

    at_first = clock.now
    clock.advance(seconds=59)
    sign_in.note_seen(ada)
    assert last_use() == at_first
    clock.advance(seconds=1)
    sign_in.note_seen(ada)
    assert last_use() == clock.now


def test_a_session_ends_after_twelve_hours_however_much_it_is_used(
    sign_in: SignIn, clock: Clock, ada: SignedIn
) -> None:
    for _ in range(11):
        clock.advance(hours=1)
        sign_in.note_seen(ada)
    assert who_holds(sign_in, ada.token) is not None
    clock.advance(hours=1)
    sign_in.note_seen(ada)
    assert who_holds(sign_in, ada.token) is None


def test_sessions_that_are_over_are_removed_when_somebody_signs_in(
    database: Database, sign_in: SignIn, clock: Clock, ada: SignedIn
) -> None:
    clock.advance(hours=12)
    signed_in(sign_in, ada.profile.email)
    assert count(database, SignInSession) == 1


def test_a_password_that_changes_while_it_is_checked_opens_nothing(
    database: Database, personas: Personas, clock: Clock
) -> None:
    """The clock is asked when a session is about to be opened, after the password was found right."""
    readings = 0

    def change_the_password_meanwhile() -> dt.datetime:
        nonlocal readings
        readings += 1
        if readings == 2:
            personas.directory.set_password(personas.ada, "another one")
        return clock.now

    answer = SignIn(database, clock=change_the_password_meanwhile).sign_in(ADA, PASSWORD, HERE)
    assert answer == SignInRefused()
    assert count(database, SignInSession) == 0


# How often somebody may try


@pytest.mark.parametrize("email", [ADA, "nobody@acme.example"], ids=["known", "unknown"])
@pytest.mark.usefixtures("personas")
def test_after_five_failures_the_right_password_has_to_wait_too(sign_in: SignIn, email: str) -> None:
    assert fail(sign_in, times=5, email=email) == [SignInRefused()] * 5
    assert sign_in.sign_in(email, PASSWORD, HERE) == SignInRefused(retry_after_seconds=60)


@pytest.mark.usefixtures("personas")
def test_the_fifth_try_still_gets_in(sign_in: SignIn) -> None:
    fail(sign_in, times=4)
    assert isinstance(sign_in.sign_in(ADA, PASSWORD, HERE), SignedIn)


@pytest.mark.usefixtures("personas")
def test_delays_grow_to_fifteen_minutes_and_never_beyond(sign_in: SignIn, clock: Clock) -> None:
    fail(sign_in, times=5)
    waits = []
    for _ in range(6):
        [refused] = fail(sign_in, times=1)
        assert refused.retry_after_seconds is not None
        waits.append(refused.retry_after_seconds)
        clock.advance(seconds=refused.retry_after_seconds)
        assert fail(sign_in, times=1) == [SignInRefused()]
    assert waits == [60, 120, 240, 480, 900, 900]


@pytest.mark.usefixtures("personas")
def test_tries_while_waiting_do_not_lengthen_the_wait(sign_in: SignIn, clock: Clock) -> None:
    fail(sign_in, times=20)
    clock.advance(seconds=60)
    assert isinstance(sign_in.sign_in(ADA, PASSWORD, HERE), SignedIn)


@pytest.mark.usefixtures("personas")
def test_signing_in_clears_the_count(database: Database, sign_in: SignIn) -> None:
    fail(sign_in, times=4)
    signed_in(sign_in, ADA)
    assert count(database, SignInThrottle) == 0
    assert fail(sign_in, times=5) == [SignInRefused()] * 5


@pytest.mark.usefixtures("personas")
def test_failures_are_forgotten_after_a_quarter_of_an_hour_without_another(
    sign_in: SignIn, clock: Clock
) -> None:
    fail(sign_in, times=4)
    clock.advance(minutes=15)
    assert fail(sign_in, times=5) == [SignInRefused()] * 5


@pytest.mark.usefixtures("personas")
def test_failures_from_elsewhere_or_for_others_do_not_count(sign_in: SignIn) -> None:
    fail(sign_in, times=6)
    assert isinstance(sign_in.sign_in(ADA, PASSWORD, ELSEWHERE), SignedIn)
    assert isinstance(sign_in.sign_in(ROOT, PASSWORD, HERE), SignedIn)


@pytest.mark.parametrize(
    ("one", "other", "retry_after"),
    [
        pytest.param("2001:db8::1", "2001:db8::ffff:1", 60, id="one household's IPv6"),
        pytest.param("2001:db8::1", "2001:db8:0:1::1", None, id="two households' IPv6"),
        pytest.param("192.0.2.1", "::ffff:192.0.2.1", 60, id="IPv4 written as IPv6"),
        pytest.param("", "unix:", None, id="no network address"),
    ],
)
@pytest.mark.usefixtures("personas")
def test_a_client_is_an_ipv4_address_or_an_ipv6_network(
    sign_in: SignIn, one: str, other: str, retry_after: int | None
) -> None:
    fail(sign_in, times=5, client=one)
    assert fail(sign_in, times=1, client=other) == [SignInRefused(retry_after)]


@pytest.mark.usefixtures("personas")
def test_of_twenty_tries_at_once_five_are_looked_at(sign_in: SignIn) -> None:
    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(lambda _: sign_in.sign_in(ADA, "wrong", HERE), range(20)))
    assert sorted(map(repr, answers)) == sorted(
        [repr(SignInRefused())] * 5 + [repr(SignInRefused(retry_after_seconds=60))] * 15
    )


@pytest.mark.usefixtures("personas")
def test_failures_of_long_ago_leave_the_database(database: Database, sign_in: SignIn, clock: Clock) -> None:
    fail(sign_in, times=2, email="one@acme.example")
    clock.advance(minutes=30)
    fail(sign_in, times=1, email="other@acme.example")
    assert count(database, SignInThrottle) == 1


# Changing one's own password


def change(sign_in: SignIn, who: SignedIn, current: str = PASSWORD, new: str = "a new one") -> object:
    return sign_in.change_password(who, current, new, HERE)


def test_a_password_is_changed_by_whoever_knows_it(
    personas: Personas, sign_in: SignIn, ada: SignedIn, root: SignedIn
) -> None:
    elsewhere, link = signed_in(sign_in, ADA), personas.directory.make_link(personas.ada)
    changed = change(sign_in, ada)
    assert isinstance(changed, SignedIn)
    # The browser that asked goes on with another token; every other way in is closed.
    assert changed.token not in {ada.token, elsewhere.token}
    holders = [who_holds(sign_in, one.token) for one in (changed, root, ada, elsewhere)]
    assert [profile and profile.email for profile in holders] == [ADA, ROOT, None, None]
    assert personas.directory.find_link(link.token) is None
    assert sign_in.sign_in(ADA, PASSWORD, HERE) == SignInRefused()
    assert isinstance(sign_in.sign_in(ADA, "a new one", HERE), SignedIn)


def test_a_wrong_current_password_counts_as_one_of_signing_in(sign_in: SignIn, ada: SignedIn) -> None:
    fail(sign_in, times=2)
    assert [change(sign_in, ada, "wrong") for _ in range(3)] == [SignInRefused()] * 3
    assert change(sign_in, ada) == SignInRefused(retry_after_seconds=60)
    assert sign_in.sign_in(ADA, PASSWORD, HERE) == SignInRefused(retry_after_seconds=60)


def test_the_right_current_password_clears_the_count(
    database: Database, sign_in: SignIn, ada: SignedIn
) -> None:
    change(sign_in, ada, "wrong")
    assert isinstance(change(sign_in, ada), SignedIn)
    assert count(database, SignInThrottle) == 0


@pytest.mark.parametrize("new", ["", "x" * 1_025])
def test_a_new_password_that_cannot_be_accepted_costs_no_try(
    database: Database, sign_in: SignIn, ada: SignedIn, new: str
) -> None:
    with pytest.raises(InvalidInput):
        change(sign_in, ada, "wrong", new)
    assert count(database, SignInThrottle) == 0
    assert who_holds(sign_in, ada.token) is not None


@pytest.mark.parametrize("interruption", ["set_password", "end_sessions", "deactivate"])
def test_a_password_is_not_changed_by_a_session_that_ended_meanwhile(
    database: Database, personas: Personas, clock: Clock, ada: SignedIn, interruption: str
) -> None:
    """The clock is asked when the password is about to be written, after the current one was found right."""
    readings = 0
    interruptions: dict[str, Callable[[], object]] = {
        "set_password": lambda: personas.directory.set_password(personas.ada, "another one"),
        "end_sessions": lambda: personas.directory.end_sessions(personas.ada),
        "deactivate": lambda: personas.directory.deactivate(personas.ada),
    }

    def interrupt_meanwhile() -> dt.datetime:
        nonlocal readings
        readings += 1
        if readings == 2:
            interruptions[interruption]()
        return clock.now

    assert change(SignIn(database, clock=interrupt_meanwhile), ada) == SignInRefused()
    assert count(database, SignInSession) == 0
    found = personas.directory.find_profile(ADA)
    assert found is not None
    assert not verify_password(found.password_hash, "a new one")


def test_of_two_changes_at_once_one_is_made(sign_in: SignIn, ada: SignedIn) -> None:
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda new: change(sign_in, ada, new=new), ["one", "other"]))
    assert answers.count(SignInRefused()) == 1


# When somebody last signed in


def test_the_time_of_signing_in_is_kept(personas: Personas, sign_in: SignIn, clock: Clock) -> None:
    assert personas.ada.last_signed_in_at is None
    assert signed_in(sign_in, ADA).profile.last_signed_in_at == clock.now
    clock.advance(hours=1)
    fail(sign_in, times=1)
    found = personas.directory.find_profile(ADA)
    assert found is not None
    assert found.last_signed_in_at == clock.now - dt.timedelta(hours=1)
