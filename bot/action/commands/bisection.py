"""A bisection as the thread sees it: started, reported after every step, stopped when the pull request moves on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from bot import dispatch
from bot.action.commands.grammar import BisectCommand
from bot.action.commands.thread import Thread, default_branch, put_answer, remote, trusted_config
from bot.action.job import Job
from bot.action.telling import summarise
from bot.config import Config, override
from bot.errors import InfrastructureError
from bot.model.bisection_report import BisectionReport, CommitFacts
from bot.model.dispatch import Bisection, BisectionStep
from bot.model.search_reason import Objection
from bot.publish.check import CheckConclusion, CheckResult
from bot.publish.host import Check, Host
from bot.publish.log import LogLevel
from bot.report.bisection_step import step_texts
from bot.report.reasons import sentence

CHECK_NAME: Final = "perf-culprit bisect"
# Of the commands in a thread only so many are asked whether their bisection still runs.
MOST_LOOKED_AT: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Teller:
    """Writes each step into the thread and the check run. Where it belongs stands in what we stored ourselves."""

    job: Job
    host: Host

    def tell(self, step: BisectionStep) -> None:
        bisection = step.bisection
        # Asked again right before it is written: pushes come at any moment.
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
        """Of the named commits; nothing where they cannot be read: the rest of the answer counts more."""
        try:
            commits = [culprit.commit for culprit in report.outcome.culprits]
            return {commit: self.host.commit_facts(commit=commit) for commit in commits}
        except InfrastructureError as error:
            self.job.log.tell(LogLevel.WARNING, f"the answer lacks who wrote the commits: {error}")
            return {}

    def _check(self, step: BisectionStep, *, title: str, body: str, stopped: bool) -> None:
        """Nothing without the permission: the thread says the same."""
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
        """Why nothing more may be measured for it: asked of GitHub every time, as pushes come at any moment."""
        if bisection.head is None or bisection.pull_request is None:
            return None
        pull = self.host.read_pull_request(number=bisection.pull_request)
        if not pull.is_open:
            return Objection.PULL_REQUEST_CLOSED
        if pull.head_sha != bisection.head:
            return Objection.HEAD_MOVED
        return None


@contextmanager
def controller(job: Job, host: Host, config: Config) -> "Iterator[dispatch.Controller]":
    teller = Teller(job=job, host=host)
    with dispatch.open_controller(
        host,
        config=config,
        remote=remote(job),
        default_branch=default_branch(job),
        report=teller.tell,
        objection=teller.objection,
    ) as opened:
        yield opened


def begin(thread: Thread, command: BisectCommand, *, head: str | None, base_branch: str | None) -> None:
    """`head` is the head of the pull request that GitHub named after the author's rights were known."""
    job, comment = thread.job, thread.comment
    config = with_options(trusted_config(job, thread.host), command)
    main = default_branch(job)
    branches = (main,) if base_branch is None else (base_branch, main)
    with (
        dispatch.bisection_ends(remote(job), branches=branches, head=head, good=command.good, bad=command.bad) as ends,
        controller(job, thread.host, config) as opened,
    ):
        plan = dispatch.DispatchPlan(
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
        dispatch.start_bisection(ends.repository, plan, config=config, controller=opened, remote=remote(job))


def with_options(config: Config, command: BisectCommand) -> Config:
    """The comment's budget and machines instead of the configured ones."""
    options = {
        "jobs_per_round": command.jobs,
        "budget_executions": command.executions,
        "budget_minutes": command.minutes,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return config.model_copy(update={"bisect": override(config.bisect, given, place="/perf-bisect")})


def resume(thread: Thread) -> bool:
    """Resumes the newest bisection of this thread that has not ended; False where there is none."""
    job, host = thread.job, thread.host
    with controller(job, host, trusted_config(job, host)) as opened:
        running = next(running_bisections(opened, host, number=thread.comment.number), None)
        if running is None:
            return False
        dispatch.advance_bisection(opened, bisection=running.id)
        return True


def stop_outdated(job: Job, host: Host, *, number: int) -> None:
    """Ends the bisections of a pull request whose head is another one now, and what they have under way.

    `job` holds the default branch's configuration.
    """
    if not host.answered_commands(number=number):
        return
    teller = Teller(job=job, host=host)
    with controller(job, host, job.inputs.config) as opened:
        for bisection in running_bisections(opened, host, number=number):
            objection = teller.objection(bisection)
            if objection is None:
                continue
            under_way = bisection.open_dispatch
            dispatch.stop_bisection(opened, bisection.id, objection=objection)
            if under_way is not None and under_way.run_id is not None:
                host.cancel_run(run_id=under_way.run_id)


def running_bisections(opened: "dispatch.Controller", host: Host, *, number: int) -> Iterator[Bisection]:
    """Newest first. A bisection's id is its command's, and the bot's answer names that: nobody else can write one."""
    for comment_id in host.answered_commands(number=number)[:MOST_LOOKED_AT]:
        loaded = opened.bisections.load(str(comment_id))
        if loaded is not None and not loaded.bisection.is_done:
            yield loaded.bisection
