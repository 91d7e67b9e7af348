"""Inside a traced command: one pass over one process, as specified by its plan. `hook/sitecustomize.py` starts it.

An environment variable names the folder: `plan.json` is read, `result-*.json` is written when the process ends.
"""

import atexit
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any, Final

from .call_paths import Kind, TracedScope, Tree
from .hooks import hooks
from .sampling import Sampler
from .session import hide_untimed, refuse_foreign_tool
from .timing_sums import corrected
from .trace_levels import hook_cost
from .tracer_fault import SamplesOnlyError, TraceError

FOLDER_VARIABLE: Final = "PERF_CULPRIT_TRACE"
PLAN_NAME: Final = "plan.json"
RESULT_PREFIX: Final = "result-"
# Pytest names its current test here, such as `bench/test_text.py::test_count (call)`.
TEST_VARIABLE: Final = b"PYTEST_CURRENT_TEST"


def start(folder: str) -> None:
    with open(os.path.join(folder, PLAN_NAME), encoding="utf-8") as file:
        plan = json.load(file)
    try:
        _start(folder, plan)
    except TraceError as error:
        samples_only = isinstance(error, SamplesOnlyError)
        _write(folder, {"refused": error.message, "next_step": error.next_step, "samples_only": samples_only})


def _start(folder: str, plan: dict[str, Any]) -> None:
    if plan.get("listed"):
        _start_listing(folder, plan)
        return
    is_sampled = plan.get("sampled", False)
    if sys.version_info < (3, 12) and not is_sampled:
        raise SamplesOnlyError(
            f"the command runs Python {sys.version_info[0]}.{sys.version_info[1]}; commands are traced from 3.12 on",
            next_step="use Python 3.12 or newer for the command, or trace inside the program (docs/tracing.md)",
        )
    if is_sampled:
        _start_sampling(folder, plan)
        return
    here = hooks()
    refuse_foreign_tool(here)
    scope = TracedScope(plan["root"], tuple(plan["include"]))
    running: AbstractContextManager[None]
    if plan["selected"] is None:
        tree = Tree()
        timer = None
        running = here.record_structure(tree, scope)
    else:
        tree = Tree.of_rows(plan["tree"])
        timer = here.timer(tree, plan["selected"], scope)
        running = timer.running()

    def result() -> dict[str, Any]:
        try:
            refuse_foreign_tool(here)
            running.__exit__(None, None, None)
        except TraceError as error:
            return {"refused": error.message, "next_step": error.next_step}
        if timer is None:
            hide_untimed(tree, here)
            return {"tree": tree.rows()}
        is_c = {index for index in plan["selected"] if tree.nodes[index].method.is_c}
        times = corrected(timer.sums, is_c, hook_cost(here))
        return {"times": {str(index): elapsed_ns for index, elapsed_ns in times.items()}}

    _write_at_end(folder, result)
    running.__enter__()


def _start_sampling(folder: str, plan: dict[str, Any]) -> None:
    tree = Tree()
    sampler = Sampler(tree, TracedScope(plan["root"], tuple(plan["include"])))
    running = sampler.running()

    def result() -> dict[str, Any]:
        running.__exit__(None, None, None)
        own = {str(index): own_ns for index, own_ns in sampler.own_ns.items()}
        samples_only = sys.version_info < (3, 12)
        return {"tree": tree.rows(), "times": own, "samples": sampler.samples, "samples_only": samples_only}

    _write_at_end(folder, result)
    running.__enter__()


def _start_listing(folder: str, plan: dict[str, Any]) -> None:
    """List the functions that run, by pytest's test. A trace function that returns None is not called per line."""
    codes: dict[tuple[bytes | None, int], CodeType] = {}

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        codes[os.environb.get(TEST_VARIABLE), id(frame.f_code)] = frame.f_code

    def result() -> dict[str, Any]:
        sys.settrace(None)
        scope = TracedScope(plan["root"])
        methods = ((*scope.of(code), code.co_qualname, test) for (test, _), code in tuple(codes.items()))
        followed = {
            (method.file, name, method.name, (test or b"").decode(errors="replace").rpartition(" (")[0])
            for method, kind, name, test in methods
            if kind is Kind.FOLLOWED
        }
        return {"executed": sorted(followed)}

    _write_at_end(folder, result)
    threading.settrace(note)
    sys.settrace(note)


def _write_at_end(folder: str, result: Callable[[], dict[str, Any]]) -> None:
    """Call `result` when the process ends. Register it first, so that it is called last, after thread pools ended."""
    pid = os.getpid()

    def finish() -> None:
        # A forked child must not write its parent's result.
        if os.getpid() == pid:
            _write(folder, result())

    atexit.register(finish)


def _write(folder: str, result: dict[str, Any]) -> None:
    path = os.path.join(folder, f"{RESULT_PREFIX}{os.getpid()}-{threading.get_ident()}")
    with contextlib.suppress(OSError):
        with open(f"{path}.part", "w", encoding="utf-8") as file:
            json.dump(result, file)
        os.replace(f"{path}.part", f"{path}.json")
