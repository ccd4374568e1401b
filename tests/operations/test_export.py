"""An export is everything of one organisation, as of one moment, and nothing of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from portal.cli import main
from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import Base
from portal.operations.export import KINDS, OMITTED, export_organisation, exported_columns
from portal.values import utc_now
from tests.factories import Clock, Personas
from tests.invariants import read_state
from tests.operations.worlds import TRICKY, furnish

Lines = list[dict[str, Any]]

# A column that is added later has to be added here, or be omitted, on purpose.
COLUMNS = {
    "organisation": {"id", "name", "slug", "active", "created_at"},
    "profile": {
        *("id", "organisation_id", "email", "name", "role", "active", "theme", "keyboard_shortcuts"),
        *("created_at", "last_signed_in_at"),
    },
    "definition": {
        *("id", "organisation_id", "name", "title", "description", "memory_limit", "memory_characters"),
        *("proposal_limit", "account_fact_limit", "account_fact_characters", "second_person_required"),
        "created_at",
    },
    "agent": {"id", "organisation_id", "owner_id", "definition_id", "created_at"},
    "memory": {
        *("organisation_id", "definition_id", "memory_key", "id", "status", "content", "version"),
        *("stated_by_id", "stated_at", "created_at", "updated_at", "decided_by_id", "decided_at"),
        "decision_reason",
    },
    "event": {
        *("organisation_id", "memory_id", "version", "definition_id", "at", "action", "status_before"),
        *("status_after", "memory_key", "actor_kind", "actor_id"),
    },
}


@pytest.fixture
def personas(database: Database) -> Personas:
    return furnish(database)


def export(database: Database, organisation_id: int) -> Lines:
    written: list[str] = []
    count = export_organisation(database, organisation_id, written.append, Clock().now)
    lines = "".join(written).splitlines()
    assert len(lines) == len(written) == count
    return [json.loads(line) for line in lines]


def of_kind(lines: Lines, kind: str) -> Lines:
    return [line for line in lines if line["type"] == kind]


def test_an_export_is_framed_so_that_a_cut_one_is_noticed(database: Database, personas: Personas) -> None:
    first, *between, last = export(database, personas.acme.id)
    assert first == {"type": "export", "format": 1, "exported_at": "2026-03-01T12:00:00.000000Z"}
    assert last == {"type": "end", "lines": len(between) + 1}


def test_everything_of_the_organisation_is_in_it(database: Database, personas: Personas) -> None:
    lines, state = export(database, personas.acme.id), read_state(database)
    here = personas.acme.id
    assert {line["id"] for line in of_kind(lines, "organisation")} == {here}
    for kind, rows in (
        ("profile", state.profiles),
        ("definition", state.definitions),
        ("agent", state.agents),
    ):
        expected = {row.id for row in rows.values() if row.organisation_id == here}
        assert {line["id"] for line in of_kind(lines, kind)} == expected
    assert {(line["memory_key"], line["status"], line["content"]) for line in of_kind(lines, "memory")} == {
        (memory.memory_key, memory.status, memory.content)
        for memory in state.memories.values()
        if memory.organisation_id == here
    }
    assert {(line["memory_id"], line["version"]) for line in of_kind(lines, "event")} == {
        (event.memory_id, event.version)
        for events in state.events.values()
        for event in events
        if event.organisation_id == here
    }
    assert {line["status"] for line in of_kind(lines, "memory")} == {
        *("personal", "proposed", "confirmed", "rejected")
    }


def test_nothing_of_another_organisation_is_in_it(database: Database, personas: Personas) -> None:
    lines = export(database, personas.globex.id)
    assert {line["email"] for line in of_kind(lines, "profile")} == {"eve@globex.example"}
    assert [line["content"] for line in of_kind(lines, "memory")] == ["By the window"]


def test_what_was_written_comes_out_code_point_for_code_point(database: Database, personas: Personas) -> None:
    memories = of_kind(export(database, personas.acme.id), "memory")
    [greeting] = [memory for memory in memories if memory["memory_key"] == "greeting"]
    [refused] = [memory for memory in memories if memory["memory_key"] == "refunds"]
    assert greeting["content"] == refused["decision_reason"] == TRICKY
    assert refused["decided_at"].endswith("Z")


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_of_a_line_are_chosen_on_purpose(kind: str) -> None:
    assert {column.name for column in exported_columns(KINDS[kind])} == COLUMNS[kind]


@pytest.mark.parametrize("table", OMITTED)
def test_what_is_omitted_is_there_to_be_omitted(table: type[Base]) -> None:
    assert OMITTED[table] < set(table.__table__.columns.keys())


def test_an_export_holds_one_moment(database: Database, personas: Personas) -> None:
    manager, agent = AgentMemoryManager(database), personas.agent(personas.ada)
    written: list[str] = []

    def write(line: str) -> None:
        if len(written) == 1:
            manager.remember(agent, "too_late", "This is not in it")
        written.append(line)

    export_organisation(database, personas.acme.id, write, utc_now())
    assert '"too_late"' in manager.list(agent)
    assert "too_late" not in "".join(written)


# The command


def run(database: Database, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["export", *arguments], env={"PORTAL_DATABASE_URL": database.url})


@pytest.mark.usefixtures("personas")
def test_the_command_prints_the_lines_and_nothing_else(database: Database) -> None:
    result = run(database, "--organisation", "globex")
    lines = [json.loads(line) for line in result.stdout_bytes.decode().splitlines()]
    assert lines[-1] == {"type": "end", "lines": len(lines) - 1}
    assert result.stderr == f"Exported globex in {len(lines)} lines.\n"


@pytest.mark.usefixtures("personas")
def test_a_file_is_readable_by_its_owner_only_and_overwrites_nothing(
    database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "acme.jsonl"
    arguments = ["--organisation", "acme", "--output", str(file)]
    assert run(database, *arguments).exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    assert "is there already" in run(database, *arguments).stderr
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_an_export_that_fails_leaves_no_file(database: Database, tmp_path: Path) -> None:
    result = run(database, "--organisation", "nowhere", "--output", str(tmp_path / "x"))
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
