"""The administrators' pages: the review queue, the shelves, and the record of what happened.

Each use case has a module, which adds its routes to one blueprint when it is imported.
"""

from __future__ import annotations

from portal.web.administrators import deciding, history, queue, selected, shelves
from portal.web.administrators.blueprint import administrators

__all__ = ["administrators", "deciding", "history", "queue", "selected", "shelves"]
