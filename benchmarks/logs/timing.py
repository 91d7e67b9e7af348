"""The cost of reading logs and traces against a bare pass over the same file: processor time, memory, wall time.

    python benchmarks/logs/timing.py [RECORDS] [SHAPE…]

RECORDS: lines or spans (1,000,000; 1,650,000 "long lines" are the log of [Z15] section 4). A shape's passes and
diagnoses take turns in one run, twice; the least of each counts. Ratios are of user and system time, children
included, with start-up and without it: start-up is the same command on a log of one call. README.md has results.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT))

from benchmarks.logs.generator import LINES_PER_CALL, SPAN_COLUMNS, write_json_lines, write_log, write_spans  # noqa: E402
from perf_culprit.read.logs.log_pattern import PRESETS  # noqa: E402

REPEATS = 2
START_UP = "start-up"
# Longer logs repeat a log of this number of lines.
MOST_WRITTEN = 1_000_000
# The first repeat goes to the line's end and backtracks: the format is not fixed.
FREE = (
    rb"^(?P<time>\S+ \S+) \[(?P<thread>.*)\] service=(?P<service>.*) call=(?P<call>.*?) "
    rb"(?P<label>[0-9.]+) (?P<method>.*?) (?P<elapsed_ms>-?[0-9.]+) ?ms\b"
)
# A pattern of a user's own: named groups, and text before the first one.
OWN = (
    rb"svc=(?P<service>\S+) req=(?P<call>\S+) label=(?P<label>[0-9.]+) op=(?P<method>\S+) "
    rb"elapsed=(?P<elapsed_ms>[0-9.]+)ms"
)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A shape. `write` takes file and records. `options` are diagnose's, before the file. `passes` are bare ones."""

    name: str
    write: Callable[[Path, int], Any]
    options: tuple[str, ...]
    passes: tuple[str, ...]


