"""The headers of every answer."""

from __future__ import annotations

from flask import Flask, Response, request

from portal.web.assets import is_current
from portal.web.services import services

SOURCES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}

CLOSED_FEATURES = (
    "accelerometer",
    "autoplay",
    "camera",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "picture-in-picture",
    "publickey-credentials-get",
    "screen-wake-lock",
    "usb",
    "xr-spatial-tracking",
)

EVERYWHERE = {
    "Content-Security-Policy": "; ".join(f"{kind} {sources}" for kind, sources in SOURCES.items()),
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: browsers then send `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in CLOSED_FEATURES),
}

TWO_YEARS_S = 63_072_000
ONE_YEAR_S = 31_536_000

FIRST_ERROR = 400


def init_app(app: Flask) -> None:
    """Let every answer of the application have the headers."""
    app.after_request(set_headers)


def set_headers(response: Response) -> Response:
    response.headers.update(EVERYWHERE)
    if services().settings.is_https:
        response.headers["Strict-Transport-Security"] = f"max-age={TWO_YEARS_S}"
    response.headers["Cache-Control"] = _cache_control(response)
    return response


def _cache_control(response: Response) -> str:
    if request.endpoint != "static" or response.status_code >= FIRST_ERROR:
        return "no-store"
    if is_current((request.view_args or {}).get("filename"), request.args.get("v")):
        return f"public, max-age={ONE_YEAR_S}, immutable"
    return "no-cache"
