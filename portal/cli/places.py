"""What the commands share: which database they mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click
from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

from portal.cli.refusals import Refused
from portal.database import Database
from portal.operations.schema import find_schema_problem
from portal.settings import database_url_from

Command = TypeVar("Command", bound=Callable[..., Any])


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
    """Give the database behind a URL, whatever schema it has, and close it afterwards.

    :raises Refused: the database, or one of its migrations, cannot do what is done with it.
    """
    database = Database(database_url)
    try:
        yield database
    except (DBAPIError, CommandError) as exc:
        raise Refused(f"the database cannot be used: {_first_line(exc)}") from exc
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
