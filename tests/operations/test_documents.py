"""What documents and examples say is what there is."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
from dataclasses import MISSING, Field, fields
from typing import Any

import pytest
from click.testing import CliRunner

from portal.cli import main
from portal.directory.names import LIMITS
from portal.settings import PREFIX, Settings, variables_of
from portal.values import Status
from tests.operations.documents import ROOT, blocks_of, settings_of

# What a test machine has not. Everything else in a document is in a block that a test carries out.
NOT_CARRIED_OUT = {"useradd", "systemctl", "docker", "--publish"}


def default_of(setting: Field[Any]) -> str:
    """Return a default as a table says it."""
    if setting.default is MISSING:
        return "none, has to be set"
    return "none" if setting.default in {"", ()} else f"`{setting.default}`"


DEFAULTS = {f"{PREFIX}{setting.name.upper()}": default_of(setting) for setting in fields(Settings)}


def test_the_table_of_settings_is_what_the_code_reads() -> None:
    assert settings_of("docs/operations.md") == DEFAULTS


def test_the_readme_says_nothing_else_of_a_setting() -> None:
    assert settings_of("README.md").items() <= DEFAULTS.items()


def test_the_settings_that_can_stand_in_files_are_those_that_are_said_to() -> None:
    in_files = {setting.name for setting in fields(Settings) if len(variables_of(setting)) > 1}
    assert in_files == {"secret_key", "secret_key_fallbacks", "database_url", "metrics_token"}
    assert (
        "The two keys, the database's URL and the token can stand in files"
        in (ROOT / "docs/operations.md").read_text()
    )


def test_every_setting_that_an_example_sets_is_one() -> None:
    known = {name for setting in fields(Settings) for name in variables_of(setting)}
    files = [ROOT / "Dockerfile", ROOT / "docs" / "operations.md", *(ROOT / "deploy").iterdir()]
    named = {name for path in files for name in re.findall(r"\bPORTAL_[A-Z_]+\b", path.read_text())}
    assert named <= known


def test_what_no_test_can_carry_out_is_marked_as_such() -> None:
    commands = {
        line.removeprefix("$").split()[0]
        for block in blocks_of("docs/operations.md")
        if block.language == "console"
        for line in block.code.splitlines()
    }
    assert commands == NOT_CARRIED_OUT


@pytest.mark.parametrize(
    "document", ["docs/operations.md", "docs/architecture.md", "CONTRIBUTING.md", "SECURITY.md"]
)
def test_what_a_document_links_to_is_there(document: str) -> None:
    path = ROOT / document
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


# Examples of deployment


def portal_commands() -> list[list[str]]:
    """Return every call of the command line in the examples, without the program."""
    image = re.findall(r'^CMD \["portal", (.*)\]$', (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    units = [path.read_text() for path in (ROOT / "deploy").glob("*.service")]
    started = [words for unit in units for words in re.findall(r"/opt/portal/bin/portal ([^'\n]+)", unit)]
    return [shlex.split(words.replace(",", " ")) for words in image] + [
        shlex.split(words) for words in started
    ]


def test_the_examples_call_commands_and_options_that_there_are() -> None:
    commands = portal_commands()
    assert len(commands) == 3
    for name, *options in commands:
        shown = CliRunner().invoke(main, [name, "--help"])
        assert shown.exit_code == 0
        assert [word for word in options if word.startswith("--") and word not in shown.output] == []


@pytest.mark.parametrize("unit", ["portal.service", "portal-backup.service", "portal-backup.timer"])
def test_a_unit_has_the_sections_of_its_kind(unit: str) -> None:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.read(ROOT / "deploy" / unit)
    kind = unit.rpartition(".")[2].capitalize()
    assert {"Unit", kind} <= set(parser.sections()) <= {"Unit", kind, "Install"}


def pins(lock: str) -> set[str]:
    """Return the versions and hashes of a lock, without the platforms that each is for."""
    return set(re.findall(r"^\S+==\S+|--hash=\S+", (ROOT / lock).read_text(), re.MULTILINE))


@pytest.mark.parametrize("lock", ["requirements-serve.lock", "requirements-build.lock"])
def test_what_the_image_is_made_of_is_what_was_tested(lock: str) -> None:
    assert pins(lock)
    assert pins(lock) <= pins("requirements.lock"), "`make lock` makes it anew"


def test_the_image_gets_nothing_but_what_it_is_made_of() -> None:
    let_in = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"
    }
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert {source for sources in copied for source in sources.split()} == let_in
    assert [source for source in let_in if not (ROOT / source).exists()] == []


@pytest.mark.skipif(os.environ.get("CI") != "true", reason="it takes minutes and a registry; CI runs it")
def test_the_steps_of_the_dockerfile_can_be_carried_out() -> None:
    program = [sys.executable, str(ROOT / "deploy" / "try_dockerfile.py")]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("ended when it was told to\n")


# What the pages for people who decide say

PROMISE = re.compile(r"^\| (?P<name>[IS]-\d+) \| (?P<promise>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)


def promises() -> dict[str, str]:
    """Return which tests are named for each promise."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    return {found["name"]: found["tests"] for found in PROMISE.finditer(text)}


def names_in(path: str) -> set[str]:
    text = (ROOT / "tests" / path).read_text(encoding="utf-8")
    return set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))


def test_every_promise_is_there_with_tests() -> None:
    invariants = [f"I-{number}" for number in range(1, 23)]
    assert [*promises()] == [*invariants, *(f"S-{number}" for number in range(1, 19))]


@pytest.mark.parametrize("promise", promises())
def test_every_test_that_a_promise_names_is_one(promise: str) -> None:
    named = [part.partition(": ") for part in promises()[promise].split("; ")]
    for path, _, tests in named:
        names = set(re.findall(r"`(test_\w+)`", tests))
        assert names
        assert names <= names_in(path.strip(" `")), path


def test_all_invariants_are_run_at_full_size() -> None:
    found = re.search(r"^RELIABILITY := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    places = tuple(found[1].replace("\\\n", " ").split())
    named = [tests for promise, tests in promises().items() if promise.startswith("I-")]
    files = {f"tests/{path}" for tests in named for path in re.findall(r"`([\w/]+\.py)`", tests)}
    assert {path for path in files if not path.startswith(places)} == set()


@pytest.mark.parametrize("document", ["docs/security.md", "docs/semantics.md", "docs/architecture.md"])
def test_every_link_of_a_document_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / document).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_semantics_names_every_state_and_every_limit() -> None:
    text = (ROOT / "docs/semantics.md").read_text(encoding="utf-8")
    assert {f"**{status}**" for status in Status} <= set(re.findall(r"\*\*\w+\*\*", text))
    assert set(LIMITS) <= set(re.findall(r"`(\w+)`", text))
