"""One run of the action: its log, and how it reports its results."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from perf_culprit.action.inputs import Inputs
from perf_culprit.errors import EXIT_FINE, EXIT_NO_DATA, EXIT_REGRESSION, BotError, InfrastructureError
from perf_culprit.files import replace_file
from perf_culprit.flows.compare import Comparison
from perf_culprit.github.bot_texts import check_name
from perf_culprit.github.host import Check, Host
from perf_culprit.github.job_context import Context, Destination
from perf_culprit.github.runner_files import (
    LogLevel,
    append_summary,
    command_text,
    group,
    message_command,
    neutral,
    write_outputs,
)
from perf_culprit.model.report import Report
from perf_culprit.say.inert import plain_lines
from perf_culprit.store.opening import HistoryPlace

if TYPE_CHECKING:
    from perf_culprit.say.comparison import PageOptions


class RunnerLog:
    """Writes lines, folds and messages of the run's page to the runner's log.

    Every line passes `plain_lines` (no escape or bidi characters) and `neutral` (nothing foreign becomes a command).
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def say(self, text: str) -> None:
        self._stream.write(f"{neutral(plain_lines(text))}\n")
        self._stream.flush()

    def mask(self, secret: str) -> None:
        """Have the runner hide the text in its log, also where the workflow has not stored it as a secret."""
        if secret:
            self._stream.write(f"::add-mask::{command_text(secret)}\n")
            self._stream.flush()

    @contextmanager
    def fold(self, title: str) -> Iterator[None]:
        with group(self._stream, title):
            yield

    def tell(self, level: LogLevel, text: str) -> None:
        """Write a message that the run's page shows, too."""
        self._stream.write(message_command(level, plain_lines(text), title="perf-culprit") + "\n")
        self._stream.flush()


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionJob:
    context: Context
    inputs: Inputs
    log: RunnerLog

    @property
    def history(self) -> HistoryPlace:
        """The history at its remote address; commits are fetched."""
        return HistoryPlace(url=self.context.git_url, token=self.inputs.token or None)

    @property
    def destination(self) -> Destination:
        return self.context.destination(token=self.inputs.token, bot_login=self.inputs.bot_login)


LOG_WIDTH = 160
READ_ONLY: Final = (
    "the token of a fork's pull request may not write, so the report is in the job summary; the workflow perf-report "
    "(docs/workflows.md) writes the comment"
)
_INERT: Final = " _-./:,=[]"


@contextmanager
def open_job_check(job: ActionJob, host: Host, *, sha: str, name: str | None = None) -> Iterator[Check | None]:
    """Open a check run. If the token may not write one, warn and yield None: the comment has the same text."""
    from perf_culprit.flows import publish

    with ExitStack() as stack:
        try:
            name = name or check_name(job.inputs.config.suite)
            check = stack.enter_context(publish.open_check(host, job.destination, name=name, sha=sha))
        except InfrastructureError as error:
            job.log.tell(LogLevel.WARNING, f"no check run: {error}")
            check = None
        yield check


def draw_or_warn(job: ActionJob, report: Report, draw: Callable[[], str]) -> str:
    """Return the text that `draw` makes, or why it could not be made, which is a warning of the job."""
    from perf_culprit.flows import render

    return render.draw_or_verdict(draw, report.conclusion, warn=lambda note: job.log.tell(LogLevel.WARNING, note))


@contextmanager
def further_work(job: ActionJob, what: str) -> Iterator[None]:
    """Do work after the verdict was sent. A failure cannot change the verdict any more, so it is only a warning."""
    try:
        yield
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"{what}: {error}")
    except Exception as error:
        if os.environ.get("PERF_CULPRIT_DEBUG"):
            raise
        bug = f"unexpected {type(error).__name__}: {error}; this is a bug, please report it"
        job.log.tell(LogLevel.WARNING, f"{what}: {bug}")


