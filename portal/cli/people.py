"""``portal profile``: people, and how they get in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from portal.cli.places import database_option, opened
from portal.cli.refusals import Refused
from portal.cli.setup import get_organisation, organisation_option
from portal.directory import Directory, NewLink
from portal.models import Profile
from portal.recall import format_time
from portal.settings import public_url_from
from portal.values import Role

ROLE = click.Choice([role.value for role in Role])


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


@profile.command("invite")
@click.argument("email")
@organisation_option
@click.option("--name", required=True, help="What others read.")
@click.option("--role", type=ROLE, default=Role.MEMBER.value, show_default=True)
@database_option
def invite_profile(*, email: str, slug: str, name: str, role: str, database_url: str) -> None:
    """Add a person, and print a one-time link with which they set their password."""
    public_url = public_url_from(os.environ)
    with opened(database_url) as database:
        directory = Directory(database)
        place = get_organisation(directory, slug)
        print_link(directory.invite(place, email=email, name=name, role=role), public_url)


@profile.command("link")
@click.argument("email")
@database_option
def make_link(email: str, database_url: str) -> None:
    """Print a new one-time link for a person who has no password, or forgot it."""
    public_url = public_url_from(os.environ)
    with found_person(email, database_url) as (directory, person):
        print_link(directory.make_link(person), public_url)


@profile.command("list")
@organisation_option
@database_option
def list_profiles(slug: str, database_url: str) -> None:
    """List people by address: role, whether they can sign in, when they last did, and name."""
    with opened(database_url) as database:
        directory = Directory(database)
        for person in directory.find_people(get_organisation(directory, slug)):
            found = person.profile
            last = "never" if found.last_signed_in_at is None else format_time(found.last_signed_in_at)
            click.echo(f"{found.email}\t{found.role}\t{person.standing}\t{last}\t{found.name}")


@profile.command("password")
@click.argument("email")
@click.option("--none", "no_password", is_flag=True, help="Take the password away instead.")
@database_option
def set_password(*, email: str, no_password: bool, database_url: str) -> None:
    """Set another password, and sign the person out everywhere."""
    with found_person(email, database_url) as (directory, person):
        directory.set_password(person, None if no_password else read_password())
    click.echo(f"{email} has {'no' if no_password else 'a new'} password, and is signed out everywhere.")


@profile.command("role")
@click.argument("email")
@click.argument("role", type=ROLE)
@database_option
def set_role(email: str, role: str, database_url: str) -> None:
    """Make a person a member or an administrator."""
    with found_person(email, database_url) as (directory, person):
        directory.set_role(person, role)
    click.echo(f"{email} is {role} now.")


@profile.command("deactivate")
@click.argument("email")
@database_option
def deactivate_profile(email: str, database_url: str) -> None:
    """Keep a person and their agents out; nothing is deleted."""
    with found_person(email, database_url) as (directory, person):
        directory.deactivate(person)
    click.echo(f"{email} cannot sign in any more, and their agents are refused.")


@profile.command("activate")
@click.argument("email")
@database_option
def activate_profile(email: str, database_url: str) -> None:
    """Let a person and their agents in again."""
    with found_person(email, database_url) as (directory, person):
        directory.activate(person)
    click.echo(f"{email} can sign in again.")


@profile.command("end-sessions")
@click.argument("email")
@database_option
def end_sessions(email: str, database_url: str) -> None:
    """Sign a person out everywhere; the password stays."""
    with found_person(email, database_url) as (directory, person):
        directory.end_sessions(person)
    click.echo(f"{email} is signed out everywhere.")


@profile.command("erase")
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_option
def erase_profile(*, email: str, yes: bool, database_url: str) -> None:
    """Erase a person with everything that is theirs, for good.

    Confirmed account facts stay, with nobody named as their source.
    """
    with found_person(email, database_url) as (directory, person):
        if not yes:
            click.confirm(f"Erase {email} and everything that their agents remember?", abort=True, err=True)
        directory.erase_profile(person)
    click.echo(f"{email} was erased.")


@contextmanager
def found_person(email: str, database_url: str) -> Iterator[tuple[Directory, Profile]]:
    """Give the directory of a database and the person with that address.

    :raises Refused: there is nobody.
    """
    with opened(database_url) as database:
        directory = Directory(database)
        yield directory, get_profile(directory, email)


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


def print_link(link: NewLink, public_url: str) -> None:
    """Print the address of a link, which nobody can ask for again, on a line of its own."""
    click.echo(link.address(public_url))
    click.echo(f"Hand it to {link.profile.email}. It works once, until {format_time(link.expires_at)}.")
