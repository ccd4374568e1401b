"""Everything that makes a setting unfit for serving, each with how to mend it."""

from __future__ import annotations

import secrets
import shlex
import sqlite3
import stat
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy.exc import DBAPIError

from portal.database import RESET_BUG, Database, has_reset_bug
from portal.errors import InvalidInput
from portal.operations.file_systems import MOUNTS, find_network_file_system
from portal.operations.findings import Finding, warning
from portal.operations.schema import find_schema_problem, sqlite_path
from portal.serving import APPLICATION_CHECK
from portal.settings import (
    LOCAL_HOSTS,
    PREFIX,
    Settings,
    database_url_from,
    find_refusals,
    variables_of,
)

SIMILAR = 0.85
"""How alike a variable has to be to a setting's to be taken for a slip of the pen, from 0 to 1."""

SQLITE_FILES = ("", "-wal", "-shm")

LINE_END = "\n"


def find_faults(environment: Mapping[str, str], *, bind: str | None = None) -> Iterator[Finding]:
    """Go through what is wrong with a portal that is served with this environment.

    :param environment: the variables of the process that would serve.
    :param bind: the address that it would listen on. Without one, others than this machine are to reach it.
    """
    settings = list(check_settings(environment, bind=bind))
    yield from settings
    yield from _check_database_of(environment)
    if not any(finding.is_fault for finding in settings):
        yield from check_application(environment)


def check_settings(environment: Mapping[str, str], *, bind: str | None = None) -> Iterator[Finding]:
    """Go through what is wrong with the settings themselves; arguments as in :func:`find_faults`."""
    refusals = list(find_refusals(environment))
    yield from (Finding(str(refusal)) for refusal in refusals)
    yield from _check_names(environment)
    settings = _settings_without(environment, {refusal.field.removesuffix("_FILE") for refusal in refusals})
    is_set = bool(environment.get(f"{PREFIX}PUBLIC_URL", "").strip())
    yield from _check_hosts(settings, is_set=is_set, bind=bind)
    yield from _check_clients(settings, bind)


def check_database(
    database: Database,
    *,
    mounts: Path = MOUNTS,
    sqlite_version: tuple[int, int, int] = sqlite3.sqlite_version_info,
) -> Iterator[Finding]:
    """Go through what is wrong with a database. It is not changed, and not created.

    :param mounts: what is mounted where, see :mod:`portal.operations.file_systems`.
    :param sqlite_version: the version of the SQLite library.
    """
    path = sqlite_path(database)
    if path is not None:
        yield from _check_file(path, mounts)
        if has_reset_bug(sqlite_version):
            yield warning(RESET_BUG % ".".join(map(str, sqlite_version)))
    try:
        problem = find_schema_problem(database)
        if problem is not None:
            yield Finding(problem)
        elif path is not None:
            yield from _check_connection(database)
    except DBAPIError as error:
        yield Finding(f"the database cannot be used: {str(error.orig).partition(LINE_END)[0]}")


def check_application(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Load the web application in a process of its own, and go through what is wrong with it."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        APPLICATION_CHECK, env=dict(environment), capture_output=True, text=True, check=False
    )
    yield from (Finding(line) for line in done.stdout.splitlines())
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        yield Finding(f"the application cannot be loaded: {reason}")


def _settings_without(environment: Mapping[str, str], refused: Collection[str]) -> Settings:
    """Return the settings with a default in the place of each that was refused, to see what else is wrong."""
    accepted = {
        name: value for name, value in environment.items() if name.removesuffix("_FILE") not in refused
    }
    if f"{PREFIX}SECRET_KEY" in refused:
        accepted[f"{PREFIX}SECRET_KEY"] = secrets.token_urlsafe(48)
    return Settings.from_mapping(accepted)


def _check_names(environment: Mapping[str, str]) -> Iterator[Finding]:
    known = [name for setting in fields(Settings) for name in variables_of(setting)]
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            for meant in get_close_matches(name, known, n=1, cutoff=SIMILAR):
                yield warning(f"{name} is no setting", f"if you mean {meant}, call it that")


def _check_hosts(settings: Settings, *, is_set: bool, bind: str | None) -> Iterator[Finding]:
    host = urlsplit(settings.public_url).hostname or ""
    is_local = host in LOCAL_HOSTS or host == "::1"
    if not is_set and not (bind is not None and _is_loopback(bind)):
        yield Finding(
            f"{PREFIX}PUBLIC_URL: this is not set, so every host but this machine's own names is refused",
            "set it to the address that people type, such as https://memory.example.org",
        )
    if not is_local and not settings.is_https:
        yield Finding(
            f"{PREFIX}PUBLIC_URL: over plain http everybody on the way can read passwords and memories",
            "put a proxy with a certificate in front, and give an address that begins with https://",
        )


def _check_clients(settings: Settings, bind: str | None) -> Iterator[Finding]:
    # The server itself speaks no TLS, and through a socket file it is not told who is calling.
    has_proxy = settings.is_https or (bind is not None and bind.startswith("unix:"))
    if has_proxy and not settings.proxy_hops:
        yield warning(
            f"{PREFIX}PROXY_HOPS: behind a proxy all clients look alike, and share one limit of tries",
            "set it to the number of proxies in front, usually 1",
        )


def _check_database_of(environment: Mapping[str, str]) -> Iterator[Finding]:
    try:
        database = Database(database_url_from(environment))
    except InvalidInput as refusal:
        # One that stands in a file which cannot be read is among the settings' findings already.
        if not refusal.field.startswith(PREFIX):
            yield Finding(f"{PREFIX}DATABASE_URL: {refusal.problem}")
        return
    try:
        yield from check_database(database)
    finally:
        database.dispose()


def _check_file(path: Path, mounts: Path) -> Iterator[Finding]:
    kind = find_network_file_system(path, mounts)
    if kind is not None:
        yield Finding(
            f"{path} is on a network file system ({kind}), where SQLite damages databases",
            "move it to a local disk, or use PostgreSQL",
        )
    for file in (path.with_name(path.name + suffix) for suffix in SQLITE_FILES):
        if file.exists():
            yield from _check_mode(file)


def _check_mode(file: Path) -> Iterator[Finding]:
    mode, remedy = file.stat().st_mode, f"run: chmod 600 {shlex.quote(str(file))}"
    if mode & stat.S_IRWXO:
        yield Finding(f"{file} can be read by everybody on this machine", remedy)
    elif mode & stat.S_IRWXG:
        yield warning(f"{file} can be read by the group of its owner", remedy)


def _check_connection(database: Database) -> Iterator[Finding]:
    with database.engine.connect() as connection:
        journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        has_foreign_keys = connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one()
    if journal != "wal":
        yield Finding(
            f"SQLite keeps its journal as '{journal}' and not as 'wal', so readers wait for writers",
            "let the portal write to the database's folder, on a disk of this machine",
        )
    if not has_foreign_keys:
        yield Finding(
            "SQLite does not enforce foreign keys, which keep organisations apart",
            "use a build of SQLite that has them, without SQLITE_OMIT_FOREIGN_KEY",
        )


def _is_loopback(bind: str) -> bool:
    host = bind.rpartition(":")[0]
    return host in LOCAL_HOSTS or host.startswith("127.")
