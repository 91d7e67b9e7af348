"""The units of a suite's benchmarks in the engine's form: an execution, a file or a stored run is a unit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.judge.estimate import estimate
from perf_culprit.judge.execution_values import execution_values
from perf_culprit.judge.metric_pairs import MetricPair, metric_families
from perf_culprit.judge.paired_executions import executions_of
from perf_culprit.judge.run_medians import MEDIAN_FACTOR
from perf_culprit.judge.statistic import MEDIAN, common_statistic
from perf_culprit.judge.unit_factors import depends_on_machine, is_deterministic, is_per_time
from perf_culprit.model.count import is_count
from perf_culprit.model.run import Metric
from perf_culprit.stats.conventions import ROUNDING
from perf_culprit.stats.ragged import Ragged
from perf_culprit.stats.unit_table import UnitTable

FEWEST_NUMBERS: Final = 4  # equal numbers that two units share as copies or constants, not by chance
# Block, whether it is the target's, and its index among those.
UnitPlace = tuple[int, bool, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """`samples` of one unit, or its single number."""

    place: UnitPlace
    samples: tuple[float, ...]
    squared_error: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SuiteUnits:
    """The units of m benchmarks. `counts` (m, U): their sample counts.

    `values` (m, U): the `reduction` (m,) of their samples, mostly the median; NaN where missing.
    `is_logarithmic` (m,): the table holds logarithms; otherwise, for numbers that are not positive, multiples of the
    baseline's `size` (m,). `samples`: both sides' of each benchmark, baseline first, (2m rows).
    """

    places: tuple[UnitPlace, ...]
    values: Floats
    reduction: tuple[str, ...]
    counts: Integers
    is_logarithmic: Booleans
    size: Floats
    samples: Ragged
    table: UnitTable

    @property
    def target(self) -> Ragged:
        return self.samples.rows(np.arange(1, len(self.samples.sizes), 2))

    @property
    def baseline(self) -> Ragged:
        return self.samples.rows(np.arange(0, len(self.samples.sizes), 2))

    def centers(self) -> tuple[Floats, Floats]:
        """(m,) for each side: geometric means if the table is logarithmic, so that their quotient is the change."""
        sides = (~self.table.is_target, self.table.is_target)
        return tuple(self._center(self.values[:, side]) for side in sides)  # type: ignore[return-value]

    def _center(self, values: Floats) -> Floats:
        present = ~np.isnan(values)
        logs = np.log(values, out=np.zeros_like(values), where=present & self.is_logarithmic[:, None] & (values > 0))
        in_logs = np.where(self.is_logarithmic[:, None], logs, np.where(present, values, 0.0))
        means = np.where(present, in_logs, 0.0).sum(axis=1) / np.maximum(present.sum(axis=1), 1)
        is_zero = (np.where(present, values, np.inf).min(axis=1) == 0) & self.is_logarithmic
        return np.where(is_zero, 0.0, np.where(self.is_logarithmic, np.exp(means), means))

    def runs(self) -> tuple[Integers, Integers]:
        """(m,): units of the baseline and of the target."""
        present = ~np.isnan(self.values)
        return present[:, ~self.table.is_target].sum(axis=1), present[:, self.table.is_target].sum(axis=1)


def units_of(pair: MetricPair, *, paired: bool) -> list[Unit]:
    """Return the units, baseline first; none if rounds have one side only, or the sides state different statistics."""
    if paired:
        return _executions(pair)
    statistic = common_statistic((*pair.baseline, pair.target), preferred=MEDIAN)
    if statistic is None:
        return []
    units = []
    for place, run in pair.placed:
        if run.summary is None and statistic == MEDIAN:
            units.append(Unit(place=place, samples=run.samples))
        else:
            stated = estimate(run, statistic)
            units.append(Unit(place=place, samples=(stated.value,), squared_error=(stated.error or 0.0) ** 2))
    return units


def _executions(pair: MetricPair) -> list[Unit]:
    executions = executions_of(pair)
    if executions is None:
        return []
    seen: dict[tuple[int, bool], int] = {}
    units = []
    for samples, is_target, number in zip(executions.samples, executions.is_target, executions.round, strict=True):
        seen[number, is_target] = seen.get((number, is_target), -1) + 1
        units.append(Unit(place=(number, is_target, seen[number, is_target]), samples=samples))
    return sorted(units, key=lambda unit: unit.place[1])


def without_copies(pairs: Sequence[MetricPair], units: Sequence[Sequence[Unit]]) -> tuple[list[list[Unit]], int]:
    """Return the units that differ from the others of their side in some benchmark, and how many were left out.

    Exact counts are the same in every run, so they prove no copy. Fewer different numbers than FEWEST_NUMBERS, which a
    coarse clock repeats, prove none either. A round that lost a side is left out completely.
    """
    contents: dict[UnitPlace, list[tuple[int, Unit]]] = {}
    for row, is_exact in enumerate(_are_exact(pairs).tolist()):
        for unit in () if is_exact else units[row]:
            contents.setdefault(unit.place, []).append((row, unit))
    first: dict[object, UnitPlace] = {}
    copies = set()
    for place, content in sorted(contents.items()):
        numbers = tuple((row, unit.samples, unit.squared_error) for row, unit in content)
        is_told = len({number for _, unit in content for number in unit.samples}) >= FEWEST_NUMBERS
        if is_told and first.setdefault((place[1], numbers), place) != place:
            copies.add(place)
    if not copies:
        return [list(own) for own in units], 0
    places = {unit.place for own in units for unit in own}
    lost = _rounds(places) - _rounds(places - copies)
    independent = [[unit for unit in own if unit.place not in copies and unit.place[0] not in lost] for own in units]
    have_both = all(len({unit.place[1] for unit in own}) > 1 for own in independent)
    return (independent, len(copies)) if have_both else ([list(own) for own in units], 0)


def _rounds(places: set[UnitPlace]) -> set[int]:
    """The blocks with units of both sides."""
    return {block for block, is_target, _ in places if is_target} & {
        block for block, is_target, _ in places if not is_target
    }


def suite_units(pairs: Sequence[MetricPair], units: Sequence[Sequence[Unit]]) -> SuiteUnits:
    """Build the units of pairs that have `units` on both sides; neither argument is empty."""
    flat = list(chain.from_iterable(units))
    places = tuple(sorted({unit.place for unit in flat}))
    column = {place: index for index, place in enumerate(places)}
    rows = np.repeat(np.arange(len(pairs)), [len(of_pair) for of_pair in units])
    columns = np.array([column[unit.place] for unit in flat])
    sizes = np.array([len(unit.samples) for unit in flat], dtype=np.intp)
    samples = Ragged(np.fromiter(chain.from_iterable(unit.samples for unit in flat), np.float64), sizes)
    kind, orientation = metric_families(pairs), np.array([_orientation(pair.metric) for pair in pairs])
    is_in_rounds = bool(_rounds(set(places)))
    reduced = execution_values(
        samples,
        (rows, columns),
        rounds=np.array([place[0] for place in places]) if is_in_rounds else None,
        kind=kind,
        orientation=orientation,
    )
    values, counts = reduced.values, np.zeros((len(pairs), len(places)), np.intp)
    counts[rows, columns] = sizes
    is_target = np.array([place[1] for place in places])
    squared = np.zeros_like(values)
    squared[rows, columns] = [unit.squared_error for unit in flat]
    repeats = _repeats(values, kind)
    exact = _are_exact(pairs) | repeats
    location, is_logarithmic, size = _locations(values, exact, is_target)
    of_side = 2 * rows + is_target[columns]
    return SuiteUnits(
        places=places,
        values=values,
        reduction=reduced.reduction,
        counts=counts,
        is_logarithmic=is_logarithmic,
        size=size,
        samples=Ragged(samples.values, np.bincount(of_side, weights=sizes, minlength=2 * len(pairs)).astype(np.intp)),
        table=UnitTable.of(
            location,
            is_target,
            block=np.array([place[0] for place in places], dtype=np.intp),
            sampling_variance=squared / np.where(values == 0, np.inf, values**2) if squared.any() else None,
            scatter=_scatter(samples, (rows, columns), values),
            kind=kind,
            orientation=orientation,
            is_exact=exact,
            repeats=repeats,
        ),
    )


def _orientation(metric: Metric) -> float:
    """1 if a slow machine raises the number, -1 if it lowers it, 0 if counts and sizes know no machine."""
    if not depends_on_machine(metric.unit) or is_count(metric):
        return 0.0
    return -1.0 if is_per_time(metric.unit) else 1.0


def _scatter(samples: Ragged, at: tuple[Integers, Integers], values: Floats) -> Floats:
    """(m, U): squared relative error of each unit's median by its samples, NaN where it has one."""
    scatter, moments = np.full(values.shape, np.nan), samples.moments()
    with np.errstate(divide="ignore", invalid="ignore"):
        error = MEDIAN_FACTOR * moments.variance / moments.count / values[at] ** 2
    scatter[at] = np.where((moments.count > 1) & np.isfinite(error), error, np.nan)
    return scatter


