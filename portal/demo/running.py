"""A demo while it runs: a temporary folder, a server, and their end whatever happens.

It is loaded without the core, so that the server starts at once.
"""

from __future__ import annotations

import http.client
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeAlias

from portal.errors import InvalidInput
from portal.serving import gunicorn_command
from portal.settings import PREFIX

HOST = "127.0.0.1"
WORKERS = 2
START_TIMEOUT_SECONDS = 30
STOP_TIMEOUT_SECONDS = 10
POLL_SECONDS = 0.05

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Handler: TypeAlias = Callable[[int, FrameType | None], None] | signal.Handlers


class ServerEnded(Exception):
    """The server ended by itself; it said why on standard error."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let every signal that asks this program to end raise ``KeyboardInterrupt``, as Ctrl-C does.

    Each does so, and not only the first: Python may drop what is raised while it runs a callback of its own.
    """

    def interrupt(_signal_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handling_signals_by(interrupt):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep an impatient second Ctrl-C from what is cleaned up."""
    with _handling_signals_by(signal.SIG_IGN):
        yield


@contextmanager
def _handling_signals_by(
    handler: Callable[[int, FrameType | None], None] | signal.Handlers,
) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def throw_away_database() -> Iterator[str]:
    """Give the URL of a database that has no file yet, and is gone afterwards."""
    folder = tempfile.TemporaryDirectory(prefix="portal-demo-")
    try:
        yield f"sqlite:///{folder.name}/demo.db"
    finally:
        with undisturbed():
            folder.cleanup()


@contextmanager
def server(database_url: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Give a server that starts on a port of this machine, and stop it afterwards.

    :raises portal.errors.InvalidInput: (``port``) something else listens there.
    """
    require_free(port)
    # Somebody may have settings for a portal of their own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)} | {
        "PORTAL_DATABASE_URL": database_url,
        "PORTAL_SECRET_KEY": secrets.token_urlsafe(48),
        "PORTAL_PUBLIC_URL": f"http://{HOST}:{port}",
        "PORTAL_LOG_LEVEL": "warning",
    }
    command = gunicorn_command(bind=f"{HOST}:{port}", workers=WORKERS)
    # In a session of its own the server gets no Ctrl-C of the terminal: it ends when we say so.
    process = subprocess.Popen(command, env=environment, start_new_session=True)  # noqa: S603 - our own words
    try:
        yield process
    finally:
        with undisturbed():
            _stop(process)


def require_free(port: int) -> None:
    """Refuse a port on which something else listens.

    :raises portal.errors.InvalidInput: (``port``) it is in use, or not for us to use.
    """
    with socket.socket() as probe:
        # Without this a port that was in use a minute ago would still count as in use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as exc:
            problem = f"{port} cannot be used ({exc.strerror}); choose another with --port"
            raise InvalidInput("port", problem) from exc


def require_running(process: subprocess.Popen[bytes]) -> None:
    """Go on only while the server runs.

    :raises ServerEnded: it does not any more.
    """
    if process.poll() is not None:
        raise ServerEnded


def wait_until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    """Return once the server answers.

    :raises ServerEnded: it ended, or did not answer for half a minute.
    """
    give_up_at = time.monotonic() + START_TIMEOUT_SECONDS
    while not _is_healthy(port):
        require_running(process)
        if time.monotonic() > give_up_at:
            raise ServerEnded
        time.sleep(POLL_SECONDS)


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=START_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    # SIGINT is gunicorn's quick way out; SIGTERM would wait for whoever is still being answered.
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
