"""What is logged: one JSON line for each thing, with ids and never a text."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from portal.changes import COMMAND_LINE, Change, remove_memory
from portal.database import Database
from portal.errors import LastAdministrator, MemoryNotFound
from portal.logs import JsonLines, request_id
from portal.manager import AgentMemoryManager
from portal.values import EventAction, utc_now
from tests.factories import Personas, create_personas
from tests.log_lines import Lines, logged_lines


def line_of(message: str, *arguments: object, **extra: object) -> dict[str, Any]:
    record = logging.getLogger("portal.x").makeRecord(
        "portal.x", logging.INFO, "x.py", 1, message, arguments, None, extra=extra
    )
    text_of_line = JsonLines().format(record)
    assert text_of_line.isascii()
    assert text_of_line.isprintable()
    found: dict[str, Any] = json.loads(text_of_line)
    return found


def line_about(error: BaseException) -> dict[str, Any]:
    record = logging.LogRecord(
        "portal.x", logging.ERROR, "x.py", 1, "it failed", (), (type(error), error, error.__traceback__)
    )
    found: dict[str, Any] = json.loads(JsonLines().format(record))
    return found


def test_a_line_says_when_who_and_what() -> None:
    line = line_of("memory changed", action="remembered", memory_id=2**61, version=3)
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "portal.x",
        "message": "memory changed",
        "action": "remembered",
        "memory_id": 2**61,
        "version": 3,
    }


def test_a_field_that_is_not_listed_is_not_written() -> None:
    assert "content" not in line_of("memory changed", content="she is ill")


@pytest.mark.parametrize("control", ["\n", "\r", "\x1b[2J", "\x85", "\u2028", "\u202e", "\x00"])
def test_a_line_is_one_line_whatever_is_in_it(control: str) -> None:
    assert line_of("%s", f"a{control}b")["message"] == f"a{control}b"


def test_a_line_has_the_id_of_the_request_that_is_answered() -> None:
    assert "request_id" not in line_of("outside of a request")
    token = request_id.set("0123abcd")
    try:
        assert line_of("inside")["request_id"] == "0123abcd"
    finally:
        request_id.reset(token)


# What an exception says is repeated where it cannot be what somebody wrote.


def test_our_own_errors_are_written_out() -> None:
    assert line_about(MemoryNotFound(7))["error"] == ["portal.errors.MemoryNotFound: no such memory"]


def test_of_other_errors_only_the_type_is_written() -> None:
    assert line_about(ValueError("not a number: she is ill"))["error"] == ["builtins.ValueError"]


def test_of_an_error_of_the_system_its_own_words_are_written() -> None:
    assert line_about(FileNotFoundError(2, "No such file or directory", "/she-is-ill"))["error"] == [
        "builtins.FileNotFoundError: No such file or directory"
    ]


def look_up_in_vain() -> None:
    try:
        int("she is ill")
    except ValueError as exc:
        raise RuntimeError("she is ill") from exc


def test_an_error_is_written_with_its_causes_and_where_it_was_raised() -> None:
    with pytest.raises(RuntimeError) as raised:
        look_up_in_vain()
    line = line_about(raised.value)
    assert line["error"] == ["builtins.RuntimeError", "builtins.ValueError"]
    assert line["trace"][-1].endswith("look_up_in_vain")
    assert "she is ill" not in json.dumps(line)


def test_what_a_database_refused_is_not_quoted(database: Database) -> None:
    refused = "INSERT INTO organisation (id, name, slug, created_at) VALUES (1, 'she is ill', NULL, 1)"
    with pytest.raises(IntegrityError) as raised:
        database.write(lambda session: session.execute(text(refused)))
    line = line_about(raised.value)
    assert len(line["error"]) == 2
    assert "ill" not in json.dumps(line)


def test_a_database_that_does_not_work_says_why() -> None:
    with pytest.raises(OperationalError) as raised:
        Database("sqlite:////nowhere/portal.db").read(lambda session: session.execute(text("SELECT 1")))
    assert line_about(raised.value)["error"] == [
        "sqlalchemy.exc.OperationalError",
        "sqlite3.OperationalError: unable to open database file",
    ]


# Changes


@pytest.fixture
def personas(database: Database) -> Personas:
    return create_personas(database)


@pytest.fixture
def changes() -> Iterator[Lines]:
    """The lines about changes of memories."""
    with logged_lines("portal.changes") as lines:
        yield lines


def test_every_change_is_a_line_with_ids_alone(
    database: Database, personas: Personas, changes: Lines
) -> None:
    manager = AgentMemoryManager(database)
    agent = personas.agent(personas.ada)
    manager.propose_account_fact(agent, "her_illness", "She is ill")
    [fact] = manager.find_proposed_account_facts(personas.acme, "support")
    manager.decide_account_fact(fact.id, personas.acme, personas.root, "reject", reason="Private matter")

    ids = {
        "organisation_id": personas.acme.id,
        "definition_id": fact.definition_id,
        "memory_id": fact.id,
        "level": "info",
        "logger": "portal.changes",
        "message": "memory changed",
    }
    for line in changes:
        del line["time"]
    assert changes == [
        ids | {"action": "proposed", "version": 1, "actor": "agent", "profile_id": personas.ada.id},
        ids | {"action": "rejected", "version": 2, "actor": "profile", "profile_id": personas.root.id},
    ]


def test_a_change_that_is_rolled_back_leaves_no_line(
    database: Database, personas: Personas, changes: Lines
) -> None:
    manager = AgentMemoryManager(database)
    manager.propose_account_fact(personas.agent(personas.ada), "hours", "9 to 5")
    [fact] = manager.find_proposed_account_facts(personas.acme, "support")
    changes.clear()

    def work(session: Session) -> None:
        remove_memory(session, Change(EventAction.DELETED, COMMAND_LINE, utc_now()), fact)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.write(work)
    assert changes == []


def test_every_change_of_a_person_is_a_line_with_ids_alone(personas: Personas) -> None:
    directory, root = personas.directory, personas.root
    with logged_lines() as lines:
        link = directory.invite(personas.acme, email="zoe@acme.example", name="Zoë", by=root)
        zoe = link.profile
        directory.use_link(link.token, "open sesame")
        directory.make_link(zoe, by=root)
        for role in ("administrator", "member"):
            directory.set_role(zoe, role, by=root)
        directory.end_sessions(zoe, by=root)
        directory.deactivate(zoe, by=root)
        directory.activate(zoe, by=root)
        with pytest.raises(LastAdministrator):
            directory.deactivate(root)
        directory.set_password(zoe, None)
        directory.erase_profile(zoe)
    for line in lines:
        del line["time"]
    ids = {
        "organisation_id": personas.acme.id,
        "person_id": zoe.id,
        "level": "info",
        "logger": "portal.directory.access",
        "message": "person changed",
    }
    by_root = {"actor": "profile", "profile_id": root.id}
    by_zoe = {"actor": "profile", "profile_id": zoe.id}
    assert lines == [
        ids | {"action": "person_invited"} | by_root,
        ids | {"action": "person_link_used"} | by_zoe,
        ids | {"action": "person_link_made"} | by_root,
        ids | {"action": "person_made_administrator"} | by_root,
        ids | {"action": "person_made_member"} | by_root,
        ids | {"action": "person_signed_out"} | by_root,
        ids | {"action": "person_deactivated"} | by_root,
        ids | {"action": "person_activated"} | by_root,
        ids | {"action": "person_password_set", "actor": "command line"},
        ids | {"action": "person_erased", "actor": "command line"},
    ]


def test_nothing_is_written_unless_a_program_sets_logging_up(database: Database, personas: Personas) -> None:
    agent = personas.agent(personas.ada)
    program = f"""
from portal.manager import AgentMemoryManager
from portal.models import Agent
print(AgentMemoryManager.from_url({database.url!r}).remember(Agent(id={agent.id}), "tone", "Warm"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (json.loads(done.stdout)["outcome"], done.stderr) == ("created", "")
