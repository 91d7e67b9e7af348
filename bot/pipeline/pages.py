"""A report as an HTML page."""

from bot.detect.series_changes import judge_series
from bot.model.change import Series, SeriesTable
from bot.model.report import Report
from bot.report.html import render_html
from bot.stats.change_point import FEWEST_VALUES

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
