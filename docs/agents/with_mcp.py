"""Memory for any host that speaks MCP: `portal mcp` serves a person's agent on standard input and output."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from conversation import INSTRUCTIONS, Think, ToolCall, hold
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import TextContent

from portal.manager import AgentMemoryManager
from portal.models import Agent


def server_of(agent: Agent) -> StdioServerParameters:
    """Return the command that a host starts; other hosts have the same in their settings."""
    return StdioServerParameters(
        command=str(Path(sys.executable).with_name("portal")),
        args=["mcp", "--owner", agent.owner.email, "--definition", agent.definition.name],
        # The host says whose memory it is, and where; the model cannot. PORTAL_DATABASE_URL is among these.
        env=dict(os.environ),
    )


async def speak(client: Client, said: str, think: Think) -> str:
    """Let a model hear something and use the server's tools, until it says something."""
    (block,) = (await client.get_prompt("memory")).messages
    prompt = f"{INSTRUCTIONS}\n\n{text_of(block.content)}"
    answers: list[str] = []
    # A host would describe the tools of `client.list_tools()` to its model.
    while isinstance(move := think(prompt, said, answers), ToolCall):
        result = await client.call_tool(move.name, move.arguments_by_name)
        answers += map(text_of, result.content)
    return move


def text_of(content: object) -> str:
    """Return the text of a piece of content."""
    return content.text if isinstance(content, TextContent) else ""


def main() -> None:
    """Hold the conversation, with one server for Ada's agent and one for Bob's."""
    clients: dict[int, Client] = {}
    with start_blocking_portal() as loop, ExitStack() as connections:

        def turn(_manager: AgentMemoryManager, agent: Agent, said: str, think: Think) -> str:
            if agent.id not in clients:
                connection = loop.wrap_async_context_manager(Client(server_of(agent)))
                clients[agent.id] = connections.enter_context(connection)
            return loop.call(speak, clients[agent.id], said, think)

        hold(turn)


if __name__ == "__main__":
    main()
