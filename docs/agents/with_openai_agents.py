"""Memory for an agent of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from agents import Agent as OpenAIAgent
from agents import FunctionTool, Model, ModelResponse, RunConfig, Runner, Tool, Usage
from agents.items import TResponseStreamEvent
from agents.tool_context import ToolContext
from conversation import INSTRUCTIONS, Think, ToolCall, hold
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)

from portal.manager import AgentMemoryManager
from portal.model_json import legible
from portal.models import Agent
from portal.tools import call, specifications


def with_memory(manager: AgentMemoryManager, agent: Agent, model: Model) -> OpenAIAgent:
    """Return an agent of the SDK that remembers."""

    # A function, so that the block is read anew at the start of each turn.
    async def instructions(_context: object, _agent: object) -> str:
        return f"{INSTRUCTIONS}\n\n{await asyncio.to_thread(manager.prompt_block, agent)}"

    return OpenAIAgent(
        name="support",
        model=LegibleModel(model),
        instructions=instructions,
        tools=memory_tools(manager, agent),
    )


def memory_tools(manager: AgentMemoryManager, agent: Agent) -> list[Tool]:
    """Return the four tools. `function_tool` would do, but it drops arguments that a tool does not have."""

    def tool(name: str, description: str, parameters: dict[str, Any]) -> Tool:
        async def invoke(_context: ToolContext[Any], arguments: str) -> str:
            return await asyncio.to_thread(call, manager, agent, name, arguments)

        return FunctionTool(name, description, parameters, invoke)

    functions = [specification["function"] for specification in specifications("openai")]
    return [tool(each["name"], each["description"], each["parameters"]) for each in functions]


class LegibleModel(Model):
    """A model whose calls the SDK can read: it looks into them before any tool is asked."""

    def __init__(self, model: Model) -> None:
        self.model = model

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Return what the model says."""
        response = await self.model.get_response(*args, **kwargs)
        make_legible(response.output)
        return response

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Return what the model says, piece by piece."""
        async for event in self.model.stream_response(*args, **kwargs):
            if isinstance(event, ResponseOutputItemDoneEvent):
                make_legible([event.item])
            elif isinstance(event, ResponseCompletedEvent):
                make_legible(event.response.output)
            yield event


def make_legible(output: Iterable[object]) -> None:
    """Let everybody read the calls that the model makes."""
    for wanted in output:
        if isinstance(wanted, ResponseFunctionToolCall):
            wanted.arguments = legible(wanted.arguments)


def turn(manager: AgentMemoryManager, agent: Agent, said: str, think: Think) -> str:
    """Let the agent hear something, and return what it says."""
    options = RunConfig(
        # Nothing leaves this machine.
        tracing_disabled=True,
        # A tool that is not there is answered like any other mistake, where the SDK would end the run.
        tool_not_found_behavior="return_error_to_model",
        tool_error_formatter=lambda failed: call(manager, agent, failed.tool_name, None),
    )
    remembering = with_memory(manager, agent, PretendModel(think))
    run = asyncio.run(Runner.run(remembering, said, run_config=options))
    return str(run.final_output)


class PretendModel(Model):
    """Stands for a real model, such as the name ``"gpt-5"``."""

    def __init__(self, think: Think) -> None:
        self.think = think

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - the SDK's name
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Return the next move."""
        items = [{"role": "user", "content": input}] if isinstance(input, str) else input
        (said,) = (str(item["content"]) for item in items if item.get("role") == "user")
        answers = [str(item["output"]) for item in items if item.get("type") == "function_call_output"]
        move = self.think(system_instructions or "", said, answers)
        return ModelResponse(output=[as_output(move, len(answers))], usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[TResponseStreamEvent]:
        """Return the next move in one piece."""
        said = await self.get_response(*args, **kwargs)
        response = Response(
            id="response",
            object="response",
            created_at=0,
            model="pretended",
            output=said.output,
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)


def as_output(move: ToolCall | str, number: int) -> ResponseFunctionToolCall | ResponseOutputMessage:
    """Write a move as the Responses API would."""
    if isinstance(move, ToolCall):
        return ResponseFunctionToolCall(
            type="function_call", call_id=f"call_{number}", name=move.name, arguments=move.arguments_as_json
        )
    text = ResponseOutputText(type="output_text", text=move, annotations=[])
    return ResponseOutputMessage(
        type="message", id="message", role="assistant", status="completed", content=[text]
    )


if __name__ == "__main__":
    hold(turn)
