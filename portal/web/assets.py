"""Where templates and static files are, and the addresses under which browsers may keep them for good."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flask import Flask, current_app

import portal

VERSION_CHARACTERS = 12

VERSIONS = "asset_versions"


def init_app(app: Flask) -> None:
    """Give the templates of the application the addresses of its static files."""
    versions = app.extensions[VERSIONS] = versions_of(resource_dir("static"))
    # Made by hand, because error pages must not build an address from the request.
    app.jinja_env.globals["asset"] = lambda file: f"{app.static_url_path}/{file}?v={versions[file]}"


def is_current(file: str | None, version: str | None) -> bool:
    """Whether an address names the content that a file has now, so that a browser may keep it for good."""
    return file in current_app.extensions[VERSIONS] and version == current_app.extensions[VERSIONS][file]


def resource_dir(name: str) -> Path:
    """Return the folder of that name: inside the package as installed, beside it in a checkout."""
    package = Path(portal.__file__).parent
    for parent in (package, package.parent):
        if (parent / name).is_dir():
            return parent / name
    raise FileNotFoundError(f"there is no folder {name} in or beside {package}")


def versions_of(folder: Path) -> dict[str, str]:
    """Return a version for each file in a folder, by its path there. It changes with the content only."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[
            :VERSION_CHARACTERS
        ]
        for path in folder.rglob("*")
        if path.is_file()
    }
