"""What the views call: the parts of the core, made once for an application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

from flask import current_app
from flask_sqlalchemy import SQLAlchemy
from flask_sqlalchemy.session import Session
from sqlalchemy import Engine

from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import Base
from portal.reports import MemoryReports
from portal.settings import Settings
from portal.sign_in import SignIn
from portal.values import Clock

EXTENSION = "portal"


@dataclass(frozen=True, kw_only=True)
class Services:
    """The parts of the core, over one database."""

    settings: Settings
    clock: Clock
    database: Database
    directory: Directory
    manager: AgentMemoryManager
    reports: MemoryReports
    sign_in: SignIn

    @classmethod
    def over(cls, database: Database, settings: Settings, clock: Clock) -> Self:
        """Make them all with the same database and clock."""
        return cls(
            settings=settings,
            clock=clock,
            database=database,
            directory=Directory(database, clock=clock),
            manager=AgentMemoryManager(database, clock=clock),
            reports=MemoryReports(database),
            sign_in=SignIn(database, clock=clock),
        )


def services() -> Services:
    """Return the parts of the core that belong to the application of this request."""
    return cast("Services", current_app.extensions[EXTENSION])


class RequestSession(Session):
    """A session on the portal's own engine, so that there is one pool and one way to begin.

    Flask-SQLAlchemy makes an engine from the same URL too. It is not tuned, and never connects.
    """

    def get_bind(self, *_: Any, **__: Any) -> Engine:
        """Return the engine. The arguments choose between several, and there is one."""
        return services().database.engine


# For the one question that is not about what the product does: whether its tables can be read. All else goes
# through the core.
db = SQLAlchemy(metadata=Base.metadata, session_options={"class_": RequestSession, "expire_on_commit": False})
