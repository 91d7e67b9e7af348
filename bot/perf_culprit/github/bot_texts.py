"""The bot's texts on the host: what fits into its limits, and the markers by which the bot recognizes them.

A marker is an invisible first line, which holds only hashes and fixed words.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from perf_culprit.errors import EMOJI_SELECTOR, visible
from perf_culprit.model.finding import PROVEN
from perf_culprit.model.report import BudgetState, Report
from perf_culprit.model.text_limits import TEXT_LIMITS


def cut_at_line(text: str, *, limit: int, pointer: str) -> str:
    """Return `text`, or the whole lines of it that fit into `limit` characters together with `pointer`."""
    if len(text) <= limit:
        return text
    start = text[: limit - len(pointer)]
    end = start.rfind("\n")
    return (start[:end] if end > 0 else start) + pointer


def fenced(text: str) -> str:
    """Return a code block that `text` cannot leave."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


ID_HASH_CHARACTERS = 8
ENDS_LIKE_A_HASH = re.compile(rf"(?:^|-)[0-9a-f]{{{ID_HASH_CHARACTERS}}}$")
RESULT_START = "<!-- perf-culprit:v1:"
ANSWER_START = "<!-- perf-culprit:v1:answer:"
ANSWER_MARKER = re.compile(rf"{ANSWER_START}([0-9]{{1,18}}) -->")
JOINT: Final = "joint"
ISSUE = re.compile(
    r"<!-- perf-culprit:v1:regression:(?P<suite>[a-z0-9-]{1,60}):(?P<key>[0-9a-f]{16}|joint):"
    r"(?P<state>worse|over):(?P<commit>[0-9a-f]{40,64})(?P<benchmarks>(?: [0-9a-f]{16}){0,500}) -->"
)


def comment_marker(suite: str) -> str:
    """Return the invisible first line by which the bot recognizes its own comment."""
    return f"<!-- perf-culprit:v1:{suite_id(suite)} -->"


def suite_id(suite: str) -> str:
    """Return the suite's name if it is plain; else its plain part and a hash, so that no two suites share an id."""
    plain = re.sub(r"[^a-z0-9]+", "-", suite.lower())[: TEXT_LIMITS.id_characters].strip("-")
    if plain and plain == suite and not ENDS_LIKE_A_HASH.search(plain):
        return plain
    digest = hashlib.sha256(suite.encode("utf-8", "surrogatepass")).hexdigest()[:ID_HASH_CHARACTERS]
    return f"{plain}-{digest}".strip("-")


# Ends a result. The next result compares it to tell whether a finding was added, is gone or is now proven.
FINDINGS: Final = re.compile(r"<!-- perf-culprit:findings:([0-9a-f]{16}) -->\s*$")


def findings_id(reports: Sequence[Report]) -> str:
    """Hash what is proven, looks worse or is over its budget. It changes if one is added, gone or newly proven."""
    rows = [
        (report.suite, finding.key.benchmark, finding.key.metric, finding.verdict.value)
        for report in reports
        for finding in report.findings
        if finding.verdict in PROVEN or finding.looks_worse
    ]
    rows += [
        (report.suite, budget.benchmark, budget.metric, budget.state.value)
        for report in reports
        for budget in report.budgets
        if budget.state is BudgetState.OVER
    ]
    rows.sort()
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def past_marker(mark: str) -> str:
    """Return the marker of a result that another one replaced, which is never searched for."""
    return mark.replace("perf-culprit:v1:", "perf-culprit:past:", 1)


# The name of the one check run for all suites. The missing bracket separates it from every suite's check.
JOINT_CHECK: Final = "perf-culprit: all suites"
CHECK_START: Final = "perf-culprit ("


def check_name(suite: str) -> str:
    """Return the name of the check run: the suite's name if it can be shown, else a unique id."""
    text = visible(suite)[: TEXT_LIMITS.check_name_characters]
    is_distinct = text == suite and EMOJI_SELECTOR not in suite
    return f"{CHECK_START}{text if is_distinct else suite_id(suite)})"


def requested_check_name(suite: str) -> str:
    """Return the name of the check run for a comment's request that measures less than a push or has another base."""
    return f"{check_name(suite)} as asked"


def reference_check_name(suite: str) -> str:
    """Return the name of the check run about a release, in addition to that about the commit before."""
    return f"{check_name(suite)} against a release"


def joint_marker() -> str:
    """Return the marker of the one comment for all suites. The second colon separates it from every suite's marker."""
    return "<!-- perf-culprit:v1:suites:joint -->"


def answer_marker(comment_id: int) -> str:
    """Return the marker of the answer to a command. The second colon separates it from every suite's marker."""
    return f"{ANSWER_START}{comment_id} -->"


def digest_marker(suite: str, week: str) -> str:
    """Return the marker of a week's digest. The second colon separates it from every suite's marker."""
    return f"<!-- perf-culprit:v1:digest:{suite_id(suite)}:{week} -->"


def refusal_marker() -> str:
    """Return the marker of the one answer in a thread to all people without rights: no comment has the number 0."""
    return answer_marker(0)


def benchmark_key(benchmark: str) -> str:
    return hashlib.sha256(json.dumps(benchmark).encode()).hexdigest()[:16]


def cause_key(*commits: str) -> str:
    """Return the key of an issue about one cause: its culprit, or both ends of the search."""
    return hashlib.sha256(f"cause:{':'.join(commits)}".encode()).hexdigest()[:16]


def reference_key() -> str:
    """Return the key of the one issue about what got worse since a release."""
    return cause_key("reference")


def culprit_marker(commit: str) -> str:
    """Return the marker of the one comment on the pull request that introduced a culprit."""
    return f"<!-- perf-culprit:v1:culprit:{cause_key(commit)} -->"


def issue_marker(suite: str, *, key: str, worse: bool, commit: str, benchmarks: Iterable[str] = ()) -> str:
    """Return the invisible first line of an issue. It holds only hashes and fixed words."""
    listed = "".join(f" {name}" for name in sorted(benchmarks)[:500])
    state = "worse" if worse else "over"
    return f"<!-- perf-culprit:v1:regression:{suite_id(suite)}:{key}:{state}:{commit}{listed} -->"


def tracked_commit(body: str) -> str | None:
    """Return the commit of a tracking issue from its text. The caller has checked the author."""
    match = ISSUE.match(body)
    return match["commit"] if match else None
