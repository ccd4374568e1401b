"""Other stores of memories, with the items that one agent recalls, asked for all of them.

None of them has a ceiling, a review, an owner who is looked up or a record of what happened. Each is asked in
the way that is cheapest for it: everything of one agent, account facts included, lies in one place.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from sqlalchemy import make_url

from bench.timing import with_progress
from bench.worlds import FACTS_PER_DEFINITION, MEMORIES_PER_AGENT, content

ITEMS = MEMORIES_PER_AGENT + FACTS_PER_DEFINITION
MCP_SERVER = Path(".cache/bench/node_modules/@modelcontextprotocol/server-memory")

Store: TypeAlias = SqliteStore | PostgresStore


def items(agent_id: int) -> Sequence[tuple[str, str]]:
    """Return keys and contents of what an agent recalls."""
    keys = [f"key_number_{number:02}" for number in range(MEMORIES_PER_AGENT)]
    keys += [f"fact_{number:02}" for number in range(FACTS_PER_DEFINITION)]
    return [(key, content(f"Of {key} of {agent_id}")) for key in keys]


def namespace(agent_id: int) -> tuple[str, ...]:
    """Return where an agent's items are in LangGraph's stores, which also find what begins with the name."""
    return ("memories", f"{agent_id:06}")


@contextmanager
def langgraph_sqlite(folder: Path, agents: int) -> Iterator[SqliteStore]:
    """Give LangGraph's store in a file, as it ships."""
    with SqliteStore.from_conn_string(str(folder / "langgraph.db")) as store:
        _fill_langgraph(store, agents, "SqliteStore")
        yield store


@contextmanager
def langgraph_postgres(url: str, agents: int) -> Iterator[PostgresStore]:
    """Give LangGraph's store in a database on the same server as ours."""
    parts = make_url(url)
    conninfo = f"host={parts.query['host']} user={parts.username} dbname={parts.database}"
    with PostgresStore.from_conn_string(conninfo) as store:
        _fill_langgraph(store, agents, "PostgresStore")
        yield store


def _fill_langgraph(store: Store, agents: int, name: str) -> None:
    store.setup()
    for agent_id in with_progress(f"Filling LangGraph's {name}", range(1, agents + 1)):
        store.batch([PutOp(namespace(agent_id), key, {"content": text}) for key, text in items(agent_id)])


def search_langgraph(store: Store, agent_id: int) -> object:
    """Ask for everything of one agent."""
    found = store.search(namespace(agent_id), limit=ITEMS)
    assert len(found) == ITEMS
    return found


class Mem0:
    """mem0 on its local store, without a model: what was said is stored as it is, under a mock embedding."""

    def __init__(self, folder: Path, agents: int) -> None:
        # Read when the package is imported: it would otherwise write into the home directory and phone home.
        os.environ |= {"MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False"}
        from mem0 import Memory
        from mem0.embeddings.mock import MockEmbeddings

        no_model = {"provider": "openai", "config": {"api_key": "none"}}
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 10}
        self._memory = Memory.from_config({
            "llm": no_model,
            "embedder": no_model,
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
        })  # fmt: skip
        self._memory.embedding_model = MockEmbeddings()
        for agent_id in with_progress("Filling mem0's local store", range(1, agents + 1)):
            self._fill(agent_id)

    def _fill(self, agent_id: int) -> None:
        """Insert one agent's items beneath ``add``, which would take a minute for ten thousand."""
        texts = [text for _, text in items(agent_id)]
        self._memory.vector_store.insert(
            vectors=[self._memory.embedding_model.embed(text) for text in texts],
            payloads=[{"data": text, "hash": "", "user_id": str(agent_id)} for text in texts],
            ids=[str(uuid.uuid4()) for _ in texts],
        )

    def get_all(self, agent_id: int) -> object:
        """Ask for everything of one agent."""
        found = self._memory.get_all(filters={"user_id": str(agent_id)}, top_k=ITEMS)["results"]
        assert len(found) == ITEMS
        return found

    def close(self) -> None:
        """Close its files."""
        self._memory.vector_store.client.close()
        self._memory.close()


class McpMemoryServer:
    """The reference MCP memory server: one file for one person, read by a program over its standard input."""

    def __init__(self, folder: Path) -> None:
        path = folder / "memory.jsonl"
        entities = (
            {"type": "entity", "name": key, "entityType": "memory", "observations": [text]}
            for key, text in items(1)
        )
        path.write_text("\n".join(map(json.dumps, entities)))
        self._process = subprocess.Popen(
            ["node", MCP_SERVER / "dist/index.js"],
            env={**os.environ, "MEMORY_FILE_PATH": str(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._number = 0
        client = {"name": "bench", "version": "0"}
        self._ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def read_graph(self) -> object:
        """Ask for everything in the file."""
        answer = self._ask("tools/call", name="read_graph", arguments={})
        found = json.loads(answer["result"]["content"][0]["text"])["entities"]
        assert len(found) == ITEMS
        return found

    def close(self) -> None:
        """End the program."""
        self._process.communicate(timeout=10)

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise RuntimeError("the MCP memory server ended")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
