"""What the demo says once it can be tried."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from portal.demo import brightwater, halyard

STORIES = (halyard.STORY, brightwater.STORY)
PASSWORD = "fair winds"  # noqa: S105 - it is printed for everybody, and the data is made up


def instructions(port: int, database_url: str) -> str:
    """Return the addresses, the sign-ins and what to try, ending with a line to paste."""
    return f"""\

The portal runs until you press Ctrl-C. Then everything in it is gone.

  as an administrator   http://127.0.0.1:{port}   {halyard.INES.email}
  as a member           http://localhost:{port}   {halyard.MARA.email}

A browser keeps one sign-in for each of the two addresses, so both can be signed in at once.
Everybody's password is: {PASSWORD}

{_people()}

What to try:
  - As Inês, open "{halyard.SUPPORT.title}" and decide. Three people disagree about refund_window,
    and one of the proposals is for a key that has a confirmed fact already.
  - Some proposals deserve a second look: refund_approval, tide_tables, booking_system_key.
  - The travel desk wants a second person: Inês cannot confirm approval_limit, which is hers.
  - As Mara, see and delete what the agents know about you. As Piotr, see a memory that is full.
  - As Nadia, see another organisation, and nothing of this one.
  - Be Mara's agent, in another terminal. What it proposes is in the queue at once:

{propose_command(database_url)}
"""


def propose_command(database_url: str) -> str:
    """Return a command line that can be pasted into a shell on this machine."""
    words = [
        _program(),
        "memory",
        "propose",
        *("--database", database_url),
        *("--owner", halyard.MARA.email),
        *("--definition", halyard.SUPPORT.name),
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
