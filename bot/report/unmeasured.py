"""What is written where there is no result: why, and what stands instead."""

from typing import Final

from bot.report.inert import Safe, code, link, own, prose

NOT_MEASURED: Final = "Not measured"


def unmeasured_line(reason: str, *, sha: str, run_url: str) -> Safe:
    """Above an older result. `reason` may quote a stranger's file."""
    run = link(Safe("the run"), run_url) if run_url else Safe("the run")
    head, why = code(sha[:7]), prose(reason)
    return own("> ⚠️ **Not measured:** {} ({}, {}). What follows is an earlier result.", head, why, run)


def unmeasured_text(reason: str, *, sha: str, run_url: str) -> str:
    """In the job summary."""
    head, why = code(sha[:7]), prose(reason)
    return f"{own('### ⚠️ Not measured: {}', head)}\n\n{own('{}, {}', why, link(Safe('the run'), run_url))}\n"


def unmeasured_body(reason: str, *, run_url: str) -> str:
    """In the check run, which is about that commit."""
    why = prose(reason)
    return f"{own('No verdict: {}. See {}.', why, link(Safe('the log of the measurement'), run_url))}\n"


def unpublished_text(reason: str, *, next_step: str | None = None) -> str:
    """In the job summary, for every comment that is missing."""
    text = f"### No comment\n\n{own('Reason: {}', prose(reason))}\n"
    return f"{text}\n{own('Next: {}', prose(next_step))}\n" if next_step else text
