from __future__ import annotations

from collections.abc import Callable

import pytest

from portal.database import Database
from portal.errors import InvalidInput, LastAdministrator, NameTaken
from portal.models import Profile
from portal.passwords import hash_password, verify_password
from portal.values import Role
from tests.directory.rows import sign_in, signed_in
from tests.factories import Clock, Personas


def find(personas: Personas, email: str) -> Profile:
    found = personas.directory.find_profile(email)
    assert found is not None
    return found


def test_a_person_is_found_by_their_address_however_it_is_capitalised(personas: Personas) -> None:
    made = personas.directory.create_profile(personas.acme, email="Zoë@Acme.Example", name="Zoë")
    found = find(personas, "zoË@ACME.example")
    assert (found.id, found.email, found.name) == (made.id, "Zoë@Acme.Example", "Zoë")
    assert (found.role, found.active, found.organisation.slug) == (Role.MEMBER, True, "acme")


@pytest.mark.parametrize(
    "email", ["nobody@acme.example", "", "ada", "ada@acme.example\x00", "\ud800@acme.example"]
)
def test_another_address_finds_nobody(personas: Personas, email: str) -> None:
    assert personas.directory.find_profile(email) is None


def test_people_are_listed_by_address_within_their_organisation(personas: Personas) -> None:
    personas.directory.deactivate(personas.ada)
    names = [profile.name for profile in personas.directory.find_profiles(personas.acme)]
    assert names == ["Ada", "Bob", "Root"]
    assert [profile.name for profile in personas.directory.find_profiles(personas.globex)] == ["Eve"]


def test_what_is_handed_back_is_complete_without_a_session(personas: Personas) -> None:
    assert personas.ada.organisation.name == "Acme"
    assert personas.directory.find_profiles(personas.acme)[0].organisation.name == "Acme"
    assert personas.directory.set_role(personas.ada, "administrator").organisation.name == "Acme"


def test_an_address_is_unique_in_the_installation(personas: Personas) -> None:
    with pytest.raises(NameTaken) as refusal:
        personas.directory.create_profile(personas.globex, email="ADA@acme.example", name="Impostor")
    assert refusal.value.field == "email"
    assert len(personas.directory.find_profiles(personas.globex)) == 1


def test_a_person_who_cannot_be_accepted_is_not_created(personas: Personas) -> None:
    fine = {"email": "zoe@acme.example", "name": "Zoë", "role": "member", "password": "x"}
    for field, value in (("email", "zoe"), ("name", " "), ("role", "owner"), ("password", "x" * 1_025)):
        with pytest.raises(InvalidInput) as refusal:
            personas.directory.create_profile(personas.acme, **fine | {field: value})
        assert refusal.value.field == field
    assert len(personas.directory.find_profiles(personas.acme)) == 3


def test_the_longest_address_is_accepted(personas: Personas) -> None:
    email = "a" * 241 + "@acme.example"
    assert len(personas.directory.create_profile(personas.acme, email=email, name="Zoë").email) == 254


def test_nobody_joins_an_organisation_that_is_gone(personas: Personas) -> None:
    personas.directory.delete_organisation(personas.globex)
    with pytest.raises(InvalidInput, match="organisation"):
        personas.directory.create_profile(personas.globex, email="zoe@globex.example", name="Zoë")


def test_a_password_is_stored_as_a_hash_and_its_absence_as_nothing(personas: Personas) -> None:
    assert personas.ada.password_hash is None
    changed = personas.directory.set_password(personas.ada, "open sesame")
    assert verify_password(changed.password_hash, "open sesame")
    assert personas.directory.set_password(personas.ada, None).password_hash is None


def test_a_person_can_be_created_with_a_password(personas: Personas) -> None:
    made = personas.directory.create_profile(
        personas.acme, email="zoe@acme.example", name="Zoë", password="open sesame"
    )
    assert verify_password(made.password_hash, "open sesame")


def test_a_person_can_bring_the_hash_of_their_password(personas: Personas) -> None:
    brought = hash_password("open sesame")
    made = personas.directory.create_profile(
        personas.acme, email="zoe@acme.example", name="Zoë", password_hash=brought
    )
    assert made.password_hash == brought


def test_a_password_and_a_hash_together_are_refused(personas: Personas) -> None:
    with pytest.raises(InvalidInput) as refusal:
        personas.directory.create_profile(
            personas.acme,
            email="zoe@acme.example",
            name="Zoë",
            password="open sesame",
            password_hash=hash_password("open sesame"),
        )
    assert refusal.value.field == "password_hash"
    assert personas.directory.find_profile("zoe@acme.example") is None


def test_a_password_that_cannot_be_accepted_changes_nothing(
    personas: Personas, database: Database, clock: Clock
) -> None:
    sign_in(database, personas.ada, clock.now)
    with pytest.raises(InvalidInput, match="password"):
        personas.directory.set_password(personas.ada, "")
    assert signed_in(database) == [personas.ada.id]


