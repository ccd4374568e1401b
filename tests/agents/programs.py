"""The programs of docs/agents, found and loaded as they stand."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from tests.conftest import do_without

FOLDER = Path(__file__).parent.parent.parent / "docs" / "agents"

FRAMEWORKS = {
    "with_pydantic_ai": "pydantic_ai",
    "with_openai_agents": "agents",
    "with_langgraph": "langgraph",
    "with_anthropic_messages": "portal",
    "with_openai_messages": "portal",
    "with_mcp": "mcp",
}
"""What each program needs beside this product."""


def require(package: str) -> Any:
    """Return a package that only the environment of `make test-agents` has."""
    if importlib.util.find_spec(package) is None:
        do_without(f"{package} is not installed", required_by="PORTAL_REQUIRE_FRAMEWORKS")
    return importlib.import_module(package)


def load(program: str) -> Any:
    """Return a program as a module. The folder has to be on the path."""
    require(FRAMEWORKS[program])
    return importlib.import_module(program)


def tool_call(name: str, arguments: object) -> Any:
    """Return what a model says in the programs when it wants a tool called."""
    return importlib.import_module("conversation").ToolCall(name, arguments)
