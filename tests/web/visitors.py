"""People in front of the portal, each with a browser of their own that runs no JavaScript."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Flask
from jinja2 import BytecodeCache
from werkzeug.test import TestResponse

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.models import AgentMemory, Profile
from portal.settings import Settings
from portal.web import create_app
from portal.web.services import EXTENSION, Services
from tests.factories import PASSWORD, Clock, Personas, create_personas
from tests.quick_passwords import give_everybody_a_password
from tests.web.pages import Page

HERE = "http://127.0.0.1:8000"
SECRET_KEY = "a key for tests, which protects nothing"

# What htmx says when it wants a part of a page.
FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}


class Visitor:
    """Somebody's browser: it keeps cookies, and presses the buttons that are on a page."""

    def __init__(self, app: Flask, *, base_url: str = HERE) -> None:
        self.client = app.test_client()
        self.base_url = base_url

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.client.get(path, base_url=self.base_url, **options)

    def page(self, path: str) -> Page:
        """Return a page that has to be there."""
        answer = self.get(path)
        assert answer.status_code == 200, f"{path}: {answer.status}"
        return Page(answer.text)

    def send(self, path: str, fields: Mapping[str, Any], **options: Any) -> TestResponse:
        """Send a form with exactly these fields."""
        return self.client.post(path, data=fields, base_url=self.base_url, **options)

    def post(self, path: str, **fields: Any) -> TestResponse:
        """Send a form with a good token."""
        return self.send(path, {"csrf_token": self.token(), **fields})

    def press(self, page: Page, button: str, **fields: str) -> TestResponse:
        """Press a button on a page, after filling in fields that are there."""
        return self._press(page, button, fields, {})

    def swap(self, page: Page, button: str, **fields: str) -> TestResponse:
        """Press a button as htmx does, which wants to have a fragment."""
        return self._press(page, button, fields, FRAGMENT)

    def _press(
        self, page: Page, button: str, fields: Mapping[str, str], headers: Mapping[str, str]
    ) -> TestResponse:
        form = page.form(button)
        assert form.method == "post"
        assert fields.keys() <= form.fields.keys()
        pressed = form.buttons[button]
        sent = {**form.fields, **fields, **dict([pressed] if pressed else [])}
        return self.send(form.action, sent, headers=headers)

    def token(self) -> str:
        """Return a token that is good for this browser now."""
        return self.page("/sign-in").form("Sign in").fields["csrf_token"]

    def sign_in(self, email: str, password: str = PASSWORD, **fields: str) -> TestResponse:
        page = self.page("/sign-in")
        return self.press(page, "Sign in", email=email, password=password, **fields)

    def follow(self, answer: TestResponse) -> Page:
        """Go where an answer sends the browser."""
        return self.page(answer.headers["Location"])


@dataclass(frozen=True)
class Portal:
    """A running portal with its people, and what agents use beside it."""

    app: Flask
    personas: Personas
    manager: AgentMemoryManager
    clock: Clock

    @property
    def database(self) -> Database:
        services: Services = self.app.extensions[EXTENSION]
        return services.database

    def visitor(self, profile: Profile | None = None) -> Visitor:
        """Return the browser of somebody who is signed in, or of nobody in particular."""
        visitor = Visitor(self.app)
        if profile is not None:
            assert visitor.sign_in(profile.email).status_code == 303
        return visitor

    def remember(self, owner: Profile, key: str, content: str, definition: str = "support") -> AgentMemory:
        """Let somebody's agent remember something."""
        agent = self.personas.agent(owner, definition)
        return self._find_own(owner, definition, self.manager.remember(agent, key, content))

    def propose(self, owner: Profile, key: str, content: str, definition: str = "support") -> AgentMemory:
        """Let somebody's agent propose an account fact."""
        agent = self.personas.agent(owner, definition)
        return self._find_own(owner, definition, self.manager.propose_account_fact(agent, key, content))

    def decide(self, memory: AgentMemory, action: str, reason: str = "") -> AgentMemory:
        """Let `root` decide on a proposal."""
        root = self.personas.root
        return self.manager.decide_account_fact(memory.id, root.organisation, root, action, reason=reason)

    def account_fact(
        self, owner: Profile, key: str, content: str, definition: str = "support"
    ) -> AgentMemory:
        """Let somebody's agent propose an account fact, and `root` confirm it."""
        return self.decide(self.propose(owner, key, content, definition), "confirm")

    def _find_own(self, owner: Profile, definition: str, answer: str) -> AgentMemory:
        """Return the memory that an agent was told it has now."""
        key = json.loads(answer)["memory"]["key"]
        own = self.manager.find_own_memories(owner.organisation, owner, definition)
        [found] = [memory for memory in own if memory.memory_key == key and memory.status != "rejected"]
        return found


@contextmanager
def running_portal(
    database: Database, settings: Settings | None = None, templates: BytecodeCache | None = None
) -> Iterator[Portal]:
    """Give a portal on an empty database, with the personas in it.

    :param templates: where compiled templates are kept.
    """
    clock = Clock()
    personas = create_personas(database, clock=clock)
    give_everybody_a_password(database)
    chosen = settings or Settings(secret_key=SECRET_KEY, database_url=database.url, public_url=HERE)
    app = create_app(chosen, clock=clock, compiled_templates=templates)
    app.testing = True
    portal = Portal(app, personas, AgentMemoryManager(database, clock=clock), clock)
    yield portal
    portal.database.dispose()
