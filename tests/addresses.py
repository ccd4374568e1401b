"""Ports of this machine, and who answers there."""

from __future__ import annotations

import http.client
import socket
import time

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def get_status(port: int, path: str) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def eventually_answers(port: int, *, within_seconds: float = 30) -> bool:
    give_up_at = time.monotonic() + within_seconds
    while time.monotonic() < give_up_at:
        try:
            return get_status(port, "/healthz") == http.HTTPStatus.OK
        except OSError:
            time.sleep(0.05)
    return False
