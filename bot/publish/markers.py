"""The invisible first lines by which the bot finds its own comments and issues again: hashes and our own words only."""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Final

MAXIMUM_ID_CHARACTERS = 40
ID_HASH_CHARACTERS = 8
RESULT_START = "<!-- perf-culprit:v1:"
ANSWER_START = "<!-- perf-culprit:v1:answer:"
ANSWER = re.compile(rf"{ANSWER_START}([0-9]{{1,18}}) -->")
JOINT: Final = "joint"
ISSUE = re.compile(
    r"<!-- perf-culprit:v1:regression:(?P<suite>[a-z0-9-]{1,60}):(?P<key>[0-9a-f]{16}|joint):"
    r"(?P<state>worse|over):(?P<commit>[0-9a-f]{40,64})(?P<benchmarks>(?: [0-9a-f]{16}){0,500}) -->"
)


def marker(suite: str) -> str:
    """The invisible first line by which the bot knows its own comment again."""
    return f"<!-- perf-culprit:v1:{suite_id(suite)} -->"


def suite_id(suite: str) -> str:
    """The suite's name where it is plain; else what is plain of it and a hash, so that no two suites share one."""
    plain = re.sub(r"[^a-z0-9]+", "-", suite.lower())[:MAXIMUM_ID_CHARACTERS].strip("-")
    if plain and plain == suite:
        return plain
    digest = hashlib.sha256(suite.encode("utf-8", "surrogatepass")).hexdigest()[:ID_HASH_CHARACTERS]
    return f"{plain}-{digest}".strip("-")


def joint_marker() -> str:
    """Of the one comment for all suites. The second colon keeps it apart from every suite's marker."""
    return "<!-- perf-culprit:v1:suites:joint -->"


def answer_marker(comment_id: int) -> str:
    """Of the answer to a command. The second colon keeps it apart from every suite's marker."""
    return f"{ANSWER_START}{comment_id} -->"


def benchmark_key(benchmark: str) -> str:
    return hashlib.sha256(json.dumps(benchmark).encode()).hexdigest()[:16]


def cause_key(*commits: str) -> str:
    """Of an issue about one cause: its culprit, or both ends of what was searched."""
    return hashlib.sha256(f"cause:{':'.join(commits)}".encode()).hexdigest()[:16]


def culprit_marker(commit: str) -> str:
    """Of the one comment on the pull request that brought a culprit."""
    return f"<!-- perf-culprit:v1:culprit:{cause_key(commit)} -->"


def issue_marker(suite: str, *, key: str, worse: bool, commit: str, benchmarks: Iterable[str] = ()) -> str:
    """The invisible first line. It holds hashes and our own words only."""
    listed = "".join(f" {name}" for name in sorted(benchmarks)[:500])
    state = "worse" if worse else "over"
    return f"<!-- perf-culprit:v1:regression:{suite_id(suite)}:{key}:{state}:{commit}{listed} -->"


def tracked_commit(body: str) -> str | None:
    """The commit that a tracking issue is about, from its text; the caller has checked who wrote it."""
    match = ISSUE.match(body)
    return match["commit"] if match else None
