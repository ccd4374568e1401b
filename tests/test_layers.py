"""The arrows between modules, as pyproject.toml draws them, and what an agent runtime gets to load."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")

# What only the portal needs, or only a key that is not ASCII.
NOT_FOR_AN_AGENT = ("flask", "werkzeug", "jinja2", "wtforms", "regex", "confusable_homoglyphs", "portal.web")

WHAT_IS_LOADED = """
import sys
import portal.manager
print(*sys.modules)
"""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache", "--no-logo", "pyproject.toml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contracts, to be spoilt."""
    shutil.copytree(ROOT / "portal", tmp_path / "portal", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_follow_the_contracts() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("keys.py", "from portal.manager import AgentMemoryManager"),
        ("models.py", "import portal.database"),
        ("manager.py", "from flask import g"),
        ("sign_in.py", "import werkzeug.security"),
        ("web/owners.py", "from sqlalchemy import select"),
        ("helpers.py", ""),
    ],
)
def test_a_contract_breaks_where_something_is_added(copy: Path, module: str, line: str) -> None:
    with (copy / "portal" / module).open("a") as file:
        file.write(f"\n{line}\n")
    assert lint_imports(copy).returncode == 1


def test_a_runtime_loads_neither_the_web_nor_tables_of_unicode() -> None:
    done = subprocess.run([sys.executable, "-c", WHAT_IS_LOADED], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "portal.manager" in loaded
    assert sorted(set(loaded).intersection(NOT_FOR_AN_AGENT)) == []
