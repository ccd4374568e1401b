"""``portal check``: whether a portal may be served like this."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from portal.cli.places import database_option
from portal.operations.checks import find_faults

FAULTY_STATUS = 1


@click.command()
@database_option
def check(database_url: str) -> None:
    """Say what is wrong with the settings and the database, and how to mend it.

    Silent, with exit status 0, where others than this machine may be let in. What must not stay begins with
    "error:" and makes the exit status 1.
    """
    findings = list(find_faults(environment_with(database_url)))
    for finding in findings:
        click.echo(finding)
    if any(finding.is_fault for finding in findings):
        raise click.exceptions.Exit(FAULTY_STATUS)


def environment_with(database_url: str) -> Mapping[str, str]:
    """Return this process's variables, with the database that a command was asked to use."""
    environment = os.environ | {"PORTAL_DATABASE_URL": database_url}
    environment.pop("PORTAL_DATABASE_URL_FILE", None)
    return environment
