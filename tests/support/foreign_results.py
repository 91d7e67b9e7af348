"""Reads nyrkio/benchzoo's result files with the product, and checks what was read against the files themselves.

`python -m tests.support.foreign_results FOLDER [--write]`, where FOLDER is its `tests/data`, at commit 77bf382. The
checks share no code with the readers: they know what the zoo's four benchmarks do, and look for each number in the
file's text. `--write` makes the table of the documentation again.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Run
from perf_culprit.read.results.collect import collect

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "evidence" / "foreign-results.md"
# The files that are kept here; the collection has seven larger ones.
KEPT: Final = ROOT / "tests" / "golden" / "benchzoo"
LEAST_READ: Final = 70
# benchmark1 sleeps 2.15 s; benchmark4 2.15 s, and 1 s less or more in some months. All others take less.
SLEEP_S: Final = {"1": (2.15,), "4": (1.15, 2.15, 3.15)}
SHORT_S: Final = 0.05
LARGEST_RATIO: Final = 1000
TOLERANCE_S: Final = 0.02
SECONDS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ms/op": 1e-3}
HIGHER: Final = ("throughput", "performance_score")
RATE: Final = re.compile(r"/s$|^i/s$|/sec$")
PLAIN: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|(?<=[=:\s])\.\d+")
GROUPED: Final = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?")
CLOCK: Final = re.compile(r"(\d+)[m:](\d+\.\d+)")
STAMP: Final = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:]{8}\.\d{7}Z ", re.MULTILINE)
COLOUR: Final = re.compile(r"\x1b\[[\d;]*m")
SCALES: Final = (60.0, *(10.0**power for power in range(-9, 10)))
# The zoo's own words around the name of a benchmark.
OF_ZOO: Final = re.compile(r"benchmark_?([1-4])(?!\d)", re.IGNORECASE)
# Names that the product gives: the file's, and the numbers of ClickBench's queries.
UNNAMED: Final = re.compile(r"output|default|ClickHouse Q\d")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The number of metrics that a file gave, with their faults, or the reason of its refusal."""

    file: str
    metrics: int = 0
    reason: str = ""
    faults: tuple[str, ...] = ()


def outcome(path: Path, folder: Path) -> Outcome:
    name = str(path.relative_to(folder))
    try:
        run = collect([str(path)])
    except DataError as error:
        return Outcome(file=name, reason=error.message)
    text = COLOUR.sub("", STAMP.sub("", path.read_text(errors="replace"))).replace("\\t", " ").replace("\\n", "\n")
    numbers = {float(match[0].replace(",", "")) for form in (PLAIN, GROUPED) for match in form.finditer(text)}
    numbers |= {60 * float(minutes) + float(seconds) for minutes, seconds in CLOCK.findall(text)}
    faults = [fault for each in run.benchmarks for fault in faults_of(each, text, numbers)]
    return Outcome(file=name, metrics=len(run.benchmarks) + len(run.counters), faults=(*faults, *faults_of_set(run)))


def faults_of(each: Benchmark, text: str, numbers: set[float]) -> list[str]:
    label = f"{each.name} {each.metric.name}"
    faults = []
    zoo = OF_ZOO.search(each.name)
    if not UNNAMED.fullmatch(each.name) and (zoo[0] if zoo else each.name.split(" ")[-1]) not in text:
        faults.append(f"{label}: the name is not in the file")
    if re.search(r"\d\dT\d\d", each.name):
        faults.append(f"{label}: the name has a part of a time stamp")
    higher = each.metric.name in HIGHER or RATE.search(each.metric.unit) is not None
    if each.metric.direction is not (Direction.HIGHER_IS_BETTER if higher else Direction.LOWER_IS_BETTER):
        faults.append(f"{label}: {each.metric.direction} with the unit {each.metric.unit!r}")
    if each.metric.name == "cpu_time":  # hyperfine has its two parts
        numbers = numbers | {
            first + second for first in numbers for second in numbers if 0 < first < 1 and 0 < second < 1
        }
    for value in (each.samples or (each.value,))[:20]:
        # vitest prints a rate with more digits than the time.
        inverse = [1000.0 / value] if each.metric.unit == "ms" and value > 0 else []
        if not any(is_near(it * scale, numbers) for it in (value, *inverse) for scale in SCALES):
            faults.append(f"{label}: {value:g} is not in the file")
    if (
        each.metric.unit in SECONDS
        and each.metric.name in ("time", "latency")
        and (zoo or each.metric.name == "latency")
    ):
        seconds = each.value * SECONDS[each.metric.unit]
        faults += [f"{label}: {fault}" for fault in unlike(zoo[1] if zoo else "", seconds)]
    elif each.metric.unit in ("1/s", "i/s") and zoo:
        faults += [f"{label}: {fault}" for fault in unlike(zoo[1], 1.0 / each.value)]
    return faults


