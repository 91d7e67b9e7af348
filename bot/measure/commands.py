"""What the user wants to run on a commit, and what a command gets to see of our environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

COMMIT_VARIABLE: Final = "PERF_CULPRIT_COMMIT"
OUTPUT_VARIABLE: Final = "PERF_CULPRIT_OUTPUT"

# A commit's code may be a stranger's. It gets no credentials, no inputs of the action, and none of the files by which
# a step tells the runner what the next step finds in its PATH and environment.
WITHHELD_NAMES: Final = frozenset(
    {
        "GH_TOKEN",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_TOKEN",
    }
)
# GIT_*: a git hook's variables would send the command's own git calls to another repository, and git's configuration
# by environment can hold a token.
WITHHELD_PREFIXES: Final = ("ACTIONS_", "INPUT_", "STATE_", "GIT_", "PERF_CULPRIT_")


@dataclass(frozen=True, kw_only=True, slots=True)
class Commands:
    """Shell commands (`sh -e`), run in a commit's worktree. A command that takes longer than its limit is ended."""

    run: str
    build: str | None = None
    run_timeout_seconds: float = 600.0
    build_timeout_seconds: float = 3600.0


def child_environment(environ: Mapping[str, str], **own: str) -> dict[str, str]:
    """`environ` without what a stranger's code must not see, and with `own`."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in WITHHELD_NAMES and not name.startswith(WITHHELD_PREFIXES)
    }
    return kept | own
