"""One run of the action: its inputs, checked and merged, its log, and how it reports its results."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TextIO

from perf_culprit.config.reader import DEFAULT_PATH, load_config, override, with_database
from perf_culprit.config.settings import Config, LevelsConfig
from perf_culprit.config.units import parse_ratio
from perf_culprit.errors import EXIT_FINE, EXIT_REGRESSION, ConfigError, InfrastructureError, UsageError
from perf_culprit.files import replace_file
from perf_culprit.flows.compare import Compared, with_detector
from perf_culprit.flows.job_context import Context
from perf_culprit.flows.publish import Destination
from perf_culprit.github.host import Check, Host
from perf_culprit.github.runner_files import LogLevel, append_summary, group, message_command, neutral, write_outputs
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.say.inert import plain_lines
from perf_culprit.store.opening import HistoryPlace

# The job's log: folds, messages on the run's page, and untrusted text that stays text.


class Log:
    """Writes to the runner's log.

    Every line passes `plain_lines` (no escape or bidi characters) and `neutral` (nothing foreign becomes a command).
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def say(self, text: str) -> None:
        self._stream.write(f"{neutral(plain_lines(text))}\n")
        self._stream.flush()

    @contextmanager
    def fold(self, title: str) -> Iterator[None]:
        with group(self._stream, title):
            yield

    def tell(self, level: LogLevel, text: str) -> None:
        """A message that the run's page shows, too."""
        self._stream.write(message_command(level, plain_lines(text), title="perf-culprit") + "\n")
        self._stream.flush()


# The action's inputs, as the runner hands them over in INPUT_ variables, checked and merged into the configuration.

Mode = Literal["auto", "compare", "record", "publish", "command", "bisect"]
MODES: tuple[Mode, ...] = ("auto", "compare", "record", "publish", "command", "bisect")
# Their configuration is that of the default branch, whatever is checked out.
REMOTE_CONFIG_MODES: tuple[Mode, ...] = ("command", "bisect")
# Their jobs need no checkout.
REMOTE_CONFIG_EVENTS = ("issue_comment", "workflow_run")
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_WORKFLOW = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml")


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """What the workflow asked for; `config` already holds the inputs that override the file.

    Where the default branch's configuration counts, the workspace's is not read: on a self-hosted runner it may be
    what an earlier job left. `configure` puts the overriding inputs into another configuration.
    """

    mode: Mode
    config: Config
    tool: str
    output_files: tuple[str, ...]
    baseline_files: tuple[str, ...]
    diagnosis_file: str
    confirm_files: tuple[str, ...]
    confirm_baseline_files: tuple[str, ...]
    run_id: int | None
    artifact_name: str
    ref: str
    token: str
    report_directory: Path
    html_report: bool
    bot_login: str
    auto_push: bool
    summary: bool
    fail_on_alert: bool
    measure_workflow: str
    config_path: Path
    configure: Callable[[Config], Config]


def read_inputs(environ: Mapping[str, str]) -> Inputs:
    """The inputs in `environ`; a UsageError that names the input where one is wrong."""

    def text(name: str) -> str:
        # The runner upper-cases names and replaces spaces, but keeps hyphens.
        return environ.get(f"INPUT_{name.upper()}", "").strip()

    def flag(name: str, *, default: bool) -> bool:
        value = text(name).lower()
        if value and value not in (*_TRUE, *_FALSE):
            raise UsageError(
                f"{value!r} is neither true nor false", place=f"input {name}", next_step="write true or false"
            )
        return value in _TRUE if value else default

    def lines(name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in text(name).splitlines() if line.strip())

    name = text("mode") or "auto"
    mode = next((mode for mode in MODES if mode == name), None)
    if mode is None:
        raise UsageError(f"{name!r} is no mode", place="input mode", next_step=f"write one of {', '.join(MODES)}")
    path = Path(text("config")) if text("config") else None
    is_remote = mode in REMOTE_CONFIG_MODES or environ.get("GITHUB_EVENT_NAME") in REMOTE_CONFIG_EVENTS

    def configure(config: Config) -> Config:
        if text("detector"):
            config = with_detector(config, text("detector"))
        return with_database(_overridden(config, text, flag), environ=environ)

    config = configure(Config() if is_remote else load_config(path))
    if text("run-id") and not text("run-id").isdecimal():
        raise UsageError(
            "is no number", place="input run-id", next_step="write ${{ github.run_id }} or another run's id"
        )
    return Inputs(
        mode=mode,
        config=config,
        tool=text("tool") or "auto",
        output_files=lines("output-file-path"),
        baseline_files=lines("baseline-file-path"),
        diagnosis_file=text("diagnosis-file-path"),
        confirm_files=lines("confirm-file-path"),
        confirm_baseline_files=lines("confirm-baseline-file-path"),
        run_id=int(text("run-id")) if text("run-id") else None,
        artifact_name=text("artifact-name"),
        ref=text("ref"),
        token=text("github-token"),
        report_directory=_report_directory(text("report-directory") or "perf-culprit"),
        html_report=flag("html-report", default=False),
        bot_login=text("bot-login") or "github-actions[bot]",
        auto_push=flag("auto-push", default=True) and flag("save-data-file", default=True),
        summary=flag("summary-always", default=True),
        fail_on_alert=flag("fail-on-alert", default=False),
        measure_workflow=_workflow(text("measure-workflow") or "perf.yml"),
        config_path=path or DEFAULT_PATH,
        configure=configure,
    )


