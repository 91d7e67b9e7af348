"""One message to the configured webhook about the issues that a job opened: at most once, and never a failure."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from perf_culprit.action.jobs.code_owners import CODE_OWNERS_FILES, code_owners
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, InfrastructureError, UsageError
from perf_culprit.github.host import Opened
from perf_culprit.github.job_context import Destination
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.notification import Notification, NotifiedChange, NotifiedIssue
from perf_culprit.model.report import TreeComparison
from perf_culprit.model.run import MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.inert import clean


@dataclass(frozen=True, slots=True)
class Notices:
    """The issues that this job opened. An issue that another job opened meanwhile is told by that job.

    `read_file` reads a file of the default branch, for CODEOWNERS.
    """

    issues: list[NotifiedIssue] = field(default_factory=list)
    read_file: Callable[[str], bytes | None] = lambda _: None

    def mentions(
        self, config: Config, keys: Iterable[MetricKey], files: Sequence[str], *, before: str = ""
    ) -> tuple[str, ...]:
        """Return the names in an issue. Owners that are in its text `before` stand as code: each is notified once."""
        owners = config.owners_of(keys)
        if not owners and files and config.issues.code_owners:
            text = self._code_owners()
            owners = tuple(dict.fromkeys(owner for path in files for owner in code_owners(text, path)))
        named = set(re.findall(r"@[\w./-]+", before))
        new = [name for name in owners[: TEXT_LIMITS.names] if name not in config.issues.mention]
        return (*config.issues.mention, *(f"`{name}`" if name in named else name for name in new))

    def _code_owners(self) -> str:
        """The text of CODEOWNERS. The issue is worth more than its owners, so an unreadable file is an empty one."""
        with suppress(BotError):
            content = next((data for place in CODE_OWNERS_FILES if (data := self.read_file(place)) is not None), b"")
            return content.decode("utf-8", "replace")
        return ""

    def add(
        self,
        opened: Opened,
        title: str,
        changes: Sequence[tuple[MetricKey, float | None]],
        *,
        commit: str,
        culprit: str | None = None,
    ) -> None:
        if opened.is_ours:
            shown_changes = tuple(
                NotifiedChange(benchmark=clean(key.benchmark), metric=clean(key.metric), change=change)
                for key, change in changes[: TEXT_LIMITS.notified_entries]
            )
            self.issues.append(
                NotifiedIssue(url=opened.url, title=clean(title), commit=commit, culprit=culprit, changes=shown_changes)
            )


def suspected_files(comparison: TreeComparison | None) -> list[str]:
    """Return the file of the first suspect in the repository, if it is known."""
    first = next(iter(comparison.suspects), None) if comparison is not None else None
    if first is None:
        return []
    path = first.file if first.touched is None else first.touched.file
    return [] if path is None else [path]


@contextmanager
def notices(
    destination: Destination,
    *,
    form: str | None,
    url: str,
    warn: Callable[[str], None],
    read_file: Callable[[str], bytes | None] = lambda _: None,
) -> Iterator[Notices]:
    """Collect the new issues and send them when the block ends, also by an error: these issues will not be new again.

    A retry finds the issues open and has nothing to send. So a job that dies before the request loses the message.
    """
    collected = Notices(read_file=read_file)
    try:
        yield collected
    finally:
        if form is not None and collected.issues:
            _send_all(collected.issues, destination, form=form, url=url, warn=warn)


def _send_all(
    issues: Sequence[NotifiedIssue], destination: Destination, *, form: str, url: str, warn: Callable[[str], None]
) -> None:
    from perf_culprit.say.webhook_message import message

    notification = Notification(
        repository=destination.repository,
        run_url=destination.run_url,
        issues=tuple(issues[: TEXT_LIMITS.notified_entries]),
        omitted=max(0, len(issues) - TEXT_LIMITS.notified_entries),
    )
    try:
        _post(url, message(notification, form))
    except BotError as error:
        warn(f"not notified: {error}")


def _post(url: str, body: bytes) -> None:
    """Post once. The address is a secret, so no message quotes it, nor an error that may hold it."""
    import requests

    if not _is_https(url):
        raise UsageError(
            "the webhook has no https address",
            place="input notify-url",
            next_step="write `notify-url: ${{ secrets.PERF_NOTIFY_URL }}`, and store the address in that secret",
        )
    try:
        headers = {"Content-Type": "application/json", "User-Agent": "perf-culprit"}
        # A lost answer is not asked for again: the message may have arrived. A redirect could lead to another host.
        with requests.post(
            url, data=body, headers=headers, timeout=ARTIFACT_LIMITS.answer_s, allow_redirects=False, stream=True
        ) as answer:
            status = answer.status_code
    except (requests.RequestException, OSError, ValueError) as error:
        what = type(error).__name__
    else:
        if 200 <= status < 300:
            return
        what = f"it answered {status}"
    raise InfrastructureError(
        f"the webhook did not take the message: {what}",
        place="input notify-url",
        next_step="check the address in the secret; this message is not sent again",
    )


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" and bool(parts.hostname)
