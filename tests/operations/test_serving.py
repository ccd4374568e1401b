"""The server as it is run: several processes, one count of everything, and a log of lines alone."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from portal.database import Database
from tests.addresses import eventually_answers, free_port
from tests.factories import create_personas

KEY = "a3N0b3AgdGhlIHByZXNzZXMsIHRoaXMgaXMgYSBrZXk"
TOKEN = "b2xkZXIgdGhhbiB0aGUgb3RoZXIsIHN0aWxsIGEga2V5"


class Server:
    """A portal that is served by three processes."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.port = free_port()
        self.folder = folder
        self.log = folder / "log"
        command = [sys.executable, "-c", "from portal.cli import main; main()", "serve"]
        options = ["--bind", f"127.0.0.1:{self.port}", "--workers", "3", "--database", database.url]
        own = {"PORTAL_SECRET_KEY": KEY, "PORTAL_METRICS_TOKEN": TOKEN, "TMPDIR": str(folder)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*command, *options], stderr=log, env=os.environ | own)

    def get(self, path: str, **headers: str) -> httpx.Response:
        # A connection of its own for each request, so that whichever process is free takes it.
        return httpx.get(f"http://127.0.0.1:{self.port}{path}", headers=headers)

    def count(self, endpoint: str) -> float:
        """Return how many requests for an endpoint are told, whichever process is asked."""
        told = self.get("/metrics", Authorization=f"Bearer {TOKEN}").text
        [number] = re.findall(rf'^portal_requests_total{{endpoint="{endpoint}".*}} (.+)$', told, re.MULTILINE)
        return float(number)

    def say(self, raw: bytes) -> bytes:
        """Send bytes as they are, and return how the answer begins."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(raw)
            return connection.recv(64)

    def stop(self) -> list[str]:
        """End the server, and return the lines that it wrote."""
        self.process.terminate()
        assert self.process.wait(timeout=60) == 0
        return self.log.read_text().splitlines()


@pytest.fixture
def server(sqlite_database: Database, tmp_path: Path) -> Iterator[Server]:
    create_personas(sqlite_database)
    found = Server(sqlite_database, tmp_path)
    try:
        assert eventually_answers(found.port, within_seconds=120), found.log.read_text()
        yield found
    finally:
        found.process.kill()
        found.process.wait()


def test_each_process_tells_the_numbers_of_all(server: Server) -> None:
    for _ in range(60):
        assert server.get("/sign-in").status_code == 200
    assert {server.count("auth.sign_in_page") for _ in range(20)} == {60}
    assert len(list(server.folder.glob("portal-metrics-*/counter_*.db"))) > 1, "several processes answered"


def test_when_the_server_ends_it_leaves_nothing_behind(server: Server) -> None:
    assert [path.name for path in server.folder.iterdir() if path.name.startswith("portal-metrics-")]
    server.stop()
    assert [path.name for path in server.folder.iterdir()] == ["log"]


def test_the_log_is_lines_of_json_without_what_came_with_requests(server: Server) -> None:
    server.get("/sign-in?next=measles", Cookie="portal_session=measles")
    server.get("/measles")
    assert b" 400 " in server.say(b"GET /?q=measles HTTP/1.1\r\nHost: x\r\nCookie measles: x\r\n\r\n")
    assert b" 400 " in server.say(b"GET /?q=measles HTTP/measles\r\nHost: x\r\n\r\n")
    written = [line for line in server.stop() if not line.startswith("warning: SQLite")]
    lines: list[dict[str, Any]] = [json.loads(line) for line in written]
    assert "measles" not in "\n".join(written)
    assert {line["endpoint"] for line in lines if line["message"] == "request" and "endpoint" in line} == {
        "auth.sign_in_page",
        "health.healthz",
    }
    assert [
        line["message"] for line in lines if line["level"] == "warning" and "gunicorn" in line["logger"]
    ] == [
        "Invalid request",
        "Invalid request",
    ]
    assert any(line["message"].startswith("Listening at: ") for line in lines)
