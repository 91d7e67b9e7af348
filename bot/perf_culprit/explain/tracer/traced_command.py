"""Trace a command, with each pass in new processes, and explain why a command left no trace."""

import difflib
import json
import os
import re
import tempfile
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar

from .call_paths import Tree
from .sampling import sampled_nodes
from .trace_child import FOLDER_VARIABLE, PLAN_NAME, RESULT_PREFIX
from .trace_levels import MINIMUM_SHARE, Budget, TimedNode, Times, measure_levels
from .trace_levels import Path as CallPath
from .trace_limits import TRACE_LIMITS
from .trace_profile import CallTrace
from .tracer_fault import SamplesOnlyError, TraceError

PROCESSES: Final = Path("/proc")
# Python takes longer to start.
LOOK_EVERY_S: Final = 0.004
PYTHON: Final = re.compile(r"python[0-9.]*(t|d)?|pypy[0-9.]*")
# Options of the interpreter that take the next word, or are the last.
_WITH_VALUE: Final = re.compile(r"-[bBdEhiIOPqRsSuvVx?]*[WX]")
_LAST: Final = re.compile(r"-[bBdEhiIOPqRsSuvVx?]*[cm].*|-|--")


class LossReason(Enum):
    """The reason, with its message and the next step. The first one that applies to a process counts."""

    ISOLATED = (
        "it runs `python -I`, which ignores PYTHONPATH, by which the tracer gets in",
        "leave out -I (or use -s -P, which keep PYTHONPATH)",
    )
    NO_ENVIRONMENT = ("it runs `python -E`, which ignores PYTHONPATH, by which the tracer gets in", "leave out -E")
    NO_SITE = ("it runs `python -S`, which starts without the tracer's sitecustomize", "leave out -S")
    CLEARED = (
        "it runs Python without the environment that it was given (env -i, tox, nox)",
        "pass PYTHONPATH and PERF_CULPRIT_TRACE on, or run Python directly",
    )
    PYTHON_PATH = (
        "it sets a PYTHONPATH of its own, without the tracer's folder",
        "keep what is there: PYTHONPATH=lib:$PYTHONPATH",
    )
    ENDED = (
        "its Python ended without running what it has registered for its end (os._exit, os.exec, a signal)",
        "let it end by itself",
    )
    NO_PYTHON = (
        "it runs no Python",
        "give a command that writes a profile: bisect --profile, or diagnose --profile (docs/profiles.md)",
    )
    UNKNOWN = (
        "none of its processes could be looked at",
        "run Python 3.11 or newer, without -I, -E or -S and with PYTHONPATH=lib:$PYTHONPATH, and let it end by itself",
    )


@dataclass(frozen=True, slots=True)
class StartedProcess:
    """A process as it was started, from `/proc`."""

    command: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def is_python(self) -> bool:
        return bool(self.command) and bool(PYTHON.fullmatch(os.path.basename(self.command[0])))


def _lost(processes: Sequence[StartedProcess]) -> TraceError:
    reasons = {_of(process) for process in processes if process.is_python}
    otherwise = LossReason.NO_PYTHON if processes else LossReason.UNKNOWN
    message, next_step = next((reason for reason in LossReason if reason in reasons), otherwise).value
    return TraceError(f"no Python process of the command left a trace: {message}", next_step=next_step)


def programs_of(execute: Callable[[], object]) -> list[str]:
    """Return the names of the programs that a command starts, directly or not."""
    return sorted({os.path.basename(one.command[0]) for one in _watch(execute) if one.command})


def _of(process: StartedProcess) -> LossReason:
    letters = _options(process.command[1:])
    for letter, reason in (("I", LossReason.ISOLATED), ("E", LossReason.NO_ENVIRONMENT), ("S", LossReason.NO_SITE)):
        if letter in letters:
            return reason
    if FOLDER_VARIABLE not in process.environment:
        return LossReason.CLEARED
    folders = process.environment.get("PYTHONPATH", "").split(os.pathsep)
    return LossReason.ENDED if str(HOOK_FOLDER) in folders else LossReason.PYTHON_PATH


