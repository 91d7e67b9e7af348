"""The full pass: who calls whom, and how often. Its times would mean nothing and are not taken."""

import threading
from dataclasses import dataclass
from types import FrameType
from typing import Final

from .method import Kind, Scope, c_method
from .tree import OUTSIDE, Tree

# Where benchmark tools call what they time.
TIMING_LOOPS: Final = (
    "/pytest_benchmark/fixture.py",
    "/asv_runner/benchmarks/time.py",
    "/pyperf/_runner.py",
    "<timeit-src>",
)


@dataclass(slots=True)
class _Open:
    """A frame that runs now: its node, or that of the nearest caller that has one."""

    frame: FrameType
    node: int
    is_leaf_caller: bool
    c_node: int | None = None


class Recorder:
    """Follows frames that begin, pause and end, on each thread for itself."""

    def __init__(self, tree: Tree, scope: Scope) -> None:
        self._tree = tree
        self._scope = scope
        self._stacks: dict[int, list[_Open]] = {}
        self._lock = threading.Lock()

    def begin(self, frame: FrameType, *, is_call: bool) -> None:
        """`is_call`: False where a generator or coroutine resumes, which is no call."""
        stack = self._stacks.setdefault(threading.get_ident(), [])
        method, kind = self._scope.of(frame.f_code)
        if kind is Kind.OWN or kind is Kind.HOOK:
            stack.append(_Open(frame, OUTSIDE, is_leaf_caller=False))
            return
        caller = stack[-1] if stack else None
        node = caller.node if caller else OUTSIDE
        with self._lock:
            if caller is not None and caller.c_node is not None:
                self._tree.nodes[caller.c_node].is_transparent = True
            if kind is Kind.FOLLOWED or (caller is not None and caller.is_leaf_caller):
                node = self._tree.enter(node, method)
                if is_call and node != OUTSIDE:
                    self._tree.nodes[node].calls += 1
                    self._tree.nodes[node].is_benchmark |= is_timing_loop(frame.f_back)
        stack.append(_Open(frame, node, is_leaf_caller=kind is Kind.FOLLOWED))

    def end(self, frame: FrameType) -> None:
        stack = self._stacks.get(threading.get_ident(), [])
        for place in range(len(stack) - 1, -1, -1):
            if stack[place].frame is frame:
                del stack[place:]
                return

    def begin_c(self, frame: FrameType, function: object) -> None:
        stack = self._stacks.get(threading.get_ident())
        if not stack or stack[-1].frame is not frame or self._scope.of(frame.f_code)[1] is not Kind.FOLLOWED:
            return
        method = c_method(function)
        if method is None:
            return
        with self._lock:
            node = self._tree.enter(stack[-1].node, method)
            self._tree.nodes[node].calls += 1
        stack[-1].c_node = node

    def end_c(self, frame: FrameType) -> None:
        stack = self._stacks.get(threading.get_ident())
        if stack and stack[-1].frame is frame:
            stack[-1].c_node = None


def is_timing_loop(caller: FrameType | None) -> bool:
    return caller is not None and caller.f_code.co_filename.endswith(TIMING_LOOPS)
