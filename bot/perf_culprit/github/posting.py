"""Objects that are posted once: the sticky comment, the check run, tracking issues.

A tracking issue is about one benchmark that got worse on the default branch; marker and author identify it.
GitHub cannot create an issue only if there is none, so racing jobs may open two. Each of them looks again after it
has opened one. The oldest stays open and the others are closed, by whichever job looks.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final, TypeVar

import requests
from github import GithubException, UnknownObjectException
from github.CheckRun import CheckRun as RemoteCheckRun
from github.GithubObject import NotSet
from github.Issue import Issue
from github.IssueComment import IssueComment

from perf_culprit.errors import BotError, InfrastructureError
from perf_culprit.github.bot_texts import (
    ANSWER_MARKER,
    ANSWER_START,
    FINDINGS,
    ISSUE,
    cut_at_line,
    fenced,
    issue_marker,
    past_marker,
    suite_id,
)
from perf_culprit.github.client import Client, explained, headers_of, is_rate_limit, limit_wait_seconds, too_long
from perf_culprit.github.host import Annotation, CheckConclusion, CheckResult, Opened, TrackedIssue
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.text_limits import TEXT_LIMITS

_ATTEMPTS = 3
# A new object may be missing from listings for some seconds, so one look is not enough.
LOOK_AGAIN_SECONDS = (1.0, 2.0, 4.0)

_ResultT = TypeVar("_ResultT")


def post_once(
    client: Client, *, post: Callable[[], _ResultT], find: Callable[[], _ResultT | None], attempts: int = _ATTEMPTS
) -> _ResultT:
    """Return the result of `post()`, or what `find()` sees of an attempt whose answer got lost.

    Refusals (4xx) are raised at once, and rate limits are waited for. After a server or connection failure, the change
    may have been made, so search for it until it can no longer be hidden.
    """
    try:
        return post()
    except (GithubException, requests.RequestException) as error:
        if isinstance(error, GithubException) and is_rate_limit(error):
            wait_seconds = limit_wait_seconds(headers_of(error))
            if attempts == 1 or too_long(wait_seconds):
                raise
            client.sleep(wait_seconds)
        elif not isinstance(error, GithubException) or error.status >= 500:  # it may have been applied
            existing = look_again(client, find)
            if existing is not None:
                return existing
            if attempts == 1:
                raise
        else:
            raise
    return post_once(client, post=post, find=find, attempts=attempts - 1)


def look_again(client: Client, find: Callable[[], _ResultT | None]) -> _ResultT | None:
    for wait_seconds in LOOK_AGAIN_SECONDS:
        client.sleep(wait_seconds)
        existing = find()
        if existing is not None:
            return existing
    return None


# Begins the line that marks a result as being of an older head; a new result replaces the whole comment.
OUTDATED = "> ⚠️ "


def answered_commands(client: Client, *, number: int) -> tuple[int, ...]:
    """Return the ids of a thread's comments that the bot has answered as commands, newest first."""
    with explained(f"read the comments of #{number}"):
        answers = own_comments(client, number=number, mark=ANSWER_START)
    matches = (ANSWER_MARKER.match(answer.body or "") for answer in answers)
    return tuple(sorted({int(match[1]) for match in matches if match}, reverse=True))


def upsert_comment(
    client: Client, *, number: int, mark: str, body: str, create: bool = True, findings: str = ""
) -> str | None:
    """Edit the bot's comment with that first line on pull request or issue `number`, or post one (if `create`).

    `create=False` means that nothing changed and the user asked for silence. An earlier comment still gets the new
    text, because a red verdict must not outlive its cause. Return the comment's address, None if there is none. A
    comment with other `findings` is replaced by a new one, because an edit notifies nobody.
    """
    body = body if body.startswith(mark) else f"{mark}\n{body}"
    if findings:
        body = f"{body.rstrip()}\n\n<!-- perf-culprit:findings:{findings} -->\n"
    if len(body) > TEXT_LIMITS.body_characters:
        raise InfrastructureError(
            f"the comment has {len(body):,} characters; GitHub takes {TEXT_LIMITS.body_characters:,}",
            next_step="read the report in the job summary, and report this bug of perf-culprit",
        )
    issue = client.repository.get_issue(number)
    with explained(f"read the comments of #{number}"):
        existing = own_comments(client, number=number, mark=mark)
    if not existing and not create:
        return None
    if not existing:
        with explained(f"post the comment on #{number}"):
            posted = post_once(
                client,
                post=lambda: issue.create_comment(body),
                find=lambda: next(iter(own_comments(client, number=number, mark=mark)), None),
            )
        return posted.html_url
    comment, *duplicates = existing
    before = FINDINGS.search(comment.body)
    if create and before is not None and findings not in ("", before[1]):
        return _replace(client, existing, mark=mark, body=body, number=number)
    with explained(f"edit the comment on #{number}"):
        # Two racing jobs may both have posted.
        for duplicate in duplicates:
            delete(duplicate)
        if not same_text(comment.body, body):
            comment.edit(body)
    return comment.html_url


