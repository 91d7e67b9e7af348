"""A report in every form that is shown or stored, and the schemas of our files."""

import json

from bot.codec.report import encode_report
from bot.config import config_schema
from bot.model.bisection_report import BisectionReport
from bot.model.report import Report


def report_json(report: Report) -> bytes:
    from bot.report.reasons import sentence

    return encode_report(report, sentence=sentence)


def report_markdown(
    report: Report, *, marker: str = "", run_url: str | None = None, repository_url: str | None = None
) -> str:
    """The pull request's comment."""
    from bot.report.content import MarkdownOptions
    from bot.report.markdown import render_markdown

    return render_markdown(
        report, options=MarkdownOptions(marker=marker, run_url=run_url, repository_url=repository_url)
    )


def report_text(report: Report, *, colour: bool, width: int) -> str:
    from bot.report.text import render_text

    return render_text(report, colour=colour, width=width)


def report_summary(report: Report, *, run_url: str | None, repository_url: str | None) -> str:
    """The job summary."""
    from bot.report.content import MarkdownOptions
    from bot.report.markdown import render_summary

    return render_summary(report, options=MarkdownOptions(run_url=run_url, repository_url=repository_url))


def report_outputs(report: Report) -> dict[str, str]:
    """The action's outputs that follow from the report."""
    from bot.report.outputs import outputs

    return outputs(report)


def headline(report: Report) -> str:
    """The verdict in one line."""
    from bot.report.check import check_texts

    return check_texts(report)[0]


def preview_html(markdown: str, report: Report) -> str:
    from bot.report.html import render_html

    return render_html(markdown, report.diagnosis)


def schema(name: str) -> bytes:
    """The JSON schema of `run`, `report`, `bisection`, `diagnosis`, `tree-comparison` or `config`."""
    from bot.codec.schema import schema_text

    if name == "config":
        return (json.dumps(config_schema(), indent=1, ensure_ascii=False) + "\n").encode()
    return schema_text(f"{name}-v1").encode()


def bisection_text(report: BisectionReport) -> str:
    from bot.report.bisection import bisection_text

    return bisection_text(report)


def bisection_markdown(report: BisectionReport) -> str:
    from bot.report.bisection import bisection_markdown

    return bisection_markdown(report)


def bisection_json(report: BisectionReport) -> bytes:
    from bot.codec.bisection_report import encode_bisection
    from bot.report.bisection_words import reason_of

    return encode_bisection(report, sentence=reason_of)


def unmeasured_text(reason: str, *, sha: str, run_url: str) -> str:
    from bot.report import unmeasured

    return unmeasured.unmeasured_text(reason, sha=sha, run_url=run_url)


def unpublished_text(reason: str) -> str:
    from bot.report import unmeasured

    return unmeasured.unpublished_text(reason)
