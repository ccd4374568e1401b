"""What administrators do at the review queue, and a way to the portal on which forms can be held up."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import Flask
from playwright.sync_api import Locator, expect

from tests.browser.people import Person
from tests.web.visitors import Portal

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

QUEUE = "/admin/support/"


@dataclass
class SlowPath:
    """Stands before an application, counts the forms and lets them wait."""

    application: WSGIApplication
    seconds: float = 0
    forms: int = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "POST":
            self.forms += 1
            time.sleep(self.seconds)
        return self.application(environ, start_response)


def slow_down(app: Flask, seconds: float = 0) -> SlowPath:
    """Put a slow path in front of an application that is being served."""
    path = SlowPath(app.wsgi_app, seconds)
    app.wsgi_app = path  # type: ignore[method-assign]
    return path


def propose(portal: Portal, *keys: str, text: str = "") -> None:
    """Let Ada's agent propose facts, a second apart, each with a text of its own."""
    for key in keys:
        portal.propose(portal.personas.ada, key, text or f"about {key}")
        portal.clock.advance(seconds=1)


def press(person: Person, name: str) -> None:
    person.page.get_by_role("button", name=name, exact=True).click()


def wait_for_answers(person: Person) -> None:
    """Wait until nothing is under way to the server any more."""
    # A click begins its request in a task of its own.
    person.page.wait_for_timeout(100)
    expect(person.page.locator(".htmx-request")).to_have_count(0)


def focus(person: Person) -> str:
    """Return what has the focus by what it says, or "body" where nothing has."""
    said: str = person.page.evaluate(
        "document.activeElement === document.body ? 'body' : document.activeElement.innerText"
    )
    return " ".join(said.split())


def middle_of(button: Locator) -> tuple[float, float]:
    box = button.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def on_shelf(portal: Portal, status: str) -> list[str]:
    """Return the keys of a shelf as the core knows it."""
    find = getattr(portal.manager, f"find_{status}_account_facts")
    return sorted(fact.memory_key for fact in find(portal.personas.acme, "support"))