def _replace(client: Client, existing: list[IssueComment], *, mark: str, body: str, number: int) -> str:
    """Post the new comment first: if the job is killed after that, the next one replaces both."""
    issue, newest = client.repository.get_issue(number), existing[-1].id
    with explained(f"post the comment on #{number}"):
        posted = post_once(
            client,
            post=lambda: issue.create_comment(body),
            find=lambda: next(
                (comment for comment in own_comments(client, number=number, mark=mark) if comment.id > newest), None
            ),
        )
    with explained(f"edit the comment on #{number}"):
        for old in existing:
            rest = old.body.replace("\r\n", "\n").partition("\n")[2]
            text = f"{past_marker(mark)}\n> Outdated: [the newer result]({posted.html_url}).\n\n{rest}"
            old.edit(cut_at_line(text, limit=TEXT_LIMITS.body_characters, pointer=_POINTER))
            # If it may not be hidden, its first line is enough.
            with suppress(GithubException, requests.RequestException):
                old.minimize()
    return posted.html_url


def prefix_comments(client: Client, *, number: int, start: str, line: str) -> None:
    """Put `line` below the marker of each of the bot's results. It replaces an earlier line of this kind."""
    for comment in _results(client, number=number, start=start):
        mark, _, rest = comment.body.replace("\r\n", "\n").partition("\n")
        if rest.startswith(OUTDATED):
            rest = rest.partition("\n")[2].lstrip("\n")
        body = f"{mark}\n{line}\n\n{rest}"
        if len(body) <= TEXT_LIMITS.body_characters and not same_text(comment.body, body):
            with explained(f"edit the comment on #{number}"):
                comment.edit(body)


def results(client: Client, *, number: int, start: str) -> tuple[str, ...]:
    """Return the texts of the bot's results, oldest first."""
    return tuple(comment.body for comment in _results(client, number=number, start=start))


def _results(client: Client, *, number: int, start: str) -> list[IssueComment]:
    with explained(f"read the comments of #{number}"):
        comments = own_comments(client, number=number, mark=start)
    return [comment for comment in comments if not comment.body.startswith(ANSWER_START)]


def own_comments(client: Client, *, number: int, mark: str) -> list[IssueComment]:
    """Return own comments, oldest first. Anybody can paste the marker, so the author is checked too."""
    comments = client.repository.get_issue(number).get_comments()
    own = [
        comment
        for comment in comments
        # The author of a comment is null if the account is gone.
        if getattr(comment.user, "login", "").lower() == client.bot_login.lower()
        and (comment.body or "").startswith(mark)
    ]
    return sorted(own, key=lambda comment: comment.id)


def delete(comment: IssueComment) -> None:
    try:
        comment.delete()
    except UnknownObjectException:
        # Another job was faster, or the answer to the first attempt got lost.
        return


def same_text(stored: str, new: str) -> bool:
    # GitHub may store other line ends and trim the text's end.
    return stored.replace("\r\n", "\n").strip() == new.replace("\r\n", "\n").strip()


ANNOTATIONS_PER_REQUEST = 50
_CHECK_CUT = "\n\nCut here. The whole report is in the job summary."


class CheckRun:
    """A check run in progress. Made by `check_run`."""

    def __init__(self, remote: RemoteCheckRun) -> None:
        self.remote = remote
        self.completed = False

    @property
    def url(self) -> str:
        return self.remote.html_url

    def update(self, *, title: str, summary: str) -> None:
        """Show the progress; the check run stays in progress."""
        with explained("update the check run"):
            self.remote.edit(status="in_progress", output=_output(title, summary))

    def complete(self, result: CheckResult) -> None:
        """Complete the check run. The first request concludes; further ones only add annotations, 50 at a time.

        GitHub only appends: annotations of a request whose answer got lost may be shown twice.
        """
        output = _output(result.title, result.summary)
        if result.text:
            output["text"] = cut_at_line(result.text, limit=TEXT_LIMITS.check_text_characters, pointer=_CHECK_CUT)
        annotations = [_as_json(annotation) for annotation in result.annotations]
        with explained("complete the check run"):
            self.remote.edit(
                status="completed",
                conclusion=result.conclusion.value,
                output=output | {"annotations": annotations[:ANNOTATIONS_PER_REQUEST]},
            )
            self.completed = True
            for start in range(ANNOTATIONS_PER_REQUEST, len(annotations), ANNOTATIONS_PER_REQUEST):
                self.remote.edit(output=output | {"annotations": annotations[start : start + ANNOTATIONS_PER_REQUEST]})


