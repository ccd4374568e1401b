"""``portal organisation`` and ``portal definition``: what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from portal.cli.places import database_option, opened
from portal.cli.refusals import Refused
from portal.directory import Directory
from portal.errors import InvalidInput, NameTaken
from portal.models import Organisation

Command = TypeVar("Command", bound=Callable[..., Any])

organisation_option = click.option(
    "--organisation", "slug", metavar="SLUG", required=True, help="In which organisation."
)


@click.group()
def organisation() -> None:
    """Organisations: tenants that share nothing."""


@organisation.command("add")
@click.argument("slug")
@click.option("--name", required=True, help="What people read.")
@database_option
def add_organisation(slug: str, name: str, database_url: str) -> None:
    """Add an organisation; SLUG is what other commands call it."""
    with opened(database_url) as database:
        Directory(database).create_organisation(name=name, slug=slug)
    click.echo(f"Organisation {slug} was added.")


@click.group()
def definition() -> None:
    """Agent definitions: what agents an organisation offers, and their limits."""


def definition_options(command: Command) -> Command:
    """Give a command the properties of a definition; what is not given stays None."""
    options = [
        click.option("--title", help="What people read."),
        click.option("--description", help="What the agent is for."),
        click.option("--memory-limit", type=int, help="Memories that one agent may hold."),
        click.option("--memory-characters", type=int, help="Characters in them."),
        click.option("--proposal-limit", type=int, help="Proposals that one agent may have waiting."),
        click.option("--account-fact-limit", type=int, help="Confirmed facts."),
        click.option("--account-fact-characters", type=int, help="Characters in them."),
        click.option(
            "--second-person-required/--no-second-person-required",
            default=None,
            help="Whether nobody may confirm what they stated themselves.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@definition.command("add")
@click.argument("name")
@organisation_option
@definition_options
@database_option
def add_definition(name: str, slug: str, database_url: str, **properties: Any) -> None:
    """Offer agents of a new kind, called NAME."""
    with opened(database_url) as database:
        directory = Directory(database)
        place = get_organisation(directory, slug)
        if directory.find_definition(place, name) is not None:
            raise NameTaken("name")
        directory.define_agent(place, name=name, **properties)
    click.echo(f"{slug} offers {name} agents now.")


@definition.command("set")
@click.argument("name")
@organisation_option
@definition_options
@database_option
def set_definition(name: str, slug: str, database_url: str, **properties: Any) -> None:
    """Change the kind of agent called NAME; what is left out stays."""
    with opened(database_url) as database:
        directory = Directory(database)
        place = get_organisation(directory, slug)
        if directory.find_definition(place, name) is None:
            raise InvalidInput("name", f"{slug} has no agent definition of this name")
        directory.define_agent(place, name=name, **properties)
    click.echo(f"{name} was changed.")


def get_organisation(directory: Directory, slug: str) -> Organisation:
    """Return the organisation with that slug.

    :raises Refused: there is none.
    """
    found = directory.find_organisation(slug)
    if found is None:
        raise Refused("no organisation has this slug")
    return found
