"""collect -> history: results that another tool kept become runs of this history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot import git
from bot.collect import AUTO, collect_history
from bot.config import Config
from bot.errors import DataError
from bot.history import open_history
from bot.model.imported import Imported
from bot.model.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryImport:
    """`files` are data.js, a folder of asv results, Otava's CSV, …; `dry_run` reads them and stores nothing."""

    files: Sequence[str]
    repository: Path
    history_url: str | None = None
    token: str | None = None
    tool: str = AUTO
    dry_run: bool = False


def import_history(request: HistoryImport, *, config: Config) -> Imported:
    """Store every run that names its commit, all or none.

    Nothing is judged: a later run finds them as its baseline. The only suite of the files continues as the configured
    one, several keep their names. Their environment stays what the files say, or unknown.
    """
    read = collect_history(request.files, tool=request.tool, directions=config.direction_of)
    runs = [run for run in read if run.commit is not None]
    if not runs:
        raise DataError(
            f"none of {len(read):,} results says the full hash of its commit",
            place=", ".join(request.files),
            next_step="record single results with: perf-culprit record FILE --commit HASH",
        )
    if len({run.suite for run in runs}) == 1:
        runs = [replace(run, suite=config.suite) for run in runs]
    with open_history(config.history, request.repository, url=request.history_url, token=request.token) as history:
        for suite in {run.suite for run in runs}:
            history.commits(suite)
        before = set(history.names)
        kept = () if request.dry_run else history.append_all(runs)
    return _imported(
        runs,
        repository=request.repository,
        without_commit=len(read) - len(runs),
        already_stored=len(before.intersection(kept)),
        dropped=0 if request.dry_run else len(runs) - len(kept),
        stored=not request.dry_run,
    )


def _imported(
    runs: Sequence[Run], *, repository: Path, without_commit: int, already_stored: int, dropped: int, stored: bool
) -> Imported:
    commits = {run.commit for run in runs}
    times = [run.time for run in runs if run.time is not None]
    line = git.ancestors(repository, [git.head_commit(repository)])
    return Imported(
        runs=len(runs),
        suites=tuple(dict.fromkeys(run.suite for run in runs)),
        commits=len(commits),
        on_line=len(commits.intersection(line)),
        first=min(times, default=None),
        last=max(times, default=None),
        without_commit=without_commit,
        without_environment=sum(not run.environment.components for run in runs),
        already_stored=already_stored,
        dropped=dropped,
        stored=stored,
    )
