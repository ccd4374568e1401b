"""What every request has to pass before a view sees it, in one order for all of them.

Host, route and method, size and content type, origin, sign-in, CSRF. The views go on with role, object,
fields and conflicts. Flask-WTF by itself would check CSRF first, and tell somebody whose session ended that
the form is stale.
"""

from __future__ import annotations

from flask import Flask, abort, current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import CSRFProtect

from portal.web.addresses import POLLED_ENDPOINTS, SAFE_METHODS, page_to_return_to
from portal.web.auth import me
from portal.web.fragments import lead_to, wants_fragment
from portal.web.services import services

MAX_BODY_BYTES = 64 * 1024
MAX_PARTS = 50

FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})

# What watches the portal asks by whatever address it has, and signs in nowhere.
WATCHED_ENDPOINTS = frozenset({"health.healthz", "metrics.show"})
# Everything else needs somebody who is signed in.
OPEN_ENDPOINTS = WATCHED_ENDPOINTS | {
    *("accounts.set_password", "accounts.welcome"),
    *("auth.home", "auth.sign_in", "auth.sign_in_page", "static"),
}

csrf = CSRFProtect()


def init_app(app: Flask) -> None:
    """Let every request of the application pass the checks."""
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["MAX_FORM_PARTS"] = MAX_PARTS
    app.config["WTF_CSRF_CHECK_DEFAULT"] = False
    # A token is as old as the session it belongs to.
    app.config["WTF_CSRF_TIME_LIMIT"] = None
    # The token comes in the form and nowhere else.
    app.config["WTF_CSRF_HEADERS"] = []
    # Our own check of the origin takes the place of the Referer, which people may have switched off.
    app.config["WTF_CSRF_SSL_STRICT"] = False
    csrf.init_app(app)
    app.before_request(check_request)


def check_request() -> ResponseReturnValue | None:
    """Refuse a request, answer it, or let it through to its view."""
    check_host()
    if request.routing_exception is not None:
        raise request.routing_exception
    if request.method not in SAFE_METHODS:
        check_body()
        check_origin()
    if request.endpoint not in OPEN_ENDPOINTS:
        if not current_user.is_authenticated:
            if request.endpoint in POLLED_ENDPOINTS:
                return "", 204
            return current_app.login_manager.unauthorized()  # type: ignore[attr-defined,no-any-return]
        if not is_form_for_me():
            return refuse_form_of_somebody_else()
    csrf.protect()
    return None


def check_host() -> None:
    if request.endpoint in WATCHED_ENDPOINTS:
        return
    if not services().settings.trusts(request.headers.get("Host", "")):
        abort(400)


def check_body() -> None:
    if (request.content_length or 0) > MAX_BODY_BYTES:
        abort(413)
    has_body = bool(request.content_type or request.content_length)
    if has_body and request.mimetype not in FORM_TYPES:
        abort(415)
    # Parsed here, so that a form with too many parts is refused before anything is looked up for it.
    request.form  # noqa: B018


def check_origin() -> None:
    settings = services().settings
    own = {settings.public_url.rstrip("/").lower()}
    if not settings.is_https:
        own.add(f"http://{request.host}")
    origin = request.headers.get("Origin")
    if request.headers.get("Sec-Fetch-Site") == "cross-site" or (origin is not None and origin not in own):
        abort(400)


def is_form_for_me() -> bool:
    """Whether the page that a form stood on was made for whoever is signed in now."""
    return set(request.form.getlist("as")) <= {str(me().id)}


def refuse_form_of_somebody_else() -> ResponseReturnValue:
    flash("Nothing was saved: somebody else had signed in when that page was made.", "warn")
    address = page_to_return_to() or url_for("auth.home")
    return lead_to(address, 409) if wants_fragment() else redirect(address, 303)
