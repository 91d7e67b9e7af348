"""What a bisection would do: its candidates and what it would cost."""

from collections.abc import Mapping
from itertools import islice
from typing import Final

from bot.model.bisection import CommitRange
from bot.report.inert import SHORT_HASH, clean
from bot.report.wording import counted

LISTED: Final = 40
SUBJECT_LIMIT: Final = 72


def plan_text(
    commit_range: CommitRange, *, subjects: Mapping[str, str], executions: tuple[int, int], budget: int
) -> str:
    """`executions`: expected for a clear step and for one that is hidden in the noise of one execution."""
    commits = commit_range.commits
    merges = sum(len(parents) > 1 for parents in commit_range.parents)
    clear, hidden = executions
    ends = f"after {commit_range.good[:SHORT_HASH]} up to {commit_range.bad[:SHORT_HASH]}"
    summary = (
        f"{counted(len(commits), 'candidate')} {ends}: "
        f"{counted(merges, 'merge')}, {len(commit_range.unchanged)} without a change of what the build reads, "
        f"{counted(len(commit_range.reverts), 'revert')}"
    )
    lines = [summary]
    if commit_range.merge_bases:
        bases = ", ".join(base[:SHORT_HASH] for base in commit_range.merge_bases)
        lines.append(f"good is no ancestor of bad: the merge base {bases} is measured first")
    lines += [
        "",
        *(
            f"  {commit[:SHORT_HASH]}  {clean(subjects.get(commit, ''), limit=SUBJECT_LIMIT)}"
            + ("  (unchanged)" if place in commit_range.unchanged else "")
            for place, commit in islice(enumerate(commits), LISTED)
        ),
    ]
    if len(commits) > LISTED:
        lines.append(f"  … and {len(commits) - LISTED} more")
    cost = (
        f"Expected: about {clear} executions for a step of four standard deviations of one execution, about {hidden} "
        f"for a step of one; budget {budget}."
    )
    lines += ["", cost, "Nothing was measured."]
    return "\n".join(lines) + "\n"
