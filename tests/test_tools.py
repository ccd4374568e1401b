"""The tools for models: described as vendors want it, answered whatever a model writes, bound to an agent."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_type_hints

import pytest
from jsonschema import Draft202012Validator
from mcp.types import Tool as McpTool

from portal.contents import MAX_CONTENT_LENGTH, MAX_CONTENT_LINES
from portal.database import Database
from portal.keys import MAX_KEY_INPUT_LENGTH, MAX_KEY_LENGTH
from portal.manager import AgentMemoryManager
from portal.tools import TOOLS, Vendor, call, specifications, tools_for
from tests.answers_page import ERRORS, OUTCOMES, PAGE, Shown, all_answers, page
from tests.bad_calls import BAD_CALLS, GOOD
from tests.corpus_inputs import NOT_TEXT
from tests.factories import Clock, create_personas
from tests.invariants import assert_nothing_written
from tests.manager.world import World
from tests.trespass import FACT, SECRET, attempts, furnish, not_held_by

NAMES = ["remember", "propose_account_fact", "forget", "list_memories"]
VENDORS: list[Vendor] = ["openai", "anthropic", "mcp"]


@pytest.fixture
def world(database: Database) -> World:
    clock = Clock()
    personas = create_personas(database, clock=clock)
    return World(database, AgentMemoryManager(database, clock=clock), personas, clock)


def ask(world: World, tool: str, arguments: object = None, *, who: str = "ada") -> Any:
    return json.loads(call(world.manager, world.agent(who), tool, arguments))


def input_schemas(vendor: Vendor) -> Mapping[str, Any]:
    """The schemas of the tools' arguments, by the tools' names."""
    found = specifications(vendor)
    if vendor == "openai":
        return {each["function"]["name"]: each["function"]["parameters"] for each in found}
    field = "input_schema" if vendor == "anthropic" else "inputSchema"
    return {each["name"]: each[field] for each in found}


# How vendors want tools described.


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_vendor_gets_the_four_tools_as_closed_objects_of_required_texts(vendor: Vendor) -> None:
    schemas = input_schemas(vendor)
    assert list(schemas) == NAMES
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
        assert {each["type"] for each in schema["properties"].values()} <= {"string"}
        assert all(each["description"] for each in schema["properties"].values())


def test_openai_gets_functions_in_strict_mode() -> None:
    """The rules of https://platform.openai.com/docs/guides/structured-outputs#supported-schemas."""
    for each in specifications("openai"):
        assert set(each) == {"type", "function"}
        assert each["type"] == "function"
        function = each["function"]
        assert set(function) == {"name", "description", "strict", "parameters"}
        assert function["strict"] is True
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", function["name"])
        assert len(function["description"]) <= 1024
        assert set(keywords(function["parameters"])) <= {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "description",
        }


