"""The observations of `doctor` in a job, and the size of a history."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Final


class Permission(StrEnum):
    """A permission of GITHUB_TOKEN, spelled as in a workflow."""

    ACTIONS = "actions"
    CHECKS = "checks"
    CONTENTS = "contents"
    ISSUES = "issues"
    PULL_REQUESTS = "pull-requests"


class Grant(StrEnum):
    """Whether a token has a write permission."""

    HELD = "held"
    MISSING = "missing"
    UNKNOWN = "unknown"


class Role(StrEnum):
    """The role of a job, given by its event."""

    RECORD = "record"
    OTHER_BRANCH = "other_branch"
    PULL_REQUEST = "pull_request"
    FORK = "fork"
    QUEUE = "queue"
    REPORT = "report"
    COMMAND = "command"
    BISECT = "bisect"
    REFERENCE = "reference"
    PRIVILEGED = "privileged"  # pull_request_target: an untrusted pull request with a writing token
    NONE = "none"


_WRITING: Final = (Permission.CHECKS, Permission.CONTENTS, Permission.PULL_REQUESTS)
# The permissions of the job that writes, by its role (docs/security.md).
NEEDED: Final[Mapping[Role, tuple[Permission, ...]]] = {
    Role.RECORD: (Permission.CHECKS, Permission.CONTENTS),
    Role.OTHER_BRANCH: (Permission.CHECKS,),
    Role.PULL_REQUEST: (Permission.CHECKS, Permission.PULL_REQUESTS),
    Role.FORK: (),
    Role.QUEUE: (Permission.CHECKS,),
    Role.REPORT: (Permission.ACTIONS, *_WRITING),
    Role.COMMAND: tuple(Permission),
    Role.BISECT: tuple(Permission),
    Role.REFERENCE: (Permission.CHECKS,),
    Role.PRIVILEGED: (),
    Role.NONE: (),
}
# The permissions that an automatic search needs in the job that records (docs/tracking-issues.md).
SEARCH_PERMISSIONS: Final = (Permission.ACTIONS, Permission.PULL_REQUESTS)


# GitHub's message for a run that a workflow execution protection forbids.
REFUSAL: Final = re.compile(r"(?:(?P<kind>\w+) '(?P<name>[^'\n]{1,100})' )?is not allowed to trigger Actions workflows")
POLICIES: Final = "Settings → Actions → Policies of the repository, its organization or its enterprise"


def protection_step(message: str) -> str | None:
    """Return the remedy if `message` is the refusal of a workflow execution protection, or None if it is not."""
    if (refusal := REFUSAL.search(message)) is None:
        return None
    kind, name = refusal["kind"], refusal["name"]
    if name == "pull_request_target":
        return "leave pull_request_target out of the workflow's `on`: nothing of perf-culprit needs it"
    allowed = f"the {kind.lower()} `{name}`" if name else "its event and its actor"
    return f"in {POLICIES} allow {allowed} for this workflow (github-actions[bot] starts searches by workflow_dispatch)"


class Symptom(StrEnum):
    """Each symptom has its words in `bot/perf_culprit/say/maintenance_text.py`."""

    ROLE = "role"
    PERMISSION = "permission"
    ANONYMOUS = "anonymous"
    NO_ANSWER = "no_answer"
    PROTECTED = "protected"
    NO_CHECKOUT = "no_checkout"
    SHALLOW = "shallow"
    OTHER_CHECKOUT = "other_checkout"
    MERGE_CHECKOUT = "merge_checkout"
    STORED_CREDENTIALS = "stored_credentials"
    NO_RUNS = "no_runs"
    RUNS = "runs"
    BASE_WITHOUT_RUN = "base_without_run"
    BASE_WITH_RUN = "base_with_run"
    BRANCH_RULES = "branch_rules"


class Health(StrEnum):
    FINE = "fine"
    UNKNOWN = "unknown"
    WRONG = "wrong"
    UNSAFE = "unsafe"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """`kind` is the variant of the symptom: a role's or a permission's name. `facts` fill in the words."""

    symptom: Symptom
    health: Health = Health.FINE
    kind: str = ""
    facts: Mapping[str, str | int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSuite:
    """`name` is the folder's name; `first` and `last` are the days of its runs (20261123)."""

    name: str
    runs: int
    uncompacted: int
    first: str
    last: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredMonth:
    """The runs of one month (202611) that the branch or its past still holds, and the searches started in it.

    `packed_bytes`: of these runs, in each form that still exists. `executions`: of these searches. `runner_seconds`:
    the time of their jobs on runners.
    """

    month: str
    runs: int = 0
    packed_bytes: int = 0
    searches: int = 0
    executions: int = 0
    runner_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class HistorySize:
    """Sizes as git packs them. `compacted_bytes`: of the branch after `history compact`.

    `to_compact` and `to_drop` are the runs that it would reduce and remove. `since`: the day of the oldest commit.
    `is_cut`: that commit has parents that are missing here (a shallow clone), so the past is larger.
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
    """The result of `history compact`. Not `done`: the branch was one commit and had nothing to reduce or remove."""

    place: str
    runs: int
    compacted: int
    dropped: int
    done: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """`on_line` of the `commits` are ancestors of HEAD: only those are baselines of later runs.

    Runs `already_stored` are kept unchanged. Results `without_commit` were omitted. `dropped` runs were too old for the
    history's size limit. Not `stored`: it was a dry run.
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
