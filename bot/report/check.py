"""The check run's title and summary: it always speaks, also where the comment is silent."""

from bot.model.report import Report
from bot.report.content import MarkdownOptions
from bot.report.markdown import render_markdown
from bot.report.sections import split
from bot.report.wording import headline


def check_texts(report: Report, *, options: MarkdownOptions | None = None) -> tuple[str, str]:
    """(title, summary): one plain line without foreign text, and Markdown within the check run's limit."""
    sections = split(report)
    title = headline(report, sections).text
    return title, render_markdown(report, options=options)
