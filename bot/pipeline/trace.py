"""measure -> trace -> diagnose: where the time of each measured commit goes, and what its target does otherwise."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot import git
from bot.codec.tree_comparison import encode_tree_comparison
from bot.errors import DataError
from bot.files import replace_file
from bot.pipeline.revisions import RevisionsPlan, diagnose_revisions
from bot.trace import TraceError
from bot.trace.budget import Budget
from bot.trace.command import trace_command
from bot.trace.levels import MINIMUM_SHARE
from bot.trace.profile import as_profile, descended_paths, down_to, encode_trace

if TYPE_CHECKING:
    from bot.measure import Workplace
    from bot.trace.profile import Trace

TRACE_SUFFIX: Final = "-trace.json"
TRACE_REPETITIONS: Final = 10
TRACE_BUDGET_S: Final = 60.0
DIAGNOSIS_NAME: Final = "diagnosis"


@dataclass(frozen=True, kw_only=True, slots=True)
class TracePlan:
    """`full`: follow every path, not only where time goes. `include`: modules or packages that are followed as well.

    `at`: the function that the trace begins at, as `package.module:function`.
    `budget_s`: of executions per commit; a trace that it ends has the upper levels.
    """

    repetitions: int = TRACE_REPETITIONS
    budget_s: float = TRACE_BUDGET_S
    full: bool = False
    include: tuple[str, ...] = ()
    at: str | None = None


def trace_commits(
    workplace: "Workplace",
    commits: Mapping[str, str],
    *,
    plan: TracePlan,
    output: Path,
    say: Callable[[str], None],
) -> tuple[Path, ...]:
    """Trace each commit (by the name of its file); the baseline is traced again where a target goes deeper than it.

    Where the budget ended a trace, all end at the same level, so that they have the same paths.
    """
    traces: dict[str, Trace] = {}
    baseline, *_ = commits
    for name, commit in commits.items():
        say(f"trace {name} {commit[:12]}")
        follow = descended_paths(map(as_profile, traces.values()))
        # What the baseline was sampled for, no other is traced for: one kind is compared.
        is_sampled = traces[baseline].is_sampled if traces else None
        traces[name] = _trace(workplace, name, commit, plan=plan, follow=follow, is_sampled=is_sampled, say=say)
    if traces[baseline].is_sampled:
        return _written(traces, output)
    everything = descended_paths(map(as_profile, traces.values()))
    partial = [trace.levels for trace in traces.values() if trace.is_partial]
    if partial:
        say(f"compared down to level {min(partial)}: the budget of {plan.budget_s:.0f} s per commit ends there")
        traces = {name: down_to(trace, min(partial)) for name, trace in traces.items()}
    elif everything - descended_paths([as_profile(traces[baseline])]):
        say(f"trace {baseline} once more, down to where the others went")
        traces[baseline] = _trace(workplace, baseline, commits[baseline], plan=plan, follow=everything, say=say)
    return _written(traces, output)


def _written(traces: Mapping[str, "Trace"], output: Path) -> tuple[Path, ...]:
    files = []
    for name, trace in traces.items():
        files.append(output / f"{name}{TRACE_SUFFIX}")
        replace_file(files[-1], encode_trace(trace))
    return tuple(files)


def diagnose_traces(
    repository: Path, commits: Mapping[str, str], *, traces: Sequence[Path], output: Path
) -> tuple[Path, ...]:
    """Each target's trace beside the baseline's, with what was changed in between: a file per target.

    Where the target is the baseline's child, it is the commit that introduced the change.
    """
    (_, base), *targets = commits.items()
    before, *after = traces
    files = []
    for (name, head), trace in zip(targets, after, strict=True):
        is_child = git.parents(repository, head) == (base,)
        comparison = diagnose_revisions(
            RevisionsPlan(
                baseline=[str(before)],
                target=[str(trace)],
                format="perf_culprit_trace",
                repository=repository,
                commit=head if is_child else None,
                base=None if is_child else base,
                head=None if is_child else head,
            )
        )
        files.append(output / f"{name.replace('target', DIAGNOSIS_NAME)}.json")
        replace_file(files[-1], encode_tree_comparison(comparison))
    return tuple(files)


def _trace(
    workplace: "Workplace",
    name: str,
    commit: str,
    *,
    plan: TracePlan,
    follow: frozenset[tuple[str, ...]],
    is_sampled: bool | None = None,
    say: Callable[[str], None],
) -> "Trace":
    try:
        return trace_command(
            lambda variables: _execute(workplace, commit, variables),
            root=workplace.tree(commit),
            # The same in all commits: what is compared has one name.
            service="benchmark",
            repetitions=plan.repetitions,
            python_path=os.environ.get("PYTHONPATH", ""),
            at=plan.at,
            include=plan.include,
            minimum_share=0.0 if plan.full else MINIMUM_SHARE,
            follow=follow,
            budget=Budget(seconds=plan.budget_s, say=lambda line: say(f"trace {name}, {line}")),
            is_sampled=is_sampled,
        )
    except TraceError as error:
        raise DataError(
            error.message, place=f"trace of {name}, commit {commit[:12]}", next_step=error.next_step
        ) from None


def _execute(workplace: "Workplace", commit: str, variables: Mapping[str, str]) -> None:
    workplace.execute(commit, variables=variables)
