"""What makes an application unfit for serving, whoever configured it so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from portal.settings import Settings
from portal.web import create_app, guard
from portal.web.checks import find_faults


def set_config(**values: object) -> Callable[[Flask], None]:
    return lambda app: app.config.update(values)


def forget_the_guard(app: Flask) -> None:
    app.before_request_funcs[None].remove(guard.check_request)


def test_with_the_portals_own_configuration_nothing_is_wrong(settings: Settings) -> None:
    assert list(find_faults(create_app(settings))) == []


@pytest.mark.parametrize(
    ("spoil", "subject"),
    [
        (set_config(DEBUG=True), "FLASK_DEBUG"),
        (set_config(TESTING=True), "TESTING"),
        (set_config(LOGIN_DISABLED=True), "LOGIN_DISABLED"),
        (set_config(WTF_CSRF_ENABLED=False), "WTF_CSRF_ENABLED"),
        (set_config(WTF_CSRF_METHODS={"PUT"}), "WTF_CSRF_ENABLED"),
        (forget_the_guard, "WTF_CSRF_ENABLED"),
        (set_config(SECRET_KEY_FALLBACKS="a plain string of many keys"), "SECRET_KEY_FALLBACKS"),
        (set_config(SESSION_COOKIE_SECURE=True), "SESSION_COOKIE_SECURE"),
        (set_config(SESSION_COOKIE_HTTPONLY=False), "SESSION_COOKIE_HTTPONLY"),
    ],
)
def test_what_somebody_switched_off_is_named(
    settings: Settings, spoil: Callable[[Flask], None], subject: str
) -> None:
    app = create_app(settings)
    spoil(app)
    [fault] = find_faults(app)
    named, _, remedy = fault.partition("; ")
    assert named.startswith(f"{subject}: ")
    assert remedy
