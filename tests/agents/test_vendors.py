"""The formats that are written by hand, read by the vendors' own packages."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from portal.tools import specifications, tools_for
from tests.agents.programs import load, require
from tests.manager.world import World

Send = Callable[[dict[str, Any]], dict[str, Any]]

SPOKEN = [
    "Please answer me in German.",
    "All our invoices go to cost centre 4711.",
    "What do you remember about me?",
]


def assert_readable(annotation: Any, value: Any) -> Any:
    """Read a value as a vendor's type, which raises where it is none."""
    return require("pydantic").TypeAdapter(annotation).validate_python(value)


def record(monkeypatch: pytest.MonkeyPatch, program: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Keep what a program sends and gets, each as it was at that moment."""
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []
    pretend_api = program.pretend_api

    def recording_api(think: object) -> Send:
        send: Send = pretend_api(think)

        def record_and_send(request: dict[str, Any]) -> dict[str, Any]:
            answer = send(request)
            seen.append((request | {"messages": list(request["messages"])}, answer))
            return answer

        return record_and_send

    monkeypatch.setattr(program, "pretend_api", recording_api)
    return seen


def hold(program: Any, world: World) -> None:
    think = importlib.import_module("conversation").think
    for said in SPOKEN:
        assert program.turn(world.manager, world.agent("ada"), said, think)


def test_anthropic_reads_every_request_and_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    types = require("anthropic").types
    params = importlib.import_module("anthropic.types.message_create_params")
    program = load("with_anthropic_messages")
    seen = record(monkeypatch, program)
    hold(program, world)
    assert len(seen) == 2 * len(SPOKEN)
    for request, answer in seen:
        assert_readable(params.MessageCreateParamsNonStreaming, request)
        assert_readable(types.Message, answer)


def test_openai_reads_every_request_and_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    require("openai")
    params = importlib.import_module("openai.types.chat.completion_create_params")
    chat = importlib.import_module("openai.types.chat")
    program = load("with_openai_messages")
    seen = record(monkeypatch, program)
    hold(program, world)
    assert len(seen) == 2 * len(SPOKEN)
    for request, answer in seen:
        assert_readable(params.CompletionCreateParamsNonStreaming, request)
        assert_readable(chat.ChatCompletion, answer)


def test_the_vendors_types_take_the_tools() -> None:
    anthropic = require("anthropic").types
    require("openai")
    chat = importlib.import_module("openai.types.chat")
    responses = importlib.import_module("openai.types.responses")
    for each in specifications("anthropic"):
        assert_readable(anthropic.ToolParam, each)
    for each in specifications("openai"):
        assert_readable(chat.ChatCompletionToolParam, each)
        # As the page says how to write them for the Responses API.
        assert_readable(responses.FunctionToolParam, {"type": "function", **each["function"]})


def test_frameworks_that_take_functions_find_in_them_what_the_specifications_say(world: World) -> None:
    functions = tools_for(world.manager, world.agent("ada"))
    expected = {each["function"]["name"]: each["function"] for each in specifications("openai")}
    for name, description, schema in [*seen_by_pydantic_ai(functions), *seen_by_openai_agents(functions)]:
        assert description == expected[name]["description"]
        properties = expected[name]["parameters"]["properties"]
        assert schema["properties"].keys() == properties.keys()
        assert schema.get("required", []) == expected[name]["parameters"]["required"]
        assert schema["additionalProperties"] is False
        for parameter, described in properties.items():
            found = schema["properties"][parameter]
            assert (found["type"], found["description"]) == ("string", described["description"])


Described = tuple[str, str, dict[str, Any]]


def seen_by_pydantic_ai(functions: Sequence[Callable[..., str]]) -> list[Described]:
    tools = [require("pydantic_ai").Tool(each).tool_def for each in functions]
    return [(tool.name, tool.description, tool.parameters_json_schema) for tool in tools]


def seen_by_openai_agents(functions: Sequence[Callable[..., str]]) -> list[Described]:
    tools = [require("agents").function_tool(each) for each in functions]
    return [(tool.name, tool.description, tool.params_json_schema) for tool in tools]
