"""Whether a file is on a network file system, where SQLite's log cannot work.

Its processes share memory that a file system on another machine does not give them:
https://www.sqlite.org/wal.html#overview
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MOUNTS: Final = Path("/proc/self/mountinfo")
"""What is mounted where, as Linux tells it; see proc_pid_mountinfo(5). Other systems have no such file."""

NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.ceph",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.juicefs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "smb3",
        "smbfs",
    }
)


def find_network_file_system(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the kind of the network file system that holds a path, or None where it is a local one.

    :param path: a file or a folder, which need not exist.
    :param mounts: the table of what is mounted. Without one nothing is known, and the answer is None.
    """
    place = path.resolve()
    kind, deepest = "", -1
    for point, found in _read_mounts(mounts):
        # Of several on one point the last one covers the others.
        if place.is_relative_to(point) and len(point.parts) >= deepest:
            kind, deepest = found, len(point.parts)
    return kind if kind in NETWORK_FILE_SYSTEMS else None


def _read_mounts(mounts: Path) -> Iterator[tuple[Path, str]]:
    if not mounts.exists():
        return
    for line in mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        mount, _, file_system = line.partition(" - ")
        yield Path(_unescape(mount.split(" ")[4])), file_system.split(" ")[0]


def _unescape(point: str) -> str:
    """Return a mount point as it is called; spaces and the like are written in octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), point)