def is_near(value: float, numbers: set[float]) -> bool:
    return any(abs(value - number) <= 1e-6 * abs(number) for number in numbers)


def unlike(which: str, seconds: float) -> list[str]:
    expected = SLEEP_S.get(which)
    if expected is None:
        return [f"{seconds:g} s, but it takes less than {SHORT_S:g} s"] * (not 0 < seconds < SHORT_S)
    return [f"{seconds:g} s, but it sleeps {expected} s"] * all(abs(seconds - each) > TOLERANCE_S for each in expected)


def faults_of_set(run: Run) -> list[str]:
    """A file about the zoo's benchmarks must yield the long ones, and no two benchmarks as one."""
    left_out = " ".join(run.notes)
    numbered = {zoo[1] for name in (left_out, *(each.name for each in run.benchmarks)) for zoo in OF_ZOO.finditer(name)}
    if not numbered or re.search(r"and [0-9]+ more", left_out):
        numbered = {"1", "4"}
    faults = [f"benchmark{which} is missing" for which in "14" if which not in numbered]
    several = [
        each
        for each in run.benchmarks
        if 0 < LARGEST_RATIO * min(each.samples, default=0) < max(each.samples, default=0)
    ]
    faults += [f"{each.name}: samples from {min(each.samples):g} to {max(each.samples):g}" for each in several]
    return faults


def outcomes(folder: Path) -> list[Outcome]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "README.md"]
    return [outcome(path, folder) for path in files]


def row(each: Outcome) -> str:
    """A row of the table in the documentation."""
    folder, file = each.file.split("/", 1)
    metrics = f"{each.metrics} metric{'s' if each.metrics != 1 else ''}"
    return (
        f"| `{file}` | {folder.removesuffix('-output')} | {f'refused: it {each.reason}' if each.reason else metrics} |"
    )


def main(folder: Path, *, is_written: bool) -> int:
    every = outcomes(folder)
    for each in every:
        result = each.reason or f"{each.metrics} metrics" + "".join(f"\n    MISREAD {fault}" for fault in each.faults)
        sys.stdout.write(f"{'refused' if each.reason else 'read':8}{each.file}: {result}\n")
    read = [each for each in every if not each.reason]
    misread = [each for each in read if each.faults]
    counts = f"{len(every)} files: {len(read)} read, {len(every) - len(read)} refused, {len(misread)} misread"
    sys.stdout.write(f"{counts}\n")
    if is_written:
        before = PAGE.read_text(encoding="utf-8").split("\n## The files\n")[0]
        table = "\n".join(("| file | tool | outcome |", "|---|---|---|", *map(row, every)))
        PAGE.write_text(f"{before}\n## The files\n\n{counts}.\n\n{table}\n", encoding="utf-8")
    return 0 if len(read) >= LEAST_READ and not misread else 1


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("skipped: name the folder tests/data of a clone of nyrkio/benchzoo")
    sys.exit(main(Path(sys.argv[1]), is_written="--write" in sys.argv))
