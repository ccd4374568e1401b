"""``portal serve``: the portal in a browser, by gunicorn, which takes the place of this program."""

from __future__ import annotations

import os
import sys

import click

from portal.cli.operations import database_override, environment_with
from portal.cli.refusals import Refused
from portal.operations.checks import find_faults
from portal.serving import gunicorn_command


@click.command()
@click.option("--bind", default="127.0.0.1:8000", show_default=True, help="The address to listen on.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@database_override
def serve(bind: str, workers: int, database_url: str | None) -> None:
    """Serve the portal with gunicorn; its settings are PORTAL_… variables.

    What `portal check` warns of is said first, and with what it calls an error nothing is served.
    """
    environment = environment_with(database_url)
    findings = list(find_faults(environment, bind=bind))
    for finding in findings:
        click.echo(finding, err=True)
    if any(finding.is_fault for finding in findings):
        raise Refused("the portal is not served like this")
    command = gunicorn_command(bind=bind, workers=workers)
    sys.stdout.flush()
    os.execve(command[0], command, environment)  # noqa: S606 - our own interpreter, and no shell
