"""One-time links with which people set a password, and when somebody last signed in."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

MOMENT = sa.BigInteger()


def upgrade() -> None:
    """Create the table of links, and add the time to people. Neither rewrites a table."""
    op.create_table(
        "one_time_link",
        sa.Column("organisation_id", sa.BigInteger(), nullable=False),
        sa.Column("profile_id", sa.BigInteger(), nullable=False),
        sa.Column("token_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id", "profile_id"],
            ["profile.organisation_id", "profile.id"],
            name=op.f("fk_one_time_link_organisation_id_profile_id"),
        ),
        sa.PrimaryKeyConstraint("organisation_id", "profile_id", name=op.f("pk_one_time_link")),
        sa.UniqueConstraint("token_digest", name=op.f("uq_one_time_link_token_digest")),
    )
    op.add_column("profile", sa.Column("last_signed_in_at", MOMENT, nullable=True))
