"""Recorded executions of a program that nobody changed, replayed in their order."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.truth.noise import Floats, Generator

# Ours; its first lines say how it was measured.
RECORDED: Final = Path(__file__).with_name("recorded.csv")
# The first of these columns that a file has; without a header, its first number per line.
COLUMNS: Final = ("cpu_s", "seconds", "time")


def read_series(path: Path) -> Floats:
    """Return one time per execution, in order."""
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].startswith("#")]
    column = next((rows[0].index(name) for name in COLUMNS if name in rows[0]), None)
    first = 0 if column is None else 1
    return np.array([float(row[column or 0]) for row in rows[first:]])


@dataclass(slots=True)
class RecordedJob:
    """A job in which each sample is a separate execution: `execute(samples)` gives that many successive ones."""

    world: "RecordedWorld"

    def execute(self, samples: int) -> Floats:
        return self.world.next(samples)


@dataclass(slots=True)
class RecordedWorld:
    """A world in which every benchmark starts somewhere in one of the series; after its end comes its beginning."""

    series: Sequence[Floats]
    rng: Generator
    benchmarks: int
    _chosen: list[Floats] = field(init=False)
    _position: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._chosen = [self.series[index % len(self.series)] for index in range(self.benchmarks)]
        self._position = [int(self.rng.integers(len(series))) for series in self._chosen]

    def job(self) -> RecordedJob:
        return RecordedJob(self)

    def next(self, count: int) -> Floats:
        rows = []
        for index, series in enumerate(self._chosen):
            rows.append(series[(self._position[index] + np.arange(count)) % len(series)])
            self._position[index] += count
        return np.stack(rows)
