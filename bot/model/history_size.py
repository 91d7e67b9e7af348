"""What a history weighs, what its compaction did, and what an import stored."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSuite:
    """`name` is that of its folder; `first` and `last` are the days of its runs (20261123)."""

    name: str
    runs: int
    uncompacted: int
    first: str
    last: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredMonth:
    """Of one month (202611): the runs that the branch or its past still holds, and the searches that began in it.

    `packed_bytes` of these runs, in each form that is still there; `executions` of these searches, and the time of
    their jobs on runners, `runner_seconds`.
    """

    month: str
    runs: int = 0
    packed_bytes: int = 0
    searches: int = 0
    executions: int = 0
    runner_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class HistorySize:
    """Sizes as git packs them. `compacted_bytes`: of the branch once `history compact` has done its work.

    `to_compact` and `to_drop` are the runs that it would reduce and remove. `since`: the day of the oldest commit.
    `is_cut`: that commit has parents that are not here (a shallow clone), so that the past weighs more.
    """

    place: str
    packed_bytes: int
    compacted_bytes: int
    limit_bytes: int
    largest_file_bytes: int
    commits: int
    since: date
    is_cut: bool
    to_compact: int
    to_drop: int
    suites: tuple[StoredSuite, ...]
    months: tuple[StoredMonth, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Compacted:
    """What `history compact` did. Not `done`: the branch was one commit and had nothing to reduce or remove."""

    place: str
    runs: int
    compacted: int
    dropped: int
    done: bool


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
