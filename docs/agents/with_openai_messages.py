"""Memory with the OpenAI Chat Completions format, by hand; many other servers speak it too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conversation import INSTRUCTIONS, Think, ToolCall, hold

from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.tools import call, specifications

Send = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends a request to /v1/chat/completions and returns the answer. With the vendor's package:
``lambda request: openai.OpenAI().chat.completions.create(**request).to_dict()``."""


def speak(manager: AgentMemoryManager, agent: Agent, said: str, send: Send) -> str:
    """Let the model hear something and use its tools, until it says something."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"{INSTRUCTIONS}\n\n{manager.prompt_block(agent)}"},
        {"role": "user", "content": said},
    ]
    request = {"model": "gpt-5", "messages": messages, "tools": specifications("openai")}
    while True:
        message = send(request)["choices"][0]["message"]
        if not message.get("tool_calls"):
            return str(message["content"])
        messages.append(message)
        messages += [run(manager, agent, wanted) for wanted in message["tool_calls"]]


def run(manager: AgentMemoryManager, agent: Agent, wanted: dict[str, Any]) -> dict[str, Any]:
    """Run a tool and return its answer as the next message. The arguments are the model's own JSON."""
    answer = call(manager, agent, wanted["function"]["name"], wanted["function"]["arguments"])
    return {"role": "tool", "tool_call_id": wanted["id"], "content": answer}


def turn(manager: AgentMemoryManager, agent: Agent, said: str, think: Think) -> str:
    """Let the agent hear something, and return what it says."""
    return speak(manager, agent, said, pretend_api(think))


def pretend_api(think: Think) -> Send:
    """Stand for the API."""

    def send(request: dict[str, Any]) -> dict[str, Any]:
        prompt, said, *rest = request["messages"]
        answers = [message["content"] for message in rest if message["role"] == "tool"]
        move = think(prompt["content"], said["content"], answers)
        reason = "tool_calls" if isinstance(move, ToolCall) else "stop"
        choice = {"index": 0, "finish_reason": reason, "message": as_message(move, len(answers))}
        return {
            "id": f"chatcmpl-{len(answers)}",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [choice | {"logprobs": None}],
        }

    return send


def as_message(move: ToolCall | str, number: int) -> dict[str, Any]:
    """Write a move as the API would."""
    if isinstance(move, str):
        return {"role": "assistant", "content": move, "refusal": None}
    function = {"name": move.name, "arguments": move.arguments_as_json}
    wanted = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "refusal": None, "tool_calls": [wanted]}


if __name__ == "__main__":
    hold(turn)
