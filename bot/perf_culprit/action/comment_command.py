"""The modes `command` (on issue_comment) and `bisect` (after a dispatch): the trusted half of commands."""

from collections.abc import Callable
from typing import Final

from perf_culprit.action.bisection_thread import (
    Ignored,
    Thread,
    begin,
    controller,
    read_comment,
    resume_thread,
    trusted_config,
)
from perf_culprit.action.command_grammar import (
    AcceptCommand,
    BisectCommand,
    CommentCommand,
    HelpCommand,
    RetryCommand,
    RunCommand,
    parse_comment,
)
from perf_culprit.action.default_branch import tend
from perf_culprit.action.job import ActionJob
from perf_culprit.action.measuring_run import publish_run
from perf_culprit.action.requested_run import start_run
from perf_culprit.errors import EXIT_FINE, BotError, UsageError
from perf_culprit.github.host import PullRequestState
from perf_culprit.github.runner_files import number_at
from perf_culprit.say import command_answers


def answer_comment(job: ActionJob) -> int:
    """React to the comment, check its author's rights, execute the command and answer once."""
    from perf_culprit.github.job_context import connect_host

    comment = read_comment(job.context.event_name, job.context.event, bot_login=job.inputs.bot_login)
    if isinstance(comment, Ignored):
        job.log.say(f"nothing to do: {comment.reason}")
        return EXIT_FINE
    thread = Thread(job=job, host=connect_host(job.destination), comment=comment)
    # Send this request first: the author sees at once that the command was received. If reacting is forbidden,
    # answering would be too, so nothing is started.
    thread.host.acknowledge(comment_id=comment.id)
    try:
        command = parse_comment(comment.body)
    except UsageError as error:
        return _answer_refusal(thread, error) if _has_rights(thread) else EXIT_FINE
    if command is None or not _has_rights(thread, answers=not isinstance(command, HelpCommand)):
        return EXIT_FINE
    if not isinstance(command, BisectCommand) and _is_answered(thread):
        job.log.say("answered before")
        return EXIT_FINE
    try:
        job.log.say(f"{type(command).__name__} in #{comment.number}")
        HANDLERS[type(command)](thread, command)
    except UsageError as error:
        return _answer_refusal(thread, error)
    except BotError as error:
        _tell_failure(thread, error)
        raise
    return EXIT_FINE


def _has_rights(thread: Thread, *, answers: bool = True) -> bool:
    """Whether the author may write; if not, refuse. A mere request for help gets the reaction alone."""
    author = thread.comment.author
    if thread.host.may_write(login=author):
        return True
    if answers:
        thread.refuse(command_answers.no_permission_text(author))
    thread.job.log.say("the author has no write permission")
    return False


def _is_answered(thread: Thread) -> bool:
    """Whether it was answered before: GitHub may deliver an event twice. A job restarted by hand runs it again."""
    first_attempt = thread.job.context.run_attempt == "1"
    return first_attempt and thread.comment.id in thread.host.answered_commands(number=thread.comment.number)


def _answer_refusal(thread: Thread, error: UsageError) -> int:
    """Answer that the command cannot be executed as written. The job itself succeeds."""
    thread.job.log.say(str(error))
    thread.answer(command_answers.refusal_text(error))
    return EXIT_FINE


def _tell_failure(thread: Thread, error: BotError) -> None:
    """Report the failure in the thread as well, if possible. The caller raises `error`."""
    try:
        thread.answer(command_answers.failure_text(error, run_url=thread.job.context.run_url))
    except BotError as second:
        error.add_note(second.message)


def _bisect(thread: Thread, command: CommentCommand) -> None:
    if not isinstance(command, BisectCommand):
        raise TypeError(command)
    if not thread.comment.on_pull_request:
        if command.sha is not None:
            raise _no_head("/perf-bisect", next_step="write good=COMMIT bad=COMMIT instead")
        begin(thread, command, head=None, base_branch=None)
    elif pull := _named_pull_request(thread, command, line="/perf-bisect {}"):
        begin(thread, command, head=pull.head_sha, base_branch=pull.base_branch)


def _run(thread: Thread, command: CommentCommand) -> None:
    if not isinstance(command, RunCommand):
        raise TypeError(command)
    if not thread.comment.on_pull_request:
        raise _no_head("/perf-run", next_step="write it in the pull request that is to be measured")
    if pull := _named_pull_request(thread, command, line="/perf-run {}"):
        start_run(thread, command, head=pull.head_sha, base_branch=pull.base_branch)


def _no_head(command: str, *, next_step: str) -> UsageError:
    return UsageError("an issue has no head", place=command, next_step=next_step)