def _options(arguments: Iterable[str]) -> str:
    """The letters of the interpreter's own options."""
    letters, words = "", iter(arguments)
    for word in words:
        if not word.startswith("-") or word == "-":
            break
        letters += word.partition("=")[0].removeprefix("-") if not word.startswith("--") else ""
        if _LAST.fullmatch(word):
            # The rest of the word after -c or -m is no option.
            return re.split("[cm]", letters, maxsplit=1)[0]
        if _WITH_VALUE.fullmatch(word):
            next(words, None)
    return letters


def _watch(execute: Callable[[], object]) -> list[StartedProcess]:
    """The processes that this one starts to execute the command, directly or not; earlier ones are ignored."""
    processes: dict[tuple[int, tuple[str, ...]], StartedProcess] = {}
    own = _read_process(os.getpid())
    others = _descendants(os.getpid())
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(LOOK_EVERY_S):
            for pid in _descendants(os.getpid(), without=others):
                process = _read_process(pid)
                # Between fork and exec, a process still has this one's command line.
                if process is not None and own is not None and process.command != own.command:
                    processes[pid, process.command] = process

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        execute()
    finally:
        is_over.set()
        thread.join()
    return list(processes.values())


def _descendants(root: int, without: Iterable[int] = ()) -> set[int]:
    """All descendants, except `without` and their descendants."""
    parents: dict[int, int] = {}
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            # The name, in parentheses, may contain any characters.
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    descendants, news = set[int](), {root}
    while news:
        news = {pid for pid, parent in parents.items() if parent in news}.difference(descendants, without)
        descendants |= news
    return descendants


def _read_process(pid: int) -> StartedProcess | None:
    try:
        command, environment = (
            (PROCESSES / str(pid) / name).read_bytes().decode(errors="replace").split("\0")
            for name in ("cmdline", "environ")
        )
    except OSError:
        return None
    pairs = (entry.partition("=") for entry in environment)
    return StartedProcess(tuple(command[:-1]), {name: value for name, _, value in pairs})


FROM_CHECKOUT: Final = "let the command import the checkout: PYTHONPATH=src, or --build 'pip install -e .'"
HOOK_FOLDER: Final = Path(__file__).resolve().parent / "hook"

_T = TypeVar("_T")
Execute = Callable[[Mapping[str, str]], None]


def trace_command(
    execute: Execute,
    *,
    root: Path,
    service: str,
    repetitions: int,
    python_path: str = "",
    at: str | None = None,
    include: Sequence[str] = (),
    minimum_share: float = MINIMUM_SHARE,
    follow: Container[CallPath] = (),
    budget: Budget | None = None,
    is_sampled: bool | None = None,
) -> CallTrace:
    """Trace a command. `execute` runs it once with added environment variables; `python_path` is its own PYTHONPATH.

    `is_sampled`: if None, stacks are sampled if the budget is too short for levels. The processes of one execution
    count together. A trace limited by its budget is partial: the upper levels.

    Raises:
        TraceError: the command refuses, ends without a result, or runs no code below `root`.
    """
    budget = budget or Budget()

    def run(plan: dict[str, Any]) -> list[dict[str, Any]]:
        return _execute(execute, plan, python_path=python_path, budget=budget)

    base = {"root": str(root), "include": list(include)}
    if budget.seconds is not None:
        # Without hooks, the command shows the number of executions that the budget allows.
        budget.execute(lambda: execute({}))
    tree = Tree()
    is_sampled = budget.is_short if is_sampled is None else is_sampled
    own, counts = list[Times](), list[float]()
    if not is_sampled:
        try:
            for result in run({**base, "selected": None}):
                tree.add(_convert(Tree.of_rows, result.get("tree")))
            budget.plan(repetitions)
        except SamplesOnlyError:
            is_sampled = True
    if is_sampled:
        plan = {**base, "selected": [], "sampled": True}
        own, counts = _sampled_times(tree, lambda: run(plan), budget.plan_samples(repetitions), budget)
    rows = tree.rows()

    def time_pass(selected: Sequence[int]) -> list[Times]:
        plan = {**base, "selected": list(selected), "tree": rows}
        return [_sum(run(plan)) for _ in range(budget.repetitions)]

    _announce_starts(tree, at, budget)
    if is_sampled:
        nodes = sampled_nodes(tree, own, at=at)
    else:
        nodes = measure_levels(
            tree, time_pass, at=at, minimum_share=minimum_share, follow=follow, allowed=budget.allows
        )
    if not nodes:
        raise _nothing_traced(is_sampled=is_sampled)
    return CallTrace(
        service=service,
        nodes=nodes,
        repetitions=budget.repetitions,
        is_partial=budget.is_spent,
        samples=_samples_inside(nodes, own, counts) if is_sampled else (),
    )


