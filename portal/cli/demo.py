"""``portal demo``: a portal to try out, with people and facts in it."""

from __future__ import annotations

from contextlib import suppress

import click

from portal.cli.refusals import Refused
from portal.demo.instructions import PASSWORD, STORIES, instructions
from portal.demo.running import (
    ServerEnded,
    interruptible,
    require_running,
    server,
    throw_away_database,
    wait_until_it_answers,
)
from portal.values import utc_now

PROGRESS = "Making up people and what their agents learned"


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
    with throw_away_database() as database_url, server(database_url, port) as process:
        # Loading the core takes about as long as the server takes to start, so both do it at once.
        from portal.cli.places import opened_as_it_is  # noqa: PLC0415
        from portal.demo.seeding import seed  # noqa: PLC0415

        def progress(done: int, total: int) -> None:
            # It starts while we are busy here; if it cannot, nobody should have to wait for that.
            require_running(process)
            click.echo(f"\r{PROGRESS}: {done} of {total}", nl=False, err=True)

        with opened_as_it_is(database_url) as database:
            seed(database, STORIES, password=PASSWORD, now=utc_now(), progress=progress)
        click.echo(err=True)
        wait_until_it_answers(process, port)
        click.echo(instructions(port, database_url))
        process.wait()
        require_running(process)
