"""A comment with a command, its thread, and the bisection that reports to the thread."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from perf_culprit import git
from perf_culprit.action.command_grammar import BisectCommand, is_command
from perf_culprit.action.job import ActionJob, summarise
from perf_culprit.config.reader import override, parse_config
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, InfrastructureError, UsageError
from perf_culprit.github.bot_texts import answer_marker, cut_at_line, refusal_marker, tracked_commit
from perf_culprit.github.host import Check, CheckConclusion, CheckResult, Host
from perf_culprit.github.runner_files import LogLevel, number_at, text_at, value_at
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import BisectionReport, CommitFacts
from perf_culprit.model.dispatch import Bisection, BisectionStep
from perf_culprit.model.reason import Objection
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.bisection_steps import step_texts
from perf_culprit.say.reason_text import sentence

if TYPE_CHECKING:
    from perf_culprit.dispatch.controller import Controller


EVENT: Final = "issue_comment"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandComment:
    """`number`: the issue or pull request of the comment. `tracked_commit`: the subject, if that is our own issue."""

    id: int
    number: int
    author: str
    body: str
    on_pull_request: bool
    tracked_commit: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignored:
    reason: str


def read_comment(event_name: str, event: Mapping[str, Any], *, bot_login: str) -> CommandComment | Ignored:
    """Return a comment that may be a command. Bots' comments are none; an edit would repeat one with today's rights."""
    if event_name != EVENT:
        raise UsageError(
            f"mode command works on the event {EVENT}, this is {event_name!r}",
            place="input mode",
            next_step="trigger the workflow on issue_comment with types: [created]",
        )
    if value_at(event, "action") != "created":
        return Ignored(reason="only new comments are commands")
    body = value_at(event, "comment", "body")
    if not isinstance(body, str) or not is_command(body):
        return Ignored(reason="no command on the first line")
    author = text_at(event, "comment", "user", "login")
    if value_at(event, "comment", "user", "type") != "User" or author.lower() == bot_login.lower():
        return Ignored(reason="bots give no commands")
    return CommandComment(
        id=number_at(event, "comment", "id"),
        number=number_at(event, "issue", "number"),
        author=author,
        body=body,
        on_pull_request=isinstance(value_at(event, "issue", "pull_request"), Mapping),
        tracked_commit=_tracked_commit(event, bot_login=bot_login),
    )


def _tracked_commit(event: Mapping[str, Any], *, bot_login: str) -> str | None:
    """The commit of our own issue. Anybody can paste the marker into an issue, so its author is checked."""
    author, body = value_at(event, "issue", "user", "login"), value_at(event, "issue", "body")
    if not isinstance(author, str) or author.lower() != bot_login.lower() or not isinstance(body, str):
        return None
    return tracked_commit(body)


UNREADABLE = "could not read the configuration"
_COMMENT_CUT = "\n\nCut here: a comment holds no more.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    job: ActionJob
    host: Host
    comment: CommandComment

    def answer(self, body: str) -> None:
        """Write the only answer to this command; further ones replace it."""
        put_answer(self.host, number=self.comment.number, comment_id=self.comment.id, body=body)

    def refuse(self, body: str) -> None:
        """Write the only answer in this thread to people without rights: anybody could write a hundred commands."""
        self.host.upsert_comment(number=self.comment.number, mark=refusal_marker(), body=body)


def put_answer(host: Host, *, number: int, comment_id: int, body: str) -> str | None:
    cut = cut_at_line(body, limit=TEXT_LIMITS.answer_body_characters, pointer=_COMMENT_CUT)
    return host.upsert_comment(number=number, mark=answer_marker(comment_id), body=cut)


def default_branch(job: ActionJob) -> str:
    name = job.context.default_branch
    if name is None:
        raise UsageError(
            "repository.default_branch is missing",
            place="event file (GITHUB_EVENT_PATH)",
            next_step="run on issue_comment or workflow_run",
        )
    return name


def trusted_config(job: ActionJob, host: Host) -> Config:
    """Read the default branch's configuration, whatever is checked out here. Use the defaults only if it has none."""
    path, branch = job.inputs.config_path.as_posix(), default_branch(job)
    try:
        data = host.read_branch_file(path=path, branch=branch)
        config = Config() if data is None else parse_config(data, place=f"{path} of {branch}")
    except BotError as error:
        message = f"{UNREADABLE}: {error.message}"
        raise type(error)(message, place=error.place, next_step=error.next_step) from error
    return job.inputs.configure(config)


def remote(job: ActionJob) -> git.Remote:
    return git.Remote(url=job.context.git_url, token=job.inputs.token or None)


CHECK_NAME: Final = "perf-culprit bisect"


