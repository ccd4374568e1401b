"""One agent's memory as an MCP server on standard input and output.

The official SDK speaks the protocol; what is said comes from :mod:`portal.tools` and the prompt block.
Nothing of the SDK is loaded before a server starts, because it is an extra and slow to import.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from portal.model_json import spell_out_halves
from portal.tools import call, specifications

if TYPE_CHECKING:
    from anyio import CapacityLimiter
    from mcp import types
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.lowlevel import Server
    from pydantic import BaseModel

    from portal.manager import AgentMemoryManager
    from portal.models import Agent

    Result = TypeVar("Result", bound=BaseModel)

logger = logging.getLogger(__name__)

NAME = "agent-memory-portal"
BLOCK_URI = "memory://prompt-block"
BLOCK_NAME = "memory"
BLOCK_TITLE = "What is remembered"
BLOCK_DESCRIPTION = "What the agent should know at the start of a turn, fenced as data."
INSTRUCTIONS = f"""\
The memory of one agent about the person it works for. At the start of each turn, put the resource \
{BLOCK_URI} (or the prompt {BLOCK_NAME}) before the model; it is what is remembered now."""

CALLS_AT_ONCE = 4
"""More would only wait for each other inside the database: all are about one agent."""

UNUSABLE = "the database cannot be used: %s"
UNREACHABLE = "The memory cannot be reached at the moment. Nothing is known to be stored; try again later."


class NotServed(Exception):
    """A client asked for a resource or a prompt that this server does not have."""


@dataclass(frozen=True)
class Served:
    """What the server replies, in the protocol's own words; every method may block."""

    manager: AgentMemoryManager
    agent: Agent

    def list_tools(self, _params: object) -> dict[str, Any]:
        """Reply with the four tools."""
        return {"tools": specifications("mcp")}

    def call_tool(self, params: types.CallToolRequestParams) -> dict[str, Any]:
        """Run a tool. A refusal is marked as an error, so that clients show it to their model as one."""
        answer = call(self.manager, self.agent, params.name, params.arguments)
        structured = json.loads(answer)
        return {
            "content": [{"type": "text", "text": answer}],
            "structuredContent": structured,
            "isError": not structured["ok"],
        }

    def list_resources(self, _params: object) -> dict[str, Any]:
        """Reply with the prompt block's address."""
        block = {
            "uri": BLOCK_URI,
            "name": BLOCK_NAME,
            "title": BLOCK_TITLE,
            "description": BLOCK_DESCRIPTION,
            "mimeType": "text/plain",
        }
        return {"resources": [block]}

    def read_resource(self, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        """Reply with the prompt block as it is now.

        :raises NotServed: it is another resource.
        """
        if params.uri != BLOCK_URI:
            raise NotServed(f"The only resource is {BLOCK_URI}.")
        block = self.manager.prompt_block(self.agent)
        return {"contents": [{"uri": BLOCK_URI, "mimeType": "text/plain", "text": block}]}

    def list_prompts(self, _params: object) -> dict[str, Any]:
        """Reply with the prompt's name."""
        return {"prompts": [{"name": BLOCK_NAME, "title": BLOCK_TITLE, "description": BLOCK_DESCRIPTION}]}

    def get_prompt(self, params: types.GetPromptRequestParams) -> dict[str, Any]:
        """Reply with the prompt block as a message.

        :raises NotServed: it is another prompt.
        """
        if params.name != BLOCK_NAME:
            raise NotServed(f"The only prompt is {BLOCK_NAME}.")
        block = {"type": "text", "text": self.manager.prompt_block(self.agent)}
        return {"description": BLOCK_DESCRIPTION, "messages": [{"role": "user", "content": block}]}


def serve(manager: AgentMemoryManager, agent: Agent) -> None:
    """Serve an agent's memory on standard input and output, until the input ends or nobody reads any more.

    Calls run in threads, several at a time; those that have begun are finished first.

    :raises ModuleNotFoundError: the extra ``mcp`` is not installed.
    """
    from mcp.server.stdio import stdio_server  # noqa: PLC0415, I001 - as the module says; it names the extra
    import anyio  # noqa: PLC0415

    async def run() -> None:
        server = _server(Served(manager, agent))
        lines = anyio.wrap_file(_Lines(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape"))
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        logger.info("the client went away in the middle of a call", extra={"action": "mcp_client_gone"})


def _server(served: Served) -> Server[dict[str, Any]]:
    import anyio  # noqa: PLC0415
    import mcp.types as types  # noqa: PLC0415, PLR0402
    from mcp.server.lowlevel import Server  # noqa: PLC0415

    handler = partial(_handler, anyio.CapacityLimiter(CALLS_AT_ONCE))
    server: Server[dict[str, Any]] = Server(
        NAME,
        version=version(NAME),
        title=BLOCK_TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=handler(types.ListToolsResult, served.list_tools),
        on_call_tool=handler(types.CallToolResult, served.call_tool),
        on_list_resources=handler(types.ListResourcesResult, served.list_resources),
        on_read_resource=handler(types.ReadResourceResult, served.read_resource),
        on_list_prompts=handler(types.ListPromptsResult, served.list_prompts),
        on_get_prompt=handler(types.GetPromptResult, served.get_prompt),
    )
    server.middleware.append(_pass_arguments_on)
    return server


def _handler(
    limiter: CapacityLimiter, result: type[Result], reply: Callable[[Any], dict[str, Any]]
) -> Callable[[ServerRequestContext[Any], Any], Awaitable[Result]]:
    """Return the SDK's kind of handler: one that replies in a thread, and hides what went wrong inside."""
    import anyio.to_thread  # noqa: PLC0415
    from mcp import MCPError  # noqa: PLC0415
    from mcp.types import INTERNAL_ERROR, INVALID_PARAMS  # noqa: PLC0415

    async def handle(_context: ServerRequestContext[Any], params: Any) -> Result:
        try:
            return result.model_validate(await anyio.to_thread.run_sync(reply, params, limiter=limiter))
        except NotServed as exc:
            raise MCPError(INVALID_PARAMS, str(exc)) from exc
        except SQLAlchemyError as exc:
            # No traceback and no words of the database's, which may quote what it was given.
            logger.error(UNUSABLE, type(exc).__name__, extra={"action": "mcp_failed"})  # noqa: TRY400
            raise MCPError(INTERNAL_ERROR, UNREACHABLE) from exc

    return handle


async def _pass_arguments_on(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Let a call whose arguments are no object get to the tools, whose answer tells the model what is wrong.

    The SDK would answer it itself, with an error of the protocol that clients do not show to their model.
    """
    params = ctx.params or {}
    arguments = params.get("arguments")
    if ctx.method == "tools/call" and not isinstance(arguments, dict | None):
        ctx = replace(ctx, params={**params, "arguments": {"no object": arguments}})
    return await call_next(ctx)


class _Lines(io.TextIOWrapper):
    """Lines of JSON that every reader of JSON can read.

    The SDK drops a line with half of a surrogate pair, or with bytes that are not UTF-8, and whoever sent it
    would wait for an answer for ever.
    """

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as typeshed does
        """Return the next line, or nothing at the end of the input."""
        return spell_out_halves(super().readline(size))
