"""This machine as a place to measure commits, and to trace where each of them spends its time."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError
from perf_culprit.explain.tracer.trace_levels import MINIMUM_SHARE, Budget
from perf_culprit.explain.tracer.trace_profile import CallTrace, as_profile, descended_paths
from perf_culprit.explain.tracer.traced_command import trace_command
from perf_culprit.explain.tracer.tracer_fault import TraceError
from perf_culprit.measure.processes import Log, interruptible
from perf_culprit.measure.runner import Commands
from perf_culprit.measure.workplace import Workplace, open_workplace
from perf_culprit.progress import Say
from perf_culprit.read.results.collect import Directions, Reading, collect, repeats_by_clock


@contextmanager
def this_machine(
    repository: Path,
    commands: Commands,
    *,
    config: Config,
    tool: str,
    log: Path,
    directions: Directions | None = None,
    keep_log: bool = False,
    cache: Path | None = None,
) -> Iterator[Workplace]:
    """Open a workplace that reads results in the format `tool`. An interrupt cleans up like a normal end.

    `directions`: the directions of metrics whose results do not state one (default: from `config`).
    """
    reading = Reading(tool=tool, suite=config.suite, directions=directions or config.direction_of)
    with (
        interruptible(),
        Log(log, keep=keep_log) as opened,
        open_workplace(
            repository,
            commands=commands,
            read=lambda result: collect([str(result)], reading),
            is_by_clock=lambda result: repeats_by_clock(str(result), reading),
            log=opened,
            cache=cache,
        ) as workplace,
    ):
        yield workplace


TRACE_REPETITIONS: Final = 10
TRACE_BUDGET_S: Final = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TracePlan:
    """`full`: follow every path, not only the costly ones. `include`: further modules or packages to follow.

    `at`: the function where the trace begins, as `package.module:function`. `budget_s`: the time for executions per
    commit. Sampling gets the same time again if the budget ends a trace by levels. `variables`: those that the command
    gets in addition, by the commit's name.
    """

    repetitions: int = TRACE_REPETITIONS
    budget_s: float = TRACE_BUDGET_S
    full: bool = False
    include: tuple[str, ...] = ()
    at: str | None = None
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def trace_commits(
    workplace: Workplace,
    commits: Mapping[str, str],
    *,
    plan: TracePlan,
    say: Say,
    command: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> dict[str, CallTrace]:
    """Trace each commit, by its name, executing `command` (None: the benchmark's) with `variables` added.

    The baseline (the first) is traced again if a target goes deeper. If the budget ends a trace before its last level,
    all commits are sampled: a culprit may lie below.
    """
    traces: dict[str, CallTrace] = {}
    baseline, *_ = commits

    def traced(name: str, follow: frozenset[tuple[str, ...]], *, is_sampled: bool | None = None) -> CallTrace:
        try:
            return trace_command(
                lambda own: _execute(
                    workplace, commits[name], command, {**(variables or {}), **plan.variables.get(name, {}), **own}
                ),
                root=workplace.tree(commits[name]),
                # Use the same name in all commits, so that they can be compared.
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
        # If the baseline was sampled, sample the others too: only traces of one kind are compared.
        traces[name] = traced(name, follow, is_sampled=traces[baseline].is_sampled if traces else None)
        if traces[name].is_partial:
            say(f"trace {name}: {plan.budget_s:.0f} s end above the last level; stacks are sampled instead")
            return {commit: traced(commit, frozenset(), is_sampled=True) for commit in commits}
    if traces[baseline].is_sampled:
        return traces
    everything = descended_paths(map(as_profile, traces.values()))
    if everything - descended_paths([as_profile(traces[baseline])]):
        say(f"trace {baseline} once more, down to where the others went")
        traces[baseline] = traced(baseline, everything)
    return traces


def _execute(workplace: Workplace, commit: str, command: str | None, variables: Mapping[str, str]) -> None:
    workplace.run(commit, command=command, variables=variables)
