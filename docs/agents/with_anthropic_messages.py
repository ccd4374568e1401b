"""Memory with the Anthropic Messages API, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conversation import INSTRUCTIONS, Think, ToolCall, hold

from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.tools import call, specifications

Send = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends a request to /v1/messages and returns the answer. With the vendor's package:
``lambda request: anthropic.Anthropic().messages.create(**request).to_dict()``."""


def speak(manager: AgentMemoryManager, agent: Agent, said: str, send: Send) -> str:
    """Let the model hear something and use its tools, until it says something."""
    block = manager.prompt_block(agent)
    request: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1024,
        # The block stays the same while nothing changes, so that it can be cached.
        "system": [
            {"type": "text", "text": INSTRUCTIONS},
            {"type": "text", "text": block, "cache_control": {"type": "ephemeral"}},
        ],
        "tools": specifications("anthropic"),
        "messages": [{"role": "user", "content": said}],
    }
    while True:
        content = send(request)["content"]
        results = [run(manager, agent, part) for part in content if part["type"] == "tool_use"]
        if not results:
            return "".join(part["text"] for part in content if part["type"] == "text")
        request["messages"] += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": results},
        ]


def run(manager: AgentMemoryManager, agent: Agent, wanted: dict[str, Any]) -> dict[str, Any]:
    """Run a tool and return its answer as a part of the next message."""
    answer = call(manager, agent, wanted["name"], wanted["input"])
    return {"type": "tool_result", "tool_use_id": wanted["id"], "content": answer}


def turn(manager: AgentMemoryManager, agent: Agent, said: str, think: Think) -> str:
    """Let the agent hear something, and return what it says."""
    return speak(manager, agent, said, pretend_api(think))


def pretend_api(think: Think) -> Send:
    """Stand for the API."""

    def send(request: dict[str, Any]) -> dict[str, Any]:
        prompt = "\n\n".join(part["text"] for part in request["system"])
        said, *rest = (message["content"] for message in request["messages"])
        answers = [part["content"] for content in rest for part in content if part["type"] == "tool_result"]
        move = think(prompt, said, answers)
        is_call = isinstance(move, ToolCall)
        return {
            "id": f"msg_{len(answers)}",
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [as_part(move, len(answers))],
            "stop_reason": "tool_use" if is_call else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    return send


def as_part(move: ToolCall | str, number: int) -> dict[str, Any]:
    """Write a move as the API would."""
    if isinstance(move, ToolCall):
        wanted = {"id": f"toolu_{number}", "name": move.name, "input": move.arguments_by_name}
        return {"type": "tool_use", **wanted}
    return {"type": "text", "text": move}


if __name__ == "__main__":
    hold(turn)