def _as_json(annotation: Annotation) -> dict[str, str | int]:
    return {
        "path": annotation.path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": annotation.level,
        "message": annotation.message,
        "title": annotation.title[: TEXT_LIMITS.check_title_characters],
    }


def _output(title: str, summary: str) -> dict[str, Any]:
    return {
        "title": title[: TEXT_LIMITS.check_title_characters],
        "summary": cut_at_line(summary, limit=TEXT_LIMITS.check_text_characters, pointer=_CHECK_CUT),
    }


def continued_check(
    client: Client, *, name: str, head_sha: str, external_id: str, details_url: str | None = None
) -> CheckRun:
    """Return the check run of that external id, which an earlier job has started, or a new one."""
    with explained("find the check run"):
        existing = _find(client, name=name, head_sha=head_sha, external_id=external_id)
    if existing is not None:
        return CheckRun(existing)
    return CheckRun(
        _start_check(client, name=name, head_sha=head_sha, external_id=external_id, details_url=details_url)
    )


@contextmanager
def check_run(
    client: Client, *, name: str, head_sha: str, external_id: str, details_url: str | None = None
) -> Iterator[CheckRun]:
    """Start a check run on `head_sha`. Complete it as failed if the block raises or never completes it.

    `external_id` (such as the id and attempt of the workflow's run) tells this check run from those of other runs.
    """
    check = CheckRun(
        _start_check(client, name=name, head_sha=head_sha, external_id=external_id, details_url=details_url)
    )
    try:
        yield check
    except BaseException as error:
        if not check.completed:
            complete_after(error, check)
        raise
    if not check.completed:
        check.complete(NO_RESULT)


def _start_check(
    client: Client, *, name: str, head_sha: str, external_id: str, details_url: str | None
) -> RemoteCheckRun:
    def post() -> RemoteCheckRun:
        return client.repository.create_check_run(
            name,
            head_sha,
            status="in_progress",
            external_id=external_id,
            details_url=NotSet if details_url is None else details_url,
        )

    with explained("start the check run"):
        return post_once(
            client, post=post, find=lambda: _find(client, name=name, head_sha=head_sha, external_id=external_id)
        )


def has_check(client: Client, *, name: str, head_sha: str) -> bool:
    with explained("read the check runs"):
        return any(client.repository.get_commit(head_sha).get_check_runs(check_name=name))


def _find(client: Client, *, name: str, head_sha: str, external_id: str) -> RemoteCheckRun | None:
    started = client.repository.get_commit(head_sha).get_check_runs(check_name=name, filter="all")
    return next((check for check in started if check.external_id == external_id), None)


def complete_after(error: BaseException, check: CheckRun) -> None:
    """Show the error without a traceback. The caller raises `error`, so a second failure only adds a note to it."""
    try:
        check.complete(result_of(error))
    except BotError as second:
        error.add_note(second.message)


def result_of(error: BaseException) -> CheckResult:
    if isinstance(error, BotError):
        # The message may quote names from a fork's files.
        return CheckResult(conclusion=CheckConclusion.FAILURE, title="No verdict", summary=fenced(str(error)))
    if isinstance(error, Exception):
        return CheckResult(
            conclusion=CheckConclusion.FAILURE,
            title="No verdict: internal error",
            summary="This is a bug of perf-culprit. The job's log has the details.",
        )
    return CheckResult(
        conclusion=CheckConclusion.CANCELLED, title="Cancelled", summary="The job was stopped before it had a verdict."
    )


NO_RESULT = CheckResult(
    conclusion=CheckConclusion.FAILURE, title="No verdict", summary="The job ended without a result. See its log."
)


BACK: Final = "The regression is back: the text above has the new numbers.\n"
_POINTER = "\n\nCut here: GitHub takes no longer text.\n"


