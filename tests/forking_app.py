"""A server that forks, written without a thought: everything is made, and used, before the fork.

`PORTAL_DATABASE_URL` says where the memory is, and `AGENT_ID` whose it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from sqlalchemy import text

from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.tools import call

database = Database(os.environ["PORTAL_DATABASE_URL"])
manager = AgentMemoryManager(database)
agent = manager.get_agent(int(os.environ["AGENT_ID"]))
assert agent is not None
manager.remember(agent, "before the fork", "text")
manager.prompt_block(agent)


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Run a tool, and tell which process did it on which of the database's sessions."""
    assert agent is not None
    arguments = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}
    answer = json.loads(call(manager, agent, environ["PATH_INFO"].strip("/"), arguments))
    told = {"answer": answer, "process": os.getpid(), "session": session_of_the_database()}
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(told).encode()]


def session_of_the_database() -> int | None:
    """Return what PostgreSQL calls this connection; SQLite has no name for it."""
    if database.is_sqlite:
        return None
    found: int = database.read(lambda session: session.execute(text("SELECT pg_backend_pid()")).scalar_one())
    return found
