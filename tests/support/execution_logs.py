"""Execution logs of the preset `labelled`, written by hand or drawn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from perf_culprit.explain.ranking import call_trees
from perf_culprit.model.call_tree import CallTree
from perf_culprit.read.logs.log_partial import Part, analyse, finish
from perf_culprit.read.logs.log_pattern import LinePattern, Row, load_pattern
from perf_culprit.read.logs.log_reader import ReadLog
from perf_culprit.read.logs.log_rows import read_lines
from perf_culprit.read.logs.reading_settings import ReadingSettings

LABELLED = load_pattern("labelled")


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    service: str = "shop"
    call: str = "c1"
    label: str = "1"
    method: str = "Shop.order"
    elapsed_ms: float = 10.0
    second: int = 0
    thread: str = "exec-1"


def line(execution: Execution) -> bytes:
    seconds = execution.second
    return (
        f"2026-03-01 {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.000 [{execution.thread}] "
        f"service={execution.service} call={execution.call} {execution.label} {execution.method} "
        f"{execution.elapsed_ms:.3f} ms\n"
    ).encode()


def log(executions: Iterable[Execution]) -> bytes:
    return b"".join(map(line, executions))


def call(
    name: str, rows: Sequence[tuple[str, str, float]], *, service: str = "shop", second: int = 0
) -> list[Execution]:
    """Return a call's executions from rows of (label, method, elapsed time in ms)."""
    return [
        Execution(service=service, call=name, label=label, method=method, elapsed_ms=elapsed_ms, second=second)
        for label, method, elapsed_ms in rows
    ]


def rows_of(pattern: LinePattern, *lines: bytes) -> list[Row]:
    """Return the rows of those lines that are executions."""
    rows = read_lines(b"\n".join(lines), pattern).rows
    return rows.rows(np.arange(len(rows)))


def part_of(data: bytes, *, pattern: LinePattern = LABELLED, horizon: int = 2_000) -> Part:
    return analyse(data, pattern=pattern, settings=ReadingSettings(horizon=horizon))


def trees_of(part: Part) -> dict[str, CallTree]:
    trees = call_trees(ReadLog(part=finish(part), truncated_files=()))
    return {tree.service: tree for tree in trees}


def paths(tree: CallTree) -> dict[str, tuple[int, float, float]]:
    """Map each path "a > b" to its calls, elapsed and self time."""
    named: list[str] = []
    for node in tree.nodes:
        named.append(node.method if node.parent is None else f"{named[node.parent]} > {node.method}")
    return {
        name: (node.calls, round(node.elapsed_ms, 6), round(node.self_ms, 6))
        for name, node in zip(named, tree.nodes, strict=True)
    }


@st.composite
def drawn_calls(draw: st.DrawFn) -> list[list[Execution]]:
    """Draw calls of a few services: each a random tree whose elapsed times include those of its children."""
    calls = []
    for number in range(draw(st.integers(1, 12))):
        service = draw(st.sampled_from(("shop", "stock")))
        labels = ["1"]
        children = [0]
        parents = [-1]
        for _ in range(draw(st.integers(0, 6))):
            parent = draw(st.integers(0, len(labels) - 1))
            children[parent] += 1
            labels.append(f"{labels[parent]}.{children[parent]}")
            children.append(0)
            parents.append(parent)
        # Quarters of a millisecond: sums are exact in any order.
        times = [draw(st.integers(0, 400)) / 4 for _ in labels]
        for i in range(len(labels) - 1, 0, -1):
            times[parents[i]] += times[i]
        methods = [draw(st.sampled_from("abcdef")) for _ in labels]
        calls.append(call(f"c{number}", list(zip(labels, methods, times, strict=True)), service=service, second=number))
    return calls