def tracked_issues(client: Client, *, suite: str) -> dict[str, TrackedIssue]:
    """Return this suite's issues by key. The oldest open one of a key counts; other open ones are closed."""
    with explained("read the tracking issues"):
        listed = client.repository.get_issues(
            state="all",
            creator=client.bot_login,  # type: ignore[arg-type]  # it takes a login as well, without asking for the user
            sort="created",
            direction="desc",
        )
        own = [
            tracked
            for issue in islice(listed, ARTIFACT_LIMITS.issues)
            if (tracked := _tracked_issue(client, issue, suite=suite)) is not None
        ]
    by_key: dict[str, TrackedIssue] = {}
    for tracked in sorted(own, key=lambda tracked: (not tracked.is_open, tracked.number)):
        first = by_key.setdefault(tracked.key, tracked)
        if first is not tracked and tracked.is_open:
            with explained(f"close the duplicate #{tracked.number}"):
                client.repository.get_issue(tracked.number).edit(
                    body=f"Duplicate of #{first.number}: two jobs opened an issue at the same time.\n",
                    state="closed",
                    state_reason="not_planned",
                )
    return by_key


def _tracked_issue(client: Client, issue: Issue, *, suite: str) -> TrackedIssue | None:
    """Read a tracking issue. Anybody can paste the marker, so its author is checked. Pull requests are listed, too."""
    match = ISSUE.match(issue.body or "")
    author = getattr(issue.user, "login", "")
    if match is None or author.lower() != client.bot_login.lower() or issue.pull_request is not None:
        return None
    if match["suite"] != suite_id(suite):
        return None
    return TrackedIssue(
        number=issue.number,
        url=issue.html_url,
        body=issue.body or "",
        is_open=issue.state == "open",
        key=match["key"],
        commit=match["commit"],
        is_worse=match["state"] == "worse",
        benchmarks=frozenset(match["benchmarks"].split()),
    )


def open_issue(client: Client, *, suite: str, key: str, title: str, body: str, labels: Iterable[str]) -> Opened:
    """Open an issue, or find the one that another job opened meanwhile."""
    text = _fitting(body)

    def post() -> str:
        return client.repository.create_issue(
            title=title[: TEXT_LIMITS.issue_title_characters], body=text, labels=list(labels)
        ).html_url

    def find() -> str | None:
        tracked = tracked_issues(client, suite=suite).get(key)
        return tracked.url if tracked is not None and tracked.is_open else None

    with explained("open a tracking issue"):
        url = post_once(client, post=post, find=find)
    # List again, so that two racing jobs agree. The next run sees issues that are too new to be listed.
    issue = tracked_issues(client, suite=suite).get(key)
    return Opened(url) if issue is None else Opened(issue.url, is_ours=issue.url == url)


def reopen_issue(
    client: Client, tracked: TrackedIssue, *, body: str, title: str | None = None, note: str = BACK
) -> str:
    """Reopen the issue with the new facts as its text, so that a benchmark's history stays in one place."""
    with explained(f"reopen issue #{tracked.number}"):
        # The comment first: if the job is killed between the two, the next one does both again.
        _comment(client, tracked, _fitting(note))
        issue = client.repository.get_issue(tracked.number)
        issue.edit(title=title or NotSet, body=_fitting(body), state="open")
    return tracked.url


def close_issue(client: Client, tracked: TrackedIssue, *, suite: str, note: str) -> str:
    """Comment with the reason, then close. Edit the marker's state first, so that a second attempt repeats nothing."""
    head, _, rest = tracked.body.partition("\n")
    over = issue_marker(suite, key=tracked.key, worse=False, commit=tracked.commit, benchmarks=tracked.benchmarks)
    with explained(f"close issue #{tracked.number}"):
        if head != over:
            _comment(client, tracked, note)
        body = _fitting(f"{over}\n{rest}")
        client.repository.get_issue(tracked.number).edit(body=body, state="closed", state_reason="completed")
    return tracked.url


def _comment(client: Client, tracked: TrackedIssue, text: str) -> None:
    issue = client.repository.get_issue(tracked.number)

    def find() -> object | None:
        return next((posted for posted in issue.get_comments() if (posted.body or "").strip() == text.strip()), None)

    post_once(client, post=lambda: issue.create_comment(text), find=find)


def _fitting(body: str) -> str:
    return cut_at_line(body, limit=TEXT_LIMITS.body_characters, pointer=_POINTER)
