"""Calls at the same moment: whatever their order, the promises hold."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from portal.database import Database
from portal.errors import (
    AgentMemoryError,
    InvalidInput,
    LastAdministrator,
    LinkNotValid,
    NameTaken,
    NotAnAdministrator,
)
from portal.manager import AgentMemoryManager
from portal.models import Profile
from portal.passwords import verify_password
from tests.directory.rows import count_rows
from tests.factories import Personas

ROUNDS = 5
Outcome = object


def at_once(calls: Sequence[Callable[[], Outcome]]) -> list[Outcome]:
    """Make calls from threads that start together; a refusal is an outcome, any other error is raised."""
    start = threading.Barrier(len(calls))

    def make(call: Callable[[], Outcome]) -> Outcome:
        start.wait()
        try:
            return call()
        except AgentMemoryError as refusal:
            return type(refusal)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(make, calls))


def test_of_many_first_uses_of_an_agent_all_get_the_same(personas: Personas) -> None:
    directory = personas.directory
    for owner in (personas.ada, personas.bob, personas.root):
        agents = at_once([lambda owner=owner: directory.agent_for(owner, "support").id] * 8)  # type: ignore[misc]
        assert len(set(agents)) == 1


def test_of_many_organisations_with_one_slug_one_is_made(personas: Personas) -> None:
    create = personas.directory.create_organisation
    outcomes = at_once([lambda: create(name="Initech", slug="initech").slug] * 6)
    assert sorted(map(str, outcomes)) == sorted([str(NameTaken)] * 5 + ["initech"])


def test_of_many_definitions_with_one_name_one_is_made_and_all_get_it(personas: Personas) -> None:
    define = personas.directory.define_agent
    ids = at_once([lambda: define(personas.acme, name="claims").id] * 6)
    assert len(set(ids)) == 1


@pytest.mark.parametrize(
    "end_term",
    [
        lambda personas, profile: personas.directory.deactivate(profile).id,
        lambda personas, profile: personas.directory.erase_profile(profile),
        lambda personas, profile: personas.directory.set_role(profile, "member").id,
    ],
    ids=["deactivate", "erase", "demote"],
)
def test_the_last_two_administrators_cannot_both_go(
    personas: Personas, end_term: Callable[[Personas, Profile], Outcome]
) -> None:
    for number in range(ROUNDS):
        others = [
            personas.directory.create_profile(
                personas.acme, email=f"{name}{number}@acme.example", name=name, role="administrator"
            )
            for name in ("one", "two")
        ]
        for profile in personas.directory.find_profiles(personas.acme):
            if profile.is_administrator and profile.id not in {other.id for other in others}:
                personas.directory.set_role(profile, "member")
        outcomes = at_once([lambda other=other: end_term(personas, other) for other in others])  # type: ignore[misc]
        assert outcomes.count(LastAdministrator) == 1


def test_nothing_is_left_of_somebody_who_is_erased_while_their_agent_writes(
    personas: Personas, database: Database
) -> None:
    manager = AgentMemoryManager(database)
    agent = personas.agent(personas.ada)

    def write(number: int) -> Outcome:
        return json.loads(manager.remember(agent, f"key_{number}", "Something")).get("error", "stored")

    writes = [lambda number=number: write(number) for number in range(6)]
    outcomes = at_once([*writes, lambda: personas.directory.erase_profile(personas.ada)])
    assert set(outcomes) <= {"stored", "inactive", None}
    rows = count_rows(database)
    assert (rows["agent"], rows["agent_memory"]) == (0, 0)
    assert rows["memory_event"] == 2 * outcomes.count("stored")


def test_nothing_is_left_of_an_organisation_that_is_deleted_while_people_join(
    personas: Personas, database: Database
) -> None:
    def join(number: int) -> Outcome:
        profile = personas.directory.create_profile(personas.acme, email=f"{number}@acme.example", name="New")
        return personas.directory.agent_for(profile, "support").owner.name

    joins = [lambda number=number: join(number) for number in range(5)]
    outcomes = at_once([*joins, lambda: personas.directory.delete_organisation(personas.acme)])
    assert set(outcomes) <= {"New", InvalidInput, None}
    rows = count_rows(database)
    assert (rows["organisation"], rows["profile"], rows["agent"]) == (1, 1, 0)


def test_of_many_uses_of_one_link_one_sets_its_password(personas: Personas) -> None:
    directory = personas.directory
    token = directory.make_link(personas.ada).token
    uses = [lambda n=number: directory.use_link(token, f"password {n}") for number in range(4)]
    outcomes = at_once(uses)
    assert outcomes.count(LinkNotValid) == 3
    [(winner, used)] = [(number, one) for number, one in enumerate(outcomes) if isinstance(one, Profile)]
    assert verify_password(used.password_hash, f"password {winner}")


def test_of_many_links_at_once_one_is_left(personas: Personas) -> None:
    directory = personas.directory
    outcomes = at_once([lambda: directory.make_link(personas.ada).token] * 6)
    assert len(set(outcomes)) == 6
    assert sum(directory.find_link(str(token)) is not None for token in outcomes) == 1


def test_two_administrators_who_demote_each_other_leave_one(personas: Personas) -> None:
    directory = personas.directory
    for _ in range(ROUNDS):
        directory.set_role(personas.ada, "administrator")
        directory.set_role(personas.root, "administrator")
        outcomes = at_once(
            [
                lambda: directory.set_role(personas.ada, "member", by=personas.root).id,
                lambda: directory.set_role(personas.root, "member", by=personas.ada).id,
            ]
        )
        # Whoever comes second is an administrator no more.
        assert outcomes.count(NotAnAdministrator) == 1


def test_nobody_gets_in_by_a_link_who_is_kept_out_at_the_same_moment(
    personas: Personas, database: Database
) -> None:
    directory = personas.directory
    for end in (directory.deactivate, directory.erase_profile):
        token = directory.make_link(personas.ada).token
        used, _ = at_once(
            [lambda: directory.use_link(token, "open sesame").id, lambda: end(personas.ada)]  # noqa: B023
        )
        assert used in {LinkNotValid, personas.ada.id}
        assert count_rows(database)["one_time_link"] == 0
        assert directory.find_link(token) is None
        if end == directory.deactivate:
            directory.activate(personas.ada)
