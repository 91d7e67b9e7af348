"""What `doctor` finds in a job: the event, the token's permissions, the checkout and the history, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final


class Permission(StrEnum):
    """Of GITHUB_TOKEN, spelled as in a workflow."""

    ACTIONS = "actions"
    CHECKS = "checks"
    CONTENTS = "contents"
    ISSUES = "issues"
    PULL_REQUESTS = "pull-requests"


class Grant(StrEnum):
    """Whether a token may write there."""

    HELD = "held"
    MISSING = "missing"
    UNKNOWN = "unknown"


class Role(StrEnum):
    """What this event makes of a job."""

    RECORD = "record"
    OTHER_BRANCH = "other_branch"
    PULL_REQUEST = "pull_request"
    FORK = "fork"
    QUEUE = "queue"
    REPORT = "report"
    COMMAND = "command"
    BISECT = "bisect"
    PRIVILEGED = "privileged"  # pull_request_target: a stranger's pull request with a writing token
    NONE = "none"


_WRITING: Final = (Permission.CHECKS, Permission.CONTENTS, Permission.PULL_REQUESTS)
# What the job that writes needs to be allowed, by its event (docs/security.md).
NEEDED: Final[Mapping[Role, tuple[Permission, ...]]] = {
    Role.RECORD: (Permission.CHECKS, Permission.CONTENTS),
    Role.OTHER_BRANCH: (Permission.CHECKS,),
    Role.PULL_REQUEST: (Permission.CHECKS, Permission.PULL_REQUESTS),
    Role.FORK: (),
    Role.QUEUE: (Permission.CHECKS,),
    Role.REPORT: (Permission.ACTIONS, *_WRITING),
    Role.COMMAND: tuple(Permission),
    Role.BISECT: tuple(Permission),
    Role.PRIVILEGED: (),
    Role.NONE: (),
}
# What a search that begins by itself needs of the job that records (docs/tracking-issues.md).
AUTOMATIC: Final = (Permission.ACTIONS, Permission.PULL_REQUESTS)


class Symptom(StrEnum):
    """Each has its words in `bot/report/checkup.py`."""

    ROLE = "role"
    PERMISSION = "permission"
    ANONYMOUS = "anonymous"
    NO_ANSWER = "no_answer"
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
