"""Memory for an agent of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent as OpenAIAgent
from agents import FunctionTool, Model, ModelResponse, RunConfig, Runner, Tool, Usage
from agents.tool_context import ToolContext
from conversation import INSTRUCTIONS, Think, ToolCall, hold
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.tools import call, specifications


def with_memory(manager: AgentMemoryManager, agent: Agent, model: Model) -> OpenAIAgent:
    """Return an agent of the SDK that remembers."""

    # A function, so that the block is read anew at the start of each turn.
    async def instructions(_context: object, _agent: object) -> str:
        return f"{INSTRUCTIONS}\n\n{await asyncio.to_thread(manager.prompt_block, agent)}"

    return OpenAIAgent(
        name="support",
        model=model,
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

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Stream nothing: that is not part of the pretence."""
        raise NotImplementedError


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