def keywords(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every keyword of a schema and of the schemas of its properties."""
    yield from schema
    for each in schema.get("properties", {}).values():
        yield from keywords(each)


def test_anthropic_gets_a_name_a_description_and_an_input_schema() -> None:
    """The rules of https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use."""
    for each in specifications("anthropic"):
        assert set(each) == {"name", "description", "input_schema"}
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", each["name"])


def test_an_mcp_client_reads_the_tools_back_as_they_are() -> None:
    """The rules of https://modelcontextprotocol.io/specification/2025-11-25/server/tools."""
    for each in specifications("mcp"):
        assert re.fullmatch("[A-Za-z0-9_.-]{1,128}", each["name"])
        Draft202012Validator.check_schema(each["outputSchema"])
        assert each["outputSchema"]["type"] == "object"
        read = McpTool.model_validate(each)
        assert read.model_dump(by_alias=True, exclude_none=True) == each


def test_an_mcp_client_is_told_what_reads_and_what_destroys() -> None:
    hints = {each["name"]: each["annotations"] for each in specifications("mcp")}
    assert [name for name in NAMES if hints[name]["readOnlyHint"]] == ["list_memories"]
    assert [name for name in NAMES if hints[name]["destructiveHint"]] == ["forget"]
    assert all(hint["idempotentHint"] and not hint["openWorldHint"] for hint in hints.values())


@pytest.mark.parametrize("vendor", ["anthropic", "mcp"])
def test_lengths_are_told_to_vendors_that_take_them(vendor: Vendor) -> None:
    lengths = {
        (name, parameter): described["maxLength"]
        for name, schema in input_schemas(vendor).items()
        for parameter, described in schema["properties"].items()
    }
    assert set(lengths.values()) == {MAX_KEY_INPUT_LENGTH, MAX_CONTENT_LENGTH}
    assert lengths["remember", "content"] == MAX_CONTENT_LENGTH
    assert lengths["forget", "memory_key"] == MAX_KEY_INPUT_LENGTH


def test_an_unknown_vendor_is_refused() -> None:
    with pytest.raises(ValueError, match="openai, anthropic or mcp"):
        specifications("acme")  # type: ignore[arg-type]


def test_the_described_lengths_are_those_that_are_accepted(world: World) -> None:
    key, content = (TOOLS["remember"].parameters[name] for name in ("memory_key", "content"))
    assert f"{MAX_KEY_LENGTH} characters" in key.description
    assert f"{MAX_CONTENT_LENGTH:,} characters and {MAX_CONTENT_LINES} lines" in content.description
    longest = {
        "memory_key": "a" + " " * (key.max_length - 2) + "b",
        "content": "x" * content.max_length,
    }
    assert ask(world, "remember", longest)["ok"]
    assert not ask(world, "remember", longest | {"memory_key": longest["memory_key"] + "c"})["ok"]
    assert not ask(world, "remember", longest | {"content": longest["content"] + "x"})["ok"]
    assert ask(world, "remember", {"memory_key": "k" * MAX_KEY_LENGTH, "content": "x"})["ok"]
    assert not ask(world, "remember", {"memory_key": "k" * (MAX_KEY_LENGTH + 1), "content": "x"})["ok"]


# The functions.


def test_the_functions_are_plain_annotated_and_described_like_the_schemas(world: World) -> None:
    schemas = input_schemas("anthropic")
    functions = tools_for(world.manager, world.agent("ada"))
    assert [function.__name__ for function in functions] == NAMES
    for function in functions:
        assert inspect.isfunction(function)
        assert not inspect.iscoroutinefunction(function)
        properties = schemas[function.__name__]["properties"]
        assert list(inspect.signature(function).parameters) == list(properties)
        assert get_type_hints(function) == dict.fromkeys([*properties, "return"], str)
        for name, described in properties.items():
            assert f"\n    {name}: {described['description']}" in str(function.__doc__)


def test_the_functions_answer_as_the_manager_does(world: World) -> None:
    remember, propose, forget, list_memories = tools_for(world.manager, world.agent("ada"))
    assert json.loads(remember("seat", "Window"))["outcome"] == "created"
    assert json.loads(propose(content="4711", memory_key="Cost Centre"))["memory"]["status"] == "proposed"
    assert list_memories() == world.manager.list(world.agent("ada"))
    assert json.loads(forget(memory_key="SEAT"))["outcome"] == "forgotten"


def test_a_function_answers_a_bad_call_like_the_dispatcher(world: World) -> None:
    functions = {each.__name__: each for each in tools_for(world.manager, world.agent("ada"))}
    for bad in BAD_CALLS:
        # Nobody calls a function with text that should have been JSON, or one that does not exist.
        if isinstance(bad.arguments, Mapping) and bad.tool in functions:
            answer = functions[bad.tool](**bad.arguments)
            assert answer == call(world.manager, world.agent("ada"), bad.tool, bad.arguments), bad.id


def test_a_function_answers_too_many_arguments(world: World) -> None:
    *_, forget, list_memories = tools_for(world.manager, world.agent("ada"))
    assert json.loads(forget("seat", "another"))["error"] == "invalid_arguments"
    assert json.loads(list_memories("seat"))["error"] == "invalid_arguments"


# The dispatcher.


def test_a_bad_call_is_an_answer_and_nothing_is_written(world: World) -> None:
    world.remember("ada", "office", "Graz")
    before = world.state()
    for bad in BAD_CALLS:
        for arguments in (bad.arguments, bad.as_json):
            answer = ask(world, bad.tool, arguments)
            assert (answer["ok"], answer["error"]) == (False, bad.error), bad.id
            assert len(answer["message"]) < 200, bad.id
            assert_nothing_written(before, world.state())


def test_a_name_that_is_no_text_is_an_unknown_tool(world: World) -> None:
    for name in (5, 1.5, True, None, ["remember"], {"remember": 1}, b"remember", object()):
        answer = json.loads(call(world.manager, world.agent("ada"), name, GOOD))
        assert answer["error"] == "unknown_tool", name


def test_an_argument_that_is_no_text_is_refused_whatever_it_pretends_to_be(world: World) -> None:
    for name, value in NOT_TEXT.items():
        assert ask(world, "remember", GOOD | {"content": value})["error"] == "invalid_arguments", name
        assert ask(world, "forget", {"memory_key": value})["error"] == "invalid_arguments", name


def test_names_that_are_no_text_are_refused(world: World) -> None:
    assert ask(world, "forget", {1: "office"})["error"] == "invalid_arguments"
    assert ask(world, "forget", {b"memory_key": "office"})["error"] == "invalid_arguments"


def test_no_arguments_may_be_written_in_any_way(world: World) -> None:
    ways: Sequence[object] = [{}, "{}", b"{}", "", "  ", b"", None, "null"]
    for arguments in ways:
        assert ask(world, "list_memories", arguments)["ok"], arguments


def test_arguments_may_be_a_dict_or_json(world: World) -> None:
    assert ask(world, "remember", GOOD)["outcome"] == "created"
    assert ask(world, "remember", json.dumps(GOOD))["outcome"] == "unchanged"
    assert ask(world, "remember", json.dumps(GOOD).encode())["outcome"] == "unchanged"


def test_something_that_is_no_agent_raises(world: World) -> None:
    with pytest.raises(TypeError):
        call(world.manager, world.person("ada"), "list_memories", {})  # type: ignore[arg-type]


# What every answer looks like.


@pytest.fixture
def answers(world: World) -> Sequence[Shown]:
    return all_answers(world)


def test_every_outcome_and_every_error_is_among_the_answers(answers: Sequence[Shown]) -> None:
    assert {shown.code for shown in answers} == OUTCOMES | ERRORS | {"list"}


def test_every_answer_is_as_its_tools_output_schema_says(answers: Sequence[Shown]) -> None:
    for shown in answers:
        assert_valid(shown.tool or "remember", shown.data)


def assert_valid(tool: str, answer: Any) -> None:
    validator = Draft202012Validator(TOOLS[tool].answer)
    assert list(validator.iter_errors(answer)) == []


def test_the_answer_to_a_bad_call_is_as_the_output_schema_says(world: World) -> None:
    for bad in BAD_CALLS:
        assert_valid(bad.tool if bad.tool in TOOLS else "remember", ask(world, bad.tool, bad.arguments))


def test_the_output_schemas_see_what_is_missing_wrong_or_too_much(answers: Sequence[Shown]) -> None:
    for shown in answers:
        validator = Draft202012Validator(TOOLS[shown.tool or "remember"].answer)
        for spoilt in spoil(shown.data):
            assert not validator.is_valid(spoilt), spoilt


def spoil(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """An answer with one thing wrong."""
    needed = {"ok", "outcome", "memory", "memories", "account_facts", "error", "message"}
    for name, value in answer.items():
        if name in needed:
            yield {each: part for each, part in answer.items() if each != name}
        yield dict(answer) | {name: 5}
        if isinstance(value, dict):
            yield dict(answer) | {name: value | {"owner": "bob"}}
            yield dict(answer) | {name: dict(list(value.items())[1:])}
    yield dict(answer) | {"owner": "bob"}
    yield dict(answer) | {"ok": not answer["ok"]}


def test_the_page_of_all_answers_is_what_the_calls_answer(answers: Sequence[Shown]) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(answers), "python -m tests.answers_page writes it anew"


# One agent, and nothing else.


def by_dispatcher(world: World, tool: str, arguments: Mapping[str, str]) -> str:
    return call(world.manager, world.agent("ada"), tool, arguments)


def by_function(world: World, tool: str, arguments: Mapping[str, str]) -> str:
    functions = {each.__name__: each for each in tools_for(world.manager, world.agent("ada"))}
    return functions[tool](**arguments)


@pytest.mark.parametrize("ask_by", [by_dispatcher, by_function])
def test_no_tool_reads_changes_or_removes_what_is_somebody_elses(
    world: World, ask_by: Callable[[World, str, Mapping[str, str]], str]
) -> None:
    furnish(world)
    agent = world.agent("ada")
    before = not_held_by(agent, world.state())
    answers = [ask_by(world, tool, arguments) for tool, arguments in attempts(world)]
    assert not_held_by(agent, world.state()) == before
    assert not any(SECRET in answer for answer in answers)
    assert any(FACT in answer for answer in answers)


def test_a_tool_stays_with_its_agent_whatever_somebody_sets_on_the_object(world: World) -> None:
    furnish(world)
    agent, bob = world.personas.agent(world.person("ada")), world.agent("bob")
    _, _, forget, list_memories = tools_for(world.manager, agent)
    agent.owner_id, agent.organisation_id, agent.definition_id = bob.owner_id, bob.organisation_id, 0
    assert json.loads(forget("salary"))["error"] == "not_found"
    assert SECRET not in list_memories()
