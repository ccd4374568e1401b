"""One line in the log for each request: which endpoint, how it was answered, how long that took, for whom.

No path, as it may be anything that somebody typed, and nothing that came with the request.
"""

from __future__ import annotations

import logging
import secrets
import time

from flask import Flask, Response, g, request

from portal.logs import request_id

logger = logging.getLogger(__name__)

KNOWN_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})


def init_app(app: Flask) -> None:
    """Let every request of the application have an id and a line.

    To be called before what may refuse a request, so that those have one too.
    """
    app.before_request(begin)
    app.after_request(finish)
    app.teardown_request(forget)


def begin() -> None:
    g.began_at = time.perf_counter()
    request_id.set(secrets.token_hex(8))


def finish(response: Response) -> Response:
    response.headers["X-Request-ID"] = request_id.get() or ""
    named = request.view_args or {}
    ids = {
        "action": "request",
        "method": known_method(),
        "endpoint": request.endpoint,
        "status": response.status_code,
        "duration_ms": round(elapsed_seconds() * 1_000, 1),
        "memory_id": named.get("memory_id"),
        "person_id": named.get("profile_id"),
    }
    logger.info("request", extra=ids | _ids_of_visitor())
    return response


def forget(_error: BaseException | None) -> None:
    # What is logged between two requests belongs to neither.
    request_id.set(None)


def elapsed_seconds() -> float:
    """Return for how long this request has been worked on."""
    return time.perf_counter() - float(g.began_at)


def known_method() -> str:
    """Return the method of this request, of which a client can make up any number."""
    return request.method if request.method in KNOWN_METHODS else "other"


def _ids_of_visitor() -> dict[str, int]:
    # Flask-Login keeps here whom it has looked up. To ask it would look up somebody for every static file.
    visitor = g.get("_login_user")
    if visitor is None or not visitor.is_authenticated:
        return {}
    profile = visitor.signed_in.profile
    return {"organisation_id": profile.organisation_id, "profile_id": profile.id}
