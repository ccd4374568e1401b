"""``portal memory`` and ``portal mcp``: the four calls of an agent, from the shell and for a model."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from portal.cli.people import get_profile
from portal.cli.places import database_option, opened
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.mcp import serve
from portal.models import Agent

Command = TypeVar("Command", bound=Callable[..., Any])

REFUSED_STATUS = 1


@click.group()
def memory() -> None:
    """Act as somebody's agent. Prints the JSON answer; exit status 1 when it is a refusal."""


def agent_options(command: Command) -> Command:
    """Give a command the options that say whose agent it acts as."""
    command = database_option(command)
    command = click.option(
        "--definition", "definition_name", metavar="NAME", required=True, help="Which of their agents."
    )(command)
    return click.option("--owner", metavar="E-MAIL", required=True, help="Whose agent.")(command)


@memory.command()
@click.argument("key")
@click.argument("content")
@agent_options
def remember(key: str, content: str, **whose: str) -> None:
    """Record a fact about the owner, replacing what the agent holds under KEY."""
    with acting(**whose) as (manager, agent):
        answer(manager.remember(agent, key, content))


@memory.command()
@click.argument("key")
@click.argument("content")
@agent_options
def propose(key: str, content: str, **whose: str) -> None:
    """Propose a fact about the account, for an administrator to confirm."""
    with acting(**whose) as (manager, agent):
        answer(manager.propose_account_fact(agent, key, content))


@memory.command()
@click.argument("key")
@agent_options
def forget(key: str, **whose: str) -> None:
    """Remove what the agent holds under KEY."""
    with acting(**whose) as (manager, agent):
        answer(manager.forget(agent, key))


@memory.command("list")
@agent_options
def list_memories(**whose: str) -> None:
    """Print everything that the agent recalls."""
    with acting(**whose) as (manager, agent):
        answer(manager.list(agent))


@click.command()
@agent_options
def mcp(**whose: str) -> None:
    """Serve the same calls to a model, as an MCP server on standard input and output."""
    # To standard error: standard output is the protocol's.
    logging.basicConfig(level=logging.WARNING, format="portal: %(message)s")
    with acting(**whose) as (manager, agent):
        serve(manager, agent)


@contextmanager
def acting(
    *, owner: str, definition_name: str, database_url: str
) -> Iterator[tuple[AgentMemoryManager, Agent]]:
    """Give the manager and the agent that a command acts as; the agent is made on first use."""
    with opened(database_url) as database:
        directory = Directory(database)
        agent = directory.agent_for(get_profile(directory, owner), definition_name)
        yield AgentMemoryManager(database), agent


def answer(text: str) -> None:
    """Print an answer, and end with the exit status that it deserves."""
    click.echo(text)
    if not json.loads(text)["ok"]:
        raise click.exceptions.Exit(REFUSED_STATUS)
