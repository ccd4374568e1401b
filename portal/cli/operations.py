"""What whoever runs a portal needs: checks, upgrades, backups, exports, and the record of events."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import click

from portal.cli.places import database_option, opened, opened_as_it_is
from portal.cli.setup import get_organisation, organisation_option
from portal.directory import Directory
from portal.operations.backup import back_up, created
from portal.operations.backup import restore as restore_backup
from portal.operations.checks import find_faults
from portal.operations.export import event_line, export_organisation
from portal.operations.maintenance import vacuum as vacuum_database
from portal.operations.retention import delete_events
from portal.operations.schema import find_schema_problem
from portal.reports import MemoryReports
from portal.values import utc_now

Command = TypeVar("Command", bound=Callable[..., Any])

FAULTY_STATUS = 1

file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


def database_override(command: Command) -> Command:
    """Give a command the option ``--database``, which looks at no variable: they are what is checked."""
    return click.option(
        "--database",
        "database_url",
        metavar="URL",
        help="Where everything is kept, if not where settings say.",
    )(command)


def environment_with(database_url: str | None) -> Mapping[str, str]:
    """Return this process's variables, with the database that a command was asked to use."""
    if database_url is None:
        return os.environ
    others = {name: value for name, value in os.environ.items() if name != "PORTAL_DATABASE_URL_FILE"}
    return others | {"PORTAL_DATABASE_URL": database_url}


@click.command()
@database_override
def check(database_url: str | None) -> None:
    """Say what is wrong with the settings and the database, and how to mend it.

    Silent, with exit status 0, where others than this machine may be let in. What must not stay begins with
    "error:" and makes the exit status 1.
    """
    findings = list(find_faults(environment_with(database_url)))
    for finding in findings:
        click.echo(finding)
    if any(finding.is_fault for finding in findings):
        raise click.exceptions.Exit(FAULTY_STATUS)


@click.command()
@database_option
def upgrade(database_url: str) -> None:
    """Create the schema, or bring it up to date."""
    with opened_as_it_is(database_url) as database:
        database.upgrade()
    click.echo("The schema is up to date.")


@click.command()
@file_argument
@database_option
def backup(file: Path, database_url: str) -> None:
    """Back everything up to FILE, as of one moment, while everybody goes on."""
    with opened_as_it_is(database_url) as database:
        back_up(database, file)
    click.echo(f"Backed up to {file}, {file.stat().st_size:,} bytes.")


@click.command()
@file_argument
@database_option
def restore(file: Path, database_url: str) -> None:
    """Restore FILE into a database that is empty.

    Everybody has to sign in again. Whoever was erased after the backup was made is there again.
    """
    with opened_as_it_is(database_url) as database:
        restore_backup(database, file)
        problem = find_schema_problem(database)
    click.echo("Restored. Erase again whoever was erased since, and sign in anew.")
    if problem is not None:
        click.echo(f"Note: {problem}.")


@click.command()
@database_option
def vacuum(database_url: str) -> None:
    """Rewrite the database, so that nothing that was deleted is in its files any more."""
    with opened(database_url) as database:
        vacuum_database(database)
    click.echo("Nothing that was deleted is left in the database's files.")


@click.command()
@organisation_option
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A new file, not the screen.")
@database_option
def export(slug: str, output: Path | None, database_url: str) -> None:
    """Write one organisation with everything in it as lines of JSON.

    People's personal memories are among them.
    """
    with opened(database_url) as database, destination(output) as file:
        organisation = get_organisation(Directory(database), slug)
        lines = export_organisation(
            database, organisation.id, lambda line: file.write(line.encode()), utc_now()
        )
    click.echo(f"Exported {slug} in {lines:,} lines.", err=True)


@contextmanager
def destination(output: Path | None) -> Iterator[BinaryIO]:
    """Give where to write to: a file that appears when it is complete, or standard output."""
    if output is None:
        yield sys.stdout.buffer
        return
    with created(output) as partial, partial.open("wb") as file:
        yield file


@click.group()
def events() -> None:
    """Show the record of what happened to memories, or let it go."""


@events.command("list")
@organisation_option
@click.option("--definition", "definition_name", metavar="NAME", required=True, help="Of which agents.")
@click.option("--memory", "memory_id", type=int, metavar="ID", help="Of one fact alone.")
@click.option("--key", "memory_key", metavar="KEY", help="Of the facts under one key alone.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="How many at most.")
@database_option
def list_events(
    *, slug: str, definition_name: str, memory_id: int | None, memory_key: str | None, limit: int,
    database_url: str,
) -> None:  # fmt: skip
    """Print what happened to account facts as lines of JSON, the newest first."""
    with opened(database_url) as database:
        organisation = get_organisation(Directory(database), slug)
        page = MemoryReports(database).find_events(
            organisation, definition_name, memory_id=memory_id, memory_key=memory_key, limit=limit
        )
    for event in page:
        click.echo(event_line(event), nl=False)


@events.command("delete")
@click.option("--older-than", "days", type=click.IntRange(1, 36_500), metavar="DAYS", required=True)
@database_option
def delete_old_events(*, days: int, database_url: str) -> None:
    """Delete what is recorded of more than so many DAYS ago, in every organisation. Memories stay."""
    with opened(database_url) as database:
        deleted = delete_events(database, utc_now() - dt.timedelta(days=days))
    click.echo(f"Deleted {deleted:,} events.")
