"""The tables as this program knows them. Migrations make them (`migrations/versions`); a test compares the two.

Everything has the path that it would have on the history branch, and the branch's own content, compressed by zlib as
git does it. Runs and accepted changes are only ever added; a bisection is replaced, version by version.
"""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Column, Index, LargeBinary, MetaData, Table, Text

# The newest is last; those before can be migrated.
VERSIONS: Final = ("0001",)
VERSION_TABLE: Final = "perf_culprit_version"

METADATA: Final = MetaData()


def _appended(name: str) -> Table:
    """`key` outlives a run's compaction, `path` has the run's time and size; `suite` is a folder's name."""
    return Table(
        f"perf_culprit_{name}",
        METADATA,
        Column("key", Text, primary_key=True),
        Column("path", Text, nullable=False),
        Column("suite", Text, nullable=False),
        Column("commit", Text, nullable=False),
        Column("content", LargeBinary, nullable=False),
        Index(f"perf_culprit_{name}_suite", "suite", "commit"),
    )


RUNS: Final = _appended("runs")
ACCEPTANCES: Final = _appended("acceptances")
BISECTIONS: Final = Table(
    "perf_culprit_bisections",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
# By the first folder of a path.
TABLES: Final[Mapping[str, Table]] = {"runs": RUNS, "accepted": ACCEPTANCES, "bisections": BISECTIONS}
