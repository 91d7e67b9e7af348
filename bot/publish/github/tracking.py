"""Tracking issues: one per benchmark that got worse on the default branch, found again by marker and author.

GitHub has no way to create an issue only if there is none, so jobs that race may open two. Each of them looks again
after it has opened one: of several the oldest stays open and the others are closed, whoever looks.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from github.GithubObject import NotSet
from github.Issue import Issue

from bot.publish.github.client import Client
from bot.publish.github.comment import MAXIMUM_BODY_CHARACTERS
from bot.publish.github.failure import explained
from bot.publish.github.posting import post_once
from bot.publish.host import TrackedIssue
from bot.publish.markers import ISSUE, issue_marker, suite_id
from bot.publish.text import cut_at_line

# Newest first. An issue that is further back is not found, and a new one is opened.
MOST_ISSUES: Final = 1_000
TITLE_LIMIT: Final = 200
BACK: Final = "The regression is back: the text above has the new numbers.\n"
_POINTER = "\n\nCut here: GitHub takes no longer text.\n"


def tracked_issues(client: Client, *, suite: str) -> dict[str, TrackedIssue]:
    """This suite's issues by key. Of several with one key the oldest open one counts; other open ones are closed."""
    with explained("read the tracking issues"):
        listed = client.repository.get_issues(
            state="all",
            creator=client.bot_login,  # type: ignore[arg-type]  # it takes a login as well, without asking for the user
            sort="created",
            direction="desc",
        )
        own = [
            tracked
            for issue in islice(listed, MOST_ISSUES)
            if (tracked := _tracked(client, issue, suite=suite)) is not None
        ]
    by_key: dict[str, TrackedIssue] = {}
    for tracked in sorted(own, key=lambda tracked: (not tracked.is_open, tracked.number)):
        kept = by_key.setdefault(tracked.key, tracked)
        if kept is not tracked and tracked.is_open:
            with explained(f"close the duplicate #{tracked.number}"):
                client.repository.get_issue(tracked.number).edit(
                    body=f"Duplicate of #{kept.number}: two jobs opened an issue at the same time.\n",
                    state="closed",
                    state_reason="not_planned",
                )
    return by_key


def _tracked(client: Client, issue: Issue, *, suite: str) -> TrackedIssue | None:
    """Anybody can paste the marker, so the author counts too. Pull requests are issues to GitHub."""
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


def open_issue(client: Client, *, suite: str, key: str, title: str, body: str, labels: Iterable[str]) -> str:
    """Open one, or find the one that another job opened meanwhile; its address."""
    text = _fitting(body)

    def post() -> str:
        return client.repository.create_issue(title=title[:TITLE_LIMIT], body=text, labels=list(labels)).html_url

    def find() -> str | None:
        tracked = tracked_issues(client, suite=suite).get(key)
        return tracked.url if tracked is not None and tracked.is_open else None

    with explained("open a tracking issue"):
        url = post_once(client, post=post, find=find)
    # Listed once more, so that two racing jobs agree; what is too new to be listed, the next run sees.
    kept = tracked_issues(client, suite=suite).get(key)
    return url if kept is None else kept.url


def reopen_issue(
    client: Client, tracked: TrackedIssue, *, body: str, title: str | None = None, note: str = BACK
) -> str:
    """The same issue again, with the new facts as its text: the benchmark's story stays in one place."""
    with explained(f"reopen issue #{tracked.number}"):
        # The comment first: of a job that is killed between the two, the next one does both again.
        _comment(client, tracked, _fitting(note))
        issue = client.repository.get_issue(tracked.number)
        issue.edit(title=title or NotSet, body=_fitting(body), state="open")
    return tracked.url


def close_issue(client: Client, tracked: TrackedIssue, *, suite: str, note: str) -> str:
    """Say why, then close; the marker's state goes first, so that a second attempt repeats nothing."""
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
    return cut_at_line(body, limit=MAXIMUM_BODY_CHARACTERS, pointer=_POINTER)
