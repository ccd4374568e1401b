"""The directory: organisations, the people in them, and the agents that they are offered.

::

    directory = Directory(database)
    acme = directory.create_organisation(name="Acme", slug="acme")
    ada = directory.create_profile(acme, email="ada@acme.example", name="Ada", password="…")
    directory.define_agent(acme, name="support", title="Support", memory_limit=100)
    agent = directory.agent_for(ada, "support")
"""

from __future__ import annotations

from portal.directory.definitions import Agents, Definitions
from portal.directory.links import Links, NewLink
from portal.directory.organisations import Organisations
from portal.directory.people import People, Person
from portal.directory.profiles import Profiles

__all__ = ["Directory", "NewLink", "Person"]


class Directory(Organisations, Profiles, Links, People, Definitions, Agents):
    """Sets up who and what there is. Each call is one transaction of its own.

    It is safe to share between threads. What is passed in and handed back are the mapped classes of
    :mod:`portal.models`, detached; of what is passed in only the id is believed, and an object of another
    class raises :class:`TypeError`. What is handed back does not follow later changes: ask again.

    :param database: where everything is kept; it has to have the newest schema.
    :param clock: gives the time now, aware and in UTC.
    """
