"""What is wrong with an application that makes it unfit for serving, whoever configured it.

``python -m portal.web.checks`` prints it for the application of this process's environment, one thing a
line. It is a program of its own so that the command line loads no web framework.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from flask import Flask

from portal.web import create_app_from_environment
from portal.web.guard import check_request
from portal.web.services import EXTENSION

CHANGING_METHODS = frozenset({"DELETE", "PATCH", "POST", "PUT"})


def find_faults(app: Flask) -> Iterator[str]:
    """Go through what is wrong and, after each semicolon, how to mend it."""
    config = app.config
    if app.debug:
        yield "FLASK_DEBUG: debugging shows visitors how the portal works inside; unset the variable"
    if app.testing:
        yield "TESTING: errors are not caught; set it to False, or leave it out"
    if config.get("LOGIN_DISABLED"):
        yield "LOGIN_DISABLED: nobody has to sign in; set it to False, or leave it out"
    if not _protects_forms(app):
        yield "WTF_CSRF_ENABLED: other sites can send our forms; leave the settings of Flask-WTF as they are"
    if not isinstance(config["SECRET_KEY_FALLBACKS"], list | tuple):
        yield "SECRET_KEY_FALLBACKS: each character of a string counts as a key; give a list of keys"
    if config["SESSION_COOKIE_SECURE"] is not app.extensions[EXTENSION].settings.is_https:
        yield "SESSION_COOKIE_SECURE: this follows from PORTAL_PUBLIC_URL; leave it out"
    if not config["SESSION_COOKIE_HTTPONLY"]:
        yield "SESSION_COOKIE_HTTPONLY: scripts could read who is signed in; leave it out"


def _protects_forms(app: Flask) -> bool:
    checked = app.config["WTF_CSRF_METHODS"]
    is_asked = check_request in app.before_request_funcs.get(None, [])
    return bool(app.config["WTF_CSRF_ENABLED"]) and is_asked and checked >= CHANGING_METHODS


def main() -> None:
    for fault in find_faults(create_app_from_environment()):
        sys.stdout.write(f"{fault}\n")


if __name__ == "__main__":
    main()
