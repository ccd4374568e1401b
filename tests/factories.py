"""The personas: whom the tests are about, and what their organisations offer.

`ada` and `bob` own memories, `root` administers their organisation, and `eve` administers another one.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from portal.database import Database
from portal.directory import Directory
from portal.models import Agent, Organisation, Profile
from portal.values import utc_now

PASSWORD = "correct horse battery staple"


@dataclass
class Clock:
    """A clock that stands still until it is told to move."""

    now: dt.datetime = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def advance(self, **units: float) -> dt.datetime:
        """Move by so many `seconds`, `minutes`, `days`, … and return the new time."""
        self.now += dt.timedelta(**units)
        return self.now


@dataclass(frozen=True)
class Personas:
    """Two organisations, each of which offers `support` and `travel`, and the people in them."""

    directory: Directory
    acme: Organisation
    ada: Profile
    bob: Profile
    root: Profile
    globex: Organisation
    eve: Profile

    def agent(self, owner: Profile, definition: str = "support") -> Agent:
        return self.directory.agent_for(owner, definition)


def create_personas(
    database: Database, *, clock: Callable[[], dt.datetime] = utc_now, password: str | None = None
) -> Personas:
    """Create the personas in an empty database; with a password where they sign in, as hashing takes time."""
    directory = Directory(database, clock=clock)
    acme = directory.create_organisation(name="Acme", slug="acme")
    globex = directory.create_organisation(name="Globex", slug="globex")
    for organisation in (acme, globex):
        directory.define_agent(organisation, name="support", title="Support")
        directory.define_agent(organisation, name="travel", title="Travel")

    for organisation, name, role in (
        (acme, "Ada", "member"),
        (acme, "Bob", "member"),
        (acme, "Root", "administrator"),
        (globex, "Eve", "administrator"),
    ):
        email = f"{name.lower()}@{organisation.slug}.example"
        directory.create_profile(organisation, email=email, name=name, role=role, password=password)
    return find_personas(database, clock=clock)


def find_personas(database: Database, *, clock: Callable[[], dt.datetime] = utc_now) -> Personas:
    """Find the personas in a database in which they were created."""
    directory = Directory(database, clock=clock)
    acme, globex = directory.find_organisations()
    ada, bob, root = directory.find_profiles(acme)
    (eve,) = directory.find_profiles(globex)
    return Personas(directory=directory, acme=acme, ada=ada, bob=bob, root=root, globex=globex, eve=eve)
