"""Memory for an agent of pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from conversation import INSTRUCTIONS, Think, ToolCall, hold
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.tools import tools_for


def with_memory(manager: AgentMemoryManager, agent: Agent, model: Model) -> PydanticAgent:
    """Return an agent of pydantic-ai that remembers."""
    return PydanticAgent(
        model,
        # A function, so that the block is read anew at the start of each turn.
        instructions=[INSTRUCTIONS, lambda: manager.prompt_block(agent)],
        tools=tools_for(manager, agent),
        capabilities=[Hooks(tool_validate_error=lambda *_, **__: WRONG)],
    )


# pydantic-ai ends a run after two calls in a row whose arguments are wrong. With an argument that no tool
# has, they reach the tool, and its answer tells the model what is right.
WRONG = {"wrong_arguments": True}


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
