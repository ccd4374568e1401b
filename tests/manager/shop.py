"""Where the tables of the state machine are tried: states are built by calls, and read from the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portal.errors import AgentMemoryError
from portal.models import AgentMemory
from tests.manager.world import World

NEW = "what the call says"


class Shop(World):
    """A world in which every case of the tables has a key of its own."""

    def build(self, key: str, state: str) -> None:
        """Make the calls that lead to a state: proposals, then rejections, and confirmations last."""
        rows = [tuple(row.split()) for row in state.split(", ") if row]
        for name in dict.fromkeys(name for name, _ in rows):
            statuses = {status for each, status in rows if each == name}
            say = self.remember if statuses == {"personal"} else self.propose
            assert say(name, key, name)["ok"]
        for name, _ in (row for row in rows if row[1] == "rejected"):
            self.decide(name, key, "reject", reason=f"no, {name}")
            if (name, "personal") in rows:
                assert self.remember(name, key, name)["ok"]
        for name, _ in (row for row in rows if row[1] == "confirmed"):
            self.decide(name, key, "confirm")
        assert self.describe(key) == state

    def describe(self, key: str) -> str:
        """Return the state of a key, in all organisations and definitions."""
        return ", ".join(sorted(self._describe_row(row) for row in self.rows(key)))

    @staticmethod
    def _describe_row(row: AgentMemory) -> str:
        assert row.stated_by is not None
        return f"{row.stated_by.name.lower()} {row.status}{'*' if row.content == NEW else ''}"

    def target(self, key: str) -> int:
        """Return the id of Ada's row, the held one if there are several; 1 is nobody's."""
        order = ["personal", "proposed", "confirmed", "rejected"]
        rows = [row for row in self.rows(key) if row.stated_by_id == self.person("ada").id]
        rows.sort(key=lambda row: order.index(row.status))
        return rows[0].id if rows else 1

    def rejected_id(self, key: str) -> int:
        return self.row("ada", key, "rejected").id

    # The calls of the tables.

    def say(self, call: str, key: str) -> str:
        """Make a call of Ada's agent and return what came of it."""
        content = "ada" if call.endswith("the same") else NEW
        calls = {"remember": self.remember, "propose": self.propose}
        if call == "forget":
            return describe_answer(self.forget("ada", key))
        return describe_answer(calls[call.split(maxsplit=1)[0]]("ada", key, content))

    def do(self, call: str, key: str, caller: str = "root", organisation: str = "acme") -> str:
        """Make an administrator's or an owner's call and return what came of it."""
        where, person = getattr(self.personas, organisation), self.person(caller)
        manager = self.manager
        calls: dict[str, Callable[[], object]] = {
            "confirm": lambda: manager.decide_account_fact(self.target(key), where, person, "confirm"),
            "reject": lambda: manager.decide_account_fact(self.target(key), where, person, "reject"),
            "decide delete": lambda: manager.decide_account_fact(self.target(key), where, person, "delete"),
            "delete": lambda: manager.delete_memory(self.target(key), where, deleted_by=person),
            "delete on the command line": lambda: manager.delete_memory(self.target(key), where),
            "reopen": lambda: manager.reopen_account_fact(self.target(key), where, person),
            "reopen the rejected": lambda: manager.reopen_account_fact(self.rejected_id(key), where, person),
            "delete own": lambda: manager.delete_own_memory(self.target(key), person),
            "delete all own": lambda: manager.delete_own_memories(person, "support"),
            "keep": lambda: manager.keep_own_memory(self.target(key), person),
            "keep the rejected": lambda: manager.keep_own_memory(self.rejected_id(key), person),
        }
        self.clock.advance(seconds=1)
        try:
            outcome = calls[call]()
        except AgentMemoryError as refusal:
            return type(refusal).__name__
        return str(outcome.status) if isinstance(outcome, AgentMemory) else str(outcome)

    def recalled(self, key: str, name: str, definition: str = "support") -> str:
        """Return what an agent's list has of a key: what is held, and after the stroke what is confirmed."""
        listed = self.list(name, definition)
        held = [f"{each['content']} {each['status']}" for each in listed["memories"] if each["key"] == key]
        facts = [each["content"] for each in listed["account_facts"] if each["key"] == key]
        return " ".join([*held, "|", *facts])


def describe_answer(answer: dict[str, Any]) -> str:
    """Return an answer's outcome with its notes, or its error with the existing content."""
    if not answer["ok"]:
        existing = answer.get("existing")
        return f"{answer['error']} ({existing['content']})" if existing else str(answer["error"])
    note = answer.get("note", "")
    words = {"withdrawn": "withdrawn", "stands": "fact stands", "stays": "fact stays"}
    return ", ".join([answer["outcome"], *(words[word] for word in words if word in note)])
