"""The runner's files and log: event, outputs, job summary, and text that must not become a workflow command.

In the log, the runner takes `::command::` at a line's start and `##[command]` anywhere in a line, on stdout and on
stderr.
"""

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TextIO

from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.run import FULL_HASH
from perf_culprit.model.text_limits import TEXT_LIMITS

PULL_REQUEST_EVENTS: Final = ("pull_request", "pull_request_target")


class MissingValueError(UsageError):
    """The event, or another document of GitHub's, lacks a value or has one of the wrong kind."""


def read_event(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            event = json.loads(file.read(ARTIFACT_LIMITS.event_bytes))
    except (OSError, ValueError, RecursionError) as error:
        raise InfrastructureError(
            f"the event cannot be read: {type(error).__name__}", place=str(path), next_step="run the job again"
        ) from None
    if not isinstance(event, dict):
        raise InfrastructureError("the event is not an object", place=str(path), next_step="run the job again")
    return event


def workflow_files(event: Mapping[str, Any]) -> set[str]:
    """Return the workflow's path and file name. GitHub may write a path as `.github/workflows/x.yml@main`."""
    path = text_at(event, "workflow_run", "path").partition("@")[0]
    return {path, path.rsplit("/", 1)[-1]}


def value_at(event: Mapping[str, Any], *keys: str) -> Any:
    value: Any = event
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def text_or_none(event: Mapping[str, Any], *keys: str) -> str | None:
    value = value_at(event, *keys)
    return value if isinstance(value, str) else None


def text_at(event: Mapping[str, Any], *keys: str) -> str:
    value = text_or_none(event, *keys)
    if value is None:
        raise not_an_event(keys)
    return value


def number_at(event: Mapping[str, Any], *keys: str) -> int:
    value = value_at(event, *keys)
    if not isinstance(value, int) or isinstance(value, bool):
        raise not_an_event(keys)
    return value


def sha_at(event: Mapping[str, Any], *keys: str) -> str:
    value = text_at(event, *keys)
    if FULL_HASH.fullmatch(value) is None:
        raise not_an_event(keys)
    return value


def not_an_event(keys: tuple[str, ...]) -> MissingValueError:
    return MissingValueError(
        f"{'.'.join(keys)} is missing or of the wrong kind",
        place="event file (GITHUB_EVENT_PATH)",
        next_step="run on `pull_request` or `workflow_run`; check that GITHUB_EVENT_NAME belongs to this file",
    )


ZERO_WIDTH_SPACE = "\u200b"


class LogLevel(StrEnum):
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"


def neutral(text: str) -> str:
    """Break every command in `text` with an invisible space."""
    # Each pair of colons, also in `:::`.
    broken = re.sub(r":(?=:)", f":{ZERO_WIDTH_SPACE}", text).replace("##[", f"#{ZERO_WIDTH_SPACE}#[")
    # The runner ends a line at a lone carriage return too; terminals would overwrite the line.
    return broken.replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def group(stream: TextIO, title: str) -> Iterator[None]:
    """Open a fold in the log."""
    stream.write(f"::group::{command_text(title)}\n")
    stream.flush()
    try:
        yield
    finally:
        stream.write("::endgroup::\n")
        stream.flush()


def message_command(level: LogLevel, message: str, *, title: str) -> str:
    """Return the command that shows `message` on the run's page. No text can end it early or add another."""
    title = command_text(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{level} title={title}::{command_text(message)}"


def command_text(text: str) -> str:
    # `##[` starts a command anywhere, also inside another one.
    escaped = text.replace("##[", f"#{ZERO_WIDTH_SPACE}#[")
    return escaped.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


_OUTPUT_NAME = re.compile(r"[a-z][a-z0-9-]{0,99}")


def write_outputs(values: Mapping[str, str], *, path: Path) -> None:
    """Append to the file at GITHUB_OUTPUT.

    A plain `name=value` would let a value with a line end set further outputs. The author of the value cannot guess the
    random delimiter.
    """
    lines = "".join(assignment(name, value) for name, value in values.items())
    with (
        writing("the action's outputs", path=path, variable="GITHUB_OUTPUT"),
        path.open("a", encoding="utf-8", errors="replace", newline="\n") as file,
    ):
        file.write(lines)


@contextmanager
def writing(what: str, *, path: Path, variable: str) -> Iterator[None]:
    """Turn errors of writing a file that the runner named in `variable` into an InfrastructureError."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {what}: {os.strerror(error.errno or 0)}",
            place=str(path),
            next_step=f"check that {variable} names a writable file",
        ) from None


def assignment(name: str, value: str) -> str:
    if _OUTPUT_NAME.fullmatch(name) is None:
        raise ValueError(f"not an output's name: {name!r}")
    delimiter = f"end-{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


_SUMMARY_CUT = "\n\nCut here: a job summary holds 1 MiB. The whole report is in `report.json`.\n"


def append_summary(text: str, *, path: Path) -> None:
    """Append Markdown to the file at GITHUB_STEP_SUMMARY, cut at a line to the room that is left in it."""
    with writing("the job summary", path=path, variable="GITHUB_STEP_SUMMARY"):
        room_bytes = TEXT_LIMITS.summary_bytes - (path.stat().st_size if path.exists() else 0)
        data = f"{cut_to_bytes(text, limit_bytes=room_bytes - 1)}\n".encode()
        if len(data) <= room_bytes:
            with path.open("ab") as file:
                file.write(data)


def cut_to_bytes(text: str, *, limit_bytes: int) -> str:
    """Return the lines of `text` that fit as UTF-8. Lone surrogates, which UTF-8 cannot hold, become `?`."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit_bytes:
        return data.decode()
    start = data[: max(0, limit_bytes - len(_SUMMARY_CUT.encode()))].decode("utf-8", "ignore")
    end = start.rfind("\n")
    return (start[:end] if end > 0 else start) + _SUMMARY_CUT
