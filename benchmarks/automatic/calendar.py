"""Planted events of a simulated year: commits that slow benchmarks, new runner images, machines in another mode."""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final

from benchmarks.truth.noise import Generator
from tests.support.fake_github.state import Issue

SIZES: Final = (1.10, 1.10, 1.12, 1.15, 1.15, 1.2, 1.2, 1.25, 1.3, 1.4, 1.6, 2.0)
# A cause often reaches more than one benchmark, rarely all.
SHARES: Final = (0.005, 0.005, 0.005, 0.01, 0.015, 0.025, 0.04, 0.065, 0.1, 0.2, 0.5, 1.0)
EACH_STAYS: Final = 4
IMAGES: Final = ((0.21, 1.3, 0.1), (0.54, 0.9, 1.0), (0.87, 1.15, 0.3))
MODES: Final = ((0.13, 1.2, 1.0), (0.29, 1.0, 1.0), (0.46, 1.35, 0.5), (0.63, 1.0, 0.5), (0.79, 1.1, 1.0))


class Kind(StrEnum):
    COMMIT = "commit"
    IMAGE = "image"
    MODE = "mode"


@dataclass(kw_only=True, slots=True)
class Planted:
    """A planted event: from `day` on, `benchmarks` take `factor` times as long, in a mode relative to the start.

    `stays`: nobody fixes it, so its issue must stay open, also while machines are faster.
    """

    kind: Kind
    day: float
    factor: float
    benchmarks: tuple[int, ...]
    commit: str | None = None
    answer: str = ""
    issue: Issue | None = None
    waited: timedelta | None = None
    stays: bool = False
    fixed_on: float | None = None
    closed_on: float | None = None


def calendar(rng: Generator, *, days: int, benchmarks: int, part: int = 1, parts: int = 1) -> tuple[Planted, ...]:
    """Plant twelve causes, three images and five modes over `parts` times `days`; return those of one part."""
    begin, end = (part - 1) * days, part * days
    planted = _whole(rng, days=days * parts, benchmarks=benchmarks)
    return tuple(replace(entry, day=entry.day - begin) for entry in planted if begin <= entry.day < end)


def _whole(rng: Generator, *, days: int, benchmarks: int) -> tuple[Planted, ...]:
    sizes, shares = rng.permutation(SIZES), rng.permutation(SHARES)

    def some(share: float) -> tuple[int, ...]:
        count = max(1, round(share * benchmarks))
        return tuple(sorted(int(number) for number in rng.choice(benchmarks, count, replace=False)))

    commits = [
        Planted(
            kind=Kind.COMMIT,
            day=days * (number + 0.4) / len(SIZES),
            factor=float(size),
            benchmarks=some(float(share)),
            stays=number % EACH_STAYS == 0,
        )
        for number, (size, share) in enumerate(zip(sizes, shares, strict=True))
    ]
    others = [
        Planted(kind=kind, day=days * at, factor=factor, benchmarks=some(share))
        for kind, entries in ((Kind.IMAGE, IMAGES), (Kind.MODE, MODES))
        for at, factor, share in entries
    ]
    return tuple(sorted([*commits, *others], key=lambda entry: entry.day))
