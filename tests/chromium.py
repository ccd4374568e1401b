"""The system's Chromium, driven by Playwright, which downloads no browser of its own here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

# No sandbox, because the tests may run as root, and no requests of the browser's own.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class ChromiumMissing(Exception):
    """There is no Chromium on this machine."""


def find_program() -> str:
    """Return the path of the system's Chromium."""
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    raise ChromiumMissing("no Chromium (Debian: apt-get install chromium)")


@contextmanager
def launched() -> Iterator[Browser]:
    """Give a running, headless browser, and end it afterwards."""
    program = find_program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
