"""Control charts: how many samples of a run fall outside the limits that earlier runs stayed within [N12].

All functions take the samples of one metric as flat arrays without missing values, sorted where stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import CELLS_AT_ONCE, Floats

# Lower and upper percentile of each named choice [N12, section 2.2].
PERCENTILES: Final = {"5/95": (5, 95), "1/99": (1, 99), "10/90": (10, 90)}
THREE_DEVIATIONS: Final = "3sd"
DEFAULT_LIMITS: Final = "5/95"


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlLimits:
    lower: float
    center: float
    upper: float


@dataclass(frozen=True, slots=True)
class Violations:
    """Number of samples above the upper and below the lower limit, out of `count`."""

    count: int
    samples_above: int
    samples_below: int

    @property
    def ratio(self) -> float:
        """The violation ratio: the share of samples outside the limits."""
        return (self.samples_above + self.samples_below) / self.count

    @property
    def above(self) -> float:
        return self.samples_above / self.count

    @property
    def below(self) -> float:
        return self.samples_below / self.count


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """The target against all baseline runs, and each baseline run against the others.

    `left_out` has an entry per run, with one result for each of its parts as long as the target. A violation ratio
    above `threshold` is out of control. `threshold_above` and `threshold_below` are the same for one side of the
    limits.
    """

    limits: ControlLimits
    violations: Violations
    left_out: tuple[tuple[Violations, ...], ...]
    threshold: float
    threshold_above: float
    threshold_below: float


def control_limits(ordered: Floats, *, kind: str = DEFAULT_LIMITS) -> ControlLimits:
    """Compute LCL, CL and UCL of the baseline's samples `ordered` (n,), n >= 1, sorted [N12, section 2.2].

    CL is the median. Percentiles interpolate linearly between order statistics, the default of R and numpy (type 7 of
    Hyndman & Fan 1996). As in the source, 10/90 of 3, 4, ..., 13 gives 4 and 12. "3sd" is CL ± 3 standard deviations (n
    - 1; no width for a single sample).
    """
    center = _percentile(ordered, 50)
    if kind == THREE_DEVIATIONS:
        width = 3 * float(ordered.std(ddof=1)) if len(ordered) > 1 else 0.0
        return ControlLimits(lower=center - width, center=center, upper=center + width)
    low, high = PERCENTILES[kind]
    return ControlLimits(lower=_percentile(ordered, low), center=center, upper=_percentile(ordered, high))


def violations(ordered: Floats, limits: ControlLimits) -> Violations:
    """Count the samples of `ordered` (n,), sorted, outside the limits; on a limit is inside [N12, section 2.2]."""
    below = int(np.searchsorted(ordered, limits.lower, side="left"))
    above = len(ordered) - int(np.searchsorted(ordered, limits.upper, side="right"))
    return Violations(len(ordered), above, below)


def expected_share(kind: str) -> float:
    """Return the share of the baseline's own samples outside one of its limits: 5% for 5/95, normal theory for 3sd."""
    return float(special.ndtr(-3)) if kind == THREE_DEVIATIONS else PERCENTILES[kind][0] / 100


def chart(
    target: Floats,
    runs: Sequence[Floats],
    *,
    parts: Sequence[Sequence[Floats]] = (),
    kind: str = DEFAULT_LIMITS,
    single_run_margin: float = 0.05,
    own_threshold: float | None = None,
) -> Chart:
    """Chart the target against the pooled baseline runs, and find its threshold [N12, section 5.3.1].

    `target` (n,) and each of `runs` (n_i,): sorted samples, at least one each. `parts`: each run cut into sorted pieces
    about as long as the target; default the whole runs. The threshold is the largest violation ratio of a part charted
    against the other runs: short series vary more than long ones. For a single run it is the expected ratio plus
    `single_run_margin`, which both sides share. `own_threshold`, set by the operator, replaces all of these thresholds.
    """
    pooled = np.sort(np.concatenate(runs))
    limits = control_limits(pooled, kind=kind)
    if own_threshold is None:
        left_out = leave_one_out(runs, pooled=pooled, parts=parts, kind=kind)
        side = expected_share(kind) + single_run_margin / 2
        whole = threshold(left_out) if left_out else 2 * side
    else:
        left_out, side, whole = (), own_threshold, own_threshold
    every = [part for run in left_out for part in run]
    return Chart(
        limits=limits,
        violations=violations(target, limits),
        left_out=left_out,
        threshold=whole,
        threshold_above=max((part.above for part in every), default=side),
        threshold_below=max((part.below for part in every), default=side),
    )


