"""What the commands share: which database they mean, and errors in one clear line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

from portal.database import Database
from portal.errors import AgentMemoryError
from portal.operations.schema import find_schema_problem
from portal.settings import database_url_from

Command = TypeVar("Command", bound=Callable[..., Any])

EXTRAS = {"psycopg": ("PostgreSQL", "postgres"), "mcp": ("an MCP server", "mcp")}
"""What needs which extra, by the module that is missing without it."""


class Refused(click.ClickException):
    """A command cannot be carried out; the message says why in one line."""

    exit_code = 2


class ClearErrors(click.Group):
    """A group that answers with one line, and never with a traceback, where something is refused."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except AgentMemoryError as exc:
            raise Refused(str(exc)) from exc
        except (DBAPIError, CommandError) as exc:
            raise Refused(f"the database cannot be used: {_first_line(exc)}") from exc
        except ModuleNotFoundError as exc:
            if exc.name not in EXTRAS:
                raise
            what, extra = EXTRAS[exc.name]
            raise Refused(f"{what} needs the extra: pip install 'agent-memory-portal[{extra}]'") from exc


def database_option(command: Command) -> Command:
    """Give a command the option ``--database``, and the URL as the argument ``database_url``."""
    return click.option(
        "--database",
        "database_url",
        metavar="URL",
        default=lambda: database_url_from(os.environ),
        show_default="PORTAL_DATABASE_URL, else sqlite:///portal.db",
        help="Where everything is kept.",
    )(command)


@contextmanager
def opened(database_url: str) -> Iterator[Database]:
    """Give the database behind a URL, once it is certain that it has the newest schema.

    :raises Refused: it has not.
    """
    with opened_as_it_is(database_url) as database:
        require_schema(database)
        yield database


@contextmanager
def opened_as_it_is(database_url: str) -> Iterator[Database]:
    """Give the database behind a URL, whatever schema it has, and close it afterwards."""
    database = Database(database_url)
    try:
        yield database
    finally:
        database.dispose()


def require_schema(database: Database) -> None:
    """Refuse a database that is not there, or whose schema is not the one that this version needs.

    :raises Refused: with what to do about it.
    """
    problem = find_schema_problem(database)
    if problem is not None:
        raise Refused(problem)


def _first_line(error: DBAPIError | CommandError) -> str:
    # What SQLAlchemy adds to the driver's own words is the statement, and that may hold a memory.
    cause = error.orig if isinstance(error, DBAPIError) else error
    return str(cause).strip().partition("\n")[0]
