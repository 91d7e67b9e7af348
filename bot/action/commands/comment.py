"""The comment that the event is about, if it can be a command at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bot.action.commands.grammar import is_command
from bot.errors import UsageError
from bot.publish.event import number_at, text_at, value_at
from bot.publish.markers import tracked_commit

EVENT: Final = "issue_comment"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandComment:
    """`number` is that of the issue or pull request it stands in; `tracked_commit` what our own issue is about."""

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
    """An edit is none: it would repeat an old command with the rights of today. Neither is what a bot writes."""
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
    """Anybody can paste the marker into an issue of his own, so its author counts."""
    author, body = value_at(event, "issue", "user", "login"), value_at(event, "issue", "body")
    if not isinstance(author, str) or author.lower() != bot_login.lower() or not isinstance(body, str):
        return None
    return tracked_commit(body)
