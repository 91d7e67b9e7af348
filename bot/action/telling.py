"""How a job tells its results: log, check run, job summary, outputs, exit code."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bot import pipeline
from bot.action.job import Job
from bot.errors import EXIT_FINE, EXIT_REGRESSION, InfrastructureError
from bot.model.report import Conclusion, Report
from bot.publish.host import Check, Host
from bot.publish.log import LogLevel
from bot.publish.outputs import write_outputs
from bot.publish.summary import append_summary

LOG_WIDTH = 160


@contextmanager
def open_check(job: Job, host: Host, *, sha: str, suite: str | None = None) -> Iterator[Check | None]:
    """A check run, or None with a warning where the token may not write one: the comment says the same."""
    with ExitStack() as stack:
        try:
            check = stack.enter_context(
                pipeline.open_check(host, job.destination, suite=suite or job.inputs.config.suite, sha=sha)
            )
        except InfrastructureError as error:
            job.log.tell(LogLevel.WARNING, f"no check run: {error}")
            check = None
        yield check


def say_report(job: Job, report: Report) -> None:
    with job.log.fold(pipeline.headline(report)):
        job.log.say(pipeline.report_text(report, colour=False, width=LOG_WIDTH))


def summarise(job: Job, markdown: str) -> None:
    if job.context.summary_path and job.inputs.summary:
        append_summary(markdown, path=job.context.summary_path)


def record_run(job: Job, compared: pipeline.Compared) -> None:
    name = pipeline.record_run(
        compared.run,
        report=compared.report,
        config=job.inputs.config,
        history_url=job.context.git_url,
        token=job.inputs.token or None,
        stored_runs=compared.stored_runs,
        warn=lambda text: job.log.tell(LogLevel.WARNING, text),
    )
    job.log.say(f"recorded {name} on {job.inputs.config.history.shown}")


def finish(job: Job, reports: Sequence[Report], *, comment_url: str | None = None, fails: bool = True) -> int:
    """Outputs, job summary and exit code; of several suites the loudest one speaks in the outputs."""
    context, inputs = job.context, job.inputs
    loudest = min(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))
    for report in reports:
        summarise(job, pipeline.report_summary(report, run_url=context.run_url, repository_url=context.repository_url))
    if context.output_path:
        page = inputs.report_directory / "report.html"
        values = {
            **pipeline.report_outputs(loudest),
            "report-path": str(inputs.report_directory / "report.json"),
            "html-path": str(page) if inputs.html_report and (context.workspace / page).is_file() else "",
            "comment-url": comment_url or "",
            "flagged": pipeline.flagged_json(reports),
        }
        write_outputs(values, path=context.output_path)
    job.log.say(pipeline.headline(loudest))
    is_failure = fails and inputs.fail_on_alert and any(report.failed for report in reports)
    return EXIT_REGRESSION if is_failure else EXIT_FINE
