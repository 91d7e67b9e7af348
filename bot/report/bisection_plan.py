"""What a bisection would do: its candidates and what it would cost."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from bot.model.bisection import CommitRange
from bot.report.inert import SHORT_HASH, plain
from bot.report.numbers import percent
from bot.report.words import counted

LISTED: Final = 40
BENCHMARKS: Final = 10
SUBJECT_LIMIT: Final = 72


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredNoise:
    """How much a benchmark differs from one stored run to the next, and what steps would cost at that noise."""

    benchmark: str
    metric: str
    spread: float
    runs: int
    executions: tuple[tuple[float, int], ...]


def plan_text(
    commit_range: CommitRange,
    *,
    subjects: Mapping[str, str],
    executions: tuple[int, int],
    budget: int,
    prior: Mapping[str, float] | None = None,
    noise: Sequence[StoredNoise] | None = None,
    seconds: float | None = None,
) -> str:
    """`executions`: expected for a clear step and for one that is hidden in the noise of one execution.

    `prior`: the chance of each commit before anything is measured; None: all alike.
    `noise`: what the history says; None where none was asked. `seconds` of an execution, with its part of the builds.
    """
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
            f"  {commit[:SHORT_HASH]}  {_chance(commit, prior)}{plain(subjects.get(commit, ''), limit=SUBJECT_LIMIT)}"
            + ("  (unchanged)" if place in commit_range.unchanged else "")
            for place, commit in islice(enumerate(commits), LISTED)
        ),
    ]
    if len(commits) > LISTED:
        lines.append(f"  … and {len(commits) - LISTED} more")
    cost = f"Expected: about {clear} executions; budget {budget}."
    if hidden > clear:
        cost = (
            f"Expected: about {clear} executions for a step of four standard deviations of one execution, about "
            f"{hidden} for a step of one, where the machine's level hardly moves; budget {budget}."
        )
    lines += ["", cost, _minutes(executions, budget, seconds), *_history(noise), "Nothing was measured."]
    return "\n".join(lines) + "\n"


def _minutes(executions: tuple[int, int], budget: int, seconds: float | None) -> str:
    if seconds is None:
        return "How many minutes: unknown, as no stored run says how long an execution takes (see --history)."
    clear, hidden, most = (math.ceil(count * seconds / 60) for count in (*executions, budget))
    span = counted(clear, "minute") if hidden == clear else f"{clear:,} to {counted(hidden, 'minute')}"
    return f"By the stored runs, {seconds:.3g} s an execution with builds: about {span}, at most {most:,}."


def _chance(commit: str, prior: Mapping[str, float] | None) -> str:
    return "" if prior is None else f"{percent(prior.get(commit, 0.0)):>7}  "


def _history(noise: Sequence[StoredNoise] | None) -> Iterator[str]:
    if noise is None:
        return
    if not noise:
        yield "The history holds too few runs of these commits to tell their noise."
    for entry in noise[:BENCHMARKS]:
        steps = ", ".join(f"+{step:.0%} about {count:,}" for step, count in entry.executions)
        yield (
            f"{plain(entry.benchmark)} ({plain(entry.metric)}): {entry.spread:.1%} from run to run in "
            f"{counted(entry.runs, 'stored run')}; executions for {steps}"
        )
    if len(noise) > BENCHMARKS:
        yield f"… and {len(noise) - BENCHMARKS} benchmarks more: name one with --benchmark"