def leave_one_out(
    runs: Sequence[Floats], *, pooled: Floats, parts: Sequence[Sequence[Floats]] = (), kind: str = DEFAULT_LIMITS
) -> tuple[tuple[Violations, ...], ...]:
    """Chart each part of each of `runs` (sorted) against all other runs; empty for a single run.

    `pooled`: all runs in one array, sorted. Without `parts` each run is its own only part.
    """
    if len(runs) < 2:
        return ()
    pieces = parts or [(run,) for run in runs]
    if kind == THREE_DEVIATIONS:
        others = (np.sort(np.concatenate([*runs[:index], *runs[index + 1 :]])) for index in range(len(runs)))
        limits = [control_limits(rest, kind=kind) for rest in others]
    else:
        low, high = PERCENTILES[kind]
        # A small matrix of runs x pooled samples is faster than looking up the samples run by run.
        if not parts and len(pooled) * len(runs) <= CELLS_AT_ONCE and len({len(run) for run in runs}) == 1:
            return tuple((each,) for each in _leave_one_out_at_once(np.stack(runs), low=low, high=high))
        mirrored = -pooled[::-1]
        limits = [
            ControlLimits(
                lower=_percentile_without(run, pooled, low),
                center=np.nan,  # not needed and expensive
                upper=-_percentile_without(-run[::-1], mirrored, 100 - high),
            )
            for run in runs
        ]
    return tuple(tuple(violations(piece, limit) for piece in own) for own, limit in zip(pieces, limits, strict=True))


def _leave_one_out_at_once(runs: Floats, *, low: int, high: int) -> tuple[Violations, ...]:
    """Do the same for short runs (r, n) of equal length: the rest without each run is one sorted matrix."""
    count, size = runs.shape
    order = np.argsort(runs, axis=None, kind="stable")
    is_other = order // size != np.arange(count)[:, None]
    rest = np.broadcast_to(runs.ravel()[order], is_other.shape)[is_other].reshape(count, -1)
    lower, upper = _percentiles(rest, low), _percentiles(rest, high)
    below = (runs < lower[:, None]).sum(axis=1).tolist()
    above = (runs > upper[:, None]).sum(axis=1).tolist()
    return tuple(Violations(size, *row) for row in zip(above, below, strict=True))


def threshold(left_out: Sequence[Sequence[Violations]]) -> float:
    """Return the largest violation ratio of the baseline runs, each charted against the others [N12, section 5.3.1]."""
    return max(part.ratio for run in left_out for part in run)


def excesses(left_out: Sequence[Sequence[Violations]]) -> Floats:
    """Return how far each part of a baseline run would be out of control as the target: shape (parts,).

    Its violation ratio minus the largest of the other runs; positive for parts of at most one run. If runs are
    exchangeable, this is the chance distribution of a target's own excess over the threshold.
    """
    worst = np.array([max(part.ratio for part in run) for run in left_out])
    order = np.argsort(worst)
    others = np.full(len(worst), worst[order[-1]])
    others[order[-1]] = worst[order[-2]]
    return np.array([part.ratio - other for run, other in zip(left_out, others.tolist(), strict=True) for part in run])


def chance_of_excess(excess: Floats, *, of_baseline: Floats) -> Floats:
    """Return how often a baseline run of any metric exceeds its limit by at least `excess` (m,), as p-values (m,).

    (1 + number of `of_baseline` >= excess) / (1 + their number): the empirical p-value of a pooled null distribution
    [Phipson & Smyth 2010]. Assumes that unchanged metrics have excesses of the same distribution.
    """
    ordered = np.sort(of_baseline)
    at_least = len(ordered) - np.searchsorted(ordered, excess, side="left")
    return np.asarray((1 + at_least) / (1 + len(ordered)), dtype=np.float64)


def shifted_ratios(ordered: Floats, limits: ControlLimits, shifts: Floats) -> Floats:
    """Return the violation ratio of sorted `ordered` (n,), with its samples raised by each of `shifts` (k,): (k,)."""
    below = np.searchsorted(ordered, limits.lower - shifts, side="left")
    above = len(ordered) - np.searchsorted(ordered, limits.upper - shifts, side="right")
    return np.asarray((below + above) / len(ordered), dtype=np.float64)


def _percentile(ordered: Floats, percent: int) -> float:
    position, rest = divmod(percent * (len(ordered) - 1), 100)
    return _between(float(ordered[position]), float(ordered[position + 1]) if rest else 0.0, rest / 100)


def _percentiles(ordered: Floats, percent: int) -> Floats:
    """Return the percentile of each row of `ordered` (r, n)."""
    position, rest = divmod(percent * (ordered.shape[1] - 1), 100)
    low, high = ordered[:, position], ordered[:, min(position + 1, ordered.shape[1] - 1)]
    share = rest / 100
    return np.where((low == high) | (share == 0), low, low * (1 - share) + high * share)


def _percentile_without(run: Floats, pooled: Floats, percent: int) -> float:
    """Return the percentile of `pooled` without its part `run`, without sorting the rest.

    The k-th remaining sample is at k plus the number of the run's samples before it. Reads only up to that place, so it
    is meant for low percentiles.
    """
    count = len(pooled) - len(run)
    position, rest = divmod(percent * (count - 1), 100)
    ranks = np.array([position, min(position + 1, count - 1)])
    head = run[: np.searchsorted(run, pooled[ranks[1] + len(run)], side="right")]
    # The number of other samples before each of the run's samples; among equals any order gives the same values.
    others_before = np.maximum.accumulate(np.searchsorted(pooled, head) - np.arange(len(head)))
    low, high = pooled[ranks + np.searchsorted(others_before, ranks, side="right")].tolist()
    return _between(low, high, rest / 100)


def _between(low: float, high: float, share: float) -> float:
    """Interpolate; not by low + (high - low) * share, because equal neighbours must give exactly their value."""
    return low if low == high or not share else low * (1 - share) + high * share
