"""A private PostgreSQL server for the tests: a folder, a socket in it, and nothing that outlives the run."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import psycopg
from psycopg import sql
from sqlalchemy import URL, make_url

from portal.database import Database
from tests.partitions import partition

USER = "portal"
TEMPLATE = "migrated"
START_TIMEOUT_S = 30.0

# How many parts the large tables of a migrated database have, where they have any.
PARTITIONS = int(os.environ.get("PORTAL_TEST_PARTITIONS", "0"))

# The server ends with us however we end: our end of the pipe closes, `read` returns, and the shell stops
# the server by its pid and removes the folder. For each line until then it restarts the server.
KEEPER = """
folder=$1; shift
"$@" >>"$folder/log" 2>&1 &
while read -r _; do
  kill -INT $!
  wait $!
  "$@" >>"$folder/log" 2>&1 &
done
kill -QUIT $!
wait
rm -rf "$folder"
"""

# A default collation that differs from code points shows that the order of keys is ours, not the server's.
# Servers built without ICU, or older than 15, get what the environment says.
LOCALES = (("--locale-provider=icu", "--icu-locale=en-US", "--locale=C"), ())


class PostgresMissing(Exception):
    """The server's programs are not on this machine."""


def find_programs() -> Path:
    """Return the folder of the newest ``initdb`` and ``postgres`` on this machine."""
    on_path = shutil.which("postgres")
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    for folder in [*reversed(packaged), *([Path(on_path).parent] if on_path else [])]:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise PostgresMissing("no PostgreSQL server programs (Debian: apt-get install postgresql)")


class PostgresServer:
    """Fresh databases on a server that starts and stops with the ``with`` block.

    :param settings: of the server, where they differ from those of the tests.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings = settings or {}
        self._programs = find_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="portal-postgres-"))
        self._user: int | None = None
        self._group: int | None = None
        if os.geteuid() == 0:
            self._become_somebody_else()
        self._names = (f"test_{number}" for number in itertools.count(1))

    def __enter__(self) -> Self:
        self._initialise()
        self._keeper = self._start()
        self._admin = self._connect_when_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self._admin.close()
        self._keeper.communicate()

    def restart(self) -> None:
        """Stop the server, which ends every connection, and start it again."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.write("\n")
        self._keeper.stdin.flush()
        self._connect_again()

    def stand_by(self) -> None:
        """Restart the server as a standby, which answers but lets nobody write."""
        signal_file = self.folder / "data" / "standby.signal"
        signal_file.touch()
        if self._user is not None and self._group is not None:
            os.chown(signal_file, self._user, self._group)
        self.restart()

    def take_over(self) -> None:
        """Let the standby be an ordinary server again."""
        self._admin.execute("SELECT pg_promote()")

    def crash(self) -> None:
        """Kill a process of the server, which then ends every other one and recovers from its log."""
        with self._connect_when_ready() as victim:
            os.kill(victim.info.backend_pid, signal.SIGKILL)
        # Not our own process: that this connection ends is how we see that the server has noticed.
        self._connect_again()

    def _connect_again(self) -> None:
        while not self._admin.closed:
            try:
                self._admin.execute("SELECT 1")
            except psycopg.OperationalError:
                self._admin.close()
        self._admin = self._connect_when_ready()

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Give the URL of a database without a schema, and drop it afterwards."""
        with self._created("CREATE DATABASE {}") as url:
            yield url

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """Give the URL of a database with the newest schema, and drop it afterwards."""
        self._make_template()
        with self._created("CREATE DATABASE {} TEMPLATE {}", TEMPLATE) as url:
            yield url

    @contextmanager
    def copied(self, url: str) -> Iterator[str]:
        """Give the URL of a copy of a database, to which nobody may be connected."""
        with self._created("CREATE DATABASE {} TEMPLATE {}", str(make_url(url).database)) as copy:
            yield copy

    def make_folder(self, name: str) -> Path:
        """Make a folder of the server's own."""
        folder = self.folder / name
        folder.mkdir()
        return folder

    @contextmanager
    def on_disk(self, disk: Path) -> Iterator[str]:
        """Give the URL of a database without a schema whose tables are kept in another folder."""
        if self._user is not None and self._group is not None:
            os.chown(disk, self._user, self._group)
        place = sql.SQL("CREATE TABLESPACE small LOCATION {}").format(str(disk))
        self._admin.execute(place)
        with self._created("CREATE DATABASE {} TABLESPACE small") as url:
            yield url
        self._execute("DROP TABLESPACE {}", "small")

    @contextmanager
    def _created(self, statement: str, *names: str) -> Iterator[str]:
        name = next(self._names)
        self._execute(statement, name, *names)
        try:
            yield self._url(name)
        finally:
            self._execute("DROP DATABASE {} WITH (FORCE)", name)

    def _make_template(self) -> None:
        if self._admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone():
            return
        self._execute("CREATE DATABASE {}", TEMPLATE)
        database = Database(self._url(TEMPLATE))
        database.upgrade()
        database.dispose()
        if PARTITIONS:
            partition(self._url(TEMPLATE), PARTITIONS)

    def _url(self, name: str) -> str:
        url = URL.create("postgresql+psycopg", USER, database=name, query={"host": str(self.folder)})
        return url.render_as_string()

    def _execute(self, statement: str, *names: str) -> None:
        self._admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def _become_somebody_else(self) -> None:
        """Let the server run as ``postgres``, because it refuses to run as root."""
        account = pwd.getpwnam("postgres")
        self._user, self._group = account.pw_uid, account.pw_gid
        os.chown(self.folder, self._user, self._group)

    def _initialise(self) -> None:
        output = ""
        for locale in LOCALES:
            command = [self._programs / "initdb", "--pgdata", self.folder / "data", "--username", USER]
            options = ["--auth=trust", "--encoding=UTF8", "--no-sync", *locale]
            done = self._spawn([*map(str, command), *options])
            output, _ = done.communicate()
            if done.returncode == 0:
                return
        raise RuntimeError(output)

    def _start(self) -> subprocess.Popen[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            "fsync": "off",
            "full_page_writes": "off",
            **self._settings,
        }
        server = [str(self._programs / "postgres"), "-D", str(self.folder / "data")]
        options = [f"--{name}={value}" for name, value in settings.items()]
        return self._spawn(["sh", "-c", KEEPER, "sh", str(self.folder), *server, *options])

    def _spawn(self, command: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            # Control-C reaches every process of the terminal's group, and the server would end before us.
            start_new_session=True,
            user=self._user,
            group=self._group,
        )

    def _connect_when_ready(self) -> psycopg.Connection[tuple[object, ...]]:
        give_up_at = time.monotonic() + START_TIMEOUT_S
        url = make_url(self._url("postgres"))
        while True:
            try:
                return psycopg.connect(user=USER, dbname=url.database, host=str(self.folder), autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > give_up_at:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
