"""The action's inputs: each declared once, read from the runner's INPUT_ variables and merged into the configuration.

`python .ci/reference.py` writes them into action.yml and docs/inputs.md.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, get_args

from perf_culprit.commands.declared import Declared, Field, Option
from perf_culprit.config.policy_settings import LevelsConfig
from perf_culprit.config.reader import DEFAULT_PATH, load_config, with_database, with_options
from perf_culprit.config.settings import Config, description_of
from perf_culprit.config.units import parse_ratio
from perf_culprit.errors import ConfigError, UsageError

Mode = Literal["auto", "compare", "record", "publish", "command", "bisect"]
# These modes use the default branch's configuration, whatever is checked out.
REMOTE_CONFIG_MODES: Final[tuple[Mode, ...]] = ("publish", "command", "bisect")
# The jobs of these events need no checkout.
REMOTE_CONFIG_EVENTS: Final = ("issue_comment", "workflow_run")
# The default of an input that the runner fills in.
FROM_RUNNER: Final = "${{ github.token }}"
_TRUE: Final = ("true", "yes", "on", "1")
_FALSE: Final = ("false", "no", "off", "0")
_WORKFLOW: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml")


class _WrongInputError(ValueError):
    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message)
        self.next_step = next_step


def _flag(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise _WrongInputError(f"{text.lower()!r} is neither true nor false", "write true or false")
    return text.lower() in _TRUE


def _mode(text: str) -> str:
    if text not in get_args(Mode):
        raise _WrongInputError(f"{text!r} is not a mode", f"write one of {', '.join(get_args(Mode))}")
    return text


def _run_id(text: str) -> int:
    if not text.isdecimal():
        raise _WrongInputError("is not a number", "write ${{ github.run_id }} or another run's id")
    return int(text)


def _workflow(text: str) -> str:
    if not _WORKFLOW.fullmatch(text):
        raise _WrongInputError(f"{text!r} is not a workflow file", "write its name, such as perf.yml")
    return text


def _report_directory(text: str) -> Path:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts:
        raise _WrongInputError(f"{text!r} leaves the workspace", "give a path inside the workspace")
    return Path(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text.split(","))))


class SharedInputs(Declared):
    """The inputs that are named and meant as in github-action-benchmark."""

    suite: Annotated[str, Option("name", key="suite")] = ""
    tool: Annotated[
        str, Option("tool", "Format of the result files; auto finds it by content (docs/formats.md lists them)")
    ] = "auto"
    output_files: Annotated[
        tuple[str, ...],
        Option("output-file-path", "Result files, one path or glob per line; a directory or a zip archive works too"),
    ] = ()
    token: Annotated[
        str,
        Option(
            "github-token", "Token for the API and the history branch; the workflow's permissions decide what it may do"
        ),
    ] = FROM_RUNNER
    notify_url: Annotated[
        str,
        Option(
            "notify-url",
            "Address of the webhook that `notify` of the configuration posts to: always a secret "
            "(docs/tracking-issues.md#messages)",
        ),
    ] = ""
    auto_push: Annotated[
        bool,
        Option("auto-push", "On a push to the default branch, append the run to the history (needs contents write)"),
    ] = True
    comment_always: Annotated[
        bool | None,
        Option("comment-always", "Comment on every pull request; false comments only when something changed"),
    ] = None
    comment_on_alert: Annotated[
        bool, Option("comment-on-alert", "Comment when a benchmark regressed; false never comments")
    ] = True
    summary: Annotated[bool, Option("summary-always", "Write the job summary")] = True
    fail_on_alert: Annotated[
        bool,
        Option(
            "fail-on-alert",
            "Fail this step (exit code 1) on a regression over the fail threshold; the check run fails in any case",
        ),
    ] = False
    alert_threshold: Annotated[
        str,
        Option(
            "alert-threshold",
            "Smallest slowdown that is a warning, as a ratio such as 150% (50% slower); empty takes the configuration",
            key="levels.warn",
        ),
    ] = ""
    fail_threshold: Annotated[
        str,
        Option(
            "fail-threshold",
            "Slowdown from which the check fails, as a ratio; empty takes alert-threshold, then the configuration",
            key="levels.fail",
        ),
    ] = ""
    mention: Annotated[
        tuple[str, ...] | None,
        Option(
            "alert-comment-cc-users",
            "Users or teams to name on a regression, separated by commas, such as @octocat,@octo-org/perf",
            key="comment.mention",
            convert=_names,
        ),
    ] = None
    save_data_file: Annotated[bool, Option("save-data-file", "false judges without recording the run")] = True
    ref: Annotated[str, Option("ref", "Commit that the results belong to; empty takes the event's")] = ""


class WrittenInputs(SharedInputs):
    """The inputs as the workflow wrote them."""

    mode: Annotated[
        Mode,
        Option(
            "mode",
            "auto, compare (writes nothing to GitHub), record, publish (reports what this run's measuring jobs left, "
            "or those of the run before it), command or bisect. By auto a push is recorded and checked, a pull_request "
            "gets a comment, workflow_run publishes, and issue_comment runs commands",
            convert=_mode,
        ),
    ] = "auto"
    baseline_files: Annotated[
        tuple[str, ...],
        Option(
            "baseline-file-path",
            "Results of the base commit, measured in this job (paired); each table of the same counters is a run; "
            "empty compares with the stored history",
        ),
    ] = ()
    reference: Annotated[
        str,
        Option(
            "reference",
            "Judge against this tag or commit, or latest-release, instead of the commit before "
            "(docs/tracking-issues.md); with baseline-file-path, the commit that was measured there",
        ),
    ] = ""
    confirm_files: Annotated[
        tuple[str, ...],
        Option(
            "confirm-file-path",
            "Results of a second measurement of the benchmarks that an earlier step flagged; only what both see is "
            "reported (docs/confirm.md)",
        ),
    ] = ()
    confirm_baseline_files: Annotated[
        tuple[str, ...],
        Option(
            "confirm-baseline-file-path",
            "Results of the base commit, measured a second time next to them; empty takes the first ones again",
        ),
    ] = ()
    diagnosis_files: Annotated[
        tuple[str, ...],
        Option(
            "diagnosis-file-path",
            "What diagnose --json wrote, of two revisions (--baseline --target) or of one, a file per line; shown in "
            "the comment",
        ),
    ] = ()
    run_id: Annotated[
        int | None,
        Option(
            "run-id",
            "Read the result files from the artifacts of this workflow run instead of the workspace",
            convert=_run_id,
        ),
    ] = None
    artifact_name: Annotated[
        str,
        Option(
            "artifact-name",
            "Artifact to read with run-id or on workflow_run; empty takes perf-culprit-report* on workflow_run, else "
            "all",
        ),
    ] = ""
    config_file: Annotated[str, Option("config", "Configuration file (docs/configuration.md)")] = ""
    detector: Annotated[str, Option("detector", key="detector")] = ""
    unit: Annotated[str, Option("unit", key="unit")] = ""
    minimum_effect: Annotated[str, Option("minimum-effect", key="minimum_effect")] = ""
    history_branch: Annotated[str, Option("history-branch", key="history.branch")] = ""
    bisect_engine: Annotated[str, Option("bisect-engine", key="bisect.engine")] = ""
    report_directory: Annotated[
        Path,
        Option(
            "report-directory",
            "Where report.json, comment.md and run.json are written, relative to the workspace",
            convert=_report_directory,
        ),
    ] = Path("perf-culprit")
    html_report: Annotated[
        bool,
        Option(
            "html-report",
            "Also write report.html into report-directory, the page with every benchmark; upload it as an artifact "
            "(docs/report.md)",
        ),
    ] = False
    measure_workflow: Annotated[
        str,
        Option(
            "measure-workflow",
            "File name of the workflow that measures pull requests; /perf-retry runs it again",
            convert=_workflow,
        ),
    ] = "perf.yml"
    bot_login: Annotated[
        str, Option("bot-login", "Account that the token comments as; only its comments are edited")
    ] = "github-actions[bot]"


def described(option: Option) -> str:
    meaning = description_of(option.key) if option.key else ""
    return option.text or f"{meaning[:1].upper()}{meaning[1:]}; empty takes the configuration"


def _input_value(field: Field, environ: Mapping[str, str]) -> object:
    """Read the value of an input from `environ`. Raise a UsageError that names the input."""
    option = field.option
    # The runner upper-cases names and replaces spaces, but keeps hyphens.
    text = environ.get(f"INPUT_{option.form.upper()}", "").strip()
    if not text:
        return "" if field.default == FROM_RUNNER else field.default
    try:
        if field.kind is bool:
            return _flag(text)
        if option.convert is not None:
            return option.convert(text)
    except _WrongInputError as error:
        raise UsageError(str(error), place=option.name, next_step=error.next_step) from None
    return tuple(line.strip() for line in text.splitlines() if line.strip()) if field.is_several else text


class Inputs(WrittenInputs):
    """The workflow's inputs. In `config`, they have already replaced values of the file.

    If the default branch's configuration applies, the workspace's is not read: an earlier job on a self-hosted runner
    may have left it. `configure` puts the overriding inputs into another configuration.
    """

    config: Config
    config_path: Path
    configure: Callable[[Config], Config]

    @property
    def is_recorded(self) -> bool:
        return self.auto_push and self.save_data_file


def read_inputs(environ: Mapping[str, str]) -> Inputs:
    """Read the inputs from `environ`. Raise a UsageError that names a wrong input."""
    values: dict[str, Any] = {field.name: _input_value(field, environ) for field in WrittenInputs.fields()}
    inputs = WrittenInputs(**values)
    path = Path(inputs.config_file) if inputs.config_file else None
    is_remote = inputs.mode in REMOTE_CONFIG_MODES or environ.get("GITHUB_EVENT_NAME") in REMOTE_CONFIG_EVENTS

    def configure(config: Config) -> Config:
        return with_database(_overridden(config, inputs), environ=environ)

    config = configure(Config() if is_remote else load_config(path))
    return Inputs(**values, config=config, config_path=path or DEFAULT_PATH, configure=configure)


def _overridden(config: Config, inputs: WrittenInputs) -> Config:
    # Thresholds are ratios, unlike the keys' percentages.
    config = with_options(config, inputs.replaced(alert_threshold="", fail_threshold=""))
    comment = config.comment.model_copy(update={"when": _when(inputs, config)})
    return config.model_copy(update={"levels": _levels(inputs, config.levels), "comment": comment})


def _levels(inputs: WrittenInputs, levels: LevelsConfig) -> LevelsConfig:
    """The threshold to warn is also the default to fail."""
    if not (inputs.alert_threshold or inputs.fail_threshold):
        return levels
    warn = parse_ratio(inputs.alert_threshold, name="alert-threshold") if inputs.alert_threshold else levels.warn
    fail = parse_ratio(inputs.fail_threshold, name="fail-threshold") if inputs.fail_threshold else warn
    if warn is not None and fail is not None and fail < warn:
        raise ConfigError(
            "lower than alert-threshold: nothing would ever only warn",
            place="input fail-threshold",
            next_step="write a higher one, or leave it out",
        )
    return levels.model_copy(update={"warn": warn, "fail": fail})


def _when(inputs: WrittenInputs, config: Config) -> str:
    if not inputs.comment_on_alert:
        return "never"
    if inputs.comment_always is None:
        return config.comment.when
    return "always" if inputs.comment_always else "change"
