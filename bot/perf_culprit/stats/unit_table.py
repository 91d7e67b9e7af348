"""The input of a comparison: one value per benchmark and unit, and which units are the target's."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from perf_culprit.stats.ragged import Booleans, Floats, Integers


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
    block: Integers | None
    """(U,): the round, job or machine whose units share an offset; None where nothing is known to be shared."""
    sampling_variance: Floats | None
    """(B, U): squared standard error of each location, where the samples tell it (sampled counts)."""
    kind: Integers
    """(B,): benchmarks of one kind share the machine's shift and the prior of their noise."""
    orientation: Floats
    """(B,): -1 where a slow machine lowers the value (rates), else 1."""
    is_exact: Booleans
    """(B,): counts that do not vary by themselves."""

    @classmethod
    def of(
        cls,
        location: Floats,
        is_target: Booleans,
        *,
        block: Integers | None = None,
        sampling_variance: Floats | None = None,
        kind: Integers | None = None,
        orientation: Floats | None = None,
        is_exact: Booleans | None = None,
    ) -> Self:
        """Return the table. Raise a ValueError if the shapes do not fit or a side has no unit."""
        size, units = location.shape
        if is_target.shape != (units,) or (block is not None and block.shape != (units,)):
            raise ValueError("is_target and block need one value per column of location")
        if not is_target.any() or is_target.all():
            raise ValueError("a comparison needs at least one unit of the target and one of the baseline")
        return cls(
            location=location,
            is_target=is_target,
            block=None if block is None else numbered(block),
            sampling_variance=sampling_variance,
            kind=np.zeros(size, np.intp) if kind is None else kind,
            orientation=np.ones(size) if orientation is None else orientation,
            is_exact=np.zeros(size, np.bool_) if is_exact is None else is_exact,
        )

    def mirrored(self) -> Self:
        """Return the same units with the sides swapped."""
        return type(self).of(
            self.location,
            ~self.is_target,
            block=self.block,
            sampling_variance=self.sampling_variance,
            kind=self.kind,
            orientation=self.orientation,
            is_exact=self.is_exact,
        )

    def part(self, rows: Booleans) -> Self:
        """Return the benchmarks of `rows`, in the units in which at least one of them has a finite value."""
        units = np.isfinite(self.location[rows]).any(axis=0)
        both = np.ix_(rows, units)
        return type(self).of(
            self.location[both],
            self.is_target[units],
            block=None if self.block is None else self.block[units],
            sampling_variance=None if self.sampling_variance is None else self.sampling_variance[both],
            kind=numbered(self.kind[rows] * 2 + self.is_exact[rows]),
            orientation=self.orientation[rows],
            is_exact=self.is_exact[rows],
        )

    @property
    def ordered(self) -> Self:
        """Sort the units in blocks by value, as time is irrelevant there: swapped sides then give the same order."""
        if self.block is None:
            return self
        order = np.lexsort((*np.nan_to_num(self.location), self.block))
        return type(self).of(
            self.location[:, order],
            self.is_target[order],
            block=self.block[order],
            sampling_variance=None if self.sampling_variance is None else self.sampling_variance[:, order],
            kind=self.kind,
            orientation=self.orientation,
            is_exact=self.is_exact,
        )

    @property
    def blocks(self) -> Integers:
        """(U,): the block of each unit; a single block if none are known."""
        return np.zeros(len(self.is_target), np.intp) if self.block is None else self.block

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
    """How far all benchmarks of a kind moved together: because of the code or, outside blocks, of the machine.

    `change` is a logarithm. `is_large`: more than the units' own variation; a call then has to hold both with and
    without the shift.
    """

    change: float = 0.0
    p_value: float = 1.0
    is_suspected: bool = False
    is_proven: bool = False
    is_large: bool = False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Judgement:
    """The result for each benchmark (B,); changes are logarithms and NaN where a side is missing."""

    change: Floats
    """Of the target against the baseline. Outside blocks without the suite's shift, unless that is large."""
    low: Floats
    high: Floats
    """The 95% interval of `change`, which never contradicts the call."""
    raw_change: Floats
    """With the suite's shift."""
    p_value: Floats
    """Of this benchmark alone."""
    rate: Floats
    """The share of unchanged runs in which any benchmark looks as different: what the tiers are told by."""
    model_rate: Floats
    """The same by the model of the noise."""
    relabelled_rate: Floats
    """The same by relabelling the units; no smaller than `least_rate`."""
    is_proven: Booleans
    is_suspected: Booleans
    visible_change: Floats
    """The change that is found as suspected in 90% of cases; infinite where nothing short of four times is."""
    error: Floats
    """The standard error of `change` by the suite's own noise."""
    differs: Booleans
    """Whether the samples of both sides differ beyond their scatter, but nothing tells the code from the machine."""
    suite: SuiteShift
    least_rate: float
    """What relabelling can reach with these units."""


def numbered(values: Integers) -> Integers:
    """Number the values 0, 1, 2, … in their order."""
    numbers: Integers = np.unique(values, return_inverse=True)[1].ravel().astype(np.intp)
    return numbers


def log_change(fraction: float) -> float:
    """Convert 0.05 (5% more) to the logarithm of a ratio."""
    return math.log1p(fraction)
