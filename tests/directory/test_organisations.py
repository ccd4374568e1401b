from __future__ import annotations

import pytest

from portal.database import Database
from portal.directory import Directory
from portal.errors import InvalidInput, NameTaken
from portal.models import Organisation
from tests.directory.rows import count_rows
from tests.factories import Clock, Personas


def test_an_organisation_is_found_by_its_slug(database: Database, clock: Clock) -> None:
    directory = Directory(database, clock=clock)
    made = directory.create_organisation(name="Acme & Söhne", slug="acme-1")
    found = directory.find_organisation("acme-1")
    assert found is not None
    assert (found.id, found.name, found.active, found.created_at) == (
        made.id,
        "Acme & Söhne",
        True,
        clock.now,
    )


def test_another_slug_finds_nothing(personas: Personas) -> None:
    for slug in ["acm", "ACME", "", "acme\x00", "\ud800", "acme%"]:
        assert personas.directory.find_organisation(slug) is None


def test_organisations_are_listed_by_slug(personas: Personas) -> None:
    personas.directory.create_organisation(name="First", slug="a-b")
    slugs = [organisation.slug for organisation in personas.directory.find_organisations()]
    assert slugs == ["a-b", "acme", "globex"]


def test_a_slug_is_unique_and_a_name_is_not(personas: Personas) -> None:
    with pytest.raises(NameTaken) as refusal:
        personas.directory.create_organisation(name="Other", slug="acme")
    assert refusal.value.field == "slug"
    assert personas.directory.create_organisation(name="Acme", slug="acme-2").name == "Acme"


def test_an_organisation_that_cannot_be_accepted_is_not_created(database: Database) -> None:
    directory = Directory(database)
    for field, value in (("slug", "ac me"), ("name", " ")):
        with pytest.raises(InvalidInput) as refusal:
            directory.create_organisation(**{"name": "Acme", "slug": "acme"} | {field: value})
        assert refusal.value.field == field
    assert count_rows(database)["organisation"] == 0


def test_names_at_the_limit_are_accepted(database: Database) -> None:
    made = Directory(database).create_organisation(name="ä" * 200, slug="a" * 64)
    assert (len(made.name), len(made.slug)) == (200, 64)


def test_an_organisation_is_closed_and_opened_again(personas: Personas) -> None:
    assert personas.directory.deactivate_organisation(personas.acme).active is False
    closed = personas.directory.find_profile("ada@acme.example")
    assert closed is not None
    assert (closed.active, closed.organisation.active) == (True, False)
    assert personas.directory.activate_organisation(personas.acme).active is True


def test_closing_one_organisation_leaves_the_other_open(personas: Personas) -> None:
    personas.directory.deactivate_organisation(personas.acme)
    globex = personas.directory.find_organisation("globex")
    assert globex is not None
    assert globex.active


def test_what_is_gone_cannot_be_changed(personas: Personas) -> None:
    personas.directory.delete_organisation(personas.acme)
    for call in (
        personas.directory.deactivate_organisation,
        personas.directory.activate_organisation,
        personas.directory.delete_organisation,
    ):
        with pytest.raises(InvalidInput) as refusal:
            call(personas.acme)
        assert refusal.value.field == "organisation"


def test_an_organisation_that_was_never_stored_is_gone_too(personas: Personas) -> None:
    with pytest.raises(InvalidInput, match="organisation"):
        personas.directory.deactivate_organisation(Organisation(name="Nowhere", slug="nowhere"))


def test_an_object_of_another_class_is_a_programming_error(personas: Personas) -> None:
    with pytest.raises(TypeError, match="expected Organisation, not Profile"):
        personas.directory.deactivate_organisation(personas.ada)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not str"):
        personas.directory.find_profiles("acme")  # type: ignore[arg-type]
