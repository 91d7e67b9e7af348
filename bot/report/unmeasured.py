"""What is written where there is no verdict: why, and what stands instead."""

from enum import StrEnum

from bot.report.inert import Safe, code, link, own, prose


class Lack(StrEnum):
    """What is missing for a verdict."""

    NOT_MEASURED = "Not measured"
    NOT_JUDGED = "Not judged"


def lack_line(lack: Lack, reason: str, *, sha: str, run_url: str) -> Safe:
    """Above an older result. `reason` may quote a stranger's file."""
    run = link(Safe("the run"), run_url) if run_url else Safe("the run")
    head, why = code(sha[:7]), prose(reason)
    return own("> ⚠️ **{}:** {} ({}, {}). What follows is an earlier result.", Safe(lack), head, why, run)


def unmeasured_text(reason: str, *, sha: str, run_url: str) -> str:
    """In the job summary."""
    head, why = code(sha[:7]), prose(reason)
    return f"{own('### ⚠️ Not measured: {}', head)}\n\n{own('{}, {}', why, link(Safe('the run'), run_url))}\n"


def unmeasured_body(reason: str, *, run_url: str) -> str:
    """In the check run, which is about that commit."""
    why = prose(reason)
    return f"{own('No verdict: {}. See {}.', why, link(Safe('the log of the measurement'), run_url))}\n"


def unjudged_body(reason: str, *, next_step: str | None) -> str:
    """In the check run: the results are there, the rules are not."""
    return _with_next(own("No verdict: {}", prose(reason)), next_step)


def unpublished_text(reason: str, *, next_step: str | None = None) -> str:
    """In the job summary, for every comment that is missing."""
    return f"### No comment\n\n{_with_next(own('Reason: {}', prose(reason)), next_step)}"


def _with_next(text: Safe, next_step: str | None) -> str:
    return f"{text}\n\n{own('Next: {}', prose(next_step))}\n" if next_step else f"{text}\n"
