"""From exceptions to answers, in one place.

Error pages build no address from the request, whose host may be anybody's, repeat nothing of it, and ask
the database nothing, which may be what failed.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass

from flask import Flask, Response, make_response, render_template
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import DBAPIError, InternalError, NotSupportedError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import BadRequest, HTTPException, InternalServerError, NotFound

from portal.errors import MemoryNotFound, NotAnAdministrator, UnknownAction
from portal.web.addresses import page_to_return_to
from portal.web.fragments import wants_fragment

logger = logging.getLogger(__name__)

HOME = "/"
RETRY_AFTER_S = 5
FIRST_FAULT = 500


@dataclass(frozen=True)
class Words:
    """What an error page says."""

    heading: str
    text: str


NOT_FOUND = Words(
    "There is nothing here", "It may have been deleted or decided meanwhile, or it is not yours to see."
)
# In place of one entry of a list, of which the rest is still there.
GONE = Words("No longer here", "It was deleted or decided meanwhile, or it is not yours to see.")
BAD_REQUEST = Words("This request could not be understood", "Nothing was saved.")
STALE_FORM = Words(
    "This page was out of date",
    "Nothing was saved. Go back, and do it again on the fresh page. If that does not help, allow cookies.",
)
STALE_TOKEN = Words(
    "This page was out of date", "Nothing was saved. It is fresh now: press the button again."
)
FAULT = Words("Something went wrong", "That was our fault, not yours. Nothing was half saved. Try again.")
UNAVAILABLE = Words("The database does not answer", "Nothing was saved. Try again in a few seconds.")

WORDS = {
    400: BAD_REQUEST,
    404: NOT_FOUND,
    405: Words("This cannot be done here", "Nothing was saved."),
    413: Words("That is too much at once", "Nothing was saved. A form may have 64 KiB."),
    415: Words("Only forms are understood here", "Nothing was saved."),
}


def init_app(app: Flask) -> None:
    """Let the application answer each exception with its page."""
    app.register_error_handler(MemoryNotFound, lambda _: show_http_error(NotFound()))
    app.register_error_handler(NotAnAdministrator, lambda _: show_http_error(NotFound()))
    app.register_error_handler(UnknownAction, lambda _: show_http_error(BadRequest()))
    app.register_error_handler(CSRFError, show_stale_form)
    app.register_error_handler(HTTPException, show_http_error)
    app.register_error_handler(InternalServerError, show_fault)
    app.register_error_handler(OperationalError, show_unavailable)
    # What a PostgreSQL says that only reads, such as a standby before it takes over.
    app.register_error_handler(InternalError, show_unavailable)
    app.register_error_handler(NotSupportedError, show_unavailable)
    app.register_error_handler(PoolTimeout, show_unavailable)


def show_http_error(error: HTTPException) -> Response:
    code = error.code or 500
    # What the exception knows besides, such as which methods are allowed, is in the headers of its answer.
    answer = make_response(error.get_response())
    answer.set_data(render_words(WORDS.get(code, BAD_REQUEST if code < FIRST_FAULT else FAULT)))
    return answer


def show_stale_form(_: CSRFError) -> ResponseReturnValue:
    if wants_fragment():
        return render_template("errors/_alert.html", words=STALE_TOKEN, reference="", renew=True), 400
    return render_words(STALE_FORM, back=page_to_return_to() or HOME), 400


def show_fault(error: InternalServerError) -> ResponseReturnValue:
    return render_words(FAULT, reference=log_with_reference("server_error", error.original_exception)), 500


def show_unavailable(error: DBAPIError | PoolTimeout) -> ResponseReturnValue:
    page = render_words(UNAVAILABLE, reference=log_with_reference("database_unavailable", error))
    return page, 503, {"Retry-After": str(RETRY_AFTER_S)}


def log_with_reference(action: str, error: BaseException | None) -> str:
    """Log an exception, and return a number by which the line can be found."""
    reference = secrets.token_hex(4)
    logger.error(
        "%s, reference %s",
        action,
        reference,
        exc_info=error,
        extra={"action": action, "reference": reference},
    )
    return reference


def render_words(words: Words, *, reference: str = "", back: str = HOME) -> str:
    """Return an error page, or the fragment that says the same within the page that is there."""
    if not wants_fragment():
        return render_template("errors/error.html", words=words, reference=reference, back=back)
    if words is NOT_FOUND:
        return render_template("errors/_gone.html", words=GONE)
    return render_template("errors/_alert.html", words=words, reference=reference, renew=False)
