"""How the portal is started as a program of its own: gunicorn over the application."""

from __future__ import annotations

import sys
from typing import Final

APPLICATION: Final = "portal.web:create_app_from_environment()"
"""What gunicorn loads, in a checkout and where only the package is installed."""

APPLICATION_CHECK: Final = (sys.executable, "-m", "portal.web.checks")
"""The command line that prints what is wrong with that application, one thing a line."""


def gunicorn_command(*, bind: str, workers: int) -> list[str]:
    """Return the command line of a server; its settings come from its environment.

    :param bind: an address to listen on, such as ``127.0.0.1:8000`` or ``unix:/run/portal.sock``.
    :param workers: how many processes answer.
    """
    options = ["--config", "python:portal.gunicorn_config", "--bind", bind, "--workers", str(workers)]
    # The application is loaded once for all workers, and one that cannot be loaded ends the server at once.
    # The control socket would be one file in the home folder, over which several servers fall out.
    options += ["--preload", "--no-control-socket"]
    return [sys.executable, "-m", "gunicorn", *options, APPLICATION]
