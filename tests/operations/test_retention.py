"""Events go after a time, in small steps; memories stay."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from portal.cli import main
from portal.database import Database
from portal.database import Result as Returned
from portal.models import MemoryEvent
from portal.operations.retention import delete_events
from portal.values import utc_now
from tests.factories import Personas
from tests.invariants import State, assert_tenant_closure, read_state
from tests.operations.worlds import furnish

CUT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
def personas(database: Database) -> Personas:
    return furnish(database)


@pytest.fixture
def before(database: Database, personas: Personas) -> State:
    """The state in which every second event is older than the cut, and some are from that very moment."""
    found = read_state(database)
    assert {organisation for organisation, _ in found.events} == {personas.acme.id, personas.globex.id}
    for number, (memory_id, version) in enumerate(keys_of(found)):
        moment = CUT - dt.timedelta(microseconds=1) if number % 2 else CUT
        one = (MemoryEvent.memory_id == memory_id, MemoryEvent.version == version)
        dating = update(MemoryEvent).where(*one).values(at=moment)
        database.write(lambda session, dating=dating: session.execute(dating))  # type: ignore[misc]
    return read_state(database)


def keys_of(state: State) -> list[tuple[int, int]]:
    return sorted((event.memory_id, event.version) for events in state.events.values() for event in events)


def kept(state: State) -> list[tuple[int, int]]:
    events = (event for events in state.events.values() for event in events)
    return sorted((event.memory_id, event.version) for event in events if event.at >= CUT)


@pytest.mark.parametrize("at_once", [1, 2, 3, 1_000])
def test_older_events_go_everywhere_and_nothing_else_does(
    database: Database, before: State, at_once: int
) -> None:
    expected = kept(before)
    deleted = delete_events(database, CUT, at_once=at_once)
    now = read_state(database)
    assert keys_of(now) == expected
    assert deleted == len(keys_of(before)) - len(expected) > 3
    assert now.memories == before.memories
    assert_tenant_closure(now)


def test_doing_it_again_finds_nothing(database: Database, before: State) -> None:
    assert delete_events(database, CUT) > 0
    assert delete_events(database, CUT) == 0
    assert keys_of(read_state(database)) == kept(before)


class Interrupted(Database):
    """A database that goes away after three transactions."""

    writes = 0

    def write(self, work: Returned) -> Returned:  # type: ignore[override]
        self.writes += 1
        if self.writes > 3:
            raise OperationalError("", None, Exception("the connection was closed"))
        return super().write(work)  # type: ignore[arg-type]


def test_what_an_interruption_left_goes_the_next_time(database: Database, before: State) -> None:
    interrupted = Interrupted(database.url)
    with pytest.raises(OperationalError):
        delete_events(interrupted, CUT, at_once=1)
    interrupted.dispose()
    assert len(kept(before)) < len(keys_of(read_state(database))) < len(keys_of(before))
    delete_events(database, CUT, at_once=1)
    assert keys_of(read_state(database)) == kept(before)


# The commands


def run(database: Database, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["events", *arguments], env={"PORTAL_DATABASE_URL": database.url})


def test_days_are_counted_from_now(database: Database, personas: Personas) -> None:
    ages = {1: 9, 2: 11}

    def make_older(session: Session) -> None:
        for version, days in ages.items():
            moment = utc_now() - dt.timedelta(days=days)
            session.execute(update(MemoryEvent).where(MemoryEvent.version == version).values(at=moment))

    database.write(make_older)
    assert run(database, "delete", "--older-than", "10").output == "Deleted 3 events.\n"
    assert {version for _, version in keys_of(read_state(database))} == {1, 3}
    assert personas.acme.slug == "acme"


@pytest.mark.parametrize("days", ["0", "-1", "1.5", "many", "40000"])
def test_a_number_of_days_has_to_make_sense(database: Database, days: str) -> None:
    assert run(database, "delete", f"--older-than={days}").exit_code == 2


@pytest.mark.usefixtures("personas")
def test_events_of_account_facts_are_listed_the_newest_first(database: Database) -> None:
    listed = run(database, "list", "--organisation", "acme", "--definition", "support").output
    lines = [json.loads(line) for line in listed.splitlines()]
    assert [(line["memory_key"], line["action"]) for line in lines] == [
        ("refunds", "rejected"),
        ("hours", "confirmed"),
        ("tide_tables", "proposed"),
        ("refunds", "proposed"),
        ("hours", "proposed"),
    ]
    assert "All about" not in listed
    [newest] = run(
        database,
        *("list", "--organisation", "acme", "--definition", "support"),
        *("--key", "hours", "--limit", "1"),
    ).output.splitlines()
    assert json.loads(newest)["action"] == "confirmed"
