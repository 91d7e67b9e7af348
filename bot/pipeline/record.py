"""collect -> history -> detect -> history: a run is stored with its verdict, or another tool's runs without."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bot import git
from bot.collect import AUTO, collect_history
from bot.config import Config
from bot.errors import DataError
from bot.history import HistoryPlace, open_history
from bot.model.finding import Verdict
from bot.model.history_size import Imported
from bot.model.reason import Remark
from bot.model.report import Report
from bot.model.run import Run
from bot.pipeline.compare import HistoryComparison, compare_with_history


def record_files(request: HistoryComparison, *, config: Config, warn: Callable[[str], None] | None = None) -> str:
    """Judge and store: what was judged a regression is stored as one, so that it never becomes the new normal."""
    compared = compare_with_history(request, config=config)
    return record_run(
        compared.run,
        report=compared.report,
        config=config,
        place=request.place,
        stored_runs=compared.stored_runs,
        warn=warn,
    )


def record_run(
    run: Run,
    *,
    report: Report,
    config: Config,
    place: HistoryPlace,
    stored_runs: Sequence[str] = (),
    warn: Callable[[str], None] | None = None,
) -> str:
    """Store the run with its regressions and categories; its name in the history.

    `warn` is called if runs are gone that were there before, when `stored_runs` were seen or between two attempts.
    """
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        history.expect(stored_runs)
        name = history.append(judged_run(run, report))
        if history.lost and warn is not None:
            warn(
                f"{history.place} was rewritten meanwhile: {len(history.lost)} stored runs are gone, "
                f"such as {history.lost[0]}; this run was appended to what is there now"
            )
        return name


def judged_run(run: Run, report: Report) -> Run:
    """The run as the history keeps it: with its assigned categories and the metrics judged regressions."""
    regressions = [finding for finding in report.findings if finding.verdict is Verdict.REGRESSION]
    categories = {finding.evidence.key: finding.category for finding in report.findings if finding.category}
    return replace(
        run,
        benchmarks=tuple(
            replace(benchmark, category=categories.get(benchmark.key, benchmark.category))
            for benchmark in run.benchmarks
        ),
        regressions=tuple(finding.evidence.key for finding in regressions),
        confirmed=tuple(
            finding.evidence.key
            for finding in regressions
            if any(note.code is Remark.CONFIRMED for note in finding.evidence.notes)
        ),
    )


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
            f"no result names the full hash of its commit (results read: {len(read):,})",
            place=", ".join(request.files),
            next_step="record them one by one: perf-culprit record FILE --commit HASH",
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
