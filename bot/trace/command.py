"""Tracing a command: every pass and every repetition is an execution of its own, in fresh processes."""

import difflib
import json
import tempfile
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from .budget import Budget
from .child import FOLDER_VARIABLE, PLAN_NAME, RESULT_PREFIX
from .fault import SamplesOnlyError, TraceError
from .levels import MINIMUM_SHARE, Times, measure_levels
from .levels import Path as CallPath
from .lost import why_lost
from .profile import Trace
from .sampling import sampled_nodes
from .tree import Tree, tree_from_rows

HOOK_FOLDER: Final = Path(__file__).resolve().parent / "hook"
MAXIMUM_RESULT_BYTES: Final = 64 << 20
MAXIMUM_PROCESSES: Final = 1_000

T = TypeVar("T")
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
) -> Trace:
    """`execute` runs the command once, with these environment variables added; `python_path` is its own PYTHONPATH.

    `is_sampled`: None for stacks instead of levels where the budget is too short for levels.
    The processes of one execution count together. A trace that its budget ends is partial: the upper levels.

    Raises:
        TraceError: the command refuses, ends without a result, or runs no code below `root`.
    """
    budget = budget or Budget()

    def run(plan: dict[str, Any]) -> list[dict[str, Any]]:
        return _executed(execute, plan, python_path=python_path, budget=budget)

    base = {"root": str(root), "include": list(include)}
    if budget.seconds is not None:
        # The command as it is tells how many executions there is time for.
        budget.execute(lambda: execute({}))
    tree = Tree()
    is_sampled = budget.is_short if is_sampled is None else is_sampled
    samples: list[Times] = []
    if not is_sampled:
        try:
            for result in run({**base, "selected": None}):
                tree.add(_checked(tree_from_rows, result.get("tree")))
            budget.plan(repetitions)
        except SamplesOnlyError:
            is_sampled = True
    if is_sampled:
        plan = {**base, "selected": [], "sampled": True}
        samples += [_sampled(tree, run(plan)) for _ in range(budget.plan_samples(repetitions))]
    rows = tree.rows()

    def time_pass(selected: Sequence[int]) -> list[Times]:
        plan = {**base, "selected": list(selected), "tree": rows}
        return [_sum(run(plan)) for _ in range(budget.repetitions)]

    _announce_starts(tree, at, budget)
    if is_sampled:
        nodes = sampled_nodes(tree, samples, at=at)
    else:
        nodes = measure_levels(
            tree, time_pass, at=at, minimum_share=minimum_share, follow=follow, allowed=budget.allows
        )
    if not nodes:
        raise TraceError(
            "the command runs no Python code of the repository",
            next_step="trace a command that does, or name the package to be included",
        )
    return Trace(
        service=service,
        nodes=nodes,
        repetitions=budget.repetitions,
        is_partial=budget.is_spent,
        is_sampled=is_sampled,
    )


def _executed(execute: Execute, plan: dict[str, Any], *, python_path: str, budget: Budget) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="perf-culprit-trace-") as name:
        folder = Path(name)
        (folder / PLAN_NAME).write_text(json.dumps(plan))
        paths = [str(HOOK_FOLDER), *([python_path] if python_path else [])]
        variables = {FOLDER_VARIABLE: name, "PYTHONPATH": ":".join(paths)}
        budget.execute(lambda: execute(variables), is_usual=plan["selected"] is not None)
        results = _results(folder)
        if not results:
            raise why_lost(lambda: execute(variables), hook=str(HOOK_FOLDER), folder_variable=FOLDER_VARIABLE)
        return results


def _results(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob(f"{RESULT_PREFIX}*.json"))[:MAXIMUM_PROCESSES]
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
    if file.is_symlink() or file.stat().st_size > MAXIMUM_RESULT_BYTES:
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


def _sampled(tree: Tree, results: Sequence[Mapping[str, Any]]) -> Times:
    """One execution's own times by the nodes of `tree`, which gets its paths."""
    own: dict[int, float] = {}
    for result in results:
        places = tree.add(_checked(tree_from_rows, result.get("tree")))
        for index, own_ns in _checked(_times, result.get("times", {})).items():
            if 0 <= index < len(places):
                own[places[index]] = own.get(places[index], 0.0) + own_ns
    return own


def _sum(results: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    total: dict[int, float] = {}
    for result in results:
        for index, elapsed_ns in _checked(_times, result.get("times", {})).items():
            total[index] = total.get(index, 0.0) + elapsed_ns
    return total


def _times(value: Any) -> dict[int, float]:
    return {int(index): min(max(float(elapsed_ns), 0.0), 1e18) for index, elapsed_ns in value.items()}


def _checked(convert: Callable[[Any], T], value: Any) -> T:
    """The traced program could have written the file: what is no result is an error of its, not of ours."""
    try:
        return convert(value)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise TraceError("a process of the command left a damaged trace", next_step="run it again") from error
