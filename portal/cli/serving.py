"""``portal serve`` and ``portal demo``: the portal in a browser.

Both start gunicorn as a program of its own, so that no other command waits for Flask to be loaded.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from portal.cli.operations import database_override, environment_with
from portal.cli.places import Refused
from portal.demo.instructions import PASSWORD, STORIES, instructions
from portal.demo.running import (
    ServerEnded,
    interruptible,
    require_running,
    server,
    throw_away_database,
    wait_until_it_answers,
)
from portal.demo.seeding import seed
from portal.operations.checks import find_faults
from portal.serving import gunicorn_command
from portal.values import utc_now

PROGRESS = "Making up people and what their agents learned"


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


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), default=8000, show_default=True)
def demo(port: int) -> None:
    """Serve a throw-away organisation to try things out with."""
    with suppress(KeyboardInterrupt), interruptible():
        try:
            run_demo(port)
        except ServerEnded as exc:
            raise Refused("the server ended") from exc
    click.echo("\nThe demo is over, and everything in it is gone.")


def run_demo(port: int) -> None:
    """Serve the demo until a signal ends it.

    :raises ServerEnded: the server ended by itself.
    """
    with throw_away_database() as database, server(database, port) as process:

        def progress(done: int, total: int) -> None:
            # It starts while we are busy here; if it cannot, nobody should have to wait for that.
            require_running(process)
            click.echo(f"\r{PROGRESS}: {done} of {total}", nl=False, err=True)

        seed(database, STORIES, password=PASSWORD, now=utc_now(), progress=progress)
        click.echo(err=True)
        wait_until_it_answers(process, port)
        click.echo(instructions(port, database.url))
        process.wait()
        require_running(process)
