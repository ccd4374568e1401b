"""One-time messages about what was done. They travel in the cookie."""

from __future__ import annotations

from flask import flash

from portal.models import AgentMemory


def tell(done: str, memory: AgentMemory, more: str) -> None:
    """Say on the next page what was done to a memory, by its key, and what follows from it."""
    # Anything that JSON can hold may be flashed; the annotation says text only.
    flash({"done": done, "key": memory.memory_key, "more": more}, "ok")  # type: ignore[arg-type]
