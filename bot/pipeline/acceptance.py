"""history -> history: a regression that somebody accepts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from bot import git
from bot.config import Config
from bot.errors import UsageError, did_you_mean, listed
from bot.history.accepted import checked
from bot.history.opening import HistoryPlace, open_history
from bot.history.protocol import Store, StoredRun
from bot.model.finding import Acceptance
from bot.model.metric import MetricKey
from bot.model.run import Run

LOOKED_AT_RUNS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """`benchmarks` empty: every benchmark that got worse at its commit. `stored` is False for what was known before.

    `is_checked` is False where no stored run says which benchmarks there are.
    """

    acceptance: Acceptance
    benchmarks: tuple[str, ...]
    stored: bool
    is_checked: bool


def accept(
    *,
    benchmark: str | None,
    reason: str,
    author: str,
    commit: str,
    config: Config,
    place: HistoryPlace,
    pull_request: int | None = None,
) -> Accepted:
    """Store that from `commit` (a full hash) on the level of `benchmark` is the new normal (None: of all).

    `pull_request` is where it was said, so that the acceptance finds its way through a squash. A UsageError tells what
    is wrong with the names or the reason.
    """
    acceptance = checked(
        Acceptance(
            suite=config.suite,
            benchmark=benchmark,
            commit=commit,
            reason=reason,
            author=author,
            time=datetime.now(UTC).replace(microsecond=0),
            pull_request=pull_request,
        )
    )
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        runs = _looked_at(history, acceptance)
        named = _named(runs, acceptance)
        stored = history.accept(named)
    benchmarks = tuple(entry.benchmark for entry in named if entry.benchmark is not None)
    return Accepted(acceptance=acceptance, benchmarks=benchmarks, stored=stored, is_checked=bool(runs))


def accept_here(
    repository: Path,
    *,
    benchmark: str | None,
    everything: bool,
    reason: str,
    author: str | None,
    revision: str,
    config: Config,
    history_url: str | None,
) -> Accepted:
    """The command line's form: the author is git's, the commit any revision of this repository."""
    if (benchmark is None) != everything:
        raise UsageError(
            "give the name of one benchmark, or --all",
            next_step="copy the name from the report; --all takes every benchmark that got worse at the commit",
        )
    return accept(
        benchmark=benchmark,
        reason=reason,
        author=author or _git_author(repository),
        commit=git.resolve_commit(repository, revision),
        config=config,
        place=HistoryPlace(repository=repository, url=history_url),
    )


def _git_author(repository: Path) -> str:
    try:
        name = git.run_git(repository, "config", "--get", "user.name").decode(errors="replace").strip()
    except git.GitError:
        name = ""
    if not name:
        raise UsageError("git knows no user.name here", next_step="name who accepts with --author")
    return name


def _looked_at(history: Store, acceptance: Acceptance) -> list[Run]:
    """The stored runs of the commit; without any, a named benchmark may be one of the newest runs'."""
    at_commit = _runs(history.runs(acceptance.suite, [acceptance.commit]))
    if at_commit or acceptance.benchmark is None:
        return at_commit
    return _runs(history.newest_runs(acceptance.suite, LOOKED_AT_RUNS))


def _named(runs: Sequence[Run], acceptance: Acceptance) -> tuple[Acceptance, ...]:
    """By name where the history knows the names: what is named can be checked, and outlives other changes."""
    if acceptance.benchmark is None:
        regressed = dict.fromkeys(_accepted_name(key, run) for run in runs for key in run.regressions)
        return tuple(replace(acceptance, benchmark=name) for name in regressed) or (acceptance,)
    names = dict.fromkeys(name for run in runs for key in run.keys for name in (key.benchmark, key.full_name))
    if names and acceptance.benchmark not in names:
        raise UsageError(
            f"the stored runs of suite {acceptance.suite!r} have no benchmark {acceptance.benchmark[:120]!r}",
            next_step=did_you_mean(acceptance.benchmark, names, otherwise=f"they have {listed([*names], most=10)}"),
        )
    return (acceptance,)


def _accepted_name(key: MetricKey, run: Run) -> str:
    """A benchmark is accepted with all its metrics, of a table of counters only the one that got worse."""
    return key.full_name if any(key in table.keys for table in run.counters) else key.benchmark


def _runs(stored: Iterable[object]) -> list[Run]:
    return [entry.run for entry in stored if isinstance(entry, StoredRun)]
