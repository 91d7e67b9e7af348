"""The texts shown without a verdict: the reason, and what remains instead."""

from enum import StrEnum

from perf_culprit.say.document import Heading, Hyperlink, Name, Paragraph, Prose, Tone, paragraph, words
from perf_culprit.say.inert import Safe
from perf_culprit.say.render_markdown import markdown, markdown_text


class Lack(StrEnum):
    """The gap that prevents a verdict."""

    NOT_MEASURED = "Not measured"
    NOT_JUDGED = "Not judged"


def lack_line(lack: Lack, reason: str, *, sha: str, run_url: str) -> Safe:
    """Return the line above an earlier result. `reason` may quote a stranger's file."""
    run = Hyperlink(Safe("the run"), run_url)
    form = "> ⚠️ **{}:** {} ({}, {}). What follows is an earlier result."
    return markdown(words(form, Safe(lack), Name(sha[:7]), Prose(reason), run))


def unmeasured_text(reason: str, *, sha: str, run_url: str) -> str:
    """Return the text for the job summary."""
    heading = Heading(text=words("Not measured: {}", Name(sha[:7])), tone=Tone.UNSURE, mark="⚠️")
    return markdown_text(heading, paragraph(words("{}, {}", Prose(reason), Hyperlink(Safe("the run"), run_url))))


def unmeasured_body(reason: str, *, run_url: str) -> str:
    """Return the text for the check run, which belongs to that commit."""
    log = Hyperlink(Safe("the log of the measurement"), run_url)
    return markdown_text(paragraph(words("No verdict: {}. See {}.", Prose(reason), log)))


def unjudged_body(reason: str, *, next_step: str | None) -> str:
    """Return the text for the check run if there are results but no rules."""
    return markdown_text(paragraph(words("No verdict: {}", Prose(reason))), *_next(next_step))


def unpublished_text(reason: str, *, next_step: str | None = None) -> str:
    """Return the text for the job summary about a missing comment."""
    heading = Heading(text=Safe("No comment"), tone=Tone.UNSURE)
    return markdown_text(heading, paragraph(words("Reason: {}", Prose(reason))), *_next(next_step))


def _next(next_step: str | None) -> tuple[Paragraph, ...]:
    return (paragraph(words("Next: {}", Prose(next_step))),) if next_step else ()
