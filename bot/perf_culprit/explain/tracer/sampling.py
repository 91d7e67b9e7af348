"""Sample stacks at a fixed rate of processor time, in one execution per repetition.

It sees everything at once, while the tracer needs many executions. But samples are random: there are no call counts,
and times of only some samples are noise. It sees Python code of the main thread; a C function's time is its caller's.
"""

import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import process_time_ns
from types import FrameType
from typing import Final

from .call_paths import OUTSIDE, TracedScope, Tree, is_timing_loop, path_of
from .trace_levels import TimedNode, timed_nodes
from .tracer_fault import TraceError

# Interval of processor time: 200 samples a second cost 1 to 2% *(choice)*.
INTERVAL_S: Final = 0.005


class Sampler:
    """`own_ns`: the processor time since the previous sample, by node; a late sample counts for all of it.

    `samples`: the number of samples.
    """

    def __init__(self, tree: Tree, scope: TracedScope) -> None:
        self._tree = tree
        self._scope = scope
        self._last = 0
        self.own_ns: dict[int, float] = {}
        self.samples = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        is_free = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if not is_free or signal.getsignal(signal.SIGPROF) is not signal.SIG_DFL:
            raise TraceError(
                "the command cannot be sampled: SIGPROF is taken, or the system has none",
                next_step="trace without another profiler",
            )
        signal.signal(signal.SIGPROF, self._sample)
        signal.siginterrupt(signal.SIGPROF, False)
        # A program started by exec would inherit the timer and be killed by its signal.
        sys.addaudithook(lambda event, _: _stop() if event == "os.exec" else None)
        self._last = process_time_ns()
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
        try:
            yield
        finally:
            _stop()
            signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        took = process_time_ns() - self._last
        node = OUTSIDE
        timed = set()
        at = frame
        while at is not None:
            if is_timing_loop(at.f_back):
                timed.add(self._scope.of(at.f_code)[0])
            at = at.f_back
        for method in path_of(frame, self._scope) if frame is not None else ():
            node = self._tree.enter(node, method)
            self._tree.nodes[node].is_benchmark |= method in timed
        if node != OUTSIDE:
            self.own_ns[node] = self.own_ns.get(node, 0.0) + took
            self.samples += 1
        self._last = process_time_ns()


def _stop() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0.0)


def sampled_nodes(tree: Tree, repetitions: Sequence[Mapping[int, float]], *, at: str | None) -> tuple[TimedNode, ...]:
    """Return the nodes of the trace, which starts at `tree.starts(at)`. `repetitions`: own ns by node."""
    own = {i: tuple(one.get(i, 0.0) / 1e6 for one in repetitions) for i in range(len(tree.nodes))}
    elapsed = dict(own)
    for i in range(len(tree.nodes) - 1, -1, -1):
        above = tree.nodes[i].parent
        if above != OUTSIDE:
            elapsed[above] = tuple(map(sum, zip(elapsed[above], elapsed[i], strict=True)))
    inside = set(tree.starts(at))
    for i, node in enumerate(tree.nodes):
        if node.parent in inside:
            inside.add(i)
    return timed_nodes(tree, inside, elapsed, own, are_counted=False)
