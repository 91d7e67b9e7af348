"""The action's inputs, as the runner hands them over in INPUT_ variables, checked and merged into the configuration."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from bot.config import Config, LevelsConfig, load_config, parse_change, parse_ratio
from bot.config.reader import DEFAULT_PATH
from bot.errors import UsageError
from bot.pipeline.settings import with_detector

Mode = Literal["auto", "compare", "record", "publish", "command", "bisect"]
MODES: tuple[Mode, ...] = ("auto", "compare", "record", "publish", "command", "bisect")
# Their configuration is that of the default branch, whatever is checked out.
REMOTE_CONFIG_MODES: tuple[Mode, ...] = ("command", "bisect")
# Their jobs need no checkout.
REMOTE_CONFIG_EVENTS = ("issue_comment", "workflow_run")
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_WORKFLOW = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml")
_MENTION = re.compile(r"@[A-Za-z0-9-]{1,39}(/[A-Za-z0-9._-]{1,100})?")


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
        # The runner upper-cases names and replaces blanks, but keeps hyphens.
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

    mode = text("mode") or "auto"
    found = next((known for known in MODES if known == mode), None)
    if found is None:
        raise UsageError(f"{mode!r} is no mode", place="input mode", next_step=f"write one of {', '.join(MODES)}")
    path = Path(text("config")) if text("config") else None
    is_remote = found in REMOTE_CONFIG_MODES or environ.get("GITHUB_EVENT_NAME") in REMOTE_CONFIG_EVENTS

    def configure(config: Config) -> Config:
        if text("detector"):
            config = with_detector(config, text("detector"))
        return config.model_copy(update=_overrides(text, flag, config))

    config = configure(Config() if is_remote else load_config(path))
    if text("run-id") and not text("run-id").isdecimal():
        raise UsageError(
            "is no number", place="input run-id", next_step="write ${{ github.run_id }} or another run's id"
        )
    return Inputs(
        mode=found,
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
        bot_login=text("bot-login") or "github-actions[bot]",
        auto_push=flag("auto-push", default=True) and flag("save-data-file", default=True),
        summary=flag("summary-always", default=True),
        fail_on_alert=flag("fail-on-alert", default=False),
        measure_workflow=_workflow(text("measure-workflow") or "perf.yml"),
        config_path=path or DEFAULT_PATH,
        configure=configure,
    )


def _overrides(text: Any, flag: Any, config: Config) -> dict[str, object]:
    changes: dict[str, object] = {}
    if text("name"):
        changes["suite"] = text("name")
    if text("minimum-effect"):
        changes["minimum_effect"] = parse_change(text("minimum-effect"), name="input minimum-effect")
    if text("history-branch"):
        changes["history"] = config.history.model_copy(update={"branch": text("history-branch")})
    warn = parse_ratio(text("alert-threshold"), name="alert-threshold") if text("alert-threshold") else None
    fail = parse_ratio(text("fail-threshold"), name="fail-threshold") if text("fail-threshold") else None
    if warn is not None or fail is not None:
        changes["levels"] = LevelsConfig.model_construct(
            warn=config.levels.warn if warn is None else warn,
            fail=fail if fail is not None else warn,
        )
    changes["comment"] = config.comment.model_copy(
        update={"when": _when(flag, config, given=bool(text("comment-always"))), "mention": _mentions(text, config)}
    )
    return changes


def _when(flag: Any, config: Config, *, given: bool) -> str:
    if not flag("comment-on-alert", default=True):
        return "never"
    if not given:
        return config.comment.when
    return "always" if flag("comment-always", default=True) else "change"


def _mentions(text: Any, config: Config) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text("alert-comment-cc-users").split(",") if name.strip())
    wrong = next((name for name in names if not _MENTION.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(
            f"{wrong!r} is no user or team",
            place="input alert-comment-cc-users",
            next_step="write @octocat,@octo-org/perf",
        )
    return names or config.comment.mention


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
