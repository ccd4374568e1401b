"""Takes the pictures of the README from the demo, with the system's Chromium: `make screenshots`."""

# ruff: noqa: INP001 - a script, which nobody imports

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser

from portal.cli.places import opened_as_it_is
from portal.demo import halyard
from portal.demo.instructions import PASSWORD, STORIES
from portal.demo.running import HOST, server, throw_away_database, wait_until_it_answers
from portal.demo.seeding import seed
from portal.demo.story import Person
from portal.values import utc_now
from tests.chromium import launched

IMAGES = Path(__file__).parent / "images"


@dataclass(frozen=True)
class Picture:
    """What is shown: whose page, on what kind of screen. Sizes are in CSS pixels."""

    name: str
    person: Person
    path: str
    width: int = 1180
    height: int = 820
    color_scheme: Literal["light", "dark"] = "light"


PICTURES = (
    Picture("queue", halyard.INES, f"/admin/{halyard.SUPPORT.name}/"),
    Picture("owner", halyard.MARA, f"/me/{halyard.SUPPORT.name}/"),
    Picture("phone-dark", halyard.INES, f"/admin/{halyard.SUPPORT.name}/", 390, 1000, "dark"),
)


def main() -> None:
    """Take all pictures anew."""
    IMAGES.mkdir(exist_ok=True)
    with served_demo() as address, launched() as browser:
        for picture in PICTURES:
            take(picture, browser, address)


@contextmanager
def served_demo() -> Iterator[str]:
    """Serve the demo for a while, and give its address."""
    port = free_port()
    with throw_away_database() as database_url:
        with opened_as_it_is(database_url) as database:
            seed(database, STORIES, password=PASSWORD, now=utc_now(), progress=lambda *_: None)
        with server(database_url, port) as process:
            wait_until_it_answers(process, port)
            yield f"http://{HOST}:{port}"


def free_port() -> int:
    """Return a port on which nothing listens at the moment."""
    with socket.create_server((HOST, 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def take(picture: Picture, browser: Browser, address: str) -> None:
    """Take one picture, as somebody who has just signed in."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": picture.height}, color_scheme=picture.color_scheme
    )
    page = context.new_page()
    page.goto(f"{address}/sign-in?next={picture.path}")
    page.get_by_label("E-mail").fill(picture.person.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(address + picture.path)
    page.screenshot(path=IMAGES / f"{picture.name}.png")
    context.close()


if __name__ == "__main__":
    main()
