"""Record executions of one unchanged command, to measure how often `compare` errs on this machine's own noise.

    python -m benchmarks.truth.record --run COMMAND --executions N --output FILE.npz [--setup COMMAND] [--results PATH]

Each execution is a separate process. perf-culprit's own readers read its output, or its files at `--results`.
The file holds `seconds` (benchmarks, executions, samples), padded with NaN, in each benchmark's `unit`, also of counts.
It has `names`, `metrics`, `directions` of benchmarks, and `started` (Unix seconds), `load` (of a minute) of executions.
It is written after every execution: an interrupted recording is usable. `benchmarks.truth.executions` reads it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

from perf_culprit.errors import BotError, DataError
from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.collect import Reading, collect
from perf_culprit.read.results.result_formats import AUTO

# Limit per benchmark of an execution: more samples are thinned evenly. A unit is one median, for which 40 suffice.
MOST_SAMPLES: Final = 40


class Execution(NamedTuple):
    started: float
    load: float
    benchmarks: tuple[Benchmark, ...]


def execute(command: str, results: Path | None, reading: Reading) -> Execution:
    """Run the command once. Raise a BotError if it fails or nothing can be read."""
    started, load = time.time(), os.getloadavg()[0]
    if results is not None and results.exists():
        shutil.rmtree(results) if results.is_dir() else results.unlink()
    with TemporaryDirectory() as folder:
        output = Path(folder, "output.txt")
        with output.open("wb") as stream:
            code = subprocess.run(command, shell=True, stdout=stream, check=False).returncode  # noqa: S602
        if code:
            raise DataError(f"ended with {code}", place=command, next_step="run it by itself until it succeeds")
        return Execution(started, load, collect([str(results or output)], reading).benchmarks)


def write(file: Path, executions: Sequence[Execution]) -> None:
    """Write all executions so far; a benchmark that an execution lacks is NaN in it."""
    rows = {entry.key: entry for one in executions for entry in one.benchmarks}
    places = {key: row for row, key in enumerate(rows)}
    numbers = [[(places[entry.key], _numbers(entry)) for entry in one.benchmarks] for one in executions]
    most = max(len(values) for one in numbers for _, values in one)
    seconds = np.full((len(rows), len(executions), most), np.nan)
    for column, one in enumerate(numbers):
        for row, values in one:
            seconds[row, column, : len(values)] = values
    np.savez_compressed(
        file,
        seconds=seconds,
        names=[key.benchmark for key in rows],
        metrics=[key.metric for key in rows],
        unit=[entry.unit for entry in rows.values()],
        directions=[entry.direction.value for entry in rows.values()],
        started=[one.started for one in executions],
        load=[one.load for one in executions],
    )


def _numbers(benchmark: Benchmark) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Round to seven digits, as in single precision: further digits would be most of the file."""
    values = np.array(benchmark.samples or [benchmark.value])
    chosen = np.linspace(0, len(values) - 1, min(len(values), MOST_SAMPLES)).round().astype(int)
    return np.array([float(f"{value:.7g}") for value in values[chosen]])


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.record",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", required=True, metavar="COMMAND", help="executed again and again, unchanged")
    parser.add_argument("--executions", type=int, default=40, metavar="N")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE.npz")
    parser.add_argument("--setup", metavar="COMMAND", help="once, before")
    parser.add_argument("--results", type=Path, metavar="PATH", help="what the command writes; without it its output")
    parser.add_argument("--tool", default=AUTO, metavar="FORMAT", help="a format of docs/formats.md")
    arguments = parser.parse_args()
    if arguments.setup:
        subprocess.run(arguments.setup, shell=True, check=True)  # noqa: S602
    executions: list[Execution] = []
    try:
        for number in range(1, arguments.executions + 1):
            executions.append(execute(arguments.run, arguments.results, Reading(tool=arguments.tool)))
            write(arguments.output, executions)
            took = time.time() - executions[-1].started
            print(f"{number} of {arguments.executions}: {len(executions[-1].benchmarks)} metrics, {took:.1f} s")
    except BotError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
