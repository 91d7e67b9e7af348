"""What an import of another tool's results found and stored."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """`on_line` of the `commits` are ancestors of HEAD: only those are baselines of later runs.

    Runs `already_stored` are kept as they are, `without_commit` results were left out, `dropped` runs were too old for
    the history's size limit. Not `stored`: it was a dry run.
    """

    runs: int
    suites: tuple[str, ...]
    commits: int
    on_line: int
    first: datetime | None
    last: datetime | None
    without_commit: int
    without_environment: int
    already_stored: int
    dropped: int
    stored: bool
