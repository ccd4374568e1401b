"""Disks that are full or cannot be written. They are real, which takes root; others skip these tests."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FILLER = "filler"
CHUNK = b"\0" * 4096


@contextmanager
def small_disk(folder: Path, *, mebibytes: int) -> Iterator[Path]:
    """Give a folder that is a disk of its own."""
    mount("-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0777", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        unmount(folder)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Leave no room on a disk."""
    filler = disk / FILLER
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(CHUNK)
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - anything else is a fault of the test
    yield
    filler.unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write in a folder; whoever has a file in it open still may."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,ro,bind", str(folder))
        yield
    finally:
        unmount(folder)


def mount(*arguments: str) -> None:
    done = subprocess.run(["/usr/bin/env", "mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        assert "denied" in done.stderr or "superuser" in done.stderr, done.stderr
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")


def unmount(folder: Path) -> None:
    subprocess.run(["/usr/bin/env", "umount", "--lazy", str(folder)], check=True)