def _sampled_times(
    tree: Tree, run: Callable[[], list[dict[str, Any]]], repetitions: int, budget: Budget
) -> tuple[list[Times], list[float]]:
    """Own times and the number of samples of each execution. Advise a larger budget only if that would help."""
    results = [run() for _ in range(repetitions)]
    if not any(one.get("samples_only") for processes in results for one in processes):
        budget.advise()
    counts = [
        sum(_convert(lambda one: float(one.get("samples", 0)), one) for one in processes) for processes in results
    ]
    return [_own_times(tree, processes) for processes in results], counts


def _samples_inside(nodes: Sequence[TimedNode], own: Sequence[Times], counts: Sequence[float]) -> tuple[float, ...]:
    """The number of samples of each execution inside the trace, which may start at a function."""
    inside_ms = [sum(node.elapsed_ms[i] for node in nodes if node.parent is None) for i in range(len(counts))]
    whole_ms = [max(sum(one.values()) / 1e6, 1e-6) for one in own]
    return tuple(
        round(count * inside / whole, 3) for count, inside, whole in zip(counts, inside_ms, whole_ms, strict=True)
    )


def _nothing_traced(*, is_sampled: bool) -> TraceError:
    """The error of an empty trace. Samples may miss short code, so they do not prove that it did not run."""
    nothing = "no sample fell into" if is_sampled else "the command runs no"
    return TraceError(
        f"{nothing} Python code of the repository",
        next_step="trace a command that runs such code for longer, or name the package to be included",
    )


def executed_functions(
    execute: Execute, *, root: Path, python_path: str = "", is_watched: bool = False
) -> frozenset[tuple[str, str]]:
    """File (below `root`) and qualified name of the functions of one execution; empty if it runs no Python.

    Raises: errors of `execute`; TraceError if its Python runs no such function, or cannot list any. To find the latter
    reason, the execution is watched, which slows it down.
    """
    rows = _listing(execute, root=root, python_path=python_path, is_watched=is_watched)
    return frozenset((file, name) for file, name, *_ in rows)


def methods_of_tests(execute: Execute, *, root: Path, python_path: str = "") -> dict[str, tuple[str, ...]]:
    """Return the methods of one execution by pytest's test that ran them. Raises as `executed_functions`."""
    methods: dict[str, dict[str, None]] = {}
    for _, _, method, test in _listing(execute, root=root, python_path=python_path, is_watched=False):
        if test:
            methods.setdefault(test, {})[method] = None
    return {test: tuple(names) for test, names in methods.items()}


