"""The package as people install it: a wheel in a fresh environment, started from another folder."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from tests.installation import ROOT, borrow_dependencies, build_wheel, run

LOAD_A_PAGE_AND_A_STATIC_FILE = """
import os
from pathlib import Path
import portal
from portal.settings import Settings
from portal.web import create_app

assert Path(portal.__file__).is_relative_to(os.environ["VIRTUAL_ENV"]), portal.__file__
client = create_app(Settings.from_mapping(os.environ)).test_client()
for path in ("/sign-in", "/static/portal.css"):
    with client.get(path, base_url="http://127.0.0.1:8000") as answer:
        print(path, answer.status_code, answer.mimetype)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel in it, which borrows the dependencies from this one."""
    folder = tmp_path_factory.mktemp("environment")
    run([sys.executable, "-m", "venv", folder], cwd=folder)
    run([folder / "bin" / "python", "-m", "pip", "install", "--no-deps", "--no-index", wheel], cwd=folder)
    borrow_dependencies(folder)
    return folder


@pytest.mark.parametrize("folder", ["templates", "static"])
def test_the_wheel_holds_every_file_of(folder: str, wheel: Path) -> None:
    expected = {f"portal/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*") if path.is_file()}
    assert expected
    assert expected <= set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_nothing_but_the_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"portal", "agent_memory_portal"}


def test_the_installed_portal_makes_its_schema_and_serves(environment: Path, tmp_path: Path) -> None:
    variables = {
        "PORTAL_DATABASE_URL": "sqlite:///portal.db",
        "PORTAL_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz",
        "VIRTUAL_ENV": str(environment),
    }
    run([environment / "bin" / "portal", "upgrade"], cwd=tmp_path, **variables)
    assert (tmp_path / "portal.db").exists()

    python = environment / "bin" / "python"
    served = run([python, "-W", "error", "-c", LOAD_A_PAGE_AND_A_STATIC_FILE], cwd=tmp_path, **variables)
    assert served.splitlines() == ["/sign-in 200 text/html", "/static/portal.css 200 text/css"]
