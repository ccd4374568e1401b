"""What people see when something fails that should not, and what the log says."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from portal.database import Database
from portal.web import create_app
from portal.web.services import EXTENSION, Services
from tests.web.pages import Page
from tests.web.visitors import Portal


def divide_by_zero(definition: str) -> str:
    """Go wrong where nobody expects it."""
    return definition * (1 // 0)


def test_a_fault_is_a_page_with_a_number_that_the_log_has_too(
    portal: Portal, caplog: pytest.LogCaptureFixture
) -> None:
    root = portal.visitor(portal.personas.root)
    portal.app.config["PROPAGATE_EXCEPTIONS"] = False
    portal.app.view_functions["administrators.queue"] = divide_by_zero
    with caplog.at_level(logging.ERROR):
        answer = root.get("/admin/support/?q=a-secret-question")
    page = Page(answer.text)
    [reference] = re.findall(r"\b[0-9a-f]{8}\b", page.root.words)
    assert (answer.status_code, page.heading) == (500, "Something went wrong")
    assert reference in caplog.text
    assert "Traceback" not in answer.text
    assert "ZeroDivisionError" not in answer.text
    assert "a-secret-question" not in answer.text + caplog.text


def test_without_the_database_everything_says_so(portal: Portal, tmp_path: Path) -> None:
    """The database is a file in a folder that is not there."""
    services: Services = portal.app.extensions[EXTENSION]
    nowhere = f"sqlite:///{tmp_path}/gone/portal.db"
    app = create_app(replace(services.settings, database_url=nowhere))
    client = app.test_client()
    page = client.get("/sign-in")
    assert page.status_code == 200
    fields = dict(Page(page.text).form("Sign in").fields) | {"email": "x", "password": "x"}
    for answer in (client.get("/healthz"), client.post("/sign-in", data=fields)):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert Page(answer.text).heading == "The database does not answer"


def test_a_page_for_somebody_signed_in_says_so_too(portal: Portal, database: Database) -> None:
    root = portal.visitor(portal.personas.root)
    database.write(lambda session: session.execute(text("DROP TABLE sign_in_session")))
    answer = root.get("/admin/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_an_error_page_repeats_nothing_of_the_request(portal: Portal) -> None:
    answer = portal.visitor().get("/nowhere/<script>?q=<script>", headers={"Referer": "http://evil.example/"})
    assert answer.status_code == 404
    assert "script" not in answer.text
    assert "evil" not in answer.text
