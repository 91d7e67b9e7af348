"""Recorded noise of suites whose code nobody changed, replayed in its order."""

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.truth.noise import Floats, Generator
from benchmarks.truth.recorded import RECORDED, read_series

# Nightly tests of a database, with its developers' labels (docs/evidence/tracking-issues.md names the source).
LABELS: Final = "labels.json"
# Without this folder: executions in one stored build of our own recording.
BUILD: Final = 5
FASTEST: Final = 0.1  # of a build's mean


@dataclass(frozen=True, slots=True)
class Series:
    """One benchmark's values per build: the mean's logarithm, and the standard deviation as a share of the mean."""

    level: Floats
    spread: Floats


def read_noise(folder: Path | None) -> tuple[Series, ...]:
    """Return the series in which no annotator marked a change; without a `folder`, our own recording as one series."""
    if folder is None:
        values = read_series(RECORDED)
        builds = values[: len(values) // BUILD * BUILD].reshape(-1, BUILD)
        return (Series(np.log(builds.mean(axis=1) / values.mean()), builds.std(axis=1) / builds.mean(axis=1)),)
    labels = json.loads((folder / LABELS).read_text())
    quiet = sorted(name for name, label in labels.items() if label["n_no_cp"] == label["n_annotators"])
    return tuple(series for name in quiet if (series := _read(folder / "series" / f"{name}.csv")) is not None)


def _read(path: Path) -> Series | None:
    if not path.is_file():
        return None
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    mean = np.array([float(row["mean"]) for row in rows])
    if (mean <= 0).any():
        return None
    spread = np.array([float(row["std"] or 0) for row in rows]) / mean
    return Series(np.log(mean / np.median(mean)), spread)


@dataclass(slots=True)
class RecordedNoise:
    """Noise for every benchmark from one of the series, from a random start; at an end the series is reversed.

    The deviations within a build have the shape of executions that we recorded, in their order.
    """

    series: tuple[Series, ...]
    benchmarks: int
    rng: Generator
    _own: list[Series] = field(init=False)
    _starts: list[int] = field(init=False)
    _shape: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._own = [self.series[number % len(self.series)] for number in range(self.benchmarks)]
        self._starts = [int(self.rng.integers(len(series.level))) for series in self._own]
        values = read_series(RECORDED)
        self._shape = (values - values.mean()) / values.std()

    def build(self, number: int, samples: int) -> Floats:
        """Return factors of build `number`, shape (benchmarks, samples)."""
        rows = []
        for series, start in zip(self._own, self._starts, strict=True):
            at = _folded(start + number, len(series.level))
            begin = int(self.rng.integers(len(self._shape) - samples))
            within = 1 + series.spread[at] * self._shape[begin : begin + samples]
            rows.append(np.exp(series.level[at]) * np.maximum(within, FASTEST))
        return np.stack(rows)

    def executions(self, benchmark: int, count: int) -> Floats:
        """Return factors of `count` successive executions: a stretch of the benchmark's own builds."""
        level = self._own[benchmark].level
        start = int(self.rng.integers(len(level)))
        return np.exp(level[[_folded(start + number, len(level)) for number in range(count)]])


def _folded(at: int, length: int) -> int:
    at %= 2 * length - 2
    return at if at < length else 2 * length - 2 - at
