"""Texts that only a job writes to GitHub: several reports in one comment, and why there is no result."""

from collections.abc import Sequence
from functools import partial

from perf_culprit.config.settings import Config
from perf_culprit.flows.publish import page_options, write_comment
from perf_culprit.flows.render import draw_or_verdict
from perf_culprit.github.bot_texts import RESULT_START, joint_marker
from perf_culprit.github.host import Check, CheckConclusion, CheckResult, Host
from perf_culprit.github.job_context import Destination
from perf_culprit.model.report import Report
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.comment import by_loudness, render_joint, render_markdown
from perf_culprit.say.unjudged_texts import Lack, lack_line, unjudged_body, unmeasured_body


def joint_comment(
    host: Host, destination: Destination, *, reports: Sequence[Report], number: int, config: Config
) -> str | None:
    """Write the one sticky comment for all suites. Return its address; None if the configuration wants none."""
    options = page_options(destination, mark=joint_marker(), number=number)
    body = draw_or_verdict(lambda: render_joint(reports, options=options), by_loudness(reports)[0].conclusion)
    return write_comment(host, options.marker, body, reports=reports, number=number, config=config)


def asked_report(reports: Sequence[Report], destination: Destination) -> str:
    """Render the reports for the answer to a command, with room for the answer's own text."""
    room = TEXT_LIMITS.asked_report_characters // len(reports)
    options = page_options(destination)
    draws = [(partial(render_markdown, report, options=options, limit=room), report.conclusion) for report in reports]
    return "\n\n".join(draw_or_verdict(draw, verdict) for draw, verdict in draws)


def fail_check(check: Check, *, reason: str, run_url: str) -> None:
    check.complete(
        CheckResult(
            conclusion=CheckConclusion.FAILURE,
            title=Lack.NOT_MEASURED,
            summary=unmeasured_body(reason, run_url=run_url),
        )
    )


def leave_check_open(check: Check, *, reason: str, next_step: str | None) -> None:
    """Complete the check as neither passed nor failed: GitHub lets it pass even where it is required."""
    summary = unjudged_body(reason, next_step=next_step)
    title = f"{Lack.NOT_MEASURED}: {reason}"
    check.complete(CheckResult(conclusion=CheckConclusion.NEUTRAL, title=title, summary=summary))


def refuse_unjudged(check: Check, *, why: str, reason: str, next_step: str | None, is_required: bool) -> None:
    """Complete the check of results whose rules could not be read. A neutral one would pass where it is required."""
    conclusion = CheckConclusion.FAILURE if is_required else CheckConclusion.NEUTRAL
    summary = unjudged_body(reason, next_step=next_step)
    check.complete(CheckResult(conclusion=conclusion, title=f"{Lack.NOT_JUDGED}: {why}", summary=summary))


def mark_outdated(host: Host, destination: Destination, *, lack: Lack, number: int, sha: str, reason: str) -> None:
    """Put a line above each result in the pull request that marks it as being about an older head."""
    line = lack_line(lack, reason, sha=sha, run_url=destination.measured_url or destination.run_url or "")
    host.prefix_comments(number=number, start=RESULT_START, line=str(line))
