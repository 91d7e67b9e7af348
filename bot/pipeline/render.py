"""A report in every form that is shown or stored, and the schemas of our files."""

import json

from bot.codec.bisection_report import encode_bisection
from bot.codec.report import encode_report
from bot.codec.schema import schema_text
from bot.config import config_schema
from bot.model.bisection_report import BisectionReport
from bot.model.report import Report
from bot.report.bisection_words import reason_of
from bot.report.check import check_texts
from bot.report.content import MarkdownOptions
from bot.report.html import render_html
from bot.report.markdown import render_markdown, render_summary
from bot.report.reasons import sentence


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


def preview_html(markdown: str, report: Report) -> str:
    return render_html(markdown, report.diagnosis)


def schema(name: str) -> bytes:
    """The JSON schema of `run`, `report`, `bisection`, `diagnosis`, `tree-comparison` or `config`."""
    if name == "config":
        return (json.dumps(config_schema(), indent=1, ensure_ascii=False) + "\n").encode()
    return schema_text(f"{name}-v1").encode()


def bisection_json(report: BisectionReport) -> bytes:
    return encode_bisection(report, sentence=reason_of)
