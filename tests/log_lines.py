"""What the portal's programs would write to their log."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portal.logs import JsonLines

Lines = list[dict[str, Any]]


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.lines: Lines = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@contextmanager
def logged_lines(name: str = "portal") -> Iterator[Lines]:
    """Give the lines that a logger and those below it write inside the block, from `info` on."""
    logger, collector = logging.getLogger(name), _Collector()
    level = logger.level
    logger.addHandler(collector)
    logger.setLevel(logging.INFO)
    try:
        yield collector.lines
    finally:
        logger.removeHandler(collector)
        logger.setLevel(level)
