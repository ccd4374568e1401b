"""The status in the indexes of account facts, so that SQLite counts and looks keys up without their rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_agent_memory_key": (["memory_key", "stated_at", "id"], "status IN ('proposed', 'rejected')"),
    "ix_agent_memory_queue": (["stated_at", "id"], "status = 'proposed'"),
    "ix_agent_memory_rejected": (["decided_at", "id"], "status = 'rejected'"),
}


def upgrade() -> None:
    """Make the indexes anew. They hold proposals and rejected facts only; no table is rewritten."""
    for name, (columns, condition) in INDEXES.items():
        op.drop_index(name, "agent_memory")
        op.create_index(
            name,
            "agent_memory",
            ["organisation_id", "definition_id", *columns, "status"],
            sqlite_where=sa.text(condition),
            postgresql_where=sa.text(condition),
        )
