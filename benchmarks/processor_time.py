"""How often `measure` proves a planted change by the clock and by processor time, on real executions.

    python -m benchmarks.processor_time record OUT --rounds 30 --burners 4
    python -m benchmarks.processor_time judge OUT ...
    python -m benchmarks.processor_time repeat OUT ...
    python -m benchmarks.processor_time cost

`record` measures a suite of fixed work in C, Go and Python in turn. Its commits are a base, one with the same code, and
two with 8 and 10% more work. `judge` draws 12 of the rounds, again and again, and counts what `judge_run` proves.
`repeat` asks whether repeating the executions that waited longest for a processor would make rounds agree better.
`cost` is what `measure` adds to an execution of about a second.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Floats
from perf_culprit.cli.entry import main as perf_culprit
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.measured_side import paired
from perf_culprit.measure.processes import Log, run_command
from perf_culprit.measure.processor_time import Meter
from perf_culprit.model.finding import PROVEN
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.model.run_file import decode_run

ROUNDS: Final = 12
DRAWS: Final = 300
CHANGES: Final = {"same": 1.0, "8%": 1.08, "10%": 1.1}
UNITS: Final = 10_000  # of work, about a second of processor time in each language
SOURCES: Final = {
    "work.c": (
        "int main(void) {{ unsigned long s = 0; for (long i = 0; i < {n} * 160000L; i++) {{ s ^= i * i;"
        ' __asm__ volatile("" : "+r"(s)); }} return 0; }}'
    ),
    "work.go": (
        "package main\nfunc main() {{\n\ts := 0\n\tfor i := 0; i < {n}*160000; i++ {{\n\t\ts ^= i * i\n\t}}\n"
        "\tif s == 1 {{\n\t\tprintln(s)\n\t}}\n}}\n"
    ),
    "work.py": "total = 0\nfor i in range({n} * 480):\n    total ^= i * i\n",
}
BUILD: Final = "cc -O1 work.c -o c.out && go build -o go.out work.go"
RUN: Final = 'case "$PERF_CULPRIT_BENCHMARKS" in c) ./c.out;; go) ./go.out;; python) python3 -S work.py;; esac'


def repository(folder: Path, *, seconds: float) -> None:
    """Make the commits: the base, then one for each change."""
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for name, amount in {"base": 1.0, **CHANGES}.items():
        for file, text in SOURCES.items():
            (folder / file).write_text(text.format(n=round(UNITS * seconds * amount)))
        (folder / "name").write_text(name)
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
        subprocess.run(["git", "-C", str(folder), *who, "commit", "--quiet", "-m", name], check=True)


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Keep `count` processes busy."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def record(output: Path, *, rounds: int, burners: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository(Path(folder), seconds=seconds)
        revisions = [f"HEAD~{back}" for back in range(len(CHANGES), -1, -1)]
        options = ["--metric", "cpu-time", "--only", *SUITE, "--rounds", str(rounds), "--output", str(output)]
        begun = time.monotonic()
        with burning(burners):
            perf_culprit(
                ["measure", "--repo", folder, "--commits", *revisions, "--build", BUILD, "--run", RUN, *options]
            )
        print(f"{rounds} rounds beside {burners} burners took {time.monotonic() - begun:.0f} s")


SUITE: Final = ("c", "go", "python")


def of_rounds(run: Run, numbers: Sequence[int]) -> Run:
    """The run with these rounds alone, numbered again. Each execution has one sample."""
    new = {number: place for place, number in enumerate(numbers, start=1)}

    def kept(entry: Benchmark) -> Benchmark:
        held = [
            (sample, new[number]) for sample, number in zip(entry.samples, entry.rounds, strict=True) if number in new
        ]
        samples, rounds = zip(*sorted(held, key=lambda one: one[1]), strict=True)
        return replace(entry, samples=samples, rounds=rounds, group_sizes=(1,) * len(samples))

    of_one = {name: [one for one in run.executions if one.benchmark == name] for name in SUITE}
    executions = tuple(
        own[2 * (number - 1) + place] for own in of_one.values() for number in numbers for place in (0, 1)
    )
    return replace(run, benchmarks=tuple(map(kept, run.benchmarks)), executions=executions)


def judge(output: Path, *, seed: int) -> None:
    baseline, *targets = (
        decode_run((output / f"{name}.json").read_bytes(), place=name)
        for name in ("baseline", *(f"target-{number}" for number in range(1, len(CHANGES) + 1)))
    )
    numbers = sorted(set(baseline.benchmarks[0].rounds))
    print(f"{output}: {len(numbers)} rounds, {DRAWS} draws of {ROUNDS}; share of benchmarks that were proven to differ")
    for change, target in zip(CHANGES, targets, strict=True):
        shares = {way: _proven(baseline, target, numbers, way=way, seed=seed) for way in ("wall", "cpu", "auto")}
        print(f"  {change:5}", "  ".join(f"{way} {proven:.2f}" for way, (proven, _) in shares.items()), end="")
        print(f"  auto by processor time {shares['auto'][1]:.2f}")


def _proven(baseline: Run, target: Run, numbers: Sequence[int], *, way: str, seed: int) -> tuple[float, float]:
    """Return the share of benchmarks that are proven, and of those judged by processor time."""
    config, drawn = Config(time=way), random.Random(seed)
    proven = by_processor = 0
    for _ in range(DRAWS):
        chosen = drawn.sample(numbers, min(ROUNDS, len(numbers)))
        report = judge_run(paired(of_rounds(baseline, chosen)), of_rounds(target, chosen), config=config)
        proven += sum(finding.verdict in PROVEN for finding in report.findings)
        by_processor += sum(finding.key.metric == "cpu-time" for finding in report.findings)
    return proven / (DRAWS * len(SUITE)), by_processor / (DRAWS * len(SUITE))


def repeat(output: Path, *, seed: int) -> None:
    """Print the spread of rounds where nothing changed: as measured, and with a fifth of the executions repeated.

    The repeated ones are those of each side that waited longest per second of processor time; beside it, as many at
    random. A repetition is another execution of the same side, and is kept if it waited less.
    """
    sides = [decode_run((output / f"{name}.json").read_bytes(), place=name) for name in ("baseline", "target-1")]
    drawn = np.random.default_rng(seed)
    for name in SUITE:
        kept = [[one for one in side.executions if one.benchmark == name] for side in sides]
        times = np.array([[[one.seconds, one.cpu_seconds] for one in side] for side in kept])
        waits = np.array([[(one.delay_seconds or 0.0) / one.cpu_seconds for one in side] for side in kept])
        print(f"{output}, {name}: {times.shape[1]} executions a side; spread by the clock and by processor time")
        print("  as measured", _spread(times).round(3))
        for way, order in (("the longest waits repeated", waits), ("as many at random", None)):
            spreads = [_spread(_repeated(times, waits, order, drawn)) for _ in range(DRAWS)]
            print(f"  {way}", np.mean(spreads, axis=0).round(3))


def _repeated(times: Floats, waits: Floats, order: Floats | None, drawn: np.random.Generator) -> Floats:
    result, count = times.copy(), times.shape[1]
    for side in range(2):
        asked = np.argsort(drawn.random(count) if order is None else order[side])[-(count // 5) :]
        others = drawn.integers(0, count, len(asked))
        is_kept = np.full(len(asked), True) if order is None else waits[side, others] < waits[side, asked]
        result[side, asked[is_kept]] = times[side, others[is_kept]]
    return result


def _spread(times: Floats) -> Floats:
    """The standard deviation of the rounds' log ratios, (2,): by the clock and by processor time."""
    rounds = np.log(times).reshape(2, -1, 2, 2).mean(axis=2)
    spread: Floats = np.std(rounds[1] - rounds[0], axis=0, ddof=1)
    return spread


