"""Counts and latencies for Prometheus, at ``/metrics``. Nothing in them is about a person or a tenant.

Several worker processes keep their numbers in one folder where ``PROMETHEUS_MULTIPROC_DIR`` names one, as
:mod:`portal.gunicorn_config` sees to; whichever is asked then tells those of all.
"""

from __future__ import annotations

import hmac
import os

from flask import Blueprint, Flask, Response, abort, current_app, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from portal.web.request_log import elapsed_seconds, known_method
from portal.web.services import EXTENSION as SERVICES
from portal.web.services import services

EXTENSION = "portal-metrics"

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

metrics = Blueprint("metrics", __name__)


class RequestMetrics:
    """The numbers of one application in this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "portal_requests_total",
            "Requests, by what they asked for and how they were answered.",
            ("endpoint", "method", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "portal_request_duration_seconds",
            "How long requests took to answer.",
            ("endpoint",),
            buckets=SECONDS,
            registry=self.registry,
        )

    def count(self, response: Response) -> Response:
        """Count the request that is being answered."""
        # An address that leads nowhere has no endpoint; to count by path would let anybody fill the memory.
        endpoint = request.endpoint or "none"
        self._requests.labels(endpoint, known_method(), str(response.status_code)).inc()
        self._seconds.labels(endpoint).observe(elapsed_seconds())
        return response


def init_app(app: Flask) -> None:
    """Let the application count its requests, if there is a token with which somebody may ask for them."""
    app.register_blueprint(metrics)
    if app.extensions[SERVICES].settings.metrics_token:
        counted = app.extensions[EXTENSION] = RequestMetrics()
        app.after_request(counted.count)


@metrics.get("/metrics")
def show() -> Response:
    token = services().settings.metrics_token
    if not token:
        abort(404)
    given = request.headers.get("Authorization", "")
    if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return Response("A token is needed.\n", 401, {"WWW-Authenticate": "Bearer"}, mimetype="text/plain")
    return Response(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)


def _registry() -> CollectorRegistry:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        own: RequestMetrics = current_app.extensions[EXTENSION]
        return own.registry
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared
