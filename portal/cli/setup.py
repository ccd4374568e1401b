"""``portal organisation``, ``portal profile`` and ``portal definition``: who and what there is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from portal.cli.places import Refused, database_option, opened
from portal.directory import Directory
from portal.errors import InvalidInput, NameTaken
from portal.models import Organisation, Profile, Role

Command = TypeVar("Command", bound=Callable[..., Any])

ROLE = click.Choice([role.value for role in Role])

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
def profile() -> None:
    """People. Passwords are asked for, or read from one line of standard input."""


@profile.command("add")
@click.argument("email")
@organisation_option
@click.option("--name", required=True, help="What others read.")
@click.option("--role", type=ROLE, default=Role.MEMBER.value, show_default=True)
@click.option("--no-password", is_flag=True, help="Ask for no password: nobody can sign in with one.")
@database_option
def add_profile(*, email: str, slug: str, name: str, role: str, no_password: bool, database_url: str) -> None:
    """Add a person, who signs in with the address EMAIL."""
    with opened(database_url) as database:
        directory = Directory(database)
        place = get_organisation(directory, slug)
        password = None if no_password else read_password()
        directory.create_profile(place, email=email, name=name, role=role, password=password)
    click.echo(f"{email} was added to {slug} as {role}.")


@profile.command("password")
@click.argument("email")
@click.option("--none", "no_password", is_flag=True, help="Take the password away instead.")
@database_option
def set_password(*, email: str, no_password: bool, database_url: str) -> None:
    """Set another password, and sign the person out everywhere."""
    with opened(database_url) as database:
        directory = Directory(database)
        person = get_profile(directory, email)
        directory.set_password(person, None if no_password else read_password())
    click.echo(f"{email} has {'no' if no_password else 'a new'} password, and is signed out everywhere.")


@profile.command("role")
@click.argument("email")
@click.argument("role", type=ROLE)
@database_option
def set_role(email: str, role: str, database_url: str) -> None:
    """Make a person a member or an administrator."""
    with opened(database_url) as database:
        directory = Directory(database)
        directory.set_role(get_profile(directory, email), role)
    click.echo(f"{email} is {role} now.")


@profile.command("deactivate")
@click.argument("email")
@database_option
def deactivate_profile(email: str, database_url: str) -> None:
    """Keep a person and their agents out; nothing is deleted."""
    with opened(database_url) as database:
        directory = Directory(database)
        directory.deactivate(get_profile(directory, email))
    click.echo(f"{email} cannot sign in any more, and their agents are refused.")


@profile.command("activate")
@click.argument("email")
@database_option
def activate_profile(email: str, database_url: str) -> None:
    """Let a person and their agents in again."""
    with opened(database_url) as database:
        directory = Directory(database)
        directory.activate(get_profile(directory, email))
    click.echo(f"{email} can sign in again.")


@profile.command("erase")
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
def erase_profile(*, email: str, yes: bool, database_url: str) -> None:
    """Erase a person with everything that is theirs, for good.

    Confirmed account facts stay, with nobody named as their source.
    """
    with opened(database_url) as database:
        directory = Directory(database)
        person = get_profile(directory, email)
        if not yes:
            click.confirm(f"Erase {email} and everything that their agents remember?", abort=True, err=True)
        directory.erase_profile(person)
    click.echo(f"{email} was erased.")


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


def get_profile(directory: Directory, email: str) -> Profile:
    """Return the person with that address.

    :raises Refused: there is nobody.
    """
    found = directory.find_profile(email)
    if found is None:
        raise Refused("nobody has this address")
    return found


def read_password() -> str:
    """Ask for a password twice at a terminal, and elsewhere read one line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt="Again", err=True))
    return sys.stdin.readline().rstrip("\r\n")
