"""Counters recorded in the history and compared with it, by both detectors."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.truth.files import write_counters, write_results
from benchmarks.truth.memory import branch_in_memory, unchanging_repository
from benchmarks.truth.noise import Floats, Generator, World
from benchmarks.truth.oracle import Design
from benchmarks.truth.verbs import Outcome, compare, perf_culprit
from benchmarks.truth.way import Judged, Row, Way
from benchmarks.truth.with_history import repository

STORED: Final = 6
PLANTED: Final = "counter_000"
INSTANTS, MANY_INSTANTS = 96, 2000
MORE_LOAD: Final = 1.14
# The benchmark of a run of both.
BESIDE: Final = "bench/test_suite.py::test_000"
SHARED: Final = "shared 5%"
OWN: Final = ("own 3%",)
NOISES: Final = ("lognormal", "heavy tails", "AR 0.3", *OWN, SHARED)


def counters(world: World, folder: Path, effects: Sequence[float], *, setup: "Setup", row: str) -> Iterator[Judged]:
    """record x 6, then compare; every other counter follows the load."""
    history, commits = repository().options, repository().commits
    with ExitStack() as stack:
        stack.enter_context(unchanging_repository())
        stack.enter_context(branch_in_memory())
        for commit in commits[:STORED]:
            results = files(folder, *under_load(world, setup.instants), setup, world.rng)
            perf_culprit("record", *results, *history, "--commit", commit)
        values, load = under_load(world, setup.instants, more=setup.more_load)
        for effect in effects:
            results = files(folder, grown(values, effect), load, setup, world.rng)
            options = (*history, "--commit", commits[STORED], "--detector", setup.detector)
            yield row, effect, compared(results, options, effect, folder)


def of_files(world: World, folder: Path, effects: Sequence[float], *, setup: "Setup", row: str) -> Iterator[Judged]:
    good = [
        write_counters(folder / f"good-{index}.csv", values, load=load)
        for index in range(STORED)
        for values, load in [under_load(world, setup.instants)]
    ]
    values, load = under_load(world, setup.instants, more=setup.more_load)
    for effect in effects:
        target = write_counters(folder / "load-test.csv", grown(values, effect), load=load)
        options = ("--baseline", *good, "--detector", setup.detector)
        yield row, effect, compared([target], options, effect, folder)


def compared(results: Sequence[str], options: Sequence[str], effect: float, folder: Path) -> Outcome:
    return compare(
        "--target", *results, *options, out=folder / "report.json", planted=PLANTED if effect else None, ignored=BESIDE
    )


def grown(values: Floats, effect: float) -> Floats:
    changed = values.copy()
    changed[:, 0] *= 1 + effect
    return changed


def under_load(world: World, instants: int, *, more: float = 1.0) -> tuple[Floats, Floats]:
    """Return counters (instants, m), the odd ones in proportion to the load."""
    load = 4000 * more * np.exp(0.07 * world.rng.standard_normal(instants))
    values = 5000 * world.job().execute(instants).T
    values[:, 1::2] *= (load / 4000)[:, None]
    return values, load


def files(folder: Path, values: Floats, load: Floats, setup: "Setup", rng: Generator) -> list[str]:
    elsewhere = setup.load_elsewhere
    written = [write_counters(folder / "host.csv", values, load=None if elsewhere else load)]
    if elsewhere:
        users = np.full((len(load), 1), 7.0)
        written.append(write_counters(folder / "driver.csv", users, load=load, names=["users"]))
    if setup.beside_benchmarks:
        written.append(write_results(folder / "bench.json", 0.01 * np.exp(0.01 * rng.standard_normal((1, 20)))))
    return written


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """`load_elsewhere`: in the table of another program. `beside_benchmarks`: in one run with some."""

    detector: str
    instants: int = INSTANTS
    more_load: float = 1.0
    load_elsewhere: bool = False
    beside_benchmarks: bool = False
    from_files: bool = False

    @property
    def name(self) -> str:
        parts = [
            f"counters, {self.detector}",
            "of files" if self.from_files else "recorded",
            "beside benchmarks" if self.beside_benchmarks else "",
            f"{self.instants} rows" if self.instants != INSTANTS else "",
            f"load {self.more_load - 1:+.0%} in another table" if self.load_elsewhere else "",
        ]
        return ", ".join(filter(None, parts))

    def way(self) -> Way:
        by_runs = self.detector == "control_chart"
        rule = Row(
            stated=1 / STORED if by_runs else 0.01,
            of="runs" if by_runs else "metrics",
            design=Design(baseline=STORED, target=1, samples=self.instants),
        )
        stored = "--baseline good-*.csv" if self.from_files else "--repo ."
        return Way(
            command=f"record host.csv (x {STORED}); " * (not self.from_files)
            + f"compare {stored} --target host.csv --detector {self.detector}",
            rows={self.name: rule},
            # A shared offset makes all counters one trial, so a rate per counter does not apply.
            noises=[name for name in NOISES if by_runs or name != SHARED] if self in SIMPLE else NOISES[:1] + OWN,
            trial=partial(of_files if self.from_files else counters, setup=self, row=self.name),
            weight=5,
        )


SIMPLE: Final = tuple(
    Setup(detector=detector, from_files=of) for detector in ("control_chart", "rule_ensemble") for of in (True, False)
)
SETUPS: Final = (
    *SIMPLE,
    *(
        Setup(detector=detector, instants=instants, load_elsewhere=elsewhere, more_load=load, beside_benchmarks=True)
        for detector in ("control_chart", "rule_ensemble")
        for instants, elsewhere, load in (
            (INSTANTS, False, 1.0),
            (MANY_INSTANTS, False, 1.0),
            (INSTANTS, True, MORE_LOAD),
        )
    ),
)
WAYS: Final = tuple(setup.way() for setup in SETUPS)