@dataclass(frozen=True, kw_only=True, slots=True)
class Teller:
    """The writer of each step into the thread and the check run. Our own stored state determines the place."""

    job: ActionJob
    host: Host

    def tell(self, step: BisectionStep) -> None:
        bisection = step.bisection
        if bisection.alarm is not None and bisection.alarm.proves is not None:
            return  # the report that it proves or refutes has the result
        # Checked again right before writing: a push can come at any moment.
        is_answer = step.report is not None and bisection.stopped is None
        meanwhile = self.objection(bisection) if is_answer else None
        if step.report is not None:
            step = replace(step, report=replace(step.report, facts=self._facts(step.report)))
        texts = step_texts(step, repository_url=self.job.context.repository_url, meanwhile=meanwhile)
        self.job.log.say(f"bisection {bisection.id}: {texts.title}")
        for remark in step.remarks:
            self.job.log.tell(LogLevel.NOTICE, sentence(remark))
        self._check(step, title=texts.title, body=texts.body, stopped=bisection.stopped is not None)
        if bisection.pull_request is not None and bisection.id.isdecimal():
            number, comment_id = bisection.pull_request, int(bisection.id)
            put_answer(self.host, number=number, comment_id=comment_id, body=texts.body)
        summarise(self.job, texts.body)

    def _facts(self, report: BisectionReport) -> dict[str, CommitFacts]:
        """Facts of the culprits. Empty if they cannot be read: the rest of the answer matters more."""
        try:
            commits = [culprit.commit for culprit in report.outcome.culprits]
            return {commit: self.host.commit_facts(commit=commit) for commit in commits}
        except InfrastructureError as error:
            self.job.log.tell(LogLevel.WARNING, f"the answer lacks who wrote the commits: {error}")
            return {}

    def _check(self, step: BisectionStep, *, title: str, body: str, stopped: bool) -> None:
        """Update or complete the check run. Do nothing without the permission: the thread has the same text."""
        try:
            check = self._open_check(step.bisection)
            if check is None:
                return
            if step.report is None:
                check.update(title=title, summary=body)
            else:
                conclusion = CheckConclusion.CANCELLED if stopped else CheckConclusion.NEUTRAL
                check.complete(CheckResult(conclusion=conclusion, title=title, summary=body))
        except InfrastructureError as error:
            self.job.log.tell(LogLevel.WARNING, f"no check run: {error}")

    def _open_check(self, bisection: Bisection) -> Check | None:
        if bisection.head is None:
            return None
        return self.host.continued_check(
            name=CHECK_NAME,
            head_sha=bisection.head,
            external_id=f"bisect-{bisection.id}",
            details_url=self.job.context.run_url,
        )

    def objection(self, bisection: Bisection) -> Objection | None:
        """Why nothing more may be measured for it. GitHub is queried every time: a push can come at any moment."""
        if bisection.head is None or bisection.pull_request is None:
            return None
        pull = self.host.read_pull_request(number=bisection.pull_request)
        if not pull.is_open:
            return Objection.PULL_REQUEST_CLOSED
        if pull.head_sha != bisection.head:
            return Objection.HEAD_MOVED
        return None


@contextmanager
def controller(job: ActionJob, host: Host, config: Config) -> "Iterator[Controller]":
    from perf_culprit.dispatch.workflow_dispatcher import open_controller

    teller = Teller(job=job, host=host)
    # The branch is the repository's own, never a pull request's.
    runs = host.dispatcher(workflow=config.bisect.workflow, ref=default_branch(job))
    with open_controller(
        runs, config=config, remote=remote(job), name=job.context.run_id, report=teller.tell, objection=teller.objection
    ) as opened:
        yield opened


def begin(thread: Thread, command: BisectCommand, *, head: str | None, base_branch: str | None) -> None:
    """Start the bisection. `head` is the pull request's head, read after the author's rights were checked."""
    from perf_culprit.dispatch.bisection_ends import bisection_ends
    from perf_culprit.dispatch.start import DispatchPlan, start_bisection

    job, comment = thread.job, thread.comment
    config = _with_comment_options(trusted_config(job, thread.host), command)
    main = default_branch(job)
    branches = (main,) if base_branch is None else (base_branch, main)
    with (
        bisection_ends(remote(job), branches=branches, head=head, good=command.good, bad=command.bad) as ends,
        controller(job, thread.host, config) as opened,
    ):
        plan = DispatchPlan(
            id=str(comment.id),
            good=ends.good,
            bad=ends.bad,
            benchmark=command.benchmark,
            metric=command.metric,
            pull_request=comment.number,
            requested_by=comment.author,
            head=head,
            default_branch=f"refs/heads/{main}",
        )
        start_bisection(ends.repository, plan, config=config, controller=opened, remote=remote(job))


def _with_comment_options(config: Config, command: BisectCommand) -> Config:
    """Replace the configured engine, budget and machines by those of the comment."""
    options = {
        "engine": command.engine,
        "jobs_per_round": command.jobs,
        "budget_executions": command.executions,
        "budget_minutes": command.minutes,
    }
    values = {name: value for name, value in options.items() if value is not None}
    return config.model_copy(update={"bisect": override(config.bisect, values, place="/perf-bisect")})


def resume_thread(thread: Thread) -> bool:
    """Resume the newest bisection of this thread that has not ended. Return False if there is none."""
    from perf_culprit.dispatch.controller import advance_bisection

    job, host = thread.job, thread.host
    with controller(job, host, trusted_config(job, host)) as opened:
        running = next(running_bisections(opened, host, number=thread.comment.number), None)
        if running is None:
            return False
        advance_bisection(opened, bisection=running.id)
        return True


def stop_outdated(job: ActionJob, host: Host, *, number: int) -> None:
    """Stop the bisections of a pull request whose head has changed, and cancel their running dispatches.

    `job` holds the default branch's configuration.
    """
    from perf_culprit.dispatch.controller import stop_bisection

    if not host.answered_commands(number=number):
        return
    teller = Teller(job=job, host=host)
    with controller(job, host, job.inputs.config) as opened:
        for bisection in running_bisections(opened, host, number=number):
            objection = teller.objection(bisection)
            if objection is None:
                continue
            under_way = bisection.open_dispatch
            stop_bisection(opened, bisection.id, objection=objection)
            if under_way is not None and under_way.run_id is not None:
                host.cancel_run(run_id=under_way.run_id)


def running_bisections(opened: "Controller", host: Host, *, number: int) -> Iterator[Bisection]:
    """Yield them newest first. Each has its command's id, which is in the bot's answer: nobody else can write that."""
    for comment_id in host.answered_commands(number=number)[: ARTIFACT_LIMITS.checked_commands]:
        loaded = opened.bisections.load(str(comment_id))
        if loaded is not None and not loaded.bisection.is_done:
            yield loaded.bisection
