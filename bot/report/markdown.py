"""The pull request's comment, and the job summary, within the platform's limits for any report."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.model.report import Conclusion, Report
from bot.report.content import MarkdownOptions, build_view
from bot.report.sections import split
from bot.report.templating import fill
from bot.report.view import View
from bot.report.wording import headline

# GitHub answers 422 to a comment of more than 65,536 characters; the rest is left to the publisher.
COMMENT_LIMIT_CHARACTERS = 65_000
# A step summary over 1 MiB is dropped by the runner, quietly.
SUMMARY_LIMIT_BYTES = 1_000_000

# More visible rows than this nobody reads in a comment.
COMMENT_CHANGED_ROWS = 50
COMMENT_FOLDED_ROWS = 300
_SEPARATOR = "\n\n---\n\n"
SUMMARY_ROWS = 5_000


def render_markdown(
    report: Report, *, options: MarkdownOptions | None = None, limit: int = COMMENT_LIMIT_CHARACTERS
) -> str:
    """The comment: verdict, next step, changed rows, everything else folded. Never over the limit."""
    view = build_view(report, options=options or MarkdownOptions(), most_rows=COMMENT_FOLDED_ROWS)
    return _fit(
        view, size=_utf16_length, limit=limit, changed_rows=COMMENT_CHANGED_ROWS, folded_rows=COMMENT_FOLDED_ROWS
    )


def render_joint(reports: Sequence[Report], *, options: MarkdownOptions) -> str:
    """One comment for several suites, each as in a comment of its own; the loudest comes first."""
    ordered = sorted(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))
    # Each gets the same room. Up to 20 suites are published; their fixed text is about 2,000 characters each.
    room = (COMMENT_LIMIT_CHARACTERS - len(options.marker)) // len(ordered) - len(_SEPARATOR)
    parts = [render_markdown(report, options=replace(options, marker=""), limit=room) for report in ordered]
    return f"{options.marker}\n{_SEPARATOR.join(part.strip() for part in parts)}\n"


def render_summary(report: Report, *, options: MarkdownOptions | None = None) -> str:
    """The job summary: the comment's text with all rows that 1 MB holds."""
    view = build_view(report, options=options or MarkdownOptions(), most_rows=SUMMARY_ROWS)
    return _fit(
        view,
        size=lambda text: len(text.encode()),
        limit=SUMMARY_LIMIT_BYTES,
        changed_rows=SUMMARY_ROWS,
        folded_rows=SUMMARY_ROWS,
    )


def _fit(view: View, *, size: Callable[[str], int], limit: int, changed_rows: int, folded_rows: int) -> str:
    """The longest rendering under the limit: changed rows get the room first, folded ones the rest."""

    def fits(changed: int, folded: int) -> bool:
        return size(_text(view.cut(changed=changed, folded=folded))) <= limit

    changed = _largest(changed_rows, lambda rows: fits(rows, 0))
    folded = _largest(min(folded_rows, view.longest), lambda rows: fits(changed, rows))
    return _text(view.cut(changed=changed, folded=folded))


def _text(view: View) -> str:
    return fill("comment.md.j2", view=view)


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number from 0 to `most` that fits; 0 always does (a report without rows has a bounded length)."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _utf16_length(text: str) -> int:
    """GitHub's editor counts as JavaScript does: an emoji is two. At least as long as Python's count."""
    return len(text.encode("utf-16-le")) // 2


def check_texts(report: Report, *, options: MarkdownOptions | None = None) -> tuple[str, str]:
    """(title, summary): one plain line without foreign text, and Markdown within the check run's limit."""
    sections = split(report)
    title = headline(report, sections).text
    return title, render_markdown(report, options=options)
