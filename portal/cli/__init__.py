"""``portal …``: setting up, serving, and acting as somebody's agent from the shell.

Exit statuses: 0 when it was done, 1 when an agent's call was answered with a refusal or a check found a
fault, 2 when a command could not be carried out; then one line on standard error says why.
"""

from __future__ import annotations

import click

from portal.cli.memory import mcp, memory
from portal.cli.operations import backup, check, events, export, restore, upgrade, vacuum
from portal.cli.people import profile
from portal.cli.places import ClearErrors
from portal.cli.serving import demo, serve
from portal.cli.setup import definition, organisation


@click.group(cls=ClearErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agent-memory-portal")
def main() -> None:
    """Memory for AI agents under human control."""


SETTING_UP = (upgrade, organisation, profile, definition)
AGENTS = (memory, mcp)
SERVING = (demo, serve)
OPERATIONS = (check, backup, restore, export, events, vacuum)

for command in (*SETTING_UP, *AGENTS, *SERVING, *OPERATIONS):
    main.add_command(command)
