"""A report in the forms that every job needs."""

from bot.codec.report import encode_report
from bot.model.report import Report
from bot.report.check import check_texts
from bot.report.content import MarkdownOptions
from bot.report.markdown import render_markdown, render_summary
from bot.report.reasons import sentence


def report_json(report: Report) -> bytes:
    return encode_report(report, sentence=sentence)


def report_markdown(report: Report) -> str:
    """The pull request's comment."""
    return render_markdown(report, options=MarkdownOptions())


def report_summary(report: Report, *, run_url: str | None, repository_url: str | None) -> str:
    """The job summary."""
    return render_summary(report, options=MarkdownOptions(run_url=run_url, repository_url=repository_url))


def headline(report: Report) -> str:
    """The verdict in one line."""
    return check_texts(report)[0]
