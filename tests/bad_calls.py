"""What a model can get wrong when it calls a tool, and the error that has to come back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

GOOD = {"memory_key": "office", "content": "Vienna"}
"""Arguments with which `remember` would store something, were nothing wrong."""

DEEP = '{"memory_key": "office", "content": ' + "[" * 900 + "]" * 900 + "}"
"""Valid, and deep enough that a reader which goes down level by level may give up."""


@dataclass(frozen=True)
class BadCall:
    """A call as a model writes it: its arguments by name, or text that should have been JSON."""

    id: str
    tool: str
    arguments: Mapping[str, object] | str
    error: str

    @property
    def as_json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


BAD_CALLS: Sequence[BadCall] = (
    BadCall("unknown tool", "delete_memory", GOOD, "unknown_tool"),
    BadCall("a method that is no tool", "decide_account_fact", GOOD, "unknown_tool"),
    BadCall("a private name", "__class__", {}, "unknown_tool"),
    BadCall("no name", "", {}, "unknown_tool"),
    BadCall("missing", "remember", {"memory_key": "office"}, "invalid_arguments"),
    BadCall("all missing", "propose_account_fact", {}, "invalid_arguments"),
    BadCall("missing, to forget", "forget", {}, "invalid_arguments"),
    BadCall("extra", "remember", GOOD | {"importance": "high"}, "invalid_arguments"),
    BadCall("extra, to forget", "forget", GOOD, "invalid_arguments"),
    BadCall("other names", "remember", {"key": "office", "text": "Vienna"}, "invalid_arguments"),
    BadCall("an organisation", "remember", GOOD | {"organisation_id": "2"}, "invalid_arguments"),
    BadCall("a person", "remember", GOOD | {"owner": "bob@acme.example"}, "invalid_arguments"),
    BadCall("an agent", "propose_account_fact", GOOD | {"agent": "1"}, "invalid_arguments"),
    BadCall("a person, to forget", "forget", {"memory_key": "office", "owner_id": "2"}, "invalid_arguments"),
    BadCall("a person, to list", "list_memories", {"owner": "bob@acme.example"}, "invalid_arguments"),
    BadCall("a number", "remember", GOOD | {"content": 5}, "invalid_arguments"),
    BadCall("null", "remember", GOOD | {"content": None}, "invalid_arguments"),
    BadCall("true", "forget", {"memory_key": True}, "invalid_arguments"),
    BadCall("a list", "remember", GOOD | {"memory_key": ["office"]}, "invalid_arguments"),
    BadCall("an object", "propose_account_fact", GOOD | {"content": {"text": "Vienna"}}, "invalid_arguments"),
    BadCall("broken JSON", "remember", '{"memory_key": "office", "content": "Vien', "invalid_arguments"),
    BadCall("no JSON", "remember", "memory_key=office", "invalid_arguments"),
    BadCall("JSON in JSON", "remember", json.dumps(json.dumps(GOOD)), "invalid_arguments"),
    BadCall("an array", "remember", '["office", "Vienna"]', "invalid_arguments"),
    BadCall("JSON without end", "remember", "[" * 100_000, "invalid_arguments"),
    BadCall("JSON in many levels", "remember", DEEP, "invalid_arguments"),
    BadCall("a number without end", "remember", "9" * 10_000, "invalid_arguments"),
    BadCall("broken JSON, to list", "list_memories", "{", "invalid_arguments"),
    BadCall("a megabyte", "remember", GOOD | {"content": "x" * 1_000_000}, "content_too_long"),
    BadCall("a megabyte of key", "forget", {"memory_key": "x" * 1_000_000}, "invalid_key"),
    BadCall("NUL", "remember", GOOD | {"content": "Vien\0na"}, "invalid_content"),
    BadCall("NUL in the key", "remember", GOOD | {"memory_key": "off\0ice"}, "invalid_key"),
    BadCall("lone surrogate", "propose_account_fact", GOOD | {"content": "Vienna \ud83d"}, "invalid_content"),
    BadCall("lone surrogate in the key", "forget", {"memory_key": "office\udc00"}, "invalid_key"),
)