def cost(executions: int) -> None:
    """Run one program in turn alone and as `measure` runs it; count the processor time of both, and our own."""
    program = [sys.executable, "-S", "-c", "sum(i * i for i in range(9000000))"]
    command = f"exec '{program[0]}' -S -c '{program[3]}'"
    ratios, own, alone = list[float](), list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder, Log(Path(folder) / "log.txt") as log:
        for _ in range(executions):
            unwatched, watched = Meter(), Meter()
            unwatched.start(0)
            subprocess.run(program, check=True, stdin=subprocess.DEVNULL, cwd=folder)
            unwatched.end()
            before = time.process_time()
            run_command(command, directory=Path(folder), environment={}, log=log, timeout_seconds=60, meter=watched)
            spent = time.process_time() - before
            first, second = (
                0.0 if one.execution is None else one.execution.cpu_seconds for one in (unwatched, watched)
            )
            alone.append(first)
            ratios.append(second / first)
            own.append(spent / second)
    print(f"{executions} pairs of {statistics.median(alone):.2f} s of processor time: the command's own is", end=" ")
    print(f"{statistics.median(ratios) - 1:+.2%} under `measure`, which takes {statistics.median(own):.2%} itself")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "judge", "repeat", "cost"))
    parser.add_argument("outputs", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--burners", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1.0, help="of an execution, about")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--executions", type=int, default=15)
    asked = parser.parse_args()
    if asked.what == "cost":
        cost(asked.executions)
    for output in asked.outputs:
        if asked.what == "record":
            record(output, rounds=asked.rounds, burners=asked.burners, seconds=asked.seconds)
        elif asked.what == "repeat":
            repeat(output, seed=asked.seed)
        else:
            judge(output, seed=asked.seed)


if __name__ == "__main__":
    main()
