"""Fragments: what htmx puts into a page that is there, in place of a whole page.

Whether a request wants one is decided here and nowhere else.
"""

from __future__ import annotations

from flask import Flask, Response, g, make_response, request

# Without the second one htmx would put the answer in place of the whole page.
DECIDING_HEADERS = ("HX-Request", "HX-Request-Type")


def init_app(app: Flask) -> None:
    """Let every answer that could have been a fragment say so to caches."""
    app.after_request(say_what_decided)


def wants_fragment() -> bool:
    """Whether this request is one of htmx that asks for a part of a page."""
    g.could_be_fragment = True
    return [request.headers.get(name) for name in DECIDING_HEADERS] == ["true", "partial"]


def lead_to(address: str, status: int) -> Response:
    """Let htmx go to another page, where a browser without it would have been redirected.

    A redirect would not do: the browser follows it unseen, and htmx gets the whole page as the fragment.
    """
    answer = make_response("", status)
    answer.headers["HX-Redirect"] = address
    return answer


def say_what_decided(response: Response) -> Response:
    if g.get("could_be_fragment"):
        response.vary.update(DECIDING_HEADERS)
    return response
