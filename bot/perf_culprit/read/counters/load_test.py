"""A load test, built request by request: response times per label, and a counter table with a row per second."""

import random
from array import array
from dataclasses import dataclass, field
from math import nan
from typing import Final

from perf_culprit.errors import DataError, list_names
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.counters.counter_tables import Built, build_table, names_shown
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parsed import Parsed, from_samples

RESPONSE_TIME: Final = Metric(name="response_time", unit="ms", direction=Direction.LOWER_IS_BETTER)
ERROR_RATE: Final = Metric(name="error_rate", unit="%", direction=Direction.LOWER_IS_BETTER)
USERS: Final = Metric(name="users", unit="", direction=Direction.UNKNOWN)
THROUGHPUT: Final = "throughput (requests/s)"


class Reservoir:
    """A uniform random sample of at most `size` added numbers (Vitter 1985, algorithm R), in their order.

    The generator has a fixed seed, so that the same file gives the same samples.
    """

    def __init__(self, size: int = FILE_LIMITS.kept_samples) -> None:
        self.count = 0
        self._size = size
        self._random = random.Random(0).random  # noqa: S311 - a repeatable choice of samples guards nothing
        self._numbers = array("d")
        self._positions = array("q")

    def add(self, number: float) -> None:
        if self.count < self._size:
            self._numbers.append(number)
            self._positions.append(self.count)
        else:
            place = int(self._random() * (self.count + 1))
            if place < self._size:
                self._numbers[place] = number
                self._positions[place] = self.count
        self.count += 1

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self) -> list[float]:
        return [number for _, number in sorted(zip(self._positions, self._numbers, strict=True))]


@dataclass(slots=True)
class Second:
    requests: int = 0
    failed: int = 0
    succeeded_ms: float = 0.0
    succeeded: int = 0
    users: float = nan


@dataclass(kw_only=True, slots=True)
class LoadTest:
    """The requests to a system and its answers. Memory grows with labels and seconds, not with requests."""

    name: str
    place: str
    _labels: dict[tuple[str, str], tuple[Metric, Reservoir]] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)
    _seconds: dict[int, Second] = field(default_factory=dict)
    _left_out: int = 0

    def request(
        self, second: Second, label: str, elapsed_ms: float, *, has_failed: bool, is_repeated: bool = False
    ) -> None:
        """Add an answer. A row that repeats others (`is_repeated`) does not count as a request of its second."""
        if has_failed:
            if label in self._failures or len(self._failures) < FILE_LIMITS.load_labels:
                self._failures[label] = self._failures.get(label, 0) + 1
        else:
            self.time(label, elapsed_ms)
        if is_repeated:
            return
        second.requests += 1
        if has_failed:
            second.failed += 1
        else:
            second.succeeded += 1
            second.succeeded_ms += elapsed_ms

    def time(self, label: str, elapsed_ms: float, *, metric: Metric = RESPONSE_TIME) -> None:
        """Add the time of a successful answer, or another time of the test with its metric."""
        if (entry := self._labels.get((label, metric.name))) is None:
            if len(self._labels) == FILE_LIMITS.load_labels:
                self._left_out += 1
                return
            entry = self._labels[label, metric.name] = metric, Reservoir()
        entry[1].add(elapsed_ms)

    def at(self, time_s: float) -> Second:
        """Return the counts of the second in which `time_s` lies."""
        number = int(time_s // 1)
        if (second := self._seconds.get(number)) is None:
            if len(self._seconds) == FILE_LIMITS.load_test_s:
                raise self._too_long()
            second = self._seconds[number] = Second()
        return second

    def parsed(self) -> Parsed:
        benchmarks = tuple(self._benchmark(label, *entry) for (label, _), entry in self._labels.items())
        table, notes = self._table() if self._seconds else (None, ())
        return Parsed(benchmarks=benchmarks, counters=() if table is None else (table,), notes=(*self._notes(), *notes))

    def _benchmark(self, label: str, metric: Metric, reservoir: Reservoir) -> Benchmark:
        return from_samples(label, metric=metric, samples=reservoir.numbers(), place=f"{self.place}: {shown(label)}")

    def _table(self) -> Built:
        """Build a table of every second from the first to the last; one without requests has a throughput of 0."""
        import numpy as np

        first, last = min(self._seconds), max(self._seconds)
        if last - first >= FILE_LIMITS.load_test_s:
            raise self._too_long()
        columns = np.full((last - first + 1, 3), nan)
        load = np.zeros(last - first + 1)
        for number, second in self._seconds.items():
            row = number - first
            load[row] = second.requests
            columns[row, 0] = second.users
            if second.requests:
                columns[row, 1] = 100 * second.failed / second.requests
            if second.succeeded:
                columns[row, 2] = second.succeeded_ms / second.succeeded
        # No note is needed for a file without the number of users, or a test without a success.
        recorded = np.flatnonzero(~np.isnan(columns).all(axis=0)).tolist()
        return build_table(
            self.name,
            times_s=np.arange(first, last + 1, dtype=np.float64),
            values=columns[:, recorded],
            metrics=[(USERS, ERROR_RATE, RESPONSE_TIME)[index] for index in recorded],
            place=self.place,
            load=load,
            load_name=THROUGHPUT,
        )

    def _notes(self) -> list[str]:
        notes = []
        if self._failures:
            labels = [f"{shown(label)} ({number})" for label, number in self._failures.items()]
            named = list_names(labels, most=TEXT_LIMITS.counter_names)
            notes.append(f"failed requests are left out of the response times: {named}")
        sampled = [label for (label, _), (_, chosen) in self._labels.items() if chosen.count > len(chosen)]
        if sampled:
            notes.append(
                f"of more than {FILE_LIMITS.kept_samples:,} response times as many are kept, chosen at random: "
                f"{names_shown(sampled)}"
            )
        if self._left_out:
            notes.append(
                f"response times beyond the first {FILE_LIMITS.load_labels} labels are left out: {self._left_out}"
            )
        return [f"{self.place}: {note}" for note in notes]

    def _too_long(self) -> DataError:
        return DataError(
            "spans more than a week", place=self.place, next_step="check the times of the file, or cut it to one test"
        )
