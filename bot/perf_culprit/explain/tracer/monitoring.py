"""Hooks by `sys.monitoring` (Python 3.12 and newer), which slow down only the timed code."""

import sys
import types
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, Final, TypeAlias

from .call_paths import Recorder, TracedMethod, TracedScope, Tree, c_method, current_frame, node_of
from .timing_sums import Slots, Sums
from .tracer_fault import TraceError

TOOL_NAME: Final = "perf-culprit"
TIMES_C = True
WATCHED_TOOLS: Final = {0: "a debugger", 1: "a coverage tool", 2: "a profiler"}

# The module exists from 3.12 on, and this file is also type-checked for 3.11.
monitoring: Any = getattr(sys, "monitoring", None)


def foreign_tool() -> str | None:
    if sys.getprofile() is not None or sys.gettrace() is not None:
        return "a profiler or debugger"
    return next((what for number, what in WATCHED_TOOLS.items() if monitoring.get_tool(number)), None)


Callback: TypeAlias = Callable[..., object]


def _ends(of_frame: Callback, of_c: Callback) -> dict[str, Callback]:
    return {
        **dict.fromkeys(("PY_RETURN", "PY_YIELD", "PY_UNWIND"), of_frame),
        **dict.fromkeys(("C_RETURN", "C_RAISE"), of_c),
    }


@contextmanager
def _tool(callbacks: dict[str, Callback]) -> Iterator[int]:
    # Python reserves the other numbers.
    number = next((tool for tool in (3, 4) if monitoring.get_tool(tool) is None), None)
    if number is None:
        raise TraceError("no number is left for another tool of sys.monitoring", next_step="trace without other tools")
    monitoring.use_tool_id(number, TOOL_NAME)
    # From 3.13 on, the next tool with a number inherits the code that the former one disabled.
    monitoring.restart_events()
    try:
        for event, callback in callbacks.items():
            monitoring.register_callback(number, getattr(monitoring.events, event), callback)
        yield number
    finally:
        monitoring.set_events(number, 0)
        for event in callbacks:
            monitoring.register_callback(number, getattr(monitoring.events, event), None)
        monitoring.free_tool_id(number)


@contextmanager
def record_structure(tree: Tree, scope: TracedScope) -> Iterator[None]:
    recorder, frame = Recorder(tree, scope), current_frame
    # The first frame is the lambda's own.
    callbacks: dict[str, Callback] = {
        "PY_START": lambda *_: recorder.begin(frame(1), is_call=True),
        "PY_RESUME": lambda *_: recorder.begin(frame(1), is_call=False),
        "PY_THROW": lambda *_: recorder.begin(frame(1), is_call=False),
        "CALL": lambda _code, _offset, function, _first: recorder.begin_c(frame(1), function),
        **_ends(lambda *_: recorder.end(frame(1)), lambda *_: recorder.end_c(frame(1))),
    }
    with _tool(callbacks) as number:
        # The events are flags; those of a C function's end come with CALL.
        events = (getattr(monitoring.events, name) for name in callbacks if not name.startswith("C_"))
        monitoring.set_events(number, sum(events))
        yield


class Timing:
    """The hooks of one pass. Code is found when it first starts; after that, other code costs nothing."""

    def __init__(self, tree: Tree, selected: Collection[int], scope: TracedScope) -> None:
        self.sums = Sums()
        self._tree = tree
        self._scope = scope
        self._slots = Slots()
        self._selected = frozenset(selected)
        self._methods: set[TracedMethod] = set()
        self._callers: set[TracedMethod] = set()
        for index in selected:
            node = tree.nodes[index]
            if node.method.is_c:
                self._callers.add(tree.nodes[node.parent].method)
            else:
                self._methods.add(node.method)
        self._number = 0
        self._hooked: list[types.CodeType] = []
        # A caller's place is looked up once per execution of its frame, not at each of its C calls.
        self._places: dict[int, int | None] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        starts: dict[str, Callback] = {
            "PY_START": self._start,
            "PY_RESUME": self._resume,
            "PY_THROW": self._throw,
            "CALL": self._call,
        }
        events = monitoring.events
        with _tool({**starts, **_ends(self._end, self._end_c)}) as self._number:
            # Errors that leave a frame or enter a generator are events of all code or of none.
            monitoring.set_events(self._number, events.PY_START | events.PY_THROW | events.PY_UNWIND)
            try:
                yield
            finally:
                for code in self._hooked:
                    monitoring.set_local_events(self._number, code, 0)

    def _hook(self, code: types.CodeType) -> bool:
        method, _ = self._scope.of(code)
        events = monitoring.events
        wanted = 0
        if method in self._methods:
            wanted |= events.PY_RETURN | events.PY_YIELD | events.PY_RESUME
        if method in self._callers:
            wanted |= events.CALL | events.PY_RESUME
        if not wanted:
            return False
        if monitoring.get_local_events(self._number, code) != wanted:
            monitoring.set_local_events(self._number, code, wanted)
            self._hooked.append(code)
        return True

    def _start(self, code: types.CodeType, _offset: int) -> object:
        slot = self._slots.mine
        if slot.frame is not None:
            if slot.code is code:
                slot.inner += 1
                return None
            return None if self._hook(code) else monitoring.DISABLE
        if not self._hook(code):
            return monitoring.DISABLE
        self._open(current_frame(1), code)
        return None

    def _resume(self, code: types.CodeType, _offset: int) -> None:
        if self._slots.mine.frame is None:
            self._open(current_frame(1), code)

    def _throw(self, code: types.CodeType, _offset: int, _error: object) -> None:
        if self._slots.mine.frame is None and self._scope.of(code)[0] in self._methods:
            self._open(current_frame(1), code)

    def _open(self, frame: types.FrameType, code: types.CodeType) -> None:
        method, _ = self._scope.of(code)
        if method in self._callers:
            self._places.pop(id(frame), None)
        if method not in self._methods:
            return
        node = node_of(frame, self._tree, self._scope)
        # A folded recursion ends at a node of another method's subtree: only the outermost execution is timed.
        if node not in self._selected:
            return
        slot = self._slots.mine
        slot.frame, slot.code, slot.node, slot.inner = frame, code, node, 0
        slot.start_ns = perf_counter_ns()

    def _end(self, _code: types.CodeType, _offset: int, _value: object) -> None:
        now = perf_counter_ns()
        slot = self._slots.mine
        if slot.frame is not None and slot.frame is current_frame(1):
            slot.frame = None
            self.sums.add(slot.node, now - slot.start_ns, slot.inner)

    def _call(self, _code: types.CodeType, _offset: int, function: object, _first: object) -> None:
        slot = self._slots.mine
        if slot.frame is not None:
            slot.inner += 1
            return
        method = c_method(function)
        if method is None:
            return
        frame = current_frame(1)
        key = id(frame)
        if key in self._places:
            caller = self._places[key]
        else:
            caller = self._places[key] = node_of(frame, self._tree, self._scope)
        node = None if caller is None else self._tree.step(caller, method)
        if node not in self._selected:
            return
        slot.frame, slot.code, slot.node, slot.inner = frame, None, node, 0
        slot.start_ns = perf_counter_ns()

    def _end_c(self, _code: types.CodeType, _offset: int, _function: object, _first: object) -> None:
        now = perf_counter_ns()
        slot = self._slots.mine
        if slot.frame is not None and slot.code is None and slot.frame is current_frame(1):
            slot.frame = None
            self.sums.add(slot.node, now - slot.start_ns, slot.inner)


timer = Timing
