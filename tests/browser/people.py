"""People in front of the portal with a real Chromium, and whatever it complains about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, expect
from werkzeug.serving import make_server

from portal.models import Profile
from tests.web.visitors import Portal

COOKIE = "portal_session"
DESKTOP = {"width": 1280, "height": 800}


@dataclass
class Person:
    """Somebody's browser window, and what went wrong in it."""

    page: Page
    address: str
    has_javascript: bool = True
    complaints: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """The statuses of answers that were errors; a test that provokes one empties the list."""

    def __post_init__(self) -> None:
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("response", self._note)

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    @property
    def path(self) -> str:
        return self.page.url.removeprefix(self.address)

    def expect_path(self, path: str) -> None:
        """Wait until the window is at a page of the portal."""
        expect(self.page).to_have_url(self.address + path)

    @property
    def focused(self) -> str:
        """What the keyboard would act on, as its tag and id."""
        found: str = self.page.evaluate(
            "(({ localName, id }) => id ? `${localName}#${id}` : localName)(document.activeElement)"
        )
        return found

    def expect_status(self, status: int) -> None:
        """Take note of an answer that was an error on purpose, and of nothing else."""
        assert self.statuses == [status]
        self.statuses.clear()

    def _hear(self, message: ConsoleMessage) -> None:
        # Chromium also reports each answer that is an error; those are counted by their statuses.
        is_status = "Failed to load resource" in message.text
        if message.type in {"error", "warning"} and not is_status:
            self.complaints.append(message.text)

    def _note(self, response: Response) -> None:
        if response.status >= 400:
            self.statuses.append(response.status)


@contextmanager
def served(portal: Portal) -> Iterator[str]:
    """Serve the portal on a port of this machine, and give the address."""
    server = make_server("127.0.0.1", 0, portal.app, threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Windows:
    """Opens browser windows for people who are signed in already."""

    browser: Browser
    portal: Portal
    address: str
    people: list[Person] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    def open(
        self,
        profile: Profile | None = None,
        *,
        javascript: bool = True,
        width: int = DESKTOP["width"],
    ) -> Person:
        """Open a window, for somebody or for nobody in particular."""
        context = self.browser.new_context(
            java_script_enabled=javascript,
            viewport={"width": width, "height": DESKTOP["height"]},
            # Nothing moves while a test looks at it.
            reduced_motion="reduce",
        )
        context.set_default_timeout(10_000)
        self.contexts.append(context)
        if profile is not None:
            cookie = self.portal.visitor(profile).client.get_cookie(COOKIE, "127.0.0.1")
            assert cookie is not None
            context.add_cookies([{"name": COOKIE, "value": cookie.value, "url": self.address}])
        person = Person(context.new_page(), self.address, javascript)
        self.people.append(person)
        return person

    def close(self) -> None:
        for context in self.contexts:
            context.close()

    @property
    def complaints(self) -> list[str]:
        """What any of the windows complained about, and errors that no test expected."""
        return [
            complaint
            for person in self.people
            for complaint in [*person.complaints, *map(str, person.statuses)]
        ]
