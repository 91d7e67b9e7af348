"""What makes results smaller: an option of the tool that wrote them, or fewer samples of each stretch of time."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from perf_culprit.errors import TooLargeError
from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.source import MAX_FILE_BYTES, LargeFile, Source

# Which option of a tool makes its results smaller: what is said first where they are beyond a limit.

# By parser. Only options that the tool's own documentation has.
OPTIONS: Final = MappingProxyType(
    {
        "pytest_benchmark": "--benchmark-max-time=0.1 (default 1.0 s) makes fewer rounds of each benchmark",
        "pyperf": "--processes and --values say how many values are measured",
        "jmh": "-f (forks) and -i (iterations) say how many results are written",
        "google_benchmark": "--benchmark_repetitions says how many are written, --benchmark_filter of which benchmarks",
        "google_benchmark_csv": "--benchmark_repetitions says how many are written",
        "google_benchmark_text": "--benchmark_repetitions says how many are written",
        "hyperfine": "--runs, or --max-runs, says how many times are written",
        "benchmarkdotnet": "the brief exporter (--exporters briefjson) and --iterationCount write less",
        "asv": "without --record-samples asv keeps a summary of each benchmark",
        "go_text": "-count says how often each benchmark is written",
        "go_json": "-count says how often each benchmark is written",
        "criterion": "--sample-size says how many samples are measured",
        "catch2_xml": "--benchmark-samples says how many samples are measured",
        "catch2_text": "--benchmark-samples says how many samples are measured",
        "divan": "--sample-count says how many samples are measured",
        "phpbench": "--iterations says how many are measured",
        "jmeter_jtl": "a shorter test, or a Simple Data Writer for one sampler, writes fewer rows",
    }
)


def with_option(error: TooLargeError, tool: str) -> TooLargeError:
    """The same refusal, with the option of the tool where it is known."""
    option = OPTIONS.get(tool)
    step = error.next_step if option is None else f"{option}; or {error.next_step}"
    return TooLargeError(error.message, place=error.place, next_step=step)


# A file too large for memory gives fewer samples: of each benchmark one of each equal stretch of its time.

# More samples than this tell a test nothing new; a file may hold millions.
KEPT_SAMPLES = 10_000
MAX_KEPT_BYTES = 512 << 20
# What CPython takes: a float and its place in a tuple, and a benchmark with its summary, place and key.
SAMPLE_BYTES = 32
BENCHMARK_BYTES = 1_000


@dataclass
class Thinning:
    """The benchmarks of one file, thinned where it is large."""

    source: Source
    benchmarks: list[tuple[Benchmark, str]] = field(default_factory=list)
    kept: int = 0
    left_out: int = 0
    _bytes: int = 0

    def add(self, benchmark: Benchmark, place: str) -> None:
        """Raises: TooLargeError where all that is kept of a large file takes too much memory."""
        if isinstance(self.source, LargeFile):
            samples = thinned(benchmark.samples)
            self.kept += len(samples)
            self.left_out += len(benchmark.samples) - len(samples)
            self._hold(SAMPLE_BYTES * len(samples) + len(benchmark.name) + BENCHMARK_BYTES)
            benchmark = replace(benchmark, samples=samples)
        self.benchmarks.append((benchmark, place))

    def notes(self) -> tuple[str, ...]:
        if not self.left_out:
            return ()
        reason = f"the file is above {MAX_FILE_BYTES >> 20} MiB: at most {KEPT_SAMPLES:,} samples a benchmark are kept"
        return (f"{reason}, evenly over their time, {self.kept:,} of {self.kept + self.left_out:,}",)

    def _hold(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        if self._bytes > MAX_KEPT_BYTES:
            raise TooLargeError(
                f"its benchmarks take more than {MAX_KEPT_BYTES >> 20} MiB of memory",
                place=self.source.place,
                next_step="split the suite into several files, or let the tool write fewer samples",
            )


def thinned(samples: Sequence[float], most: int = KEPT_SAMPLES) -> tuple[float, ...]:
    """At most `most`, in order: one at random of each of as many equal stretches, always the same ones.

    At random, or whatever repeats at the distance of two kept samples would look like no noise at all.
    """
    if len(samples) <= most:
        return tuple(samples)
    place = random.Random(0).random  # noqa: S311 - a repeatable choice of samples guards nothing
    return tuple(samples[int((i + place()) * len(samples) / most)] for i in range(most))
