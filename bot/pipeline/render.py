"""A report in every form that is shown or stored, and the schemas of our files."""

import json
from typing import Final

from bot.codec.bisection_report import encode_bisection
from bot.codec.report import encode_report
from bot.codec.schema import schema_text
from bot.config import config_schema, design_schema
from bot.detect.series_changes import judge_series
from bot.model.bisection_report import BisectionReport
from bot.model.change import Series, SeriesTable
from bot.model.report import Report
from bot.report.bisection_words import reason_of
from bot.report.check import check_texts
from bot.report.content import MarkdownOptions
from bot.report.html import render_html
from bot.report.markdown import render_markdown, render_summary
from bot.report.reasons import sentence
from bot.stats.change_point import FEWEST_VALUES

# Of the loudest findings: change points take milliseconds each.
MOST_HISTORIES = 500

YAML_SCHEMAS: Final = {"config": config_schema, "simulation-model": design_schema}


def report_json(report: Report) -> bytes:
    return encode_report(report, sentence=sentence)


def report_markdown(
    report: Report, *, marker: str = "", run_url: str | None = None, repository_url: str | None = None
) -> str:
    """The pull request's comment."""
    return render_markdown(
        report, options=MarkdownOptions(marker=marker, run_url=run_url, repository_url=repository_url)
    )


def report_summary(report: Report, *, run_url: str | None, repository_url: str | None) -> str:
    """The job summary."""
    return render_summary(report, options=MarkdownOptions(run_url=run_url, repository_url=repository_url))


def headline(report: Report) -> str:
    """The verdict in one line."""
    return check_texts(report)[0]


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
    found = judge_series(table, seed=0, online=False) if drawn else ()
    history = {one.evidence.key: series.changes for one, series in zip(drawn, found, strict=True)}
    return render_html(markdown, report, history)


def schema(name: str) -> bytes:
    """The JSON schema of a file that is read or written: `run`, `config`, `simulation-model`, ..."""
    if name in YAML_SCHEMAS:
        return (json.dumps(YAML_SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n").encode()
    return schema_text(f"{name}-v1").encode()


def bisection_json(report: BisectionReport) -> bytes:
    return encode_bisection(report, sentence=reason_of)
