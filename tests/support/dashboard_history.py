"""A repository with 40 commits and stored runs of two machines, as a dashboard shows them; its names are hostile.

On the first machine `HOSTILE` is 30% slower from commit 20 on; a bisection named that commit. "known" is slower from
commit 25 on; somebody accepted that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit.git.command import Remote
from perf_culprit.model.bisection import Culprit, Outcome, OutcomeKind
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.finding import Acceptance, Interval
from perf_culprit.model.run import Cost, Environment, MetricKey, Run
from perf_culprit.store.opening import open_git_branch
from tests.support.git_repository import init_repository, run_git
from tests.support.measurements import measured
from tests.support.runner_pool import new_bisection

HOSTILE: Final = "</script><img src=x onerror=alert(1)>"
COMMITS: Final = 40
STEP, ACCEPTED = 20, 25
OTHER_MACHINE: Final = Environment(components={"cpu": "Other & <b>", "os": "Linux"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A repository, its `commits` from oldest to newest, and the remote `history` with their runs."""

    repository: Path
    history: Path
    commits: tuple[str, ...]

    def append(self, runs: Sequence[Run]) -> None:
        with open_git_branch(Remote(url=str(self.history))) as history:
            history.append_all(runs)


def levels(number: int) -> Mapping[str, float]:
    return {
        HOSTILE: 0.013 if number >= STEP else 0.01,
        "known": 0.5 if number >= ACCEPTED else 0.4,
        **{f"quiet {i}": 0.001 * (i + 1) for i in range(4)},
    }


def run_of(kept: Kept, number: int) -> Run:
    return replace(
        measured(levels(number), seed=number, commit=kept.commits[number]),
        time=datetime.fromtimestamp(1_767_000_000 + 3600 * number, tz=UTC),
        suite="api",
        cost=Cost(10, 90.0),
    )


def kept_history(folder: Path, *, runs: int = COMMITS) -> Kept:
    """Make the repository and store runs of its first `runs` commits; the first four also ran on another machine."""
    repository, remote = init_repository(folder / "work"), init_repository(folder / "remote.git", bare=True)
    lines = []
    for number in range(COMMITS):
        subject = f"<img src=x onerror=alert({number})>"
        committer = f"committer Ada <ada@example.org> {1_767_000_000 + 3600 * number} +0000"
        lines += ["commit refs/heads/main", committer, f"data {len(subject)}", subject]
    run_git(repository, "fast-import", "--quiet", stdin="\n".join([*lines, ""]))
    commits = tuple(run_git(repository, "rev-list", "--reverse", "main").split())
    run_git(repository, "tag", "v1.4", commits[15])
    run_git(repository, "remote", "add", "origin", "https://github.com/octo/shop.git")
    kept = Kept(repository=repository, history=remote, commits=commits)
    elsewhere = [replace(run_of(kept, number), environment=OTHER_MACHINE) for number in range(4)]
    kept.append([*(run_of(kept, number) for number in range(runs)), *elsewhere])
    acceptance = Acceptance(
        suite="api",
        benchmark="known",
        commit=commits[ACCEPTED],
        reason="<script>worth it</script>",
        author="ada",
        time=datetime(2026, 2, 1, tzinfo=UTC),
        pull_request=7,
    )
    with open_git_branch(Remote(url=str(remote))) as history:
        history.accept([acceptance])
        history.store(bisected(commits[STEP]), expected=None)
    return kept


def bisected(commit: str) -> Bisection:
    """Return a stored bisection that named the commit."""
    bisection = new_bisection(size=4)
    culprit = Culprit(
        commit=commit,
        posterior=0.994,
        relative_change=0.3,
        confidence_interval=Interval(low=0.28, high=0.32, level=0.95),
    )
    outcome = Outcome(kind=OutcomeKind.CULPRIT, culprits=(culprit,))
    search = replace(bisection.search, outcome=outcome)
    return replace(bisection, suite="api", key=MetricKey(HOSTILE, "time"), search=search, pull_request=12)
