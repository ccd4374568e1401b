"""The same conversations as the manager's machine has, but people say their part through the pages.

Agents have no pages, so they call the manager. Everybody keeps one browser all the time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import ClassVar
from urllib.parse import urlencode

from jinja2 import BytecodeCache
from werkzeug.test import TestResponse

from portal.database import Database
from portal.settings import Settings
from portal.values import to_microseconds
from portal.web import create_app
from portal.web.services import EXTENSION, Services
from tests.invariants import read_state
from tests.manager.machine import ManagerMachine
from tests.manager.twins import CHIEFS, PEOPLE, Twins, matching
from tests.model import Refused
from tests.quick_passwords import give_everybody_a_password
from tests.web.visitors import HERE, SECRET_KEY, Visitor

DONE, SIGNED_OUT = 303, "302"
STATUS_AFTER = {"confirm": "confirmed", "reject": "rejected"}

STATUSES = {
    "UnknownAction": "400",
    "NotAnAdministrator": "404",
    "MemoryNotFound": "404",
    "AlreadyDecided": "409",
    "NotDecided": "409",
    "MemoryChanged": "409",
    "KeyAlreadyConfirmed": "409",
    "AccountFactsFull": "409",
    "SecondPersonRequired": "409",
    "StaterGone": "409",
    "KeyTaken": "409",
    "MemoriesFull": "409",
}
"""How a page answers where the model refuses."""


def say(answer: TestResponse) -> int | str:
    """Return 303 for what was done, and any other status as the name of a refusal."""
    return answer.status_code if answer.status_code == DONE else str(answer.status_code)


class PortalTwins(Twins):
    """The portal and the model. What a person does, they do with their browser."""

    def __init__(self, database: Database, templates: BytecodeCache) -> None:
        super().__init__(database)
        settings = Settings(secret_key=SECRET_KEY, database_url=database.url, public_url=HERE)
        self.app = create_app(settings, clock=self.clock, compiled_templates=templates)
        self.app.testing = True
        self.visitors = {name: Visitor(self.app) for name in PEOPLE}
        give_everybody_a_password(database)
        for name in PEOPLE:
            self._sign_in(name)

    def delete_everything(self) -> None:
        super().delete_everything()
        services: Services = self.app.extensions[EXTENSION]
        services.database.dispose()

    # What an administrator does, or somebody who is none, or one of another organisation.

    # The organisation is that of whoever is signed in, which no address and no form can change.

    def decide(
        self,
        memory_id: int,
        organisation: str,  # noqa: ARG002
        by: str,
        action: str,
        version: int | None,
    ) -> None:
        here = PEOPLE[by][0]

        def predict() -> object:
            # Whoever is not shown the fact is not told what could be done with it.
            fact = self.model.see(memory_id, here, by)
            if (fact.decided_by, fact.status) == (by, STATUS_AFTER.get(action)):
                return DONE
            return self.model.decide(memory_id, here, by, action, expected_version=version, reason="Checked")

        path = self._path(memory_id, "/admin/{}/facts/{}/decide")
        self._send(by, path, predict, version, action=action, reason="Checked")

    def delete(self, memory_id: int, organisation: str, by: str | None, version: int | None) -> None:
        if by is None:
            super().delete(memory_id, organisation, by, version)
            return
        path, here = self._path(memory_id, "/admin/{}/facts/{}/delete"), PEOPLE[by][0]
        self._send(
            by, path, lambda: self.model.delete(memory_id, here, by, expected_version=version), version
        )

    def reopen(
        self,
        memory_id: int,
        organisation: str,  # noqa: ARG002
        by: str,
        version: int | None,
    ) -> None:
        path, here = self._path(memory_id, "/admin/{}/facts/{}/reopen"), PEOPLE[by][0]
        self._send(
            by, path, lambda: self.model.reopen(memory_id, here, by, expected_version=version), version
        )

    # What people do with their own.

    def delete_own(self, memory_id: int, owner: str) -> None:
        path = self._path(memory_id, "/me/{}/memories/{}/delete")
        self._send(owner, path, lambda: self.model.delete_own(memory_id, owner))

    def delete_all_own(self, owner: str, definition: str | None, as_of: dt.datetime | None) -> None:
        # There is a page for each agent, and none for all of them.
        one = definition or "support"
        fields = {} if as_of is None else {"as_of": str(to_microseconds(as_of))}
        path = f"/me/{one}/delete-all"
        self._send(owner, path, lambda: self.model.delete_all_own(owner, one, as_of), None, **fields)

    def keep(self, memory_id: int, owner: str) -> None:
        path = self._path(memory_id, "/me/{}/memories/{}/keep")
        self._send(owner, path, lambda: self.model.keep(memory_id, owner))

    # What changes around them.

    def set_active(self, name: str, *, is_active: bool) -> None:
        super().set_active(name, is_active=is_active)
        if is_active:
            self._sign_in(name)

    def set_organisation_active(self, name: str, *, is_active: bool) -> None:
        super().set_organisation_active(name, is_active=is_active)
        for person in [person for person in PEOPLE if is_active and PEOPLE[person][0] == name]:
            self._sign_in(person)

    def erase(self, name: str) -> None:
        super().erase(name)
        assert self.visitors[name].get("/me/").status_code == int(SIGNED_OUT)
        give_everybody_a_password(self.database)
        self._sign_in(name)

    # What they see.

    def look_at_facts(self, organisation: str, definition: str, limit: int | None, search: str) -> None:
        super().look_at_facts(organisation, definition, limit, search)
        for status, path in SHELVES.items():
            expected = [
                fact.key for fact in matching(self.model.shelf(organisation, definition, status), search)
            ]
            shown = self._keys(CHIEFS[organisation], f"/admin/{definition}/{path}", search)
            assert list(dict.fromkeys(shown)) == list(dict.fromkeys(expected)), status

    def look_at_own(
        self, owner: str, organisation: str, definition: str, limit: int | None, search: str
    ) -> None:
        super().look_at_own(owner, organisation, definition, limit, search)
        confirmed = self.model.shelf(PEOPLE[owner][0], definition, "confirmed")
        expected = matching([*self.model.own(owner, definition), *confirmed], search)
        shown = self._keys(owner, f"/me/{definition}/", search)
        assert sorted(shown) == sorted(fact.key for fact in expected)

    # How it is sent, and what is expected of the answer.

    def _send(
        self,
        by: str,
        path: str,
        predict: Callable[[], object],
        version: int | None = None,
        **fields: str,
    ) -> None:
        sent = fields if version is None else {**fields, "version": str(version)}
        self._do(lambda: say(self.visitors[by].post(path, **sent)), lambda: self._status(by, predict))

    def _status(self, by: str, predict: Callable[[], object]) -> int | str:
        if not self.model.is_live(by):
            return SIGNED_OUT
        try:
            predict()
        except Refused as refusal:
            return STATUSES[str(refusal)]
        return DONE

    def _path(self, memory_id: int, pattern: str) -> str:
        """Return an address under the definition that a memory is of, as there is on a page."""
        definitions = (fact.definition for fact in self.model.facts if fact.id == memory_id)
        return pattern.format(next(definitions, "support"), memory_id)

    def _keys(self, name: str, path: str, search: str) -> list[str]:
        return self.visitors[name].page(f"{path}?{urlencode({'q': search})}").keys

    def _sign_in(self, name: str) -> None:
        assert self.visitors[name].sign_in(self.profiles[name].email).status_code == DONE
        # When somebody last signed in is written down, and the model knows nothing of it.
        self.state = read_state(self.database)


SHELVES = {"proposed": "", "confirmed": "confirmed", "rejected": "rejected"}


class PortalMachine(ManagerMachine):
    """What the twins are told, of which one is a portal."""

    templates: ClassVar[BytecodeCache]

    def make_twins(self) -> PortalTwins:
        return PortalTwins(self.database, self.templates)
