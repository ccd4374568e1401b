"""What Prometheus is told, and who is told it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families
from werkzeug.test import TestResponse

from portal.database import Database
from portal.settings import Settings
from portal.web import create_app
from portal.web.services import EXTENSION
from tests.factories import create_personas
from tests.quick_passwords import give_everybody_a_password
from tests.web.visitors import HERE, Visitor

TOKEN = "a token for tests, which protects nothing"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def app(database: Database, settings: Settings) -> Iterator[Flask]:
    create_personas(database)
    give_everybody_a_password(database)
    watched = create_app(replace(settings, metrics_token=TOKEN))
    watched.testing = True
    yield watched
    watched.extensions[EXTENSION].database.dispose()


def ask(app: Flask, authorization: str = f"Bearer {TOKEN}", host: str = "127.0.0.1") -> TestResponse:
    headers = {"Host": host, "Authorization": authorization}
    return app.test_client().get("/metrics", headers=headers)


def samples(app: Flask) -> Samples:
    families = text_string_to_metric_families(ask(app).text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def count(found: Samples, **labels: str) -> float:
    return found["portal_requests_total", frozenset(labels.items())]


def test_requests_are_counted_by_endpoint_method_and_status(app: Flask) -> None:
    client = app.test_client()
    for path in ("/sign-in", "/sign-in?next=/me/", "/nowhere", "/also-nowhere"):
        client.get(path, base_url=HERE)
    client.post("/sign-in", base_url=HERE)
    found = samples(app)
    assert count(found, endpoint="auth.sign_in_page", method="GET", status="200") == 2
    assert count(found, endpoint="auth.sign_in", method="POST", status="400") == 1
    assert count(found, endpoint="none", method="GET", status="404") == 2


def test_the_time_that_requests_took_is_told_by_endpoint(app: Flask) -> None:
    app.test_client().get("/healthz")
    found = samples(app)
    health = ("endpoint", "health.healthz")
    assert found["portal_request_duration_seconds_count", frozenset({health})] == 1
    assert found["portal_request_duration_seconds_sum", frozenset({health})] > 0
    assert found["portal_request_duration_seconds_bucket", frozenset({health, ("le", "+Inf")})] == 1


def test_a_made_up_method_or_address_makes_no_series_of_its_own(app: Flask) -> None:
    client = app.test_client()
    for number in range(3):
        client.open(f"/nowhere-{number}", method=f"BREW{number}", base_url=HERE)
    assert count(samples(app), endpoint="none", method="other", status="404") == 3


def test_nothing_is_about_a_person_or_a_tenant(app: Flask) -> None:
    root = Visitor(app)
    root.sign_in("root@acme.example")
    root.get("/admin/support/?q=measles")
    told = ask(app).text
    assert {key for _, labels in samples(app) for key, _ in labels} == {"endpoint", "method", "status", "le"}
    assert not any(word in told for word in ("acme", "support", "measles", "root@"))


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        "Bearer ä",
        TOKEN,
    ],
)
def test_without_its_token_nothing_is_told(app: Flask, authorization: str) -> None:
    answer = ask(app, authorization)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert "portal_requests" not in answer.text


def test_whoever_is_signed_in_is_told_nothing_without_the_token(app: Flask) -> None:
    root = Visitor(app)
    root.sign_in("root@acme.example")
    assert root.get("/metrics").status_code == 401


@pytest.mark.parametrize("host", ["10.0.0.7:8000", "portal", "evil.example"])
def test_they_are_told_by_any_name(app: Flask, host: str) -> None:
    answer = ask(app, host=host)
    assert answer.status_code == 200
    assert answer.mimetype == "text/plain"
    assert "Set-Cookie" not in answer.headers


def test_without_a_token_in_the_settings_there_is_no_such_page(settings: Settings) -> None:
    answer = ask(create_app(settings), "Bearer ")
    assert answer.status_code == 404
    assert "portal_requests" not in answer.text
