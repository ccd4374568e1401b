"""A portal that is served, and windows onto it. Each test ends by asking what they complained about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.people import Windows, served
from tests.web.conftest import compiled_templates, databases, portal, settings
from tests.web.visitors import Portal

__all__ = ["compiled_templates", "databases", "portal", "settings"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture
def windows(browser: Browser, portal: Portal) -> Iterator[Windows]:
    with served(portal) as address:
        found = Windows(browser, portal, address)
        yield found
        found.close()
        assert found.complaints == []
