"""Tracking issues: one per benchmark that got worse on the default branch, found again by marker and author.

GitHub has no way to create an issue only if there is none, so jobs that race may open two. Each of them looks again
after it has opened one: of several the oldest stays open and the others are closed, whoever looks.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from github.Issue import Issue

from bot.publish.client import Client
from bot.publish.comment import MAXIMUM_BODY_CHARACTERS, suite_id
from bot.publish.failure import explained
from bot.publish.posting import post_once
from bot.publish.text import cut_at_line

# Newest first. An issue that is further back is not found, and a new one is opened.
MOST_ISSUES: Final = 1_000
TITLE_LIMIT: Final = 200
JOINT: Final = "joint"
_MARKER = re.compile(
    r"<!-- perf-culprit:v1:regression:(?P<suite>[a-z0-9-]{1,60}):(?P<key>[0-9a-f]{16}|joint):"
    r"(?P<state>worse|over):(?P<commit>[0-9a-f]{40,64})(?P<benchmarks>(?: [0-9a-f]{16}){0,500}) -->"
)
_POINTER = "\n\nCut here: GitHub takes no longer text.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedIssue:
    """`is_worse`: the bot last said that the regression is there; if it is closed all the same, a person closed it.

    `commit` is where it was found. `benchmarks` are the keys of a joint issue.
    """

    issue: Issue
    commit: str
    key: str
    is_worse: bool
    benchmarks: frozenset[str]

    @property
    def is_open(self) -> bool:
        return self.issue.state == "open"


def benchmark_key(benchmark: str) -> str:
    return hashlib.sha256(json.dumps(benchmark).encode()).hexdigest()[:16]


def issue_marker(suite: str, *, key: str, worse: bool, commit: str, benchmarks: Iterable[str] = ()) -> str:
    """The invisible first line. It holds hashes and our own words only."""
    listed = "".join(f" {name}" for name in sorted(benchmarks)[:500])
    state = "worse" if worse else "over"
    return f"<!-- perf-culprit:v1:regression:{suite_id(suite)}:{key}:{state}:{commit}{listed} -->"


def tracked_commit(body: str) -> str | None:
    """The commit that a tracking issue is about, from its text; the caller has checked who wrote it."""
    match = _MARKER.match(body)
    return match["commit"] if match else None


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
    found: dict[str, TrackedIssue] = {}
    for tracked in sorted(own, key=lambda tracked: (not tracked.is_open, tracked.issue.number)):
        kept = found.setdefault(tracked.key, tracked)
        if kept is not tracked and tracked.is_open:
            with explained(f"close the duplicate #{tracked.issue.number}"):
                tracked.issue.edit(
                    body=f"Duplicate of #{kept.issue.number}: two jobs opened an issue at the same time.\n",
                    state="closed",
                    state_reason="not_planned",
                )
    return found


def _tracked(client: Client, issue: Issue, *, suite: str) -> TrackedIssue | None:
    """Anybody can paste the marker, so the author counts too. Pull requests are issues to GitHub."""
    match = _MARKER.match(issue.body or "")
    author = getattr(issue.user, "login", "")
    if match is None or author.lower() != client.bot_login.lower() or issue.pull_request is not None:
        return None
    if match["suite"] != suite_id(suite):
        return None
    return TrackedIssue(
        issue=issue,
        key=match["key"],
        commit=match["commit"],
        is_worse=match["state"] == "worse",
        benchmarks=frozenset(match["benchmarks"].split()),
    )


def open_issue(client: Client, *, suite: str, key: str, title: str, body: str, labels: Iterable[str]) -> str:
    """Open one, or find the one that another job opened meanwhile; its address."""
    text = _fitting(body)

    def post() -> Issue:
        return client.repository.create_issue(title=title[:TITLE_LIMIT], body=text, labels=list(labels))

    def find() -> Issue | None:
        found = tracked_issues(client, suite=suite).get(key)
        return found.issue if found is not None and found.is_open else None

    with explained("open a tracking issue"):
        opened = post_once(client, post=post, find=find)
    # The look that makes two racing jobs agree; what is too new to be listed, the next run sees.
    kept = tracked_issues(client, suite=suite).get(key)
    return str(opened.html_url if kept is None else kept.issue.html_url)


def reopen(client: Client, tracked: TrackedIssue, *, body: str) -> str:
    """The same issue again, with the new facts as its text: what was said about the benchmark stays in one place."""
    issue = tracked.issue
    with explained(f"reopen issue #{issue.number}"):
        issue.edit(body=_fitting(body), state="open")
        _say(client, issue, "The regression is back: the text above has the new numbers.\n")
    return str(issue.html_url)


def close(client: Client, tracked: TrackedIssue, *, suite: str, note: str) -> str:
    """Say why, then close; the marker's state goes first, so that a second attempt repeats nothing."""
    issue = tracked.issue
    head, _, rest = (issue.body or "").partition("\n")
    over = issue_marker(suite, key=tracked.key, worse=False, commit=tracked.commit, benchmarks=tracked.benchmarks)
    with explained(f"close issue #{issue.number}"):
        if head != over:
            _say(client, issue, note)
        issue.edit(body=_fitting(f"{over}\n{rest}"), state="closed", state_reason="completed")
    return str(issue.html_url)


def _say(client: Client, issue: Issue, text: str) -> None:
    def find() -> object | None:
        return next((said for said in issue.get_comments() if (said.body or "").strip() == text.strip()), None)

    post_once(client, post=lambda: issue.create_comment(text), find=find)


def _fitting(body: str) -> str:
    return cut_at_line(body, limit=MAXIMUM_BODY_CHARACTERS, pointer=_POINTER)
