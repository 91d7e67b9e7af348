"""The message to a webhook in the form that its service reads: our JSON, Slack's text, Teams' card."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final

import msgspec

from perf_culprit.model.json_files import encode
from perf_culprit.model.notification import Notification
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.inert import clean
from perf_culprit.say.numbers import count_of


def message(notification: Notification, form: str) -> bytes:
    """Return the body of the request. Names in it are shown as text: no mention, no link and no card of their own."""
    return FORMS[form](notification)


def _heading(notification: Notification) -> str:
    count = len(notification.issues) + notification.omitted
    return f"{notification.repository}: {count_of(count, 'performance issue')} opened"


def _titles(notification: Notification) -> list[tuple[str, str]]:
    titles = [
        (clean(issue.title, limit=TEXT_LIMITS.issue_title_characters), issue.url) for issue in notification.issues
    ]
    if notification.omitted and notification.run_url:
        titles.append((f"and {notification.omitted:,} more, in the log of the job", notification.run_url))
    return titles


def _slack(notification: Notification) -> bytes:
    # Slack reads only these three as structure: <!channel> notifies a channel, <@U1> a person.
    lines = [f"• <{url}|{escape(title, quote=False)}>" for title, url in _titles(notification)]
    return msgspec.json.encode({"text": "\n".join([escape(_heading(notification), quote=False), *lines])})


def _teams(notification: Notification) -> bytes:
    # The texts of a TextBlock are Markdown; those of a TextRun are not.
    runs: list[Mapping[str, Any]] = [{"type": "TextRun", "text": _heading(notification), "weight": "bolder"}]
    for title, url in _titles(notification):
        runs.append({"type": "TextRun", "text": title, "selectAction": {"type": "Action.OpenUrl", "url": url}})
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [run]} for run in runs],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return msgspec.json.encode({"type": "message", "attachments": [attachment]})


FORMS: Final[Mapping[str, Callable[[Notification], bytes]]] = {"json": encode, "slack": _slack, "teams": _teams}