def _overridden(config: Config, text: Any, flag: Any) -> Config:
    for name, setting in (("name", "suite"), ("minimum-effect", "minimum_effect")):
        if text(name):
            config = override(config, {setting: text(name)}, place=f"input {name}")
    history, comment = config.history, config.comment
    if text("history-branch"):
        history = override(history, {"branch": text("history-branch")}, place="input history-branch")
    names = tuple(name.strip() for name in text("alert-comment-cc-users").split(",") if name.strip())
    if names:
        comment = override(comment, {"mention": names}, place="input alert-comment-cc-users")
    when = _when(flag, config, given=bool(text("comment-always")))
    sections = {"history": history, "levels": _levels(text, config.levels)}
    return config.model_copy(update={**sections, "comment": comment.model_copy(update={"when": when})})


def _levels(text: Any, levels: LevelsConfig) -> LevelsConfig:
    """Thresholds are ratios, unlike the file's percentages; what warns also fails where nothing else does."""
    given = {name: parse_ratio(text(name), name=name) for name in ("alert-threshold", "fail-threshold") if text(name)}
    if not given:
        return levels
    warn = given.get("alert-threshold", levels.warn)
    fail = given.get("fail-threshold", warn)
    if warn is not None and fail is not None and fail < warn:
        raise ConfigError(
            "lower than alert-threshold: nothing would ever only warn",
            place="input fail-threshold",
            next_step="write a higher one, or leave it out",
        )
    return levels.model_copy(update={"warn": warn, "fail": fail})


def _when(flag: Any, config: Config, *, given: bool) -> str:
    if not flag("comment-on-alert", default=True):
        return "never"
    if not given:
        return config.comment.when
    return "always" if flag("comment-always", default=True) else "change"


def _workflow(text: str) -> str:
    if not _WORKFLOW.fullmatch(text):
        raise UsageError(
            f"{text!r} is no workflow file",
            place="input measure-workflow",
            next_step="write its name, such as perf.yml",
        )
    return text


def _report_directory(text: str) -> Path:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(
            f"{text!r} leaves the workspace",
            place="input report-directory",
            next_step="give a path inside the workspace",
        )
    return Path(text)


# One run of the action: what the runner said, what the workflow asked for, and the log.


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    context: Context
    inputs: Inputs
    log: Log

    @property
    def history(self) -> HistoryPlace:
        """Reached by its address; commits are fetched."""
        return HistoryPlace(url=self.context.git_url, token=self.inputs.token or None)

    @property
    def destination(self) -> Destination:
        return self.context.destination(token=self.inputs.token, bot_login=self.inputs.bot_login)


# How a job tells its results: log, check run, job summary, outputs, exit code.

LOG_WIDTH = 160


@contextmanager
def open_check(job: Job, host: Host, *, sha: str, suite: str | None = None) -> Iterator[Check | None]:
    """A check run, or None with a warning where the token may not write one: the comment says the same."""
    from perf_culprit.flows import publish

    with ExitStack() as stack:
        try:
            check = stack.enter_context(
                publish.open_check(host, job.destination, suite=suite or job.inputs.config.suite, sha=sha)
            )
        except InfrastructureError as error:
            job.log.tell(LogLevel.WARNING, f"no check run: {error}")
            check = None
        yield check


def say_report(job: Job, report: Report) -> None:
    from perf_culprit.flows.render import headline
    from perf_culprit.say.comparison import render_text

    with job.log.fold(headline(report)):
        job.log.say(render_text(report, colour=False, width=LOG_WIDTH))


def summarise(job: Job, markdown: str) -> None:
    if job.context.summary_path and job.inputs.summary:
        append_summary(markdown, path=job.context.summary_path)


def record_run(job: Job, compared: Compared) -> None:
    from perf_culprit.flows import record

    name = record.record_run(
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
    from perf_culprit.flows.compare import flagged_json
    from perf_culprit.flows.render import headline, report_summary
    from perf_culprit.say.report_parts import outputs

    context, inputs = job.context, job.inputs
    loudest = min(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))
    urls = {"run_url": context.run_url, "repository_url": context.repository_url}
    # A fork's token may not write a check, and whether another job writes one is not known here.
    has_check = fails or not context.is_fork
    for report in reports:
        summarise(job, report_summary(report, **urls, has_check=has_check))
    if context.output_path:
        values = {
            **outputs(loudest),
            "report-path": str(inputs.report_directory / "report.json"),
            "html-path": "\n".join(_write_pages(job, reports)) if inputs.html_report else "",
            "comment-url": comment_url or "",
            "flagged": flagged_json(reports),
        }
        write_outputs(values, path=context.output_path)
    job.log.say(headline(loudest))
    is_failure = fails and inputs.fail_on_alert and any(report.failed for report in reports)
    return EXIT_REGRESSION if is_failure else EXIT_FINE


def _write_pages(job: Job, reports: Sequence[Report]) -> list[str]:
    """The page of each report, beside report.json; their paths in the workspace."""
    from perf_culprit.flows.render import report_html

    names = ["report.html"] if len(reports) == 1 else [f"report-{number + 1}.html" for number in range(len(reports))]
    paths = [job.inputs.report_directory / name for name in names]
    for path, report in zip(paths, reports, strict=True):
        page = report_html(report)
        replace_file(job.context.workspace / path, page.encode())
    return [str(path) for path in paths]
