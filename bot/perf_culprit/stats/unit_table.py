"""The input of a comparison: one value per benchmark and unit, and which units are the target's."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class UnitTable:
    """The values of B benchmarks in U units, whose columns are in order of time.

    A unit is everything that shares one state of the machine: an execution, a file, a stored run. The samples in it
    never count as units. The uses of the engine differ only in the units per side and in whether units come in blocks.
    """

    location: Floats
    """(B, U): natural logarithm of the benchmark's median in the unit; NaN where missing, -inf for a count of zero."""
    is_target: Booleans
    """(U,): whether the unit is the target's; else it is the baseline's."""
    block: Integers
    """(U,): what shares a machine and a stretch of time: a job, a night, or a round with units of both sides."""
    sampling_variance: Floats | None
    """(B, U): squared standard error of each location, where the samples tell it (sampled counts)."""
    scatter: Floats | None
    """(B, U): squared standard error of each location by the samples in the unit, NaN where it has one number."""
    kind: Integers
    """(B,): benchmarks of one kind share the machine's shift and the prior of their noise."""
    orientation: Floats
    """(B,): 1 where a slow machine raises the value, -1 where it lowers it (rates), 0 for counts and sizes."""
    is_exact: Booleans
    """(B,): counts that do not vary by themselves."""
    repeats: Booleans
    """(B,): numbers of an exact source, as the kind's other benchmarks show by repeating to many digits."""

    @classmethod
    def of(
        cls,
        location: Floats,
        is_target: Booleans,
        *,
        block: Integers | None = None,
        sampling_variance: Floats | None = None,
        scatter: Floats | None = None,
        kind: Integers | None = None,
        orientation: Floats | None = None,
        is_exact: Booleans | None = None,
        repeats: Booleans | None = None,
    ) -> Self:
        """Return the table, without `block` each unit in a block of its own.

        Raises:
            ValueError: the shapes do not fit, or a side has no unit.
        """
        size, units = location.shape
        if is_target.shape != (units,) or (block is not None and block.shape != (units,)):
            raise ValueError("is_target and block need one value per column of location")
        if not is_target.any() or is_target.all():
            raise ValueError("a comparison needs at least one unit of the target and one of the baseline")
        return cls(
            location=location,
            is_target=is_target,
            block=np.arange(units) if block is None else numbered(block),
            sampling_variance=sampling_variance,
            scatter=scatter,
            kind=np.zeros(size, np.intp) if kind is None else kind,
            orientation=np.ones(size) if orientation is None else orientation,
            is_exact=np.zeros(size, np.bool_) if is_exact is None else is_exact,
            repeats=np.zeros(size, np.bool_) if repeats is None else repeats,
        )

    def mirrored(self) -> Self:
        """Return the same units with the sides swapped."""
        return type(self).of(
            self.location,
            ~self.is_target,
            block=self.block,
            sampling_variance=self.sampling_variance,
            scatter=self.scatter,
            kind=self.kind,
            orientation=self.orientation,
            is_exact=self.is_exact,
            repeats=self.repeats,
        )

    def part(self, rows: Booleans) -> Self:
        """Return the benchmarks of `rows`, in the units in which at least one of them has a finite value."""
        units = np.isfinite(self.location[rows]).any(axis=0)
        both = np.ix_(rows, units)
        return type(self).of(
            self.location[both],
            self.is_target[units],
            block=self.block[units],
            sampling_variance=None if self.sampling_variance is None else self.sampling_variance[both],
            scatter=None if self.scatter is None else self.scatter[both],
            kind=numbered(self.kind[rows] * 2 + self.is_exact[rows]),
            orientation=self.orientation[rows],
            is_exact=self.is_exact[rows],
            repeats=self.repeats[rows],
        )

    @property
    def ordered(self) -> Self:
        """Sort the units of rounds by value, as time is irrelevant there: swapped sides then give the same order."""
        order = np.lexsort((*np.nan_to_num(self.location), self.block))
        return type(self).of(
            self.location[:, order],
            self.is_target[order],
            block=self.block[order],
            sampling_variance=None if self.sampling_variance is None else self.sampling_variance[:, order],
            scatter=None if self.scatter is None else self.scatter[:, order],
            kind=self.kind,
            orientation=self.orientation,
            is_exact=self.is_exact,
            repeats=self.repeats,
        )

    @property
    def is_in_rounds(self) -> bool:
        """Whether the sides took turns: some block has units of both."""
        return bool(np.intersect1d(self.block[self.is_target], self.block[~self.is_target]).size)

    @property
    def has_smaller_target(self) -> bool:
        """Whether the engine judges the sides as they are: swapped sides then give mirrored results."""
        targets, units = int(self.is_target.sum()), len(self.is_target)
        return targets * 2 < units or (targets * 2 == units and not self.is_target[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Tiers:
    """The share of unchanged runs in which any metric is called proven, and suspected."""

    proven: float = 0.01
    suspected: float = 0.10


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteShift:
    """How far all benchmarks of a kind moved together: because of the code or, outside rounds, of the machine.

    `change` is a logarithm. `rate`: the share of unchanged runs in which a suite moves as far.
    """

    change: float = 0.0
    rate: float = 1.0
    is_suspected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class UnitJudgement:
    """The result for each benchmark (B,); changes are logarithms and NaN where a side is missing."""

    change: Floats
    """Of the target against the baseline. Outside rounds without the suite's shift, unless that is large."""
    low: Floats
    high: Floats
    """The 95% interval of `change`, which never contradicts the call."""
    p_value: Floats
    """Of this benchmark alone."""
    rate: Floats
    """The share of unchanged runs in which any benchmark looks as different: what the tiers are told by."""
    is_proven: Booleans
    is_suspected: Booleans
    visible_change: Floats
    """The change that is found as suspected in 90% of cases; infinite where nothing short of four times is."""
    error: Floats
    """The standard error of `change` by the suite's own noise."""
    differs: Booleans
    """Whether the samples of both sides differ beyond their scatter, but nothing tells the code from the machine."""
    suite: SuiteShift


def numbered(values: Integers) -> Integers:
    """Number the values 0, 1, 2, … in their order."""
    numbers: Integers = np.unique(values, return_inverse=True)[1].ravel().astype(np.intp)
    return numbers


def log_change(fraction: float) -> float:
    """Convert 0.05 (5% more) to the logarithm of a ratio."""
    return math.log1p(fraction)
