"""What administrators see of people: who there is, and whether they can sign in."""

from __future__ import annotations

import pytest

from portal.database import Database
from portal.directory.people import Person, Standing
from portal.values import MAX_ID
from tests.factories import Clock, Personas
from tests.quick_passwords import give_everybody_a_password


def find(personas: Personas, profile_id: int) -> Person:
    found = personas.directory.find_person(personas.acme, profile_id)
    assert found is not None
    return found


def names(personas: Personas, search: str) -> list[str]:
    return [person.profile.name for person in personas.directory.find_people(personas.acme, search=search)]


def test_somebody_stands_as_their_password_their_link_and_their_access_say(
    personas: Personas, clock: Clock, database: Database
) -> None:
    directory = personas.directory
    give_everybody_a_password(database)
    link = directory.invite(personas.acme, email="zoe@acme.example", name="Zoë")
    zoe = link.profile.id
    assert find(personas, personas.ada.id).standing is Standing.ACTIVE
    assert find(personas, personas.ada.id).link_expires_at is None
    assert (find(personas, zoe).standing, find(personas, zoe).link_expires_at) == (
        Standing.INVITED,
        link.expires_at,
    )
    clock.advance(hours=72)
    assert (find(personas, zoe).standing, find(personas, zoe).link_expires_at) == (
        Standing.WITHOUT_PASSWORD,
        None,
    )
    reset = directory.make_link(personas.ada)
    assert (find(personas, personas.ada.id).standing, find(personas, personas.ada.id).link_expires_at) == (
        Standing.ACTIVE,
        reset.expires_at,
    )
    directory.deactivate(personas.ada)
    assert find(personas, personas.ada.id).standing is Standing.DEACTIVATED
    assert find(personas, personas.ada.id).profile.organisation.name == "Acme"


def test_nobody_is_found_by_the_id_of_somebody_elsewhere_or_of_nobody(personas: Personas) -> None:
    for profile_id in (personas.eve.id, 0, -1, MAX_ID, MAX_ID + 1):
        assert personas.directory.find_person(personas.acme, profile_id) is None


def test_people_are_listed_by_address_with_their_number(personas: Personas) -> None:
    people = personas.directory.find_people(personas.acme)
    assert [person.profile.name for person in people] == ["Ada", "Bob", "Root"]
    assert (people.total, people.after, people[0].profile.organisation.name) == (3, None, "Acme")
    assert len(personas.directory.find_people(personas.globex)) == 1


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", ["Ada", "Bob", "Root", "Straße 100%"]),
        ("ACME.example", ["Ada", "Bob", "Root", "Straße 100%"]),
        ("STRASSE", ["Straße 100%"]),
        ("%", ["Straße 100%"]),
        ("_", []),
        ("\0", []),
        ("eve", []),
    ],
)
def test_a_search_is_literal_in_name_or_address(personas: Personas, search: str, found: list[str]) -> None:
    personas.directory.create_profile(personas.acme, email="zoe@acme.example", name="Straße 100%")
    assert names(personas, search) == found


def test_pages_neither_skip_nor_repeat_whoever_stays(personas: Personas) -> None:
    directory = personas.directory
    first = directory.find_people(personas.acme, limit=2)
    assert ([person.profile.name for person in first], first.total) == (["Ada", "Bob"], 3)
    directory.erase_profile(personas.ada)
    second = directory.find_people(personas.acme, limit=2, after=first.after)
    assert ([person.profile.name for person in second], second.after) == (["Root"], None)


def test_a_cursor_that_leads_nowhere_means_page_one(personas: Personas) -> None:
    directory = personas.directory
    first = directory.find_people(personas.acme, limit=2)
    for cursor in ("x", directory.find_people(personas.acme, limit=2, search="a").after):
        assert len(directory.find_people(personas.acme, limit=2, after=cursor)) == 2
    directory.erase_profile(personas.bob)
    assert len(directory.find_people(personas.acme, limit=2, after=first.after)) == 2