def _named_pull_request(
    thread: Thread, command: BisectCommand | AcceptCommand | RunCommand, *, line: str
) -> PullRequestState | None:
    """Return the pull request of the comment. None if the command is refused; the refusal is answered here.

    For a fork, only the commit that a reviewer has named may be run or accepted. No date shows whether a push came
    before the comment, because dates can be forged.
    """
    pull = thread.host.read_pull_request(number=thread.comment.number)
    if not pull.is_open:
        thread.answer(command_answers.closed_text())
    elif command.sha is None and pull.from_fork:
        thread.answer(command_answers.fork_head_text(pull.head_sha, line=line))
    elif command.sha not in (None, pull.head_sha):
        thread.answer(command_answers.moved_text(named=str(command.sha), head=pull.head_sha))
    else:
        return pull
    return None


def _retry(thread: Thread, _: CommentCommand) -> None:
    if resume_thread(thread):
        thread.answer(command_answers.continued_text())
        return
    if not thread.comment.on_pull_request:
        raise UsageError(
            "no bisection of this issue is unfinished",
            place="/perf-retry",
            next_step="start one with /perf-bisect good=COMMIT bad=COMMIT",
        )
    workflow = thread.job.inputs.measure_workflow
    pull = thread.host.read_pull_request(number=thread.comment.number)
    attempt = thread.host.run_again(workflow=workflow, head_sha=pull.head_sha)
    if attempt is None:
        raise UsageError(
            f"{workflow} has not run on {pull.head_sha[:10]}",
            place="/perf-retry",
            next_step="approve or push, so that it runs for the first time",
        )
    thread.answer(command_answers.again_text(repeats=attempt.repeats.value, run_url=attempt.url))


def _accept(thread: Thread, command: CommentCommand) -> None:
    """Accept changes of the head as GitHub has it now, or of the commit that our own issue is about."""
    from perf_culprit.flows.record import store_acceptance

    if not isinstance(command, AcceptCommand):
        raise TypeError(command)
    job, comment = thread.job, thread.comment
    commit = comment.tracked_commit
    if comment.on_pull_request:
        pull = _named_pull_request(thread, command, line="/perf-accept {} NAME|all REASON")
        if pull is None:
            return
        commit = pull.head_sha
    elif command.sha is not None:
        raise _no_head("/perf-accept", next_step="leave the commit out: the issue names it")
    if commit is None:
        raise UsageError(
            "nothing says which commit is meant",
            place="/perf-accept",
            next_step="write it in the pull request, or in an issue that perf-culprit opened",
        )
    accepted = store_acceptance(
        benchmark=command.benchmark,
        reason=command.reason,
        author=comment.author,
        commit=commit,
        config=trusted_config(job, thread.host),
        place=job.history,
        pull_request=comment.number if comment.on_pull_request else None,
    )
    thread.answer(
        command_answers.accepted_text(accepted.acceptance, accepted.benchmarks, is_checked=accepted.is_checked)
    )


HANDLERS: Final[dict[type[CommentCommand], Callable[[Thread, CommentCommand], None]]] = {
    BisectCommand: _bisect,
    RunCommand: _run,
    RetryCommand: _retry,
    AcceptCommand: _accept,
    HelpCommand: lambda thread, _: thread.answer(command_answers.help_text()),
}


def run_bisect(job: ActionJob) -> int:
    """Collect the results of a finished dispatch, then send the next one or give the answer.

    This runs as the last job of the dispatched run, which is the usual way, or in a workflow_run after it.
    """
    from perf_culprit.dispatch.controller import advance_bisection
    from perf_culprit.github.job_context import connect_host

    context = job.context
    from_inside = context.event_name == "workflow_dispatch"
    if not from_inside and context.event_name != "workflow_run":
        raise UsageError(
            f"mode bisect works on workflow_dispatch and workflow_run, this is {context.event_name!r}",
            place="input mode",
            next_step="use it in the last job of the bisect workflow",
        )
    run_id = int(context.run_id) if from_inside else number_at(context.event, "workflow_run", "id")
    host = connect_host(job.destination)
    config = trusted_config(job, host)
    with controller(job, host, config) as opened:
        step = advance_bisection(opened, run_id=run_id, from_inside=from_inside)
    alarm = step.bisection.alarm
    if alarm is not None and alarm.proves is not None:
        return publish_run(job, host, run_id=alarm.proves.run_id, again=True) if step.bisection.is_done else EXIT_FINE
    if alarm is not None:
        tend(job, host, config)
    return EXIT_FINE