def repeats_exactly(metric: Metric) -> bool:
    """Return whether the same code always gives the same number."""
    return is_deterministic(metric.unit) or is_count(metric)


def _are_exact(pairs: Sequence[MetricPair]) -> Booleans:
    return np.fromiter((repeats_exactly(pair.metric) for pair in pairs), np.bool_, len(pairs))


def _repeats(values: Floats, kind: Integers) -> Booleans:
    """(m,): whether numbers (m, U) of the kind are mostly equal in all units, such as cycles of a simulated machine.

    FEWEST_NUMBERS of these must differ and have four digits or more, because a coarse clock repeats itself too.
    """
    same = (values == values[:, :1]).all(axis=1) & (values[:, 0] > 0)
    number = np.where(same, values[:, 0], 1.0)
    digits = number / 10.0 ** np.floor(np.log10(number))
    is_fine = same & (np.abs(digits - digits.round(2)) > ROUNDING)
    exact = np.zeros(len(values), np.bool_)
    for rows in (kind == one for one in np.unique(kind)):
        exact[rows] = 2 * same[rows].sum() > rows.sum() and len(np.unique(number[rows & is_fine])) >= FEWEST_NUMBERS
    return exact


def _locations(values: Floats, exact: Booleans, is_target: Booleans) -> tuple[Floats, Booleans, Floats]:
    """Logarithms (m, U) if all numbers are positive, or counts that are zero throughout a side."""
    present = ~np.isnan(values)
    lowest = np.where(present, values, np.inf).min(axis=1)
    is_zero = np.where(present, values == 0, False)
    whole = [(is_zero | ~present)[:, side].all(axis=1) for side in (is_target, ~is_target)]
    some = [is_zero[:, side].any(axis=1) for side in (is_target, ~is_target)]
    counted_zeros = exact & (lowest == 0) & (whole[0] | ~some[0]) & (whole[1] | ~some[1])
    is_logarithmic = (lowest > 0) | counted_zeros
    base = np.where(present & ~is_target, values, 0.0).sum(axis=1) / np.maximum(present[:, ~is_target].sum(axis=1), 1)
    size = np.abs(base)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = values / np.where(size == 0, 1.0, size)[:, None]
        location = np.where(is_logarithmic[:, None], np.log(np.maximum(values, 0.0)), scaled)
    return location, is_logarithmic, size
