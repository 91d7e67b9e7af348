"""Hooks for Python 3.11: the timed functions get other code, which times the original; nothing else is changed.

A trace function (`sys.settrace`, `sys.setprofile`) would also be called for all callees of a timed method. The price:
only functions that exist at the start of the pass are timed. Functions made later (closures, local lambdas,
comprehensions) and C functions stay in their caller's own time.
"""

import gc
import sys
import types
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from opcode import opmap
from time import perf_counter_ns
from typing import Any, Final

from .call_paths import HOOK_FILE, Recorder, TracedMethod, TracedScope, Tree, current_frame, outer, path_of
from .timing_sums import Slots, Sums

TIMES_C: Final = False


def foreign_tool() -> str | None:
    return "a profiler or debugger" if sys.getprofile() is not None or sys.gettrace() is not None else None


@contextmanager
def record_structure(tree: Tree, scope: TracedScope) -> Iterator[None]:
    import threading

    recorder = Recorder(tree, scope)

    def hook(frame: types.FrameType, event: str, argument: object) -> None:
        if event == "call":
            recorder.begin(frame, is_call=_is_call(frame))
        elif event == "return":
            recorder.end(frame)
        elif event == "c_call":
            recorder.begin_c(frame, argument)
        else:
            recorder.end_c(frame)

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_call(frame: types.FrameType) -> bool:
    """Whether it is a call: if a generator or coroutine resumes, the frame is not at `RESUME 0`."""
    code = frame.f_code
    if not code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR):
        return True
    return code.co_code[frame.f_lasti : frame.f_lasti + 2] == bytes((opmap["RESUME"], 0))


class Timing:
    """One pass: the functions of the selected methods have other code during it."""

    def __init__(self, tree: Tree, selected: Collection[int], scope: TracedScope) -> None:
        self.sums = Sums()
        self._tree = tree
        self._scope = scope
        self._selected = frozenset(selected)
        self._methods = {tree.nodes[index].method for index in selected}
        self._slots = Slots()

    @contextmanager
    def running(self) -> Iterator[None]:
        names = {method.name.rpartition(".")[2] for method in self._methods}
        changed: list[tuple[types.FunctionType, types.CodeType]] = []
        try:
            for function in [thing for thing in gc.get_objects() if type(thing) is types.FunctionType]:
                code = function.__code__
                if code.co_name not in names:
                    continue
                method, _ = self._scope.of(code)
                if method in self._methods and not code.co_flags & CO_ASYNC_GENERATOR:
                    changed.append((function, code))
                    self._substitute(function, method)
            yield
        finally:
            for function, code in changed:
                function.__code__ = code

    def _substitute(self, function: types.FunctionType, method: TracedMethod) -> None:
        code = function.__code__
        original = types.FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        original.__kwdefaults__ = function.__kwdefaults__

        def call(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            slot = self._slots.mine
            if slot.frame is not None or not self._begin(current_frame(1), method):
                return original(*arguments, **keywords)
            # A recursive function calls its own code, without a hook, until the outermost call is done.
            function.__code__ = code
            try:
                slot.start_ns = perf_counter_ns()
                return original(*arguments, **keywords)
            finally:
                now = perf_counter_ns()
                function.__code__ = other_code
                self._end(now)

        def call_resumable(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            return _TimedResumable(self, original(*arguments, **keywords), method)

        other_code = _other_code(code, call_resumable if code.co_flags & (CO_GENERATOR | CO_COROUTINE) else call)
        function.__code__ = other_code

    def _begin(self, frame: types.FrameType, method: TracedMethod) -> bool:
        """Start timing if the path is selected. `frame`: the frame whose code was substituted."""
        caller = outer(frame, self._scope)
        path = path_of(caller, self._scope) if caller is not None else []
        node = self._tree.find([*path, method])
        if node is None or node not in self._selected:
            return False
        slot = self._slots.mine
        slot.frame, slot.node, slot.inner = frame, node, 0
        return True

    def _end(self, now: int) -> None:
        slot = self._slots.mine
        slot.frame = None
        self.sums.add(slot.node, now - slot.start_ns, slot.inner)

    def resume(self, frame: types.FrameType, method: TracedMethod, go_on: Callable[..., Any], *arguments: Any) -> Any:
        slot = self._slots.mine
        if slot.frame is not None or not self._begin(frame, method):
            return go_on(*arguments)
        try:
            slot.start_ns = perf_counter_ns()
            return go_on(*arguments)
        finally:
            now = perf_counter_ns()
            self._end(now)


class _TimedResumable:
    """Stands for a generator or coroutine, and times it only while it runs."""

    def __init__(self, timing: Timing, inner: Any, method: TracedMethod) -> None:
        self._timing = timing
        self._inner = inner
        self._method = method

    def __await__(self) -> "_TimedResumable":
        return self

    def __iter__(self) -> "_TimedResumable":
        return self

    def __next__(self) -> Any:
        return self._timing.resume(current_frame(1), self._method, self._inner.send, None)

    def send(self, value: Any) -> Any:
        return self._timing.resume(current_frame(1), self._method, self._inner.send, value)

    def throw(self, error: BaseException) -> Any:
        return self._timing.resume(current_frame(1), self._method, self._inner.throw, error)

    def close(self) -> None:
        self._timing.resume(current_frame(1), self._method, self._inner.close)


HOOK_PLACE: Final = "the place of the hook"  # which becomes a constant of the code
TEMPLATES: Final = {
    0: "def code(*arguments, **keywords):\n  hook = {place!r}\n  return hook(arguments, keywords)\n  {free}",
    CO_GENERATOR: "def code(*arguments, **keywords):\n  hook = {place!r}\n"
    "  return (yield from hook(arguments, keywords))\n  {free}",
    CO_COROUTINE: "async def code(*arguments, **keywords):\n  hook = {place!r}\n"
    "  return await hook(arguments, keywords)\n  {free}",
}


def _other_code(code: types.CodeType, hook: Callable[..., Any]) -> types.CodeType:
    """Code for a function that has `code`: of the same kind and with equally many free variables."""
    free = [f"free_{number}" for number in range(len(code.co_freevars))]
    template = TEMPLATES[code.co_flags & (CO_GENERATOR | CO_COROUTINE)]
    body = template.format(place=HOOK_PLACE, free=", ".join(free) or "pass").replace("\n", "\n  ")
    source = f"def make({', '.join(free)}):\n  {body}\n  return code\n"
    names: dict[str, Any] = {}
    exec(compile(source, HOOK_FILE, "exec"), names)  # noqa: S102 - the text above, with nothing of the program in it
    made: types.CodeType = names["make"](*free).__code__
    constants = tuple(hook if constant == HOOK_PLACE else constant for constant in made.co_consts)
    return made.replace(
        co_consts=constants, co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno
    )


timer = Timing
