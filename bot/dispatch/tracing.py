"""measure -> trace: where the time of each commit goes, in executions of one command."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bot.errors import DataError
from bot.measure import Workplace
from bot.trace import TraceError
from bot.trace.budget import Budget
from bot.trace.command import trace_command
from bot.trace.levels import MINIMUM_SHARE
from bot.trace.profile import Trace, as_profile, descended_paths

TRACE_REPETITIONS: Final = 10
TRACE_BUDGET_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TracePlan:
    """`full`: follow every path, not only where time goes. `include`: modules or packages that are followed as well.

    `at`: the function that the trace begins at, as `package.module:function`.
    `budget_s`: of executions per commit; as much again for samples where it ends a trace by levels.
    """

    repetitions: int = TRACE_REPETITIONS
    budget_s: float = TRACE_BUDGET_S
    full: bool = False
    include: tuple[str, ...] = ()
    at: str | None = None


def trace_commits(
    workplace: Workplace, commits: Mapping[str, str], *, plan: TracePlan, say: Callable[[str], None]
) -> dict[str, Trace]:
    """Trace each commit, by its name; the baseline (the first) is traced again where a target goes deeper than it.

    Where the budget ends a trace before its last level, all are sampled: a culprit may lie below.
    """
    traces: dict[str, Trace] = {}
    baseline, *_ = commits

    def traced(name: str, follow: frozenset[tuple[str, ...]], *, is_sampled: bool | None = None) -> Trace:
        try:
            return trace_command(
                lambda variables: _execute(workplace, commits[name], variables),
                root=workplace.tree(commits[name]),
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
            place = f"trace of {name}, commit {commits[name][:12]}"
            raise DataError(error.message, place=place, next_step=error.next_step) from None

    for name, commit in commits.items():
        say(f"trace {name} {commit[:12]}")
        follow = descended_paths(map(as_profile, traces.values()))
        # What the baseline was sampled for, no other is traced for: one kind is compared.
        traces[name] = traced(name, follow, is_sampled=traces[baseline].is_sampled if traces else None)
        if traces[name].is_partial:
            say(f"trace {name}: {plan.budget_s:.0f} s end above the last level; stacks are sampled instead")
            return {one: traced(one, frozenset(), is_sampled=True) for one in commits}
    if traces[baseline].is_sampled:
        return traces
    everything = descended_paths(map(as_profile, traces.values()))
    if everything - descended_paths([as_profile(traces[baseline])]):
        say(f"trace {baseline} once more, down to where the others went")
        traces[baseline] = traced(baseline, everything)
    return traces


def _execute(workplace: Workplace, commit: str, variables: Mapping[str, str]) -> None:
    workplace.run(commit, variables=variables)
