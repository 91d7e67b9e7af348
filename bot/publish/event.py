"""GitHub's event file: values by their path, and a UsageError where one is missing or of the wrong kind."""

from collections.abc import Mapping
from typing import Any

from bot.errors import UsageError
from bot.model.commit import FULL_HASH


class MissingValueError(UsageError):
    """The event, or another document of GitHub's, is not as GitHub writes it."""


def workflow_files(event: Mapping[str, Any]) -> set[str]:
    """The workflow's path and file name. GitHub may write a path as `.github/workflows/x.yml@main`."""
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
