"""Ways against noises: trials, their sums, and whether a stated rate is exceeded."""

import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.truth import with_counters, with_files, with_history, with_measure, with_series
from benchmarks.truth.noise import NOISES, Floats, SimulatedWorld, World
from benchmarks.truth.recorded import RecordedWorld
from benchmarks.truth.verbs import Outcome
from benchmarks.truth.way import Row, Way
from perf_culprit.stats.binomial import share_interval

WAYS: Final = (*with_files.WAYS, *with_history.WAYS, *with_measure.WAYS, *with_counters.WAYS, *with_series.WAYS)
EFFECTS: Final = (0.05, 0.10, 0.15, 0.20, 0.50)
RECORDED: Final = "recorded"


@dataclass(slots=True)
class Cell:
    """One row of one way under one noise, and what its trials gave so far; `found` by effect: how many, and found."""

    row: str
    noise: str
    command: str
    benchmarks: int
    rule: Row
    trials: int = 0
    runs: int = 0
    alarmed: int = 0
    alarmed_trials: int = 0
    metrics: int = 0
    judged: int = 0
    called: int = 0
    hits: dict[float, list[int]] = field(default_factory=dict)

    def add(self, effect: float, outcome: Outcome) -> None:
        if effect:
            tried = self.hits.setdefault(effect, [0, 0])
            tried[0] += 1
            tried[1] += outcome.is_hit
            return
        self.trials += 1
        self.runs += outcome.runs
        self.alarmed += outcome.alarmed
        self.alarmed_trials += outcome.alarmed > 0
        self.metrics += outcome.metrics
        self.judged += outcome.judged
        self.called += outcome.called

    @property
    def counted(self) -> tuple[int, int, float]:
        """(alarms, of how many, the stated share of these); of lives, whole ones: their runs are not independent."""
        if self.rule.of == "metrics":
            return self.called, self.metrics, self.rule.stated
        if self.rule.of == "lives":
            per_life = self.runs / max(self.trials, 1)
            return self.alarmed_trials, self.trials, 1 - (1 - self.rule.stated) ** per_life
        return self.alarmed, self.runs, self.rule.stated

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the exact binomial range, 95%, of the share compared with the stated one [Clopper & Pearson 1934]."""
        alarms, number, _ = self.counted
        return share_interval(alarms, number)

    @property
    def is_broken(self) -> bool:
        return self.trials > 0 and self.bounds[0] > self.counted[2]


def chosen_cells(only: Sequence[str]) -> Iterator[tuple[Way, str]]:
    """`only` are parts of rows' and noises' names, all of which must be in a cell's."""
    for way in WAYS:
        for noise in way.noises:
            if any(all(word in f"{row}, {noise}" for word in only) for row in way.rows):
                yield way, noise


def run_cells(
    way: Way,
    noise: str,
    *,
    trials: int,
    power_trials: int,
    seed: int = 0,
    series: Sequence[Floats] = (),
    seconds: float = np.inf,
    planted: Sequence[float] = EFFECTS,
) -> Mapping[str, Cell]:
    """The cells of all rows of the way; the same seed gives the same numbers. After `seconds` no trial is begun."""
    cells = {
        row: Cell(row=row, noise=noise, command=way.command, benchmarks=way.benchmarks, rule=rule)
        for row, rule in way.rows.items()
    }
    deadline = time.monotonic() + seconds
    name = zlib.crc32(f"{next(iter(way.rows))}, {noise}".encode())
    for trial in range(-(-trials // way.weight)):
        if time.monotonic() > deadline:
            break
        rng = np.random.default_rng([seed, name, trial])
        effects = (0.0, *planted) if trial < -(-power_trials // way.weight) else (0.0,)
        with tempfile.TemporaryDirectory(prefix="truth-", dir=_fast()) as folder:
            world = make_world(noise, rng, benchmarks=way.benchmarks, series=series)
            for row, effect, outcome in way.trial(world, Path(folder), effects):
                cells[row].add(effect, outcome)
    return cells


def make_world(noise: str, rng: np.random.Generator, *, benchmarks: int, series: Sequence[Floats]) -> World:
    if noise == RECORDED:
        return RecordedWorld(series=series, rng=rng, benchmarks=benchmarks)
    return SimulatedWorld(noise=NOISES[noise], rng=rng, benchmarks=benchmarks)


def _fast() -> str | None:
    """Return a folder in memory if there is one: files exist for milliseconds only."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a temporary folder of its own is made there
