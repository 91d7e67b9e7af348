"""A report in the forms that every job needs."""

from bot.codec.report import encode_report
from bot.model.report import Report
from bot.progress import doing
from bot.report.content import MarkdownOptions
from bot.report.markdown import check_texts, render_markdown, render_summary
from bot.report.reasons import sentence


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
