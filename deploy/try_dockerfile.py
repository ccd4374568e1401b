# ruff: noqa: INP001 - a program, not a part of a package
"""Carry out the Dockerfile's steps one by one in a clean folder, where there is no container engine.

Absolute paths become paths in that folder. What only a container has is said and left out: the base image,
Debian's packages, the system account. The container's command then runs for real: as another user where we
are root, with nothing writable but the volume and a folder for temporary files, until the Dockerfile's own
health check answers; then it is told to end.

    python3 deploy/try_dockerfile.py
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = re.compile(r"(?<![\w.])/(?=(?:build|opt|var/lib)/)")
NEEDS_A_CONTAINER = ("apt-get", "useradd")
IMAGE_PORT = "8000"
START_TIMEOUT_SECONDS = 60
USER_ID = 10_001


class Build:
    """What has been built so far, in one folder that stands for the root of the image."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.earlier = folder / "earlier-stage"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.temporary.chmod(stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO | stat.S_ISVTX)
        self.workdir = self.root
        self.volumes: list[Path] = []
        self.variables = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "TMPDIR": str(self.temporary)}
        self.command: list[str] = []
        self.health: list[str] = []
        self.port = _free_port()
        self.python = _python_for_others()
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(self.python)

    def carry_out(self, instruction: str, words: str) -> str:
        """Carry out one step, and return what became of it."""
        step = getattr(self, f"_{instruction.lower()}", None)
        return "not carried out" if step is None else step(words) or "done"

    def _from(self, _words: str) -> str:
        if self.root.exists():
            # An image begins anew; only what it copies from the earlier one is in it.
            self.root.rename(self.earlier)
        self.root.mkdir()
        return f"with {self.python} in place of the image"

    def _workdir(self, words: str) -> None:
        self.workdir = self._here(words)
        self.workdir.mkdir(parents=True, exist_ok=True)

    def _env(self, words: str) -> None:
        name, _, value = words.partition("=")
        self.variables[name] = self._localised(value).replace("$PATH", self.variables["PATH"])

    def _copy(self, words: str) -> None:
        *sources, target = words.split()
        folder = self._stage_copied_from(sources)
        destination = self._here(target) if target.startswith("/") else self.workdir / target
        is_folder = len(sources) > 1 or target.endswith("/")
        for source in sources:
            found = folder / source.lstrip("/")
            _copy(found, destination / found.name if is_folder and found.is_file() else destination)

    def _stage_copied_from(self, sources: list[str]) -> Path:
        return self.earlier if sources[0].startswith("--from=") and sources.pop(0) else ROOT

    def _run(self, words: str) -> str | None:
        if words.startswith(NEEDS_A_CONTAINER):
            return "not carried out: it needs a container"
        shell = ["/bin/sh", "-ec", self._localised(words)]
        subprocess.run(shell, cwd=self.workdir, env=self.variables, check=True)  # noqa: S603 - our own steps
        return None

    def _volume(self, words: str) -> None:
        self.volumes.append(self._here(words))

    def _healthcheck(self, words: str) -> None:
        self.health = self._argv(words.partition("CMD ")[2])

    def _cmd(self, words: str) -> None:
        self.command = self._argv(words)

    def _user(self, _words: str) -> str:
        return f"as user {USER_ID}" if self.is_other_user else "as the user who runs this"

    @property
    def is_other_user(self) -> bool:
        """Whether the command can be run as somebody who owns nothing of the image."""
        return os.geteuid() == 0 and _is_open_to_all(self.python)

    def close(self) -> None:
        """Let nothing be written any more but the volumes, which belong to the image's user."""
        for volume in self.volumes:
            volume.mkdir(parents=True, exist_ok=True)
        for path in [self.root, *self.root.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~0o222 | (0o444 if path.is_file() else 0o555))
        for volume in self.volumes:
            volume.chmod(0o700)
            if self.is_other_user:
                os.chown(volume, USER_ID, USER_ID)

    def start(self, command: Sequence[str], **variables: str) -> subprocess.Popen[bytes]:
        """Start a program as the image would."""
        user = USER_ID if self.is_other_user else None
        environment = self.variables | variables
        program = shutil.which(command[0], path=environment["PATH"]) or command[0]
        return subprocess.Popen(  # noqa: S603 - the image's own commands
            [program, *command[1:]],
            cwd=self.workdir,
            env=environment,
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )

    def is_healthy(self) -> bool:
        """Run the health check."""
        done = subprocess.run(  # noqa: S603 - the image's own commands
            self.health, env=self.variables, stderr=subprocess.DEVNULL, check=False
        )
        return done.returncode == 0

    def _argv(self, words: str) -> list[str]:
        argv: list[str] = json.loads(words)
        # Nobody else's port, and nobody else's network.
        here = [word.replace(f"0.0.0.0:{IMAGE_PORT}", f"127.0.0.1:{IMAGE_PORT}") for word in argv]
        return [word.replace(IMAGE_PORT, str(self.port)) for word in here]

    def _here(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _localised(self, words: str) -> str:
        return PLACES.sub(f"{self.root}/", words)


def steps(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Go through the instructions of a Dockerfile."""
    joined = re.sub(r"\\\n", " ", dockerfile)
    for line in joined.splitlines():
        instruction, _, words = line.strip().partition(" ")
        if instruction and not instruction.startswith("#"):
            yield instruction, words.strip()


def main() -> None:
    """Carry out every step, then serve until the health check answers."""
    folder = Path(tempfile.mkdtemp(prefix="portal-image-"))
    folder.chmod(0o755)
    try:
        build = Build(folder)
        for instruction, words in steps((ROOT / "Dockerfile").read_text()):
            _say(f"{instruction} {words}")
            _say(f"    {build.carry_out(instruction, words)}")
        build.close()
        try_out(build)
    finally:
        _remove(folder)


def try_out(build: Build) -> None:
    """Make the schema, serve, ask for health, and end it."""
    variables = {
        "PORTAL_SECRET_KEY": secrets.token_urlsafe(48),
        "PORTAL_PUBLIC_URL": "https://memory.example.com",
        "PORTAL_PROXY_HOPS": "1",
    }
    _say("portal upgrade")
    _require(build.start(["portal", "upgrade"], **variables).wait() == 0, "the schema could not be made")
    _say(" ".join(build.command))
    server = build.start(build.command, **variables)
    try:
        give_up_at = time.monotonic() + START_TIMEOUT_SECONDS
        while not build.is_healthy():
            _require(server.poll() is None and time.monotonic() < give_up_at, "it does not become healthy")
            time.sleep(1)
        _say("    healthy")
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait()
    _require(status == 0, f"it ended with status {status}")
    written = [path for volume in build.volumes for path in volume.iterdir()]
    _require(any(path.name == "portal.db" for path in written), "the database is not in the volume")
    _say("    ended when it was told to")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__") if source.is_relative_to(ROOT) else None
        shutil.copytree(source, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _python_for_others() -> Path:
    """Return an interpreter that every user can start and that makes environments, else our own."""
    own = Path(sys.executable).resolve()
    candidates = [own, *(path.resolve() for path in Path("/usr/bin").glob("python3.1[1-9]"))]
    return next((path for path in candidates if _is_open_to_all(path) and _has_pip(path)), own)


def _has_pip(python: Path) -> bool:
    # Debian leaves it out of its packages.
    asked = subprocess.run([python, "-c", "import ensurepip"], stderr=subprocess.DEVNULL, check=False)  # noqa: S603
    return asked.returncode == 0


def _is_open_to_all(path: Path) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in [path, *path.parents])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _require(condition: bool, problem: str) -> None:  # noqa: FBT001 - what is asserted
    if not condition:
        raise SystemExit(problem)


def _remove(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder)


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
