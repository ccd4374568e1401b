"""How a command says in one line why it is not carried out, whatever was in its way."""

from __future__ import annotations

from typing import Any

import click

from portal.errors import AgentMemoryError

EXTRAS = {"psycopg": ("PostgreSQL", "postgres"), "mcp": ("an MCP server", "mcp")}
"""What needs which extra, by the module that is missing without it."""


class Refused(click.ClickException):
    """A command cannot be carried out; the message says why in one line."""

    exit_code = 2


class ClearErrors(click.Group):
    """A group that answers with one line, and never with a traceback, where something is refused."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except AgentMemoryError as exc:
            raise Refused(str(exc)) from exc
        except ModuleNotFoundError as exc:
            if exc.name not in EXTRAS:
                raise
            what, extra = EXTRAS[exc.name]
            raise Refused(f"{what} needs the extra: pip install 'agent-memory-portal[{extra}]'") from exc
