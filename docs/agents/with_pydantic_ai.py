"""Memory for an agent of pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Sequence
from dataclasses import replace
from json import dumps
from typing import Any

from conversation import INSTRUCTIONS, Think, ToolCall, hold
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.capabilities import Hooks, WrapModelRequestHandler
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.function import AgentInfo, FunctionModel

from portal.manager import AgentMemoryManager
from portal.model_json import legible
from portal.models import Agent
from portal.tools import call, tools_for


def with_memory(manager: AgentMemoryManager, agent: Agent, model: Model) -> PydanticAgent:
    """Return an agent of pydantic-ai that remembers."""

    def no_such_tool() -> str:
        return call(manager, agent, None, None)

    return PydanticAgent(
        model,
        # A function, so that the block is read anew at the start of each turn.
        instructions=[INSTRUCTIONS, lambda: manager.prompt_block(agent)],
        tools=[*tools_for(manager, agent), no_such_tool],
        # pydantic-ai ends a run after two wrong calls in a row. So that our tools answer them instead:
        capabilities=[
            Hooks(
                model_request=redirect_unknown_calls,
                before_tool_validate=write_legibly,
                tool_validate_error=lambda *_, **__: WRONG,
            )
        ],
    )


# An argument that no tool has: with it the call reaches the tool, whose answer tells the model what is right.
WRONG = {"wrong_arguments": True}


async def redirect_unknown_calls(
    _context: object, *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
) -> ModelResponse:
    """Send calls of tools that are not there to `no_such_tool`, which the model is not told about."""
    parameters = request_context.model_request_parameters
    shown = [tool for tool in parameters.function_tools if tool.name != "no_such_tool"]
    known = {tool.name for tool in (*shown, *parameters.output_tools)}
    without = replace(parameters, function_tools=shown)
    response = await handler(replace(request_context, model_request_parameters=without))
    return replace(response, parts=[redirected(part, known) for part in response.parts])


def write_legibly(_context: object, *, args: str | dict[str, Any], **_: object) -> str:
    """Return the arguments as JSON that pydantic can read."""
    return legible(args if isinstance(args, str) else dumps(args))


def redirected(part: ModelResponsePart, known: Container[str]) -> ModelResponsePart:
    """Return a part of what the model says, with a known tool in it if it is a call."""
    if isinstance(part, ToolCallPart) and part.tool_name not in known:
        return ToolCallPart("no_such_tool", tool_call_id=part.tool_call_id)
    return part


def turn(manager: AgentMemoryManager, agent: Agent, said: str, think: Think) -> str:
    """Let the agent hear something, and return what it says."""
    run = asyncio.run(with_memory(manager, agent, pretend_model(think)).run(said))
    return run.output


def pretend_model(think: Think) -> FunctionModel:
    """Stand for a real model, such as the name ``"anthropic:claude-sonnet-4-5"``."""

    def respond(messages: Sequence[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        (said,) = (str(part.content) for part in parts if isinstance(part, UserPromptPart))
        answers = [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]
        move = think(info.instructions or "", said, answers)
        if isinstance(move, ToolCall):
            return ModelResponse([ToolCallPart(move.name, move.arguments_as_json)])
        return ModelResponse([TextPart(move)])

    return FunctionModel(respond)


if __name__ == "__main__":
    hold(turn)