def _listing(execute: Execute, *, root: Path, python_path: str, is_watched: bool) -> list[tuple[str, str, str, str]]:
    with _with_plan({"root": str(root), "listed": True}, python_path) as (folder, variables):
        processes: list[StartedProcess] = []
        if is_watched:
            processes = _watch(lambda: execute(variables))
        else:
            execute(variables)
        results = _results(folder)
        rows = [row for result in results for row in _convert(list, result.get("executed", []))]
        if results and not rows:
            raise TraceError("its Python executes no file of the checkout", next_step=FROM_CHECKOUT)
        if not results and any(process.is_python for process in processes):
            raise _lost(processes)
        return [_convert(lambda row: (str(row[0]), str(row[1]), str(row[2]), str(row[3])), row) for row in rows]


def _execute(execute: Execute, plan: dict[str, Any], *, python_path: str, budget: Budget) -> list[dict[str, Any]]:
    with _with_plan(plan, python_path) as (folder, variables):
        budget.execute(lambda: execute(variables), is_usual=plan["selected"] is not None)
        results = _results(folder)
        if not results:
            raise _lost(_watch(lambda: execute(variables)))
        return results


@contextmanager
def _with_plan(plan: dict[str, Any], python_path: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """The folder of the plan and its results, and the variables that pass it to a command."""
    with tempfile.TemporaryDirectory(prefix="perf-culprit-trace-") as name:
        (Path(name) / PLAN_NAME).write_text(json.dumps(plan))
        paths = [str(HOOK_FOLDER), *([python_path] if python_path else [])]
        yield Path(name), {FOLDER_VARIABLE: name, "PYTHONPATH": ":".join(paths)}


def _results(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob(f"{RESULT_PREFIX}*.json"))[: TRACE_LIMITS.processes]
    results = [_read(file) for file in files]
    usable = [result for result in results if "refused" not in result]
    if usable:
        return usable
    for refused in results:
        if refused.get("samples_only"):
            raise SamplesOnlyError(str(refused["refused"])[:400], next_step="")
        raise TraceError(str(refused["refused"])[:400], next_step=str(refused.get("next_step", ""))[:400])
    return []


def _read(file: Path) -> dict[str, Any]:
    if file.is_symlink() or file.stat().st_size > TRACE_LIMITS.result_bytes:
        return {}
    try:
        value = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _announce_starts(tree: Tree, at: str | None, budget: Budget) -> None:
    starts = [tree.nodes[i] for i in tree.starts(at)]
    if at is not None and not starts:
        called = sorted({node.method.name for node in tree.nodes if not node.method.is_c})
        close = difflib.get_close_matches(at.replace(":", "."), called, n=3, cutoff=0.3)
        raise TraceError(
            f"the command never calls {at[:100]}",
            next_step=f"name a function that it calls{', such as ' if close else ''}{', '.join(close)}"[:400],
        )
    if at is not None or any(node.is_benchmark for node in starts):
        names = sorted({node.method.name for node in starts})
        budget.say(f"from {', '.join(names[:5])} on; imports and set-up are left out")


def _own_times(tree: Tree, results: Sequence[Mapping[str, Any]]) -> Times:
    """One execution's own times by the nodes of `tree`, to which its paths are added."""
    own: dict[int, float] = {}
    for result in results:
        places = tree.add(_convert(Tree.of_rows, result.get("tree")))
        for index, own_ns in _convert(_times, result.get("times", {})).items():
            if 0 <= index < len(places):
                own[places[index]] = own.get(places[index], 0.0) + own_ns
    return own


def _sum(results: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    total: dict[int, float] = {}
    for result in results:
        for index, elapsed_ns in _convert(_times, result.get("times", {})).items():
            total[index] = total.get(index, 0.0) + elapsed_ns
    return total


def _times(value: Any) -> dict[int, float]:
    return {int(index): min(max(float(elapsed_ns), 0.0), 1e18) for index, elapsed_ns in value.items()}


def _convert(convert: Callable[[Any], _T], value: Any) -> _T:
    """Convert a value of the result file. The traced program may have written it: a bad value is not our error."""
    try:
        return convert(value)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise TraceError("a process of the command left a damaged trace", next_step="run it again") from error
