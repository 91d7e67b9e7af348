"""A comparison's comment, job summary and check texts, each within its platform's limit for any report."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.comparison import PageOptions, comparison_document, head_line
from perf_culprit.say.headlines import headline
from perf_culprit.say.render_markdown import markdown_text, page_of
from perf_culprit.say.sections import split

# GitHub answers 422 to a comment of more than 65,536 characters. The rest is reserved for the publisher.
COMMENT_LIMIT_CHARACTERS: Final = 65_000
# The runner silently drops a step summary over 1 MiB.
SUMMARY_LIMIT_BYTES: Final = 1_000_000
# More visible rows in a comment are not read.
COMMENT_CHANGED_ROWS: Final = 50
COMMENT_FOLDED_ROWS: Final = 300
_SEPARATOR: Final = "\n\n---\n\n"


def render_markdown(
    report: Report, *, options: PageOptions | None = None, limit: int = COMMENT_LIMIT_CHARACTERS
) -> str:
    page = page_of(comparison_document(report, options or PageOptions()), most_rows=COMMENT_FOLDED_ROWS)
    return page.fitted(_utf16_length, limit=limit, visible=COMMENT_CHANGED_ROWS, folded=COMMENT_FOLDED_ROWS)


def render_joint(reports: Sequence[Report], *, options: PageOptions) -> str:
    """Render one comment for all suites, the loudest first. Each keeps its verdict and its folds."""
    ordered = by_loudness(reports)
    # Each gets the same room. Up to 20 suites are published; their fixed text is about 2,000 characters each.
    room = (COMMENT_LIMIT_CHARACTERS - len(options.marker)) // len(ordered) - len(_SEPARATOR)
    bare = replace(options, marker="", date="")
    parts = [render_markdown(report, options=bare, limit=room) for report in ordered]
    head = markdown_text(*head_line(options)).strip()
    return f"{options.marker}\n{head}\n\n{_SEPARATOR.join(part.strip() for part in parts)}\n"


def by_loudness(reports: Sequence[Report]) -> list[Report]:
    return sorted(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))


def render_summary(report: Report, *, options: PageOptions | None = None) -> str:
    """Render the job summary: the comment's text with as many rows as 1 MB allows."""
    page = page_of(comparison_document(report, options or PageOptions()))
    rows = TEXT_LIMITS.table_rows
    return page.fitted(lambda text: len(text.encode()), limit=SUMMARY_LIMIT_BYTES, visible=rows, folded=rows)


def check_title(report: Report) -> str:
    """Return one plain line without foreign text."""
    return headline(report, split(report)).text


def check_texts(reports: Sequence[Report], *, options: PageOptions) -> tuple[str, str]:
    """Return (title, summary): a line about the loudest report, and Markdown within the check run's limit."""
    loudest = by_loudness(reports)[0]
    title = check_title(loudest)
    if len(reports) == 1:
        return title, render_markdown(loudest, options=options)
    return f"{len(reports)} suites, the first of them: {title}", render_joint(reports, options=options)


def _utf16_length(text: str) -> int:
    """Count as GitHub's editor (JavaScript) does: an emoji is two. Never less than Python's count."""
    return len(text.encode("utf-16-le")) // 2
