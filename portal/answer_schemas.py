"""JSON Schema of the answers, one for each call: what it stored or found, or a refusal.

A call's refusals share one shape here, although not every code comes with every property; the messages
and the page of all answers tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portal.contents import MAX_CONTENT_LENGTH, MAX_REASON_LENGTH
from portal.keys import MAX_KEY_LENGTH
from portal.policy import Usage
from portal.values import Status

Schema = dict[str, Any]

TOOL_ERRORS = ("unknown_tool", "invalid_arguments")
"""What the tools can answer beside the manager."""

STORE_ERRORS = (
    "invalid_key",
    "invalid_content",
    "content_too_long",
    "limit_reached",
    "proposal_limit_reached",
    "already_confirmed",
    "already_rejected",
    "inactive",
)
FORGET_ERRORS = ("invalid_key", "already_confirmed", "not_found", "inactive")
LIST_ERRORS = ("inactive",)

_TEXT = {"type": "string", "minLength": 1}
_KEY = _TEXT | {"maxLength": MAX_KEY_LENGTH}
_CONTENT = _TEXT | {"maxLength": MAX_CONTENT_LENGTH}
_TIME = {
    "type": "string",
    "format": "date-time",
    "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
}


def _words(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": [str(word) for word in words]}


def _object(properties: Schema, *, optional: Sequence[str] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _array(item: Schema) -> Schema:
    return {"type": "array", "items": item}


_USAGE = _object({name: {"type": "integer", "minimum": 0} for name in Usage._fields})
_HELD = _words([Status.PERSONAL, Status.PROPOSED])

_REFUSED_KEY = {
    "key": {"type": ["string", "null"], "maxLength": MAX_KEY_LENGTH},
    "existing": _object(
        {"key": _KEY, "content": _CONTENT, "status": _words([Status.CONFIRMED, Status.REJECTED])}
    ),
}
_REFUSED_TEXT = {
    **_REFUSED_KEY,
    "decided_at": _TIME,
    "reason": {"type": "string", "maxLength": MAX_REASON_LENGTH},
    "usage": _USAGE,
}


def _refusal(errors: Sequence[str], more: Schema) -> Schema:
    told = {"ok": {"const": False}, "error": _words([*errors, *TOOL_ERRORS]), "message": _TEXT}
    return _object(told | more, optional=list(more))


def _answer(success: Schema, refusal: Schema) -> Schema:
    # `ok` stands here once more for readers that do not look into `oneOf`.
    return {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "oneOf": [success, refusal],
    }


STORE_ANSWER = _answer(
    _object(
        {
            "ok": {"const": True},
            "outcome": _words(["created", "replaced", "unchanged"]),
            "memory": _object(
                {
                    "key": _KEY,
                    "content": _CONTENT,
                    "status": _HELD,
                    "version": {"type": "integer", "minimum": 1},
                    "updated_at": _TIME,
                }
            ),
            "usage": _USAGE,
            "note": _TEXT,
        },
        optional=["note"],
    ),
    _refusal(STORE_ERRORS, _REFUSED_TEXT),
)
"""What ``remember`` and ``propose_account_fact`` answer."""

FORGET_ANSWER = _answer(
    _object(
        {
            "ok": {"const": True},
            "outcome": {"const": "forgotten"},
            "key": _KEY,
            "usage": _USAGE,
            "note": _TEXT,
        },
        optional=["note"],
    ),
    _refusal(FORGET_ERRORS, _REFUSED_KEY),
)
"""What ``forget`` answers."""

LIST_ANSWER = _answer(
    _object(
        {
            "ok": {"const": True},
            "memories": _array(
                _object({"key": _KEY, "content": _CONTENT, "status": _HELD, "updated_at": _TIME})
            ),
            "account_facts": _array(_object({"key": _KEY, "content": _CONTENT, "confirmed_at": _TIME})),
            "usage": _USAGE,
        }
    ),
    _refusal(LIST_ERRORS, {}),
)
"""What ``list`` answers."""
