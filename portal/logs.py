"""How the portal's programs log: one JSON line for each thing that happens, with ids and never a text.

The package only names its loggers. What ends up in a line is listed here, so that nothing is written that
nobody thought of: of a record's own fields those below, and of an exception its type and where it was
raised. A driver's message may quote the row that it refused, so only messages that cannot are repeated.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import logging.config
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

from portal.errors import AgentMemoryError

FIELDS: Final = (
    "action",
    "method",
    "endpoint",
    "status",
    "duration_ms",
    "organisation_id",
    "definition_id",
    "memory_id",
    "version",
    "actor",
    "profile_id",
    "person_id",
    "reference",
)
"""What a line may hold beside time, level, logger, message, request id and error."""

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered; None outside of requests."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON in ASCII, in which every control character is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without a line break at its end."""
        line: dict[str, Any] = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            line["request_id"] = current
        fields = ((name, getattr(record, name, None)) for name in FIELDS)
        line |= {name: value for name, value in fields if value is not None}
        if record.exc_info and (error := record.exc_info[1]) is not None:
            line["error"] = [_describe(cause) for cause in _causes(error)]
            line["trace"] = _places(error)
        return json.dumps(line, default=str)


def set_up(level: str) -> None:
    """Let this process log to standard error: our own lines from ``level`` on, others' warnings.

    :param level: one of :data:`portal.settings.LOG_LEVELS`.
    """
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json_lines": {"()": JsonLines}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json_lines"}},
            "root": {"level": "WARNING", "handlers": ["stderr"]},
            "loggers": {"portal": {"level": level.upper()}},
        }
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Give an error, what it was raised from, and so on."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or found.__context__


def _describe(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    words = _safe_words(error)
    return f"{kind}: {words}" if words else kind


def _safe_words(error: BaseException) -> str:
    """Return what an error says where that can hold nothing that somebody wrote."""
    if isinstance(error, AgentMemoryError):
        return str(error)
    if isinstance(error, OSError):
        return error.strerror or ""
    if _is_operational(error):
        # The lines after the first may quote a row or a statement.
        return str(error).partition("\n")[0]
    return getattr(error, "sqlstate", None) or ""


def _is_operational(error: BaseException) -> bool:
    """Whether a driver says that the database does not work, rather than what it was asked.

    The drivers share the name, by PEP 249, and one of them may not be installed. SQLAlchemy's own error
    of the name repeats the statement.
    """
    return any(
        base.__name__ == "OperationalError" and not base.__module__.startswith("sqlalchemy")
        for base in type(error).__mro__
    )


def _places(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
