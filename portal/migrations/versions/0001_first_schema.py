"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# A migration is history: it spells its types out, so that the models may change without it.
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CODE_POINT_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
MOMENT = sa.BigInteger()
WORD = sa.String(16)

SCOPE_FOLLOWS_STATUS = """CASE status
    WHEN 'personal' THEN stated_by_id IS NOT NULL AND scope_id = stated_by_id
    WHEN 'proposed' THEN stated_by_id IS NOT NULL AND scope_id = stated_by_id
    WHEN 'confirmed' THEN scope_id = 0
    WHEN 'rejected' THEN stated_by_id IS NOT NULL AND scope_id = -stated_by_id
    ELSE FALSE END"""
DECISION_FOLLOWS_STATUS = """(status IN ('confirmed', 'rejected')) = (decided_at IS NOT NULL)
    AND (decided_at IS NOT NULL OR (decided_by_id IS NULL AND decision_reason = ''))"""

# SQLite plans blindly until somebody analyses the database, and would look for the few proposals of a
# definition among all of its memories. So it is told how rows lie in a large installation: their number in
# each index, then how many share its first column, its first two, and so on.
# https://www.sqlite.org/optoverview.html#manual_control_of_query_plans_using_sqlite_stat_tables
SQLITE_STATISTICS = {
    "agent_memory": {
        "agent_memory": "1000000 100000 50000 50 1",
        "sqlite_autoindex_agent_memory_2": "1000000 100000 1",
        "ix_agent_memory_queue": "10000 1000 500 1 1",
        "ix_agent_memory_rejected": "10000 1000 500 1 1",
        "ix_agent_memory_key": "20000 2000 1000 3 1 1",
    },
    "memory_event": {
        "memory_event": "2000000 200000 2 1",
        "ix_memory_event_history": "50000 5000 2500 2 1 1",
        "ix_memory_event_key": "50000 5000 2500 5 2 1 1",
    },
}


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "organisation",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organisation")),
        sa.UniqueConstraint("slug", name=op.f("uq_organisation_slug")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "profile",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("organisation_id", ROW_ID, nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("email_key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", WORD, nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("theme", WORD, server_default="system", nullable=False),
        sa.Column("keyboard_shortcuts", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.CheckConstraint("role IN ('member', 'administrator')", name=op.f("ck_profile_role")),
        sa.CheckConstraint("id > 0", name=op.f("ck_profile_id_positive")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_profile_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profile")),
        sa.UniqueConstraint("email_key", name=op.f("uq_profile_email_key")),
        sa.UniqueConstraint("organisation_id", "id", name=op.f("uq_profile_organisation_id_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "agent_definition",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("organisation_id", ROW_ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("memory_limit", sa.Integer(), nullable=False),
        sa.Column("memory_characters", sa.Integer(), nullable=False),
        sa.Column("proposal_limit", sa.Integer(), nullable=False),
        sa.Column("account_fact_limit", sa.Integer(), nullable=False),
        sa.Column("account_fact_characters", sa.Integer(), nullable=False),
        sa.Column("second_person_required", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_agent_definition_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_definition")),
        sa.UniqueConstraint("organisation_id", "id", name=op.f("uq_agent_definition_organisation_id_id")),
        sa.UniqueConstraint("organisation_id", "name", name=op.f("uq_agent_definition_organisation_id_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "agent",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("organisation_id", ROW_ID, nullable=False),
        sa.Column("owner_id", sa.BigInteger(), nullable=False),
        sa.Column("definition_id", sa.BigInteger(), nullable=False),
        sa.Column("prompt_marker", sa.String(length=32), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id", "definition_id"],
            ["agent_definition.organisation_id", "agent_definition.id"],
            name=op.f("fk_agent_organisation_id_definition_id"),
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id", "owner_id"],
            ["profile.organisation_id", "profile.id"],
            name=op.f("fk_agent_organisation_id_owner_id"),
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_agent_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint(
            "organisation_id",
            "definition_id",
            "owner_id",
            name=op.f("uq_agent_organisation_id_definition_id_owner_id"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "agent_memory",
        sa.Column("organisation_id", sa.BigInteger(), nullable=False),
        sa.Column("definition_id", sa.BigInteger(), nullable=False),
        sa.Column("scope_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_key", CODE_POINT_TEXT, nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("status", WORD, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("search_text", CODE_POINT_TEXT, nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stated_by_id", sa.BigInteger(), nullable=True),
        sa.Column("stated_at", MOMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("decided_by_id", sa.BigInteger(), nullable=True),
        sa.Column("decided_at", MOMENT, nullable=True),
        sa.Column("decision_reason", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint(
            "(status = 'personal') = (search_text IS NULL)",
            name=op.f("ck_agent_memory_search_text_follows_status"),
        ),
        sa.CheckConstraint(DECISION_FOLLOWS_STATUS, name=op.f("ck_agent_memory_decision_follows_status")),
        sa.CheckConstraint(SCOPE_FOLLOWS_STATUS, name=op.f("ck_agent_memory_scope_follows_status")),
        sa.CheckConstraint("id > 0", name=op.f("ck_agent_memory_id_positive")),
        sa.ForeignKeyConstraint(
            ["organisation_id", "decided_by_id"],
            ["profile.organisation_id", "profile.id"],
            name=op.f("fk_agent_memory_organisation_id_decided_by_id"),
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id", "definition_id", "stated_by_id"],
            ["agent.organisation_id", "agent.definition_id", "agent.owner_id"],
            name=op.f("fk_agent_memory_organisation_id_definition_id_stated_by_id"),
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id", "definition_id"],
            ["agent_definition.organisation_id", "agent_definition.id"],
            name=op.f("fk_agent_memory_organisation_id_definition_id"),
        ),
        sa.PrimaryKeyConstraint(
            "organisation_id", "definition_id", "scope_id", "memory_key", name=op.f("pk_agent_memory")
        ),
        sa.UniqueConstraint("organisation_id", "id", name=op.f("uq_agent_memory_organisation_id_id")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_agent_memory_key",
        "agent_memory",
        ["organisation_id", "definition_id", "memory_key", "stated_at", "id"],
        sqlite_where=sa.text("status IN ('proposed', 'rejected')"),
        postgresql_where=sa.text("status IN ('proposed', 'rejected')"),
    )
    op.create_index(
        "ix_agent_memory_queue",
        "agent_memory",
        ["organisation_id", "definition_id", "stated_at", "id"],
        sqlite_where=sa.text("status = 'proposed'"),
        postgresql_where=sa.text("status = 'proposed'"),
    )
    op.create_index(
        "ix_agent_memory_rejected",
        "agent_memory",
        ["organisation_id", "definition_id", "decided_at", "id"],
        sqlite_where=sa.text("status = 'rejected'"),
        postgresql_where=sa.text("status = 'rejected'"),
    )
    op.create_table(
        "memory_event",
        sa.Column("organisation_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("definition_id", sa.BigInteger(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("action", WORD, nullable=False),
        sa.Column("status_before", WORD, nullable=True),
        sa.Column("status_after", WORD, nullable=True),
        sa.Column("memory_key", CODE_POINT_TEXT, nullable=True),
        sa.Column("actor_kind", WORD, nullable=False),
        sa.Column("actor_id", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["organisation_id", "actor_id"],
            ["profile.organisation_id", "profile.id"],
            name=op.f("fk_memory_event_organisation_id_actor_id"),
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id", "definition_id"],
            ["agent_definition.organisation_id", "agent_definition.id"],
            name=op.f("fk_memory_event_organisation_id_definition_id"),
        ),
        sa.PrimaryKeyConstraint("organisation_id", "memory_id", "version", name=op.f("pk_memory_event")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_memory_event_history",
        "memory_event",
        ["organisation_id", "definition_id", "at", "memory_id", "version"],
        sqlite_where=sa.text("memory_key IS NOT NULL"),
        postgresql_where=sa.text("memory_key IS NOT NULL"),
    )
    op.create_index(
        "ix_memory_event_key",
        "memory_event",
        ["organisation_id", "definition_id", "memory_key", "at", "memory_id", "version"],
        sqlite_where=sa.text("memory_key IS NOT NULL"),
        postgresql_where=sa.text("memory_key IS NOT NULL"),
    )
    op.create_table(
        "sign_in_session",
        sa.Column("token_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("organisation_id", sa.BigInteger(), nullable=False),
        sa.Column("profile_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id", "profile_id"],
            ["profile.organisation_id", "profile.id"],
            name=op.f("fk_sign_in_session_organisation_id_profile_id"),
        ),
        sa.PrimaryKeyConstraint("token_digest", name=op.f("pk_sign_in_session")),
    )
    op.create_index("ix_sign_in_session_created_at", "sign_in_session", ["created_at"])
    op.create_index("ix_sign_in_session_profile", "sign_in_session", ["organisation_id", "profile_id"])
    op.create_table(
        "sign_in_throttle",
        sa.Column("subject", sa.LargeBinary(length=32), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failed_at", MOMENT, nullable=False),
        sa.Column("blocked_until", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_sign_in_throttle")),
    )
    op.create_index("ix_sign_in_throttle_failed_at", "sign_in_throttle", ["failed_at"])
    if op.get_context().dialect.name == "sqlite":
        _tell_statistics()


def _tell_statistics() -> None:
    # This makes the table that the numbers go into; while there are no rows, it has none either.
    op.execute("ANALYZE")
    for table, indexes in SQLITE_STATISTICS.items():
        for index, statistics in indexes.items():
            op.execute(f"INSERT INTO sqlite_stat1 VALUES ('{table}', '{index}', '{statistics}')")  # noqa: S608
