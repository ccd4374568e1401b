from __future__ import annotations

import datetime as dt
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from portal.cli.places import opened_as_it_is
from portal.database import Database
from portal.demo import brightwater, halyard
from portal.demo.instructions import PASSWORD, STORIES, instructions, propose_command
from portal.demo.running import interruptible, throw_away_database, undisturbed
from portal.demo.seeding import seed
from portal.demo.story import Decided, Remembered, Story
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory, Organisation
from portal.passwords import verify_password
from portal.policy import Usage
from portal.values import Status
from tests.addresses import free_port, get_status

NOW = dt.datetime(2026, 5, 20, 9, 30, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def progress() -> list[tuple[int, int]]:
    return []


@pytest.fixture(scope="module")
def demo(progress: list[tuple[int, int]]) -> Iterator[Database]:
    """The demo's database; the tests of this module only read it, or add to it."""
    with throw_away_database() as database_url, opened_as_it_is(database_url) as database:
        seed(
            database,
            STORIES,
            password=PASSWORD,
            now=NOW,
            progress=lambda done, total: progress.append((done, total)),
        )
        yield database


@pytest.fixture(scope="module")
def memories(demo: Database) -> Sequence[AgentMemory]:
    """Everything in the first organisation, as it is once the story is told."""
    question = select(AgentMemory).where(AgentMemory.organisation_id == organisation(demo).id)
    return demo.read(lambda session: session.scalars(question).all())


def organisation(demo: Database) -> Organisation:
    found = Directory(demo).find_organisation(halyard.STORY.slug)
    assert found is not None
    return found


def test_there_are_enough_people_agents_and_facts_to_look_around(
    demo: Database, memories: Sequence[AgentMemory]
) -> None:
    people = Directory(demo).find_profiles(organisation(demo))
    assert len(people) >= 6
    assert sum(person.is_administrator for person in people) >= 2
    assert len(Directory(demo).find_definitions(organisation(demo))) == 2
    assert len(memories) >= 60


def test_everybody_signs_in_with_the_password_that_is_printed(demo: Database) -> None:
    people = Directory(demo).find_profiles(organisation(demo))
    [shared] = {person.password_hash for person in people}
    assert verify_password(shared, PASSWORD)


def test_facts_differ_in_status_length_and_script(memories: Sequence[AgentMemory]) -> None:
    assert {memory.status for memory in memories} == set(Status)
    assert max(memory.content.count("\n") for memory in memories) >= 10
    letters = {
        unicodedata.name(letter).split()[0]
        for memory in memories
        for letter in memory.content
        if letter.isalpha()
    }
    assert letters >= {"LATIN", "GREEK", "ARABIC", "HIRAGANA", "CJK", "DEVANAGARI"}


def test_people_disagree_under_one_key_and_under_one_that_is_settled(memories: Sequence[AgentMemory]) -> None:
    waiting = Counter(memory.memory_key for memory in memories if memory.status == Status.PROPOSED)
    settled = {memory.memory_key for memory in memories if memory.status == Status.CONFIRMED}
    assert waiting["refund_window"] == 3
    assert "invoice_address" in settled & set(waiting)


def test_every_rejection_has_its_reason(memories: Sequence[AgentMemory]) -> None:
    reasons = [memory.decision_reason for memory in memories if memory.status == Status.REJECTED]
    assert len(reasons) >= 3
    assert all(reasons)


def test_somebody_is_at_the_ceiling(demo: Database) -> None:
    piotr = Directory(demo).find_profile(halyard.PIOTR.email)
    assert piotr is not None
    agent = Directory(demo).agent_for(piotr, halyard.TRAVEL.name)
    usage = Usage(**json.loads(AgentMemoryManager(demo).list(agent))["usage"])
    assert usage.memories == usage.memory_limit


def test_some_proposals_deserve_a_second_look(memories: Sequence[AgentMemory]) -> None:
    waiting = {memory.memory_key: memory for memory in memories if memory.status == Status.PROPOSED}
    assert "always approve" in waiting["refund_approval"].content
    assert "https://" in waiting["tide_tables"].content
    assert "AKIA" in waiting["booking_system_key"].content
    assert "\N{RIGHT-TO-LEFT MARK}" in waiting["ramadan_meals"].content
    assert waiting["wifi_on_board"].version == 3


def test_it_all_happened_in_the_weeks_before(memories: Sequence[AgentMemory]) -> None:
    times = [memory.created_at for memory in memories]
    assert min(times) < NOW - dt.timedelta(days=14)
    assert NOW - dt.timedelta(days=1) < max(times) < NOW


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.slug)
def test_a_story_is_told_in_order(story: Story) -> None:
    days = [step.days_ago for step in story.steps]
    assert days == sorted(days, reverse=True)


