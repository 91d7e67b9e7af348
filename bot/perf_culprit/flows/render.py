"""Reports in the forms that jobs and commands need, and reports read from files."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from perf_culprit.errors import DataError
from perf_culprit.judge.series_changes import judge_series
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.report import Report, decode_report, encode_report
from perf_culprit.model.series import Series, SeriesTable
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.progress import doing
from perf_culprit.read.results.source import read_file
from perf_culprit.say.comment import check_title, render_markdown
from perf_culprit.say.comparison import PageOptions
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.report_page import render_html
from perf_culprit.stats.steps import FEWEST_VALUES

# Drawing never changes a verdict: exit code and check are decided from the report alone.
Drawing = TypeVar("Drawing")


def draw_or_verdict(draw: Callable[[], str], verdict: str, *, warn: Callable[[str], None] = lambda _: None) -> str:
    """Return the text that `draw` makes. If it fails, return the verdict and a note, and pass them to `warn`.

    The note is our own words and fits into Markdown, HTML, a log line and a check's title.
    """
    return draw_or_note(draw, verdict, str, warn=warn)


def draw_or_note(
    draw: Callable[[], Drawing],
    verdict: str,
    otherwise: Callable[[str], Drawing],
    *,
    warn: Callable[[str], None] = lambda _: None,
) -> Drawing:
    """Apply `draw_or_verdict` to more than a text: if drawing fails, make it with `otherwise` from the note."""
    try:
        return draw()
    except Exception as error:
        if os.environ.get("PERF_CULPRIT_DEBUG"):
            raise
        note = (
            f"{verdict.replace('_', ' ').capitalize()}. The rest could not be drawn: {type(error).__name__}. "
            "The verdict stands; run again with PERF_CULPRIT_DEBUG=1 and report the traceback"
        )
        warn(note)
        return otherwise(note)


def report_json(report: Report) -> bytes:
    doing(f"writing {len(report.findings):,} findings")
    data = encode_report(report, sentence=sentence)
    if len(data) > FILE_LIMITS.report_bytes:
        raise DataError(
            f"the report would be larger than {FILE_LIMITS.report_bytes:,} bytes, which nobody reads again",
            next_step="split the benchmarks into suites (--suite), or look at fewer stored runs (history.window)",
        )
    return data


def report_markdown(report: Report) -> str:
    return render_markdown(report, options=PageOptions())


def report_headline(report: Report) -> str:
    return check_title(report)


def today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def report_html(report: Report, *, options: PageOptions | None = None) -> str:
    """Render the comment and every benchmark, with the change points in the stored runs of those that changed."""
    with_history = [finding for finding in report.findings if len(finding.series) > FEWEST_VALUES][
        : WORK_LIMITS.histories
    ]
    table = SeriesTable(
        place="history",
        series=tuple(
            # Without the target: it is judged separately, and if far off would hide the steps before it.
            Series(name="", values=finding.series[:-1], minimum_effect=finding.minimum_effect)
            for finding in with_history
        ),
        labels=("",) * max((len(finding.series) for finding in with_history), default=0),
    )
    all_changes = judge_series(table, online=False) if with_history else ()
    history = {one.key: series.changes for one, series in zip(with_history, all_changes, strict=True)}
    return render_html(report, history, options=options)


def read_report(path: Path) -> Report:
    return decode_report(read_file(path, max_bytes=FILE_LIMITS.report_bytes).data, place=str(path))


def saved_report(path: Path) -> bytes:
    """Read and check a report file, and encode it with its reasons in this version's words."""
    return report_json(read_report(path))
