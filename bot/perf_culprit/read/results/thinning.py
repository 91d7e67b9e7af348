"""A file too large for memory gives fewer samples: of each benchmark one of each equal stretch of its time."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from perf_culprit.errors import TooLargeError
from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.source import MAX_FILE_BYTES, LargeFile, Source

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
        reason = (
            f"the file is above {MAX_FILE_BYTES >> 20} MiB: at most {KEPT_SAMPLES:,} samples of each benchmark are kept"
        )
        return (f"{reason}, spread evenly over time: {self.kept:,} of {self.kept + self.left_out:,}",)

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