def say_report(job: ActionJob, report: Report) -> None:
    from perf_culprit.flows.render import report_headline
    from perf_culprit.say.comparison import render_text

    with job.log.fold(draw_or_warn(job, report, lambda: report_headline(report))):
        job.log.say(draw_or_warn(job, report, lambda: render_text(report, colour=False, width=LOG_WIDTH)))


def summarise(job: ActionJob, markdown: str) -> None:
    if job.context.summary_path and job.inputs.summary:
        append_summary(markdown, path=job.context.summary_path)


def record_compared(job: ActionJob, compared: Comparison) -> None:
    from perf_culprit.flows import record

    if compared.run.unreached is not None:
        job.log.say("not recorded: nothing that changed reaches all of the suite")
        return
    stored = record.record_run(
        compared.run,
        report=compared.report,
        config=job.inputs.config,
        place=job.history,
        stored_runs=compared.stored_runs,
        warn=lambda text: job.log.tell(LogLevel.WARNING, text),
    )
    job.log.say(f"recorded {stored.name} on {stored.place}")


def summarise_report(job: ActionJob, report: Report, *, has_check: bool = True) -> None:
    from perf_culprit.say.comment import render_summary

    options = _page_options(job, has_check=has_check)
    summarise(job, draw_or_warn(job, report, partial(render_summary, report, options=options)))


def _page_options(job: ActionJob, *, has_check: bool) -> "PageOptions":
    from perf_culprit.say.comparison import PageOptions

    context = job.context
    return PageOptions(run_url=context.run_url, repository_url=context.repository_url, has_check=has_check)


def finish(job: ActionJob, reports: Sequence[Report], *, comment_url: str | None = None, fails: bool = True) -> int:
    """Write outputs, job summary and pages, and return the exit code. The outputs are about the worst suite."""
    from perf_culprit.flows.render import report_headline, report_html, today
    from perf_culprit.say.comment import by_loudness
    from perf_culprit.say.report_parts import outputs

    context, inputs = job.context, job.inputs
    loudest = by_loudness(reports)[0]
    pages = _pages(job, reports) if inputs.html_report else {}
    if context.output_path:
        values = {
            **outputs(loudest),
            "report-path": str(inputs.report_directory / "report.json"),
            "html-path": "\n".join(map(str, pages)),
            "comment-url": comment_url or "",
            "flagged": flagged_json(reports),
        }
        write_outputs(values, path=context.output_path)
    # A fork's token may not write a check, and this job cannot tell whether another one writes it.
    has_check = fails or not context.is_fork
    for report in reports:
        summarise_report(job, report, has_check=has_check)
    options = replace(_page_options(job, has_check=has_check), pull_request=context.pull_request, date=today())
    for path, report in pages.items():
        replace_file(
            context.workspace / path, draw_or_warn(job, report, partial(report_html, report, options=options)).encode()
        )
    job.log.say(draw_or_warn(job, loudest, lambda: report_headline(loudest)))
    is_failure = fails and inputs.fail_on_alert and any(report.failed for report in reports)
    if is_failure:
        return EXIT_REGRESSION
    return EXIT_NO_DATA if any(report.has_nothing_in_common for report in reports) else EXIT_FINE


def flagged_json(reports: Iterable[Report]) -> str:
    """Return the action's output: a JSON list whose text is harmless even if a workflow pastes it into a command."""
    from perf_culprit.flows.compare import flagged

    def inert(name: str) -> str:
        return "".join(
            character if character.isascii() and (character.isalnum() or character in _INERT) else _escape(character)
            for character in name
        )

    return "[" + ",".join(f'"{inert(name)}"' for report in reports for name in flagged(report)) + "]"


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1] if not character.isascii() else f"\\u{ord(character):04x}"


def _pages(job: ActionJob, reports: Sequence[Report]) -> dict[Path, Report]:
    """The path of each report's page in the workspace, next to report.json."""
    names = ["report.html"] if len(reports) == 1 else [f"report-{number + 1}.html" for number in range(len(reports))]
    return {job.inputs.report_directory / name: report for name, report in zip(names, reports, strict=True)}
