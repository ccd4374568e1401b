"""An operator's whole life, by nothing but the commands of docs/operations.md.

The wheel in a clean environment, PostgreSQL, a database that the first version filled, people, a backup, the
loss of everything, and the way back.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.addresses import eventually_answers, free_port
from tests.installation import borrow_dependencies, build_wheel, clean_environment
from tests.operations.documents import Block, blocks_of
from tests.postgres import USER, PostgresServer

DOCUMENT = "docs/operations.md"
BASH = "/bin/bash"
FIRST_SCHEMA_DATA = Path(__file__).with_name("first_schema_data.sql")
MAKE_THE_FIRST_SCHEMA = """
python - <<'END'
import os
from portal.database import Database
Database(os.environ["PORTAL_DATABASE_URL"]).upgrade("0001")
END
"""
OLD_ADA = ("--owner", "ada@harbour.example", "--definition", "support")


class Operator:
    """Carries out what the document says, on a machine on which a few places have other names."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        self.folder = folder
        self.port = free_port()
        self.wheel = build_wheel(folder / "wheel")
        self.environment = clean_environment() | {
            "PGHOST": str(server.folder),
            "PGUSER": USER,
            "PGDATABASE": "postgres",
        }
        package = f"--no-deps --no-index --force-reinstall {self.wheel}"
        self.names: Mapping[str, str] = {
            "'agent-memory-portal[postgres]'": package,
            "sudo -u postgres ": "",
            "@127.0.0.1/portal": f"@/portal?host={server.folder}",
            "127.0.0.1:8000": f"127.0.0.1:{self.port}",
            **{f"/{place}": f"{folder}/{place}" for place in ("opt/portal", "etc/portal", "var/backups")},
        }
        self.prelude = ""
        self.server: subprocess.Popen[bytes] | None = None

    def do(self, code: str) -> str:
        """Carry out a block in a shell that stops at the first command that fails."""
        done = subprocess.run(
            [BASH, "-c", f"set -euo pipefail\n{self.prelude}\n{self.here(code)}"],
            cwd=self.folder,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def portal(self, *words: str) -> str:
        return self.do(" ".join(["portal", *words]))

    def serve(self, code: str) -> None:
        """Begin to serve, as the document says."""
        shell = [BASH, "-c", f"{self.prelude}\nexec {self.here(code)}"]
        with (self.folder / "log").open("wb") as log:
            self.server = subprocess.Popen(shell, cwd=self.folder, env=self.environment, stderr=log)
        assert eventually_answers(self.port, within_seconds=120), (self.folder / "log").read_text()

    def stop(self) -> None:
        """End the server, if there is one."""
        if self.server is not None:
            self.server.terminate()
            assert self.server.wait(timeout=60) == 0
            self.server = None

    def fill_the_first_schema(self) -> None:
        """Leave the database as the first version did, with people and what their agents learned."""
        self.do(MAKE_THE_FIRST_SCHEMA)
        url = '"${PORTAL_DATABASE_URL/+psycopg/}"'
        self.do(f"psql --quiet --set ON_ERROR_STOP=1 --dbname {url} --file {FIRST_SCHEMA_DATA}")

    def everything(self) -> Mapping[str, Sequence[str]]:
        """Return all lines of all organisations' exports but the first, which says when."""
        return {
            slug: self.portal("export", "--organisation", slug).splitlines()[1:]
            for slug in ("acme", "harbour")
        }

    def here(self, code: str) -> str:
        """Return commands of the document with the names that things have on this machine."""
        for there, here in self.names.items():
            code = code.replace(there, here)
        return code


@pytest.fixture
def operator(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[Operator]:
    (tmp_path / "wheel").mkdir()
    found = Operator(tmp_path, postgres_server)
    yield found
    found.stop()
    found.prelude = ""
    found.do("dropdb --if-exists --force portal && dropuser --if-exists portal_app")


@pytest.mark.long
@pytest.mark.postgres
def test_an_operator_gets_everything_back(operator: Operator) -> None:
    blocks = [block for block in blocks_of(DOCUMENT) if block.language == "sh"]
    assert len(blocks) > 12
    printed = {block: carry_out(operator, block) for block in blocks}

    assert [said for block, said in printed.items() if block.code == "portal check\n"] == [""]
    [watched] = [
        said for block, said in printed.items() if block.section == "Watch it" and "curl" in block.code
    ]
    assert watched.startswith("ok")
    assert 'portal_requests_total{endpoint="health.healthz",method="GET",status="200"}' in watched
    [listed] = [said for block, said in printed.items() if "events list" in block.code]
    assert json.loads(listed)["memory_key"] == "support_hours"
    [erased] = [said for block, said in printed.items() if "erase" in block.code]
    assert "Nothing that was deleted is left" in erased

    recalled = json.loads(operator.portal("memory", "list", *OLD_ADA))
    assert {memory["key"]: memory["content"] for memory in recalled["memories"]} == {
        "office": "Fifth floor",
        "preferred_language": "Answers in German\nand in 日本語",
    }
    assert [fact["key"] for fact in recalled["account_facts"]] == ["support_hours"]


def carry_out(operator: Operator, block: Block) -> str:
    """Carry out a block, and what happens to an operator around it."""
    if "portal.env" in block.code and not operator.prelude and "cat >" not in block.code:
        operator.prelude = operator.here(block.code)
        operator.fill_the_first_schema()
        return ""
    if block.code.startswith("portal serve"):
        operator.serve(block.code)
        return ""
    if "portal restore" not in block.code:
        printed = operator.do(block.code)
        if "venv" in block.code:
            borrow_dependencies(operator.folder / "opt" / "portal")
        return printed
    operator.stop()
    before = operator.everything()
    operator.do("dropdb --force portal")
    printed = operator.do(block.code)
    assert operator.everything() == before
    return printed
