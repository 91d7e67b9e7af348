"""Reports in the forms that jobs and commands need, and reports read from files."""

from pathlib import Path
from typing import Final

from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError, did_you_mean
from perf_culprit.judge.series_changes import judge_series
from perf_culprit.model.report import Report, decode_report, encode_report
from perf_culprit.model.run_file import encode_run
from perf_culprit.model.series import Series, SeriesTable
from perf_culprit.progress import doing
from perf_culprit.read.results.source import read_file
from perf_culprit.say.html_pages import render_html
from perf_culprit.say.markdown_report import MarkdownOptions, check_texts, render_markdown, render_summary
from perf_culprit.say.reason_text import sentence
from perf_culprit.stats.series_changes_search import FEWEST_VALUES
from perf_culprit.store.opening import open_history, suite_names
from perf_culprit.store.protocol import StoredRun

# A report in the forms that every job needs.


def report_json(report: Report) -> bytes:
    doing(f"writing {len(report.findings):,} findings")
    return encode_report(report, sentence=sentence)


def report_markdown(report: Report) -> str:
    return render_markdown(report, options=MarkdownOptions())


def report_summary(report: Report, *, run_url: str | None, repository_url: str | None, has_check: bool = True) -> str:
    options = MarkdownOptions(run_url=run_url, repository_url=repository_url, has_check=has_check)
    return render_summary(report, options=options)


def headline(report: Report) -> str:
    return check_texts(report)[0]


# A report as an HTML page.

# Of the loudest findings: change points take milliseconds each.
MOST_HISTORIES = 500


def report_html(markdown: str, report: Report) -> str:
    """The comment and every benchmark, with the change points of the stored runs of those that changed."""
    drawn = [finding for finding in report.findings if len(finding.series) > FEWEST_VALUES][:MOST_HISTORIES]
    table = SeriesTable(
        place="history",
        series=tuple(
            # Without the target, which is judged, and would hide the steps before it where it is far off.
            Series(name="", values=finding.series[:-1], minimum_effect=finding.minimum_effect)
            for finding in drawn
        ),
        labels=("",) * max((len(finding.series) for finding in drawn), default=0),
    )
    judged = judge_series(table, seed=0, online=False) if drawn else ()
    history = {one.evidence.key: series.changes for one, series in zip(drawn, judged, strict=True)}
    return render_html(markdown, report, history)


# What is there already: a report in a file, the suites of a history and what their newest run measured.

# 50,000 metrics against one run are 107 MB; an undecided one also lists a value of each stored run.
MOST_REPORT_BYTES: Final = 512 << 20


def read_report(path: Path) -> Report:
    return decode_report(read_file(path, max_bytes=MOST_REPORT_BYTES).data, place=str(path))


def saved_report(path: Path) -> bytes:
    """The report of a file, checked, with its reasons in this version's words."""
    return report_json(read_report(path))


def stored_benchmarks(repository: Path, *, config: Config, suite: str | None) -> tuple[tuple[str, ...], bytes | None]:
    """The stored suites, and the newest run of one of them (default: the configuration's), as its file holds it."""
    with open_history(config.history, repository) as history:
        suites = suite_names(history)
        chosen = suite or config.suite or "default"
        newest = [entry for entry in history.newest_runs(chosen, 1) if isinstance(entry, StoredRun)]
    if suite is not None and not newest:
        raise UsageError(
            f"no stored run of the suite {suite!r}",
            place=history.place,
            next_step=did_you_mean(suite, suites, otherwise=f"stored are: {', '.join(suites) or 'none'}"),
        )
    return suites, encode_run(newest[0].run) if newest else None
