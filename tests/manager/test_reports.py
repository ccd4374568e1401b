"""What pages and adapters read beyond the manager's calls."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

import pytest

from portal.counts import Count, ReviewCounts, ShelfCounts
from portal.models import Organisation, Profile
from portal.policy import Usage
from portal.reports import MemoryReports
from portal.review_queue import QueueQuestion
from tests.manager.test_find import fill
from tests.manager.twins import read_all_pages
from tests.manager.world import World, contents


@pytest.fixture
def reports(world: World) -> MemoryReports:
    return MemoryReports(world.database)


def told(events: Any) -> list[tuple[str, str | None, str | None]]:
    return [(str(event.action), event.memory_key, event.actor and event.actor.name) for event in events]


# Counts.


def test_every_definition_comes_by_title_with_its_counts(world: World, reports: MemoryReports) -> None:
    world.personas.directory.define_agent(world.acme, name="a", title="billing")
    world.personas.directory.define_agent(world.acme, name="b", title="Zoo")
    world.remember("root", "private")
    world.propose("ada", "waiting")
    oldest = world.clock.now
    world.propose("bob", "waiting")
    world.confirmed("ada", "confirmed")
    for key in ("no", "never"):
        world.rejected("bob", key)
    world.propose("eve")
    overviews = reports.find_definition_overviews(world.acme)
    assert [each.definition.title for each in overviews] == ["billing", "Support", "Travel", "Zoo"]
    support, travel = overviews[1:3]
    assert support.counts == ShelfCounts(Count(2), Count(1), Count(2))
    assert (support.oldest_stated_at, support.agents) == (oldest, 3)
    assert (travel.counts, travel.oldest_stated_at, travel.agents) == (ShelfCounts(), None, 0)
    assert reports.find_shelf_counts(world.acme, "support") == support.counts


def test_an_organisation_without_definitions_has_no_overviews(world: World, reports: MemoryReports) -> None:
    initech = world.personas.directory.create_organisation(name="Initech", slug="initech")
    assert list(reports.find_definition_overviews(initech)) == []


@pytest.mark.parametrize("name", ["nothing", "", "sup\x00port", "\ud800"])
def test_a_definition_that_does_not_exist_has_nothing_to_report(
    world: World, reports: MemoryReports, name: str
) -> None:
    fact = world.confirmed("ada")
    assert reports.find_shelf_counts(world.acme, name) == ShelfCounts()
    assert reports.count_reach(world.acme, name) == 0
    assert reports.count_arrivals(world.acme, name, dt.datetime.min.replace(tzinfo=dt.UTC)) == Count(0)
    assert reports.find_account_fact(fact.id, world.acme, name) is None
    assert reports.find_own_memory(fact.id, world.person("ada"), name) is None
    assert reports.find_usage(world.person("ada"), name) is None
    assert reports.find_confirmed_keys(world.acme, name) == []
    assert list(reports.find_events(world.acme, name)) == []


@pytest.mark.parametrize("status", ["proposed", "confirmed", "rejected"])
def test_counting_a_shelf_stops_at_a_thousand(world: World, reports: MemoryReports, status: str) -> None:
    fill(world, status, 1_000)
    assert getattr(reports.find_shelf_counts(world.acme, "support"), status) == Count(1_000)
    world.set_limits(account_fact_limit=2_000)
    world.propose("bob", "more")
    if status != "proposed":
        world.decide("bob", "more", {"confirmed": "confirm", "rejected": "reject"}[status])
    assert getattr(reports.find_shelf_counts(world.acme, "support"), status) == Count(1_000, is_capped=True)


def test_the_reach_of_a_fact_is_the_active_people_who_have_an_agent(
    world: World, reports: MemoryReports
) -> None:
    for name in ("ada", "bob", "root", "eve"):
        world.agent(name)
    world.agent("ada", "travel")
    assert (reports.count_reach(world.acme, "support"), reports.count_reach(world.acme, "travel")) == (3, 1)
    world.personas.directory.deactivate(world.person("bob"))
    assert reports.count_reach(world.acme, "support") == 2


def test_arrivals_are_what_became_a_proposal_since(world: World, reports: MemoryReports) -> None:
    world.propose("ada", "old")
    since = world.clock.now
    assert reports.count_arrivals(world.acme, "support", since) == Count(0)
    world.propose("ada", "old", "reworded")
    world.propose("ada", "new")
    world.propose("bob", "new")
    world.propose("bob", "decided")
    world.decide("bob", "decided", "reject")
    world.propose("bob", "elsewhere", definition="travel")
    assert reports.count_arrivals(world.acme, "support", since) == Count(2)


def test_what_waits_in_all_definitions_is_counted(world: World, reports: MemoryReports) -> None:
    world.propose("ada")
    world.propose("bob", definition="travel")
    world.propose("eve")
    world.confirmed("ada", "decided")
    assert reports.count_waiting(world.acme) == Count(2)


def test_the_counts_beside_the_queue_are_those_that_are_told_one_by_one(
    world: World, reports: MemoryReports
) -> None:
    world.propose("ada", "a")
    world.propose("bob", "b", definition="travel")
    world.confirmed("bob", "c")
    world.rejected("root", "d")
    counts = reports.find_review_counts(world.acme, "support")
    assert counts.shelves == reports.find_shelf_counts(world.acme, "support") != ShelfCounts()
    assert counts.waiting == reports.count_waiting(world.acme) == Count(2)
    assert counts.reach == reports.count_reach(world.acme, "support") == 3
    page = reports.find_review_page(world.acme, QueueQuestion("support"))
    assert page is not None
    assert (page.counts, page.confirmed_keys, page.definition.title) == (counts, ["c"], "Support")
    assert [entry.memory_key for entry in page.entries] == ["a"]


@pytest.mark.parametrize("name", ["nothing", "", "sup\x00port", "\ud800"])
def test_there_is_no_page_of_a_definition_that_does_not_exist(
    world: World, reports: MemoryReports, name: str
) -> None:
    world.propose("ada")
    assert reports.find_review_page(world.acme, QueueQuestion(name)) is None
    assert reports.find_review_page(Organisation(id=10**6), QueueQuestion("support")) is None
    assert reports.find_review_counts(world.acme, name) == ReviewCounts()


def test_confirmed_keys_come_in_order(world: World, reports: MemoryReports) -> None:
    for key in ("zebra", "ärger", "b_1", "b1"):
        world.confirmed("ada", key)
    world.propose("ada", "proposed")
    assert list(reports.find_confirmed_keys(world.acme, "support")) == ["b1", "b_1", "zebra", "ärger"]


# One fact.


def test_an_account_fact_is_found_complete_by_its_id(world: World, reports: MemoryReports) -> None:
    facts = [world.confirmed("ada", "a"), world.rejected("ada", "b", reason="We moved")]
    world.propose("ada", "c")
    for fact, status in zip(
        [*facts, world.row("ada", "c")], ["confirmed", "rejected", "proposed"], strict=True
    ):
        found = reports.find_account_fact(fact.id, world.acme, "support")
        assert found is not None
        assert found.stated_by is not None
        assert (found.status, found.stated_by.name) == (status, "Ada")
        assert (found.decided_by is None) == (status == "proposed")


def test_no_other_id_finds_an_account_fact(world: World, reports: MemoryReports) -> None:
    world.remember("ada", "personal")
    fact = world.confirmed("ada")
    assert reports.find_account_fact(world.row("ada", "personal").id, world.acme, "support") is None
    assert reports.find_account_fact(fact.id, world.acme, "travel") is None
    assert reports.find_account_fact(fact.id, world.personas.globex, "support") is None
    for memory_id in (0, -1, 2**63, fact.id + 1):
        assert reports.find_account_fact(memory_id, world.acme, "support") is None


def test_ones_own_memory_is_what_ones_agent_holds_or_had_rejected(
    world: World, reports: MemoryReports
) -> None:
    world.remember("ada", "personal")
    world.propose("ada", "proposed")
    world.rejected("ada", "rejected")
    confirmed = world.confirmed("ada", "confirmed")
    ada = world.person("ada")
    for key in ("personal", "proposed", "rejected"):
        found = reports.find_own_memory(world.row("ada", key).id, ada, "support")
        assert found is not None
        assert (found.memory_key, found.stated_by and found.stated_by.name) == (key, "Ada")
        for stranger in ("bob", "root", "eve"):
            assert reports.find_own_memory(found.id, world.person(stranger), "support") is None
        assert reports.find_own_memory(found.id, ada, "travel") is None
    assert reports.find_own_memory(confirmed.id, ada, "support") is None


# A person's agents, usage and export.


def test_a_persons_agents_come_by_title_with_what_they_hold(world: World, reports: MemoryReports) -> None:
    world.set_limits("travel", title="a journey", memory_limit=7)
    world.remember("ada", "a", "12345")
    world.propose("ada", "b", "1234")
    world.confirmed("bob", "c")
    world.agent("ada", "travel")
    journey, support = reports.find_agent_overviews(world.person("ada"))
    assert (journey.definition.title, support.definition.title) == ("a journey", "Support")
    assert support.usage == Usage(2, 100, 9, 20_000, 1, 20)
    assert (support.account_facts, journey.account_facts) == (Count(1), Count(0))
    assert (journey.usage.memories, journey.usage.memory_limit) == (0, 7)
    assert list(reports.find_agent_overviews(world.person("root"))) == []


def test_usage_is_what_the_answers_say(world: World, reports: MemoryReports) -> None:
    world.remember("ada", "a", "Grüße \N{GRINNING FACE}")
    world.propose("ada", "b", "1234")
    usage = reports.find_usage(world.person("ada"), "support")
    assert usage is not None
    assert usage.as_json() == world.list("ada")["usage"]


def test_an_export_has_everything_that_a_persons_agents_were_told(
    world: World, reports: MemoryReports
) -> None:
    world.rejected("ada", "office", "Hall 1")
    world.remember("ada", "office", "Hall 2")
    world.propose("ada", "seat", "aisle")
    world.confirmed("ada", "fiscal_year", "July")
    world.confirmed("bob", "bobs", "Bob's")
    world.remember("ada", "seat", "window", definition="travel")
    world.remember("bob", "mine", "Bob's")
    exported = list(reports.export_person(world.person("ada")))
    assert [(each.definition.name, each.memory.content, each.memory.status) for each in exported] == [
        ("support", "July", "confirmed"),
        ("support", "Hall 2", "personal"),
        ("support", "Hall 1", "rejected"),
        ("support", "aisle", "proposed"),
        ("travel", "window", "personal"),
    ]
    assert exported[0].memory.decided_by is not None
    assert list(reports.export_person(world.person("root"))) == []


def test_definitions_are_exported_by_name_on_every_database(world: World, reports: MemoryReports) -> None:
    for name in ("a-z", "a0", "ab", "9"):
        world.personas.directory.define_agent(world.acme, name=name)
        world.remember("ada", definition=name)
    exported = [each.definition.name for each in reports.export_person(world.person("ada"))]
    assert exported == ["9", "a-z", "a0", "ab"]


def test_only_the_id_of_an_owner_counts(world: World, reports: MemoryReports) -> None:
    world.remember("ada")
    memory_id = world.row("ada").id
    ada = Profile(id=world.person("ada").id, organisation_id=world.personas.globex.id)
    assert reports.find_own_memory(memory_id, ada, "support") is not None
    assert len(reports.find_agent_overviews(ada)) == 1
    usage = reports.find_usage(ada, "support")
    assert usage is not None
    assert usage.memories == 1
    assert contents(each.memory for each in reports.export_person(ada)) == ["text"]
    nobody = Profile(id=10**6, organisation_id=world.acme.id)
    assert reports.find_usage(nobody, "support") is None
    assert list(reports.find_agent_overviews(nobody)) == []
    assert list(reports.export_person(nobody)) == []


# Events.


def test_the_history_of_a_definition_comes_with_the_newest_first(
    world: World, reports: MemoryReports
) -> None:
    world.remember("ada", "private")
    fact = world.rejected("ada")
    world.clock.advance(seconds=1)
    world.manager.reopen_account_fact(fact.id, world.acme, world.root)
    world.confirmed("bob", "seat")
    world.confirmed("ada", "elsewhere")
    world.clock.advance(seconds=1)
    world.manager.delete_memory(world.row("ada", "elsewhere").id, world.acme)
    world.propose("eve")
    assert told(reports.find_events(world.acme, "support")) == [
        ("deleted", "elsewhere", None),
        ("confirmed", "elsewhere", "Root"),
        ("proposed", "elsewhere", "Ada"),
        ("confirmed", "seat", "Root"),
        ("proposed", "seat", "Bob"),
        ("reopened", "office", "Root"),
        ("rejected", "office", "Root"),
        ("proposed", "office", "Ada"),
    ]


def test_the_history_of_a_fact_and_of_a_key(world: World, reports: MemoryReports) -> None:
    world.propose("ada")
    world.propose("bob")
    world.decide("bob", action="reject")
    world.propose("ada", "seat")
    of_the_fact = reports.find_events(world.acme, "support", memory_id=world.row("bob").id)
    assert told(of_the_fact) == [("rejected", "office", "Root"), ("proposed", "office", "Bob")]
    of_the_key = reports.find_events(world.acme, "support", memory_key="office")
    assert [actor for _, _, actor in told(of_the_key)] == ["Root", "Bob", "Ada"]
    seat = world.row("ada", "seat").id
    assert list(reports.find_events(world.acme, "support", memory_id=seat, memory_key="office")) == []


@pytest.mark.parametrize("memory_id", [0, -1, 2**63, 2**70])
def test_a_fact_that_never_was_has_no_history(world: World, reports: MemoryReports, memory_id: int) -> None:
    world.propose("ada")
    assert list(reports.find_events(world.acme, "support", memory_id=memory_id)) == []


@pytest.mark.parametrize("memory_key", ["", "nothing", "\x00", "\ud800", "x" * 10_000])
def test_a_key_that_never_was_has_no_history_and_no_entry(
    world: World, reports: MemoryReports, memory_key: str
) -> None:
    world.propose("ada")
    assert list(reports.find_events(world.acme, "support", memory_key=memory_key)) == []
    assert world.manager.find_review_entry(world.acme, "support", memory_key) is None


def test_what_was_taken_back_is_nobodys_history(world: World, reports: MemoryReports) -> None:
    world.propose("ada")
    memory_id = world.row("ada").id
    world.remember("ada")
    assert list(reports.find_events(world.acme, "support")) == []
    assert list(reports.find_events(world.acme, "support", memory_id=memory_id)) == []


def test_an_erased_person_is_named_in_no_event(world: World, reports: MemoryReports) -> None:
    world.confirmed("ada")
    world.personas.directory.erase_profile(world.person("ada"))
    assert told(reports.find_events(world.acme, "support")) == [
        ("confirmed", "office", "Root"),
        ("proposed", "office", None),
    ]


@pytest.mark.parametrize("limit", [1, 3, 8, 100])
def test_history_is_turned_page_by_page_without_a_gap(
    world: World, reports: MemoryReports, limit: int
) -> None:
    moment = world.clock.now
    for key in ("a", "b", "c", "d"):
        # Half of it happened at the same moment.
        world.clock.now = moment if key in "ab" else world.clock.now
        world.rejected("ada", key)
    find = partial(reports.find_events, world.acme, "support")
    everything = find()
    assert (len(everything), everything.total) == (8, 8)
    pages = read_all_pages(partial(find, limit=limit))
    places = [(event.at, event.memory_id, event.version) for event in pages]
    assert places == [(event.at, event.memory_id, event.version) for event in everything]
    assert places == sorted(places, reverse=True)
    page_one = find(limit=3)
    other = find(memory_key="a", limit=1).after
    assert told(find(limit=3, after=other)) == told(page_one)
