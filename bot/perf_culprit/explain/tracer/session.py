"""Trace a callable of this process."""

import os
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

from .call_paths import TracedScope, Tree
from .hooks import Hooks, hooks
from .timing_sums import Sums, corrected
from .trace_levels import MINIMUM_SHARE, Path, Times, hook_cost, measure_levels
from .trace_profile import CallTrace, as_profile
from .tracer_fault import TraceError

if TYPE_CHECKING:
    from perf_culprit.model.call_tree import Profile


REPETITIONS = 10

Workload = Callable[[], object]


def trace(
    workload: Workload,
    *,
    repetitions: int = REPETITIONS,
    root: str | os.PathLike[str] | None = None,
    include: Sequence[str] = (),
    minimum_share: float = MINIMUM_SHARE,
    full: bool = False,
    follow: Container[Path] = (),
    service: str | None = None,
) -> "Profile":
    """Trace how `workload` spends its time, level by level (docs/tracing.md).

    It is called 1 + passes x (1 + repetitions) times, with at least one pass per level of calls. Code below `root`
    (this directory) is followed, and modules or packages named in `include`; everything else is a leaf. `full`: descend
    everywhere, not only into methods with at least `minimum_share` of the time or paths in `follow`.

    Raises:
        TraceError: another profiler is active, or no code is to be followed. The workload's own errors propagate.
    """
    return as_profile(
        run_trace(
            workload,
            repetitions=repetitions,
            scope=TracedScope(os.fspath(root) if root is not None else os.getcwd(), tuple(include)),
            minimum_share=0.0 if full else minimum_share,
            follow=follow,
            service=service or str(getattr(workload, "__qualname__", type(workload).__qualname__)),
        )
    )


def run_trace(
    workload: Workload,
    *,
    repetitions: int,
    scope: TracedScope,
    service: str,
    minimum_share: float = MINIMUM_SHARE,
    follow: Container[Path] = (),
) -> CallTrace:
    if repetitions < 1:
        raise ValueError(f"{repetitions} repetitions are none")
    here = hooks()
    refuse_foreign_tool(here)
    tree = Tree()
    with here.record_structure(tree, scope):
        _call(workload)
    refuse_foreign_tool(here)
    hide_untimed(tree, here)
    cost = hook_cost(here)

    def time_pass(selected: Sequence[int]) -> list[Times]:
        """Time one pass. The first execution finds the code and is not counted."""
        is_c = {index for index in selected if tree.nodes[index].method.is_c}
        rows: list[Times] = []
        timer = here.timer(tree, selected, scope)
        with timer.running():
            for _ in range(1 + repetitions):
                timer.sums = Sums()
                _call(workload)
                rows.append(corrected(timer.sums, is_c, cost))
        refuse_foreign_tool(here)
        return rows[1:]

    nodes = measure_levels(tree, time_pass, minimum_share=minimum_share, follow=follow)
    if not nodes:
        raise TraceError(
            "the workload runs no code that is to be followed",
            next_step="give the folder of the code as root, or name its package to be included",
        )
    return CallTrace(service=service, nodes=nodes, repetitions=repetitions)


def refuse_foreign_tool(here: Hooks) -> None:
    """Raise a TraceError if another tool is active: the two would measure each other."""
    tool = here.foreign_tool()
    if tool is not None:
        raise TraceError(
            f"{tool} is at work in the program, and would be measured too",
            next_step="trace without it (coverage: --no-cov; cProfile or sys.settrace: not in the traced code)",
        )


def hide_untimed(tree: Tree, here: Hooks) -> None:
    if not here.TIMES_C:
        for node in tree.nodes:
            node.is_transparent |= node.method.is_c


def _call(workload: Workload) -> None:
    """Call the workload. Frames above this one are not part of it."""
    workload()