def _log(path: Path, lines: int) -> None:
    write_log(path, calls=min(lines, MOST_WRITTEN) // LINES_PER_CALL, bytes_per_line=0)
    once = path.read_bytes()
    with path.open("ab") as file:
        for _ in range(lines // MOST_WRITTEN - 1):
            file.write(once)


def _own_log(path: Path, lines: int) -> None:
    _log(path, lines)
    line = rb"(?m)^(\S+ \S+) \[.*?\] service=(\S+) call=(\S+) (\S+) (\S+) (\S+) ms.*$"
    path.write_bytes(re.sub(line, rb"\1 INFO svc=\2 req=\3 label=\4 op=\5 elapsed=\6ms", path.read_bytes()))


def _spans(form: str) -> Callable[[Path, int], None]:
    return lambda path, spans: write_spans(path, form, calls=spans // LINES_PER_CALL)


TRACE_PASSES = ("json.loads", "msgspec")
SHAPES = {
    shape.name: shape
    for shape in (
        Shape(name="fixed form", write=_log, options=("--pattern", "labelled", "--log"), passes=("labelled",)),
        Shape(
            name="long lines",
            write=lambda path, lines: write_log(path, calls=lines // LINES_PER_CALL),
            options=("--pattern", "labelled", "--log"),
            passes=("labelled",),
        ),
        Shape(name="free pattern", write=_log, options=("--pattern", "free.txt", "--log"), passes=("free.txt",)),
        Shape(name="own pattern", write=_own_log, options=("--pattern", "own.txt", "--log"), passes=("own.txt",)),
        Shape(
            name="JSON lines",
            write=lambda path, lines: write_json_lines(path, calls=lines // LINES_PER_CALL),
            options=("--pattern", "json", "--log"),
            passes=("json.loads per line", "msgspec per line"),
        ),
        Shape(
            name="CSV spans",
            write=_spans("csv"),
            options=("--format", SPAN_COLUMNS, "--profile"),
            passes=("csv.reader",),
        ),
        *(
            Shape(name=form, write=_spans(form), options=("--format", form, "--profile"), passes=TRACE_PASSES)
            for form in ("otlp", "jaeger", "zipkin")
        ),
    )
}


def bare_pass(kind: str, path: Path) -> None:
    """Read the file without any analysis, in a separate process."""
    import csv

    import msgspec

    decode = msgspec.json.decode
    if kind in {"json.loads", "msgspec"}:
        (decode if kind == "msgspec" else json.loads)(path.read_bytes())
        return
    if kind == "csv.reader":
        with path.open(newline="") as table:
            print(sum(1 for _ in csv.reader(table)))
        return
    expression = {"labelled": PRESETS["labelled"], "free.txt": FREE, "own.txt": OWN}.get(kind)
    each: Callable[[bytes], object] = re.compile(expression).search if expression else decode
    if kind.startswith("json.loads"):
        each = json.loads
    with path.open("rb") as log:
        print(sum(each(line) is not None for line in log))


@dataclass(frozen=True, kw_only=True)
class Cost:
    cpu_s: float
    wall_s: float
    memory_mb: float

    def least(self, other: "Cost | None") -> "Cost":
        if other is None:
            return self
        return Cost(
            cpu_s=min(self.cpu_s, other.cpu_s),
            wall_s=min(self.wall_s, other.wall_s),
            memory_mb=max(self.memory_mb, other.memory_mb),
        )


def cost(command: list[str], folder: Path) -> Cost:
    """Return the cost of the command and its children; memory is the peak of their sum."""
    before = _children_s()
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, cwd=folder)
    peak_mb = 0.0

    def watch() -> None:
        nonlocal peak_mb
        while process.poll() is None:
            peak_mb = max(peak_mb, sum(map(_memory_mb, _family(process.pid))))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{command}: exit {process.returncode}")
    return Cost(cpu_s=_children_s() - before, wall_s=time.perf_counter() - begun, memory_mb=peak_mb)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _memory_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else 0.0


def measure(shape: Shape, records: int, folder: Path) -> None:
    path, short = (folder / f"{shape.name.replace(' ', '_')}{end}" for end in ("", "_short"))
    shape.write(path, records)
    shape.write(short, LINES_PER_CALL)
    (folder / "free.txt").write_bytes(FREE)
    (folder / "own.txt").write_bytes(OWN)
    commands = {name: [__file__, "bare", name, str(path)] for name in shape.passes}
    diagnose = ["-m", "perf_culprit", "diagnose", *shape.options, str(path)]
    commands[START_UP] = [*diagnose[:-1], str(short)]
    # Only logs are split between workers.
    for workers in (1, 2) if shape.options[-1] == "--log" else ():
        commands[f"{workers} workers"] = [*diagnose, "--workers", str(workers)]
    if shape.options[-1] != "--log":
        commands["diagnose"] = diagnose
    costs: dict[str, Cost] = {}
    for _ in range(REPEATS):
        for name, command in commands.items():
            costs[name] = cost(command, folder).least(costs.get(name))
    print(f"\n{shape.name}: {records:,} records, {path.stat().st_size / 1e6:,.0f} MB, load {os.getloadavg()[0]:.1f}\n")
    titles = "".join(f" x {name} | without start-up |" for name in shape.passes)
    print(f"| | CPU s | wall s | MB |{titles}\n|---|--:|--:|--:|" + "--:|" * 2 * len(shape.passes))
    for name, one in costs.items():
        started_s = 0.0 if name in shape.passes else costs[START_UP].cpu_s
        ratios = "".join(
            f" {one.cpu_s / costs[bare].cpu_s:.1f} | {(one.cpu_s - started_s) / costs[bare].cpu_s:.1f} |"
            for bare in shape.passes
        )
        print(f"| {name} | {one.cpu_s:.2f} | {one.wall_s:.2f} | {one.memory_mb:,.0f} |{ratios}", flush=True)
    path.unlink()


def main(records: int, names: list[str]) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SHAPES:
            measure(SHAPES[name], records, Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["bare"]:
        bare_pass(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:])
