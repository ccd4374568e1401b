"""The package as people install it: a wheel, in an environment that borrows its dependencies from ours."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(command: Sequence[str | Path], *, cwd: Path, **environment: str) -> str:
    """Run a program without what the test run's own environment adds, and return what it printed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment() | environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def clean_environment() -> dict[str, str]:
    """Return this process's variables without those that say something to Python or to the portal."""
    added = ("PORTAL_", "PYTHON", "COVERAGE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(added)}


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this checkout into a folder, and return it."""
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder], cwd=ROOT)
    [built] = folder.glob("*.whl")
    return built


def borrow_dependencies(environment: Path) -> None:
    """Let a virtual environment find the packages that the wheel needs.

    A path that stands in a .pth file is searched last, and its own .pth files are not read: so neither the
    checkout nor its editable installation can be found in place of the wheel.
    """
    [site_packages] = environment.glob("lib/python*/site-packages")
    (site_packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
