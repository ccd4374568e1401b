"""What the pages for agents' developers show is so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from portal.answer_schemas import FORGET_ERRORS, LIST_ERRORS, STORE_ERRORS, TOOL_ERRORS
from portal.prompt import Record, decode
from portal.tools import TOOLS
from tests.agents.programs import FOLDER, FRAMEWORKS
from tests.manager.world import World

ROOT = FOLDER.parent.parent
PAGE = FOLDER / "README.md"
FRONT_PAGE = ROOT / "README.md"


def code(page: Path, heading: str, language: str) -> str:
    """Return the first piece of code under a heading."""
    section = page.read_text(encoding="utf-8").partition(f"# {heading}\n")[2]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found is not None, heading
    return found[1]


@pytest.mark.parametrize("page", [PAGE, FRONT_PAGE], ids=lambda page: page.parent.name)
def test_the_first_lines_run_as_they_are_printed(page: Path, world: World) -> None:
    lines = code(page, "Give your agent memory", "python")
    names: dict[str, Any] = {"agent_id": world.agent("ada").id}
    exec(lines.replace("sqlite:///portal.db", world.database.url), names)  # noqa: S102 - it is what the page says
    manager, agent = names["manager"], names["agent"]
    assert agent.id == world.agent("ada").id
    assert manager.list(agent) == world.manager.list(agent)
    manager.dispose()


def test_six_lines_give_an_agent_its_tools_and_its_prompt(world: World) -> None:
    lines = code(PAGE, "Give your agent memory", "python")
    assert len([line for line in lines.splitlines() if line]) == 6
    names: dict[str, Any] = {"agent_id": world.agent("ada").id}
    exec(lines.replace("sqlite:///portal.db", world.database.url), names)  # noqa: S102 - as above
    assert [tool.__name__ for tool in names["tools"]] == list(TOOLS)
    assert names["prompt"] == world.manager.prompt_block(world.agent("ada"))
    names["manager"].dispose()


def test_the_block_on_the_page_is_what_an_agent_with_that_memory_gets(world: World) -> None:
    shown = code(PAGE, "The prompt block", "")
    world.confirmed("bob", "cost_centre", "Invoices go to cost centre 4711")
    world.remember("ada", "preferred_language", "Answers in Austrian German")
    world.propose("ada", "office_hours", "Nine to five")
    agent = world.agent("ada")
    marker = re.findall(r"<memory-(\w+)>", shown)[0]
    assert world.manager.prompt_block(agent).replace(agent.prompt_marker, marker) == shown
    assert decode(shown)[0] == Record("confirmed", "cost_centre", "Invoices go to cost centre 4711")


def test_the_page_names_every_tool_every_error_and_every_program() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))
    assert {*TOOLS, *STORE_ERRORS, *FORGET_ERRORS, *LIST_ERRORS, *TOOL_ERRORS} <= named
    assert set(re.findall(r"\((with_\w+)\.py\)", page)) == set(FRAMEWORKS)


def test_every_link_of_the_page_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (FOLDER / link).exists()] == []


def test_the_settings_of_an_mcp_host_are_json_and_start_the_server() -> None:
    [server] = json.loads(code(PAGE, "MCP", "json"))["mcpServers"].values()
    assert [server["command"], *server["args"]][:2] == ["portal", "mcp"]