def test_the_second_organisation_shares_nothing_with_the_first(demo: Database) -> None:
    clinic = Directory(demo).find_organisation(brightwater.STORY.slug)
    assert clinic is not None
    facts = AgentMemoryManager(demo).find_proposed_account_facts(clinic, "support")
    assert [fact.memory_key for fact in facts] == ["refund_window", "parrot_protocol"]


def test_progress_is_told_step_by_step(progress: list[tuple[int, int]], demo: Database) -> None:  # noqa: ARG001 - it has to be there
    total = len(progress)
    assert progress == [(done, total) for done in range(1, total + 1)]


def tell(story: Story) -> None:
    with throw_away_database() as database_url, opened_as_it_is(database_url) as database:
        seed(database, [story], password=PASSWORD, now=NOW, progress=lambda _done, _total: None)


def test_a_story_that_an_agent_cannot_tell_is_a_mistake_in_it() -> None:
    step = Remembered(1, brightwater.SAM, brightwater.SUPPORT, "key", "")
    with pytest.raises(RuntimeError, match="cannot record key: invalid_content"):
        tell(replace(brightwater.STORY, steps=[step]))


def test_a_story_that_decides_on_nothing_is_a_mistake_in_it() -> None:
    step = Decided(1, brightwater.NADIA, "confirm", brightwater.SAM, brightwater.SUPPORT, "key")
    with pytest.raises(RuntimeError, match="decides on key, which nobody proposed"):
        tell(replace(brightwater.STORY, steps=[step]))


def test_the_instructions_name_everybody_and_two_addresses() -> None:
    text = instructions(8123, "sqlite:////tmp/demo.db")
    for story in STORIES:
        assert all(person.email in text for person in story.people)
    assert "http://127.0.0.1:8123" in text
    assert "http://localhost:8123" in text
    assert max(map(len, text.splitlines()[:-1])) <= 100


def test_the_line_to_paste_proposes_a_fact(demo: Database) -> None:
    command = shlex.split(propose_command(demo.url))
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(output)["outcome"] == "created"


@contextmanager
def running_demo(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", "from portal.cli import main; main()", "demo", "--port", str(port)]
    environment = os.environ | {"TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_demo_is_served_until_it_is_stopped_and_leaves_nothing(tmp_path: Path) -> None:
    port = free_port()
    with running_demo(tmp_path, port) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if "memory propose" in line)
        assert get_status(port, "/sign-in") == 200
        subprocess.run(shlex.split(line), check=True, stdout=subprocess.DEVNULL)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert "The demo is over" in process.stdout.read()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        get_status(port, "/healthz")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_signal_to_end_is_heard_until_the_cleaning_up_which_nothing_disturbs(
    stop: signal.Signals,
) -> None:
    before = signal.getsignal(stop)
    with interruptible():
        # The first may be dropped, where it comes while Python runs a callback of its own.
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(stop)
        with undisturbed():
            signal.raise_signal(stop)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(stop)
    assert signal.getsignal(stop) == before


def test_whoever_is_impatient_leaves_nothing_behind_either(tmp_path: Path) -> None:
    with running_demo(tmp_path, free_port()) as process:
        assert process.stderr is not None
        assert "Making" in process.stderr.read(8)
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        process.communicate(timeout=30)
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with running_demo(tmp_path, port) as process:
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert (
        errors == f"Error: port: {port} cannot be used (Address already in use); choose another with --port\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_does_not_start_ends_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--no-such-option")
    with running_demo(tmp_path, free_port()) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors.endswith("Error: the server ended\n")
    assert list(tmp_path.iterdir()) == []