# Whoever loses a password or their access is signed out everywhere; a change of role bites without that.
@pytest.mark.parametrize(
    ("call", "ends_sessions"),
    [
        (lambda personas: personas.directory.set_password(personas.ada, "open sesame"), True),
        (lambda personas: personas.directory.set_password(personas.ada, None), True),
        (lambda personas: personas.directory.deactivate(personas.ada), True),
        (lambda personas: personas.directory.erase_profile(personas.ada), True),
        (lambda personas: personas.directory.end_sessions(personas.ada), True),
        (lambda personas: personas.directory.set_role(personas.ada, "administrator"), False),
        (lambda personas: personas.directory.activate(personas.ada), False),
    ],
)
def test_some_changes_sign_a_person_out_and_nobody_else(
    personas: Personas,
    database: Database,
    clock: Clock,
    call: Callable[[Personas], object],
    ends_sessions: bool,  # noqa: FBT001
) -> None:
    for profile in (personas.ada, personas.ada, personas.bob):
        sign_in(database, profile, clock.now)
    call(personas)
    still = [personas.bob.id] if ends_sessions else [personas.ada.id, personas.ada.id, personas.bob.id]
    assert signed_in(database) == still


def test_closing_an_organisation_signs_everybody_in_it_out(
    personas: Personas, database: Database, clock: Clock
) -> None:
    for profile in (personas.ada, personas.root, personas.eve):
        sign_in(database, profile, clock.now)
    personas.directory.deactivate_organisation(personas.acme)
    assert signed_in(database) == [personas.eve.id]


def test_a_person_is_kept_out_and_let_in_again(personas: Personas) -> None:
    assert personas.directory.deactivate(personas.ada).active is False
    assert personas.directory.deactivate(personas.ada).active is False
    assert find(personas, "ada@acme.example").active is False
    assert personas.directory.activate(personas.ada).active is True


def test_a_role_is_given_and_taken(personas: Personas) -> None:
    assert personas.directory.set_role(personas.ada, Role.ADMINISTRATOR).is_administrator
    assert not personas.directory.set_role(personas.ada, "member").is_administrator


def test_a_role_that_does_not_exist_is_refused(personas: Personas) -> None:
    with pytest.raises(InvalidInput, match="role"):
        personas.directory.set_role(personas.ada, "owner")


ENDING_A_TERM: list[Callable[[Personas, Profile], object]] = [
    lambda personas, profile: personas.directory.deactivate(profile),
    lambda personas, profile: personas.directory.erase_profile(profile),
    lambda personas, profile: personas.directory.set_role(profile, "member"),
]


@pytest.mark.parametrize("end_term", ENDING_A_TERM, ids=["deactivate", "erase", "demote"])
def test_the_last_active_administrator_stays(
    personas: Personas, end_term: Callable[[Personas, Profile], object]
) -> None:
    former = personas.directory.create_profile(
        personas.acme, email="zoe@acme.example", name="Zoë", role="administrator"
    )
    personas.directory.deactivate(former)
    with pytest.raises(LastAdministrator) as refusal:
        end_term(personas, personas.root)
    assert refusal.value.profile_id == personas.root.id
    root = find(personas, "root@acme.example")
    assert (root.role, root.active) == (Role.ADMINISTRATOR, True)


@pytest.mark.parametrize("end_term", ENDING_A_TERM, ids=["deactivate", "erase", "demote"])
def test_an_administrator_who_is_not_the_last_may_go(
    personas: Personas, end_term: Callable[[Personas, Profile], object]
) -> None:
    personas.directory.set_role(personas.ada, "administrator")
    end_term(personas, personas.root)
    with pytest.raises(LastAdministrator):
        end_term(personas, personas.ada)


def test_an_inactive_administrator_is_nobodys_last(personas: Personas) -> None:
    personas.directory.set_role(personas.ada, "administrator")
    personas.directory.deactivate(personas.root)
    personas.directory.erase_profile(personas.root)
    assert personas.directory.find_profile("root@acme.example") is None


def test_the_last_administrator_may_be_given_the_same_role_again(personas: Personas) -> None:
    assert personas.directory.set_role(personas.root, "administrator").is_administrator


def test_what_somebody_wrote_on_the_object_changes_nothing(personas: Personas) -> None:
    """Only the id is believed, so a stale or forged object cannot move a person or hide an administrator."""
    personas.root.role = Role.MEMBER
    personas.root.organisation_id = personas.globex.id
    with pytest.raises(LastAdministrator):
        personas.directory.deactivate(personas.root)


def test_nobody_can_be_changed_once_they_are_erased(personas: Personas) -> None:
    personas.directory.erase_profile(personas.ada)
    calls: list[Callable[[], object]] = [
        lambda: personas.directory.set_role(personas.ada, "member"),
        lambda: personas.directory.set_password(personas.ada, None),
        lambda: personas.directory.deactivate(personas.ada),
        lambda: personas.directory.activate(personas.ada),
        lambda: personas.directory.end_sessions(personas.ada),
        lambda: personas.directory.make_link(personas.ada),
        lambda: personas.directory.erase_profile(personas.ada),
    ]
    for call in calls:
        with pytest.raises(InvalidInput) as refusal:
            call()
        assert refusal.value.field == "profile"


def test_an_object_of_another_class_is_no_person(personas: Personas) -> None:
    with pytest.raises(TypeError, match="expected Profile, not Organisation"):
        personas.directory.deactivate(personas.acme)  # type: ignore[arg-type]
