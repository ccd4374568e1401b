"""One-time links: whom they let set a password, how often, and until when."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select, update

from portal.database import Database
from portal.directory import NewLink
from portal.errors import InvalidInput, LinkNotValid, NameTaken, NotAnAdministrator, OwnAccess
from portal.models import Base, OneTimeLink, Organisation, Profile
from portal.passwords import verify_password
from portal.values import Role
from tests.directory.rows import count_rows, sign_in, signed_in
from tests.factories import Clock, Personas
from tests.invariants import read_state
from tests.quick_passwords import give_everybody_a_password


def invite(personas: Personas, **changed: str) -> NewLink:
    fields = {"email": "zoe@acme.example", "name": "Zoë"} | changed
    return personas.directory.invite(personas.acme, **fields, by=personas.root)


def assert_dead(personas: Personas, link: NewLink) -> None:
    assert personas.directory.find_link(link.token) is None
    with pytest.raises(LinkNotValid):
        personas.directory.use_link(link.token, "open sesame")


def password_of(personas: Personas, profile: Profile) -> str | None:
    found = personas.directory.find_person(profile.organisation, profile.id)
    assert found is not None
    return found.profile.password_hash


# Making one


def test_somebody_is_invited_without_a_password(personas: Personas, clock: Clock) -> None:
    link = invite(personas, role="administrator")
    zoe = link.profile
    assert (zoe.email, zoe.name, zoe.role, zoe.active) == (
        "zoe@acme.example",
        "Zoë",
        Role.ADMINISTRATOR,
        True,
    )
    assert (zoe.password_hash, zoe.organisation.slug) == (None, "acme")
    assert (link.expires_at - clock.now).total_seconds() == 72 * 3600


def test_the_token_has_256_random_bits_and_the_database_a_digest(
    personas: Personas, database: Database
) -> None:
    tokens = {invite(personas, email=f"zoe{number}@acme.example").token for number in range(3)}
    assert {len(token) for token in tokens} == {43}
    assert len(tokens) == 3
    digests = database.read(lambda session: session.scalars(select(OneTimeLink.token_digest)).all())
    assert {len(digest) for digest in digests} == {32}
    assert not any(token.encode() in digest for token in tokens for digest in digests)


def test_an_address_leads_to_the_portal_and_is_in_no_repr(personas: Personas) -> None:
    link = invite(personas)
    for public_url in ("https://memory.example", "https://memory.example/"):
        assert link.address(public_url) == f"https://memory.example/welcome/{link.token}"
    assert link.token not in repr(link)


def test_a_forgotten_password_gets_a_link_for_a_day(
    personas: Personas, database: Database, clock: Clock
) -> None:
    give_everybody_a_password(database)
    before = password_of(personas, personas.ada)
    sign_in(database, personas.ada, clock.now)
    link = personas.directory.make_link(personas.ada, by=personas.root)
    assert (link.expires_at - clock.now).total_seconds() == 24 * 3600
    # Until somebody uses it, it has changed nothing.
    assert password_of(personas, personas.ada) == before
    assert signed_in(database) == [personas.ada.id]


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"email": "zoe"}, "email"), ({"name": " "}, "name"), ({"role": "owner"}, "role")],
)
def test_an_invitation_that_cannot_be_accepted_creates_nobody(
    personas: Personas, database: Database, changed: dict[str, str], field: str
) -> None:
    before = count_rows(database)
    with pytest.raises(InvalidInput) as refusal:
        invite(personas, **changed)
    assert (refusal.value.field, count_rows(database)) == (field, before)


@pytest.mark.parametrize("email", ["ADA@acme.example", "eve@globex.example"])
def test_an_address_in_use_is_not_invited_again(personas: Personas, database: Database, email: str) -> None:
    before = count_rows(database)
    with pytest.raises(NameTaken):
        invite(personas, email=email)
    assert count_rows(database) == before


def test_nobody_is_invited_to_an_organisation_that_is_closed(personas: Personas, database: Database) -> None:
    personas.directory.deactivate_organisation(personas.acme)
    before = count_rows(database)
    with pytest.raises(InvalidInput, match="kept out"):
        personas.directory.invite(personas.acme, email="zoe@acme.example", name="Zoë")
    assert count_rows(database) == before


def test_whoever_is_kept_out_gets_no_link(personas: Personas) -> None:
    personas.directory.deactivate(personas.ada)
    with pytest.raises(InvalidInput, match="kept out"):
        personas.directory.make_link(personas.ada)


def test_nobody_makes_a_link_for_themselves(personas: Personas, database: Database) -> None:
    """It would set another password without the current one."""
    with pytest.raises(OwnAccess):
        personas.directory.make_link(personas.root, by=personas.root)
    assert count_rows(database)["one_time_link"] == 0


# Using one


def test_a_link_sets_a_password_and_signs_its_person_out_everywhere(
    personas: Personas, database: Database, clock: Clock
) -> None:
    for profile in (personas.ada, personas.bob):
        sign_in(database, profile, clock.now)
    link = personas.directory.make_link(personas.ada)
    used = personas.directory.use_link(link.token, "open sesame")
    assert (used.id, used.organisation.slug) == (personas.ada.id, "acme")
    assert verify_password(used.password_hash, "open sesame")
    assert signed_in(database) == [personas.bob.id]


def test_looking_at_a_link_uses_nothing_up_and_using_it_does(personas: Personas) -> None:
    link = invite(personas)
    for _ in range(3):
        found = personas.directory.find_link(link.token)
        assert found is not None
        assert (found.name, found.organisation.name) == ("Zoë", "Acme")
    personas.directory.use_link(link.token, "open sesame")
    assert_dead(personas, link)


@pytest.mark.parametrize("password", ["", "x" * 1_025])
def test_a_password_that_cannot_be_accepted_leaves_the_link_good(personas: Personas, password: str) -> None:
    link = invite(personas)
    with pytest.raises(InvalidInput, match="password"):
        personas.directory.use_link(link.token, password)
    assert personas.directory.find_link(link.token) is not None


@pytest.mark.parametrize("token", ["", "x", "A" * 43, "\ud800", "\0"])
def test_a_token_that_never_was_is_nobodys(personas: Personas, token: str) -> None:
    invite(personas)
    assert personas.directory.find_link(token) is None
    with pytest.raises(LinkNotValid):
        personas.directory.use_link(token, "open sesame")


@pytest.mark.parametrize(("hours", "invited"), [(72, True), (24, False)])
def test_a_link_ends_when_its_time_is_up(
    personas: Personas,
    database: Database,
    clock: Clock,
    hours: int,
    invited: bool,  # noqa: FBT001
) -> None:
    give_everybody_a_password(database)
    link = invite(personas) if invited else personas.directory.make_link(personas.ada)
    clock.advance(hours=hours, seconds=-1)
    assert personas.directory.find_link(link.token) is not None
    clock.advance(seconds=1)
    assert_dead(personas, link)


ENDS: list[Callable[[Personas, Profile], object]] = [
    lambda personas, profile: personas.directory.make_link(profile),
    lambda personas, profile: personas.directory.set_password(profile, None),
    lambda personas, profile: personas.directory.deactivate(profile),
    lambda personas, _: personas.directory.deactivate_organisation(personas.acme),
    lambda personas, profile: personas.directory.erase_profile(profile),
]


@pytest.mark.parametrize(
    "end", ENDS, ids=["newer link", "password", "deactivate", "close organisation", "erase"]
)
def test_what_ends_a_link_ends_it_for_good(
    personas: Personas, end: Callable[[Personas, Profile], object]
) -> None:
    link, other = invite(personas), personas.directory.make_link(personas.eve)
    end(personas, link.profile)
    assert_dead(personas, link)
    # Letting somebody in again does not bring it back.
    personas.directory.activate_organisation(personas.acme)
    for profile in personas.directory.find_profiles(personas.acme):
        personas.directory.activate(profile)
    assert_dead(personas, link)
    assert personas.directory.find_link(other.token) is not None


@pytest.mark.parametrize("column", ["profile", "organisation"])
def test_a_link_whose_row_was_left_lets_nobody_in_who_is_kept_out(
    personas: Personas, database: Database, column: str
) -> None:
    """As after an UPDATE by hand."""
    link = invite(personas)
    table: type[Base] = {"profile": Profile, "organisation": Organisation}[column]
    database.write(lambda session: session.execute(update(table).values(active=False)))
    assert_dead(personas, link)


# Who may


CALLS: list[Callable[[Personas, Profile], object]] = [
    lambda personas, by: personas.directory.invite(personas.acme, email="z@acme.example", name="Z", by=by),
    lambda personas, by: personas.directory.make_link(personas.bob, by=by),
    lambda personas, by: personas.directory.set_role(personas.bob, "administrator", by=by),
    lambda personas, by: personas.directory.deactivate(personas.bob, by=by),
    lambda personas, by: personas.directory.activate(personas.bob, by=by),
    lambda personas, by: personas.directory.end_sessions(personas.bob, by=by),
]
NAMES = ["invite", "link", "role", "deactivate", "activate", "end sessions"]


@pytest.mark.parametrize("call", CALLS, ids=NAMES)
def test_people_are_changed_by_an_active_administrator_of_theirs(
    personas: Personas, database: Database, clock: Clock, call: Callable[[Personas, Profile], object]
) -> None:
    sign_in(database, personas.bob, clock.now)
    former = personas.directory.create_profile(
        personas.acme, email="former@acme.example", name="Former", role="administrator"
    )
    personas.directory.deactivate(former)
    before = read_state(database), count_rows(database)
    for by in (personas.ada, personas.eve, former):
        with pytest.raises(NotAnAdministrator):
            call(personas, by)
    assert (read_state(database), count_rows(database)) == before
    call(personas, personas.root)


def test_administrators_leave_their_own_access_to_others(personas: Personas) -> None:
    personas.directory.set_role(personas.ada, "administrator")
    calls: list[Callable[[], object]] = [
        lambda: personas.directory.set_role(personas.root, "member", by=personas.root),
        lambda: personas.directory.deactivate(personas.root, by=personas.root),
    ]
    for call in calls:
        with pytest.raises(OwnAccess) as refusal:
            call()
        assert refusal.value.profile_id == personas.root.id
    personas.directory.set_role(personas.root, "administrator", by=personas.root)
    personas.directory.set_role(personas.root, "member", by=personas.ada)
