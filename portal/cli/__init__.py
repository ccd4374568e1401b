"""``portal …``: setting up, serving, and acting as somebody's agent from the shell.

Exit statuses: 0 when it was done, 1 when an agent's call was answered with a refusal or a check found a
fault, 2 when a command could not be carried out; then one line on standard error says why.
"""

from __future__ import annotations

from importlib import import_module

import click

from portal.cli.refusals import ClearErrors

MODULES = {
    "backup": "operations",
    "check": "operations",
    "definition": "setup",
    "demo": "demo",
    "events": "operations",
    "export": "operations",
    "mcp": "memory",
    "memory": "memory",
    "organisation": "setup",
    "profile": "people",
    "restore": "operations",
    "serve": "serving",
    "upgrade": "operations",
    "vacuum": "operations",
}
"""In which module of this package each command stands, under its own name."""


class Commands(ClearErrors):
    """The commands, each loaded when it is asked for: most of them need the whole core."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return their names, in the order of the alphabet."""
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Return one, or None where there is none of that name."""
        if cmd_name not in MODULES:
            return None
        command: click.Command = getattr(import_module(f"portal.cli.{MODULES[cmd_name]}"), cmd_name)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agent-memory-portal")
def main() -> None:
    """Memory for AI agents under human control."""
