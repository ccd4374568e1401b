"""One-time messages about what was done. They travel in the cookie."""

from __future__ import annotations

from flask import flash

from portal.models import AgentMemory


def tell(done: str, memory: AgentMemory, more: str, *, undo: str | None = None) -> None:
    """Say on the next page what was done to a memory, by its key, and what follows from it.

    :param undo: where a form undoes it, or nothing.
    """
    said = {"done": done, "key": memory.memory_key, "more": more, "undo": undo, "version": memory.version}
    # Anything that JSON can hold may be flashed; the annotation says text only.
    flash(said, "ok")  # type: ignore[arg-type]
