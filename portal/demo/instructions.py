"""What the demo says once it can be tried."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from portal.demo.brightwater import NADIA
from portal.demo.brightwater import STORY as BRIGHTWATER
from portal.demo.halyard import INES, MARA, PIOTR, SUPPORT, TRAVEL
from portal.demo.halyard import STORY as HALYARD

STORIES = (HALYARD, BRIGHTWATER)
PASSWORD = "fair winds"  # noqa: S105 - it is printed for everybody, and the data is made up


def instructions(port: int, database_url: str) -> str:
    """Return the addresses, the sign-ins and what to try, ending with a line to paste."""
    return f"""\

The portal runs until you press Ctrl-C; then everything in it is gone.

  as an administrator   http://127.0.0.1:{port}   {INES.email}
  as a member           http://localhost:{port}   {MARA.email}
  password              {PASSWORD}

A browser keeps one sign-in for each of the two addresses, so both people can be signed in at once.
Everybody has the same password:

{_people()}

What to try:
  - As {INES.email}, open "{SUPPORT.title}" and decide. Three people disagree about refund_window, and
    one proposal is for a key that has a confirmed fact already.
  - Some proposals deserve a second look: refund_approval, tide_tables, booking_system_key.
  - "{TRAVEL.title}" wants a second person: {INES.email} cannot confirm approval_limit, which she stated.
  - As {MARA.email}, see and delete what the agents know about you. {PIOTR.email} has no room left
    for the {TRAVEL.title.lower()}.
  - {NADIA.email} belongs to another organisation and sees none of this.
  - Be Mara's agent. The proposal is in the queue at once:

{propose_command(database_url)}
"""


def propose_command(database_url: str) -> str:
    """Return a command line that can be pasted into a shell on this machine."""
    words = [
        _program(),
        "memory",
        "propose",
        *("--database", database_url),
        *("--owner", MARA.email),
        *("--definition", SUPPORT.name),
        "deck_chairs",
        "Deck chairs are free, except on the sunny side.",
    ]
    return shlex.join(words)


def _people() -> str:
    return "\n".join(
        f"  {person.email:<28}{person.role:<15}{story.name}" for story in STORIES for person in story.people
    )


def _program() -> str:
    """Return how the command line is called from anywhere, also where it is not on the PATH."""
    beside_python = Path(sys.executable).parent / "portal"
    return str(beside_python) if beside_python.exists() else "portal"
