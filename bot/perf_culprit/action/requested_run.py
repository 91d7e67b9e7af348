"""`/perf-run`: a measurement requested by a comment, dispatched by the trusted job, and reported in that thread."""

from collections.abc import Sequence
from typing import Final

from perf_culprit.action.bisection_thread import Thread, default_branch, put_answer, remote
from perf_culprit.action.command_grammar import RunCommand
from perf_culprit.action.job import ActionJob
from perf_culprit.errors import DataError
from perf_culprit.github.host import Host, PullRequest, PullRequestSearch, PullRequestState
from perf_culprit.model.dispatch import RequestedRun, parse_request_title
from perf_culprit.model.report import Report
from perf_culprit.say import command_answers

MOVED_ON: Final = "the pull request has moved on meanwhile, or is closed"


def start_run(thread: Thread, command: RunCommand, *, head: str, base_branch: str) -> None:
    """Dispatch the run. `head` is the pull request's, read from GitHub after the author's rights were checked."""
    from perf_culprit.dispatch.bisection_ends import bisection_ends

    job, comment = thread.job, thread.comment
    main = default_branch(job)
    branches = (base_branch, main)
    with bisection_ends(
        remote(job), branches=branches, head=head, good=command.against, bad=None, place="/perf-run"
    ) as ends:
        request = RequestedRun(
            pull_request=comment.number,
            head=head,
            base=ends.good,
            comment=comment.id,
            is_whole=not command.benchmarks,
            against=command.against,
        )
    inputs = {
        "request": request.title,
        "head": request.head,
        "base": request.base,
        "benchmarks": "\n".join(command.benchmarks),
        "rounds": "" if command.rounds is None else str(command.rounds),
    }
    workflow = job.inputs.measure_workflow
    thread.host.dispatcher(workflow=workflow, ref=main).send(inputs, title=request.title)
    thread.answer(command_answers.measuring_text(request, command.benchmarks))


def request_of(job: ActionJob) -> RequestedRun | None:
    return parse_request_title(job.context.dispatched_title)


def find_requested(pull: PullRequestState, request: RequestedRun) -> PullRequestSearch:
    if not pull.is_open or pull.head_sha != request.head:
        return PullRequestSearch(reason=MOVED_ON)
    found_pull = PullRequest(
        number=request.pull_request, head_sha=request.head, base_branch=pull.base_branch, from_fork=pull.from_fork
    )
    return PullRequestSearch(pull_requests=(found_pull,))


def tell(host: Host, request: RequestedRun, body: str) -> str | None:
    """Write into the answer to the command, which the report of a part replaces."""
    return put_answer(host, number=request.pull_request, comment_id=request.comment, body=body)


def refuse_other(reports: Sequence[Report], request: RequestedRun) -> None:
    """Refuse reports on another base than requested: the measuring job ran foreign code."""
    for report in reports:
        if report.base_commit != request.base:
            raise DataError(
                f"the results are about the base {str(report.base_commit)[:12]}, asked was {request.base[:12]}",
                place="report.json of the measuring job",
                next_step="nothing is published; ask again if this is not an attack",
            )
