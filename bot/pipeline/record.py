"""collect -> history -> detect -> history: a run is stored with what was judged about it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bot.config import Config
from bot.history import open_history
from bot.model.finding import Finding, Verdict
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
        repository=request.repository,
        config=config,
        history_url=request.history_url,
        stored_runs=compared.stored_runs,
        warn=warn,
    )


def record_run(
    run: Run,
    *,
    report: Report,
    config: Config,
    repository: Path | None = None,
    history_url: str | None = None,
    token: str | None = None,
    stored_runs: Sequence[str] = (),
    warn: Callable[[str], None] | None = None,
) -> str:
    """Store the run with its regressions and categories; its name in the history.

    `warn` is told if runs are gone that were there before, when `stored_runs` were seen or between two attempts.
    """
    with open_history(config.history, repository, url=history_url, token=token) as history:
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
        confirmed=tuple(finding.evidence.key for finding in regressions if _is_confirmed(finding)),
    )


def _is_confirmed(finding: Finding) -> bool:
    return any(note.code is Remark.CONFIRMED for note in finding.evidence.notes)
