"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    for name in ("runs", "acceptances"):
        op.create_table(
            f"perf_culprit_{name}",
            sa.Column("key", sa.Text, primary_key=True),
            sa.Column("path", sa.Text, nullable=False),
            sa.Column("suite", sa.Text, nullable=False),
            sa.Column("commit", sa.Text, nullable=False),
            sa.Column("content", sa.LargeBinary, nullable=False),
        )
        op.create_index(f"perf_culprit_{name}_suite", f"perf_culprit_{name}", ["suite", "commit"])
    op.create_table(
        "perf_culprit_bisections",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
