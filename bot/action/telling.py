"""How a job tells its results: log, check run, job summary, outputs, exit code."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bot import pipeline
from bot.action.job import Job
from bot.errors import EXIT_FINE, EXIT_REGRESSION, InfrastructureError
from bot.files import replace_file
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
        place=job.history,
        stored_runs=compared.stored_runs,
        warn=lambda text: job.log.tell(LogLevel.WARNING, text),
    )
    job.log.say(f"recorded {name} on {job.inputs.config.history.shown}")


def finish(job: Job, reports: Sequence[Report], *, comment_url: str | None = None, fails: bool = True) -> int:
    """Outputs, job summary and exit code; of several suites the loudest one speaks in the outputs."""
    context, inputs = job.context, job.inputs
    loudest = min(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))
    urls = {"run_url": context.run_url, "repository_url": context.repository_url}
    # A fork's token may not write a check, and whether another job writes one is not known here.
    has_check = fails or not context.is_fork
    for report in reports:
        summarise(job, pipeline.report_summary(report, **urls, has_check=has_check))
    if context.output_path:
        values = {
            **pipeline.report_outputs(loudest),
            "report-path": str(inputs.report_directory / "report.json"),
            "html-path": "\n".join(_write_pages(job, reports)) if inputs.html_report else "",
            "comment-url": comment_url or "",
            "flagged": pipeline.flagged_json(reports),
        }
        write_outputs(values, path=context.output_path)
    job.log.say(pipeline.headline(loudest))
    is_failure = fails and inputs.fail_on_alert and any(report.failed for report in reports)
    return EXIT_REGRESSION if is_failure else EXIT_FINE


def _write_pages(job: Job, reports: Sequence[Report]) -> list[str]:
    """The page of each report, beside report.json; their paths in the workspace."""
    names = ["report.html"] if len(reports) == 1 else [f"report-{number + 1}.html" for number in range(len(reports))]
    paths = [job.inputs.report_directory / name for name in names]
    for path, report in zip(paths, reports, strict=True):
        page = pipeline.report_html(pipeline.report_markdown(report), report)
        replace_file(job.context.workspace / path, page.encode())
    return [str(path) for path in paths]
