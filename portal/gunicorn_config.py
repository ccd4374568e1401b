"""What gunicorn is told beside its command line; it takes the names in here that are settings of its own.

It is loaded before the application and before the first worker.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile

from gunicorn.glogging import Logger

from portal import logs
from portal.settings import Settings

REQUEST_WORDS = ("Error handling request", "Invalid request")
"""How gunicorn begins what it says about one request. It goes on with the address or a header of it."""


class WithoutRequests(logging.Filter):
    """Cuts what gunicorn repeats of a request, whose query string and cookies are nobody else's business."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, some with fewer words."""
        for words in REQUEST_WORDS:
            if str(record.msg).startswith(words):
                record.msg, record.args = words, ()
        return True


class LineLogger(Logger):  # type: ignore[misc]  # gunicorn has no types.
    """Gunicorn's own messages, as lines like all others."""

    def setup(self, cfg: object) -> None:
        """Take gunicorn's handlers away again: the ones at the root write the lines."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.filters[:] = [WithoutRequests()]
        self.error_log.propagate = True


def on_exit(_server: object) -> None:
    """Remove the folder of the metrics when the server ends."""
    if _metrics_folder is not None:
        shutil.rmtree(_metrics_folder, ignore_errors=True)


def _make_metrics_folder() -> str:
    """Make the folder in which the workers keep their numbers, so that each can tell those of all.

    The Prometheus client finds it by this variable, once, when it is imported.
    """
    folder = tempfile.mkdtemp(prefix="portal-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    return folder


_settings = Settings.from_environment()
_metrics_folder = _make_metrics_folder() if _settings.metrics_token else None
logs.set_up(_settings.log_level)

logger_class = LineLogger
loglevel = _settings.log_level
