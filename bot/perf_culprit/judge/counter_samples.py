"""Samples for charts from counter tables: known values, at one load, without idle time [N12, section 4]."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from perf_culprit.arrays import Floats, row_blocks
from perf_culprit.config.policy_settings import ControlChartConfig
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.evidence_columns import relative
from perf_culprit.judge.one_load import NOTABLE_LOAD_DIFFERENCE, UNSCALABLE, Loads, measured_values, scale, table_loads
from perf_culprit.judge.run_medians import RunMedians, median_allowance
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import Metric
from perf_culprit.stats.density import idle_boundary


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prepared:
    """Sorted samples of one metric: the target's, and one array per baseline run that has any.

    `parts`: the runs cut into pieces as long as the target's test, if any is longer. `load_difference`: distance of the
    target's load from all loads of the baseline, if nothing could be scaled. `unfiltered` is the target before its idle
    time was dropped, if it was. `allowance` is that of `medians`.
    """

    target: Floats
    runs: tuple[Floats, ...]
    parts: tuple[tuple[Floats, ...], ...] = ()
    unfiltered: Floats | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    load_difference: float = 0.0
    allowance: float = 0.0

    @property
    def medians(self) -> RunMedians:
        runs = np.array([np.median(run) for run in self.runs])
        return RunMedians(target=float(np.median(self.target)), runs=runs, allowance=self.allowance)


def prepare_counters(pair: TablePair, settings: ControlChartConfig) -> Iterator[Prepared]:
    """Prepare each counter of the table, in order."""
    loads = table_loads(pair, at_any_load=settings.is_published)
    cuts = [run.parts for run in pair.baseline]
    # Counters are copied from their tables in blocks, to read memory in order.
    for chosen in row_blocks(len(pair.metrics), cells=len(pair.target.values)):
        target = measured_values(pair.target_values(chosen))
        runs = [measured_values(run.values(chosen)) for run in pair.baseline]
        for index, metric in enumerate(pair.metrics[chosen]):
            own = tuple(run[index] for run in runs)
            yield _prepared(metric, target[index], own, loads, cuts=cuts, drop_idle=settings.drop_idle_time)


def _prepared(
    metric: Metric, target: Floats, runs: tuple[Floats, ...], loads: Loads, *, cuts: Sequence[int], drop_idle: bool
) -> Prepared:
    details: dict[str, float] = {}
    notes = []
    measured_change = _change_of_medians(target, runs) if loads.wrong else None
    (target, runs), skipped = scale(metric, target, runs, loads, details)
    if skipped is None and loads.unknown > UNSCALABLE:
        notes.append(because(Remark.ROWS_WITHOUT_LOAD, share=loads.unknown))
    if measured_change is not None and skipped is None:
        details["unscaled_change"] = measured_change
    if skipped is None and "load_doubt" in details:
        notes.append(because(Remark.LOAD_BEYOND, width=details["load_doubt"]))
    if skipped:
        notes.append(skipped)
        if abs(loads.difference) >= NOTABLE_LOAD_DIFFERENCE:
            notes.append(because(Remark.LOAD_DIFFERS, change=loads.difference))
    pairs = [(run, cut) for run, cut in zip(runs, cuts, strict=True) if np.isfinite(run).any()]
    prepared = Prepared(
        target=_ordered(target),
        runs=tuple(_ordered(run) for run, _ in pairs),
        parts=cut_runs(pairs),
        details=details,
        notes=tuple(notes),
        load_difference=loads.unusual if skipped else 0.0,
        allowance=median_allowance(target, [run for run, _ in pairs], longer=any(cut > 1 for _, cut in pairs)),
    )
    return without_idle_time(prepared) if drop_idle else prepared


def _change_of_medians(target: Floats, runs: Sequence[Floats]) -> float | None:
    before, after = (side[np.isfinite(side)] for side in (np.concatenate(runs), target))
    return relative(float(np.median(after)), float(np.median(before))) if len(before) and len(after) else None


def cut_runs(runs: Sequence[tuple[Floats, int]]) -> tuple[tuple[Floats, ...], ...]:
    """Cut each run into pieces of equal length, sorted, without NaN; empty if no run is cut."""
    if all(cut == 1 for _, cut in runs):
        return ()
    return tuple(tuple(piece for own in np.array_split(run, cut) if len(piece := _ordered(own))) for run, cut in runs)


def _ordered(values: Floats) -> Floats:
    return np.sort(values[np.isfinite(values)])


def without_idle_time(prepared: Prepared) -> Prepared:
    """Drop each run's samples left of the minimum between its two modes, if most baseline runs have two modes.

    A target with a second mode that the baseline does not have shows a change, not idle time.
    """
    if (boundaries := idle_boundaries(prepared.runs)) is None or not len(prepared.target):
        return prepared
    runs = tuple(_right_of(run, boundary) for run, boundary in zip(prepared.runs, boundaries, strict=True))
    parts = tuple(
        tuple(busy for part in own if len(busy := _right_of(part, boundary)))
        for own, boundary in zip(prepared.parts, boundaries if prepared.parts else (), strict=True)
    )
    target = _right_of(prepared.target, idle_boundary(prepared.target))
    dropped = 1 - len(target) / len(prepared.target)
    usual = [1 - len(busy) / len(run) for busy, run in zip(runs, prepared.runs, strict=True)]
    notes = prepared.notes
    if not min(usual) <= dropped <= max(usual):
        idle = because(Remark.IDLE_TIME_DIFFERS, target=dropped, least=min(usual), most=max(usual))
        notes = (*notes, idle)
    return replace(
        prepared,
        target=target,
        runs=runs,
        parts=parts,
        unfiltered=prepared.target if dropped else None,
        details={**prepared.details, "idle_share": dropped, "idle_share_baseline": float(np.median(usual))},
        notes=notes,
    )


def idle_boundaries(
    runs: Sequence[Floats], *, boundary: Callable[[Floats], float | None] = idle_boundary
) -> list[float | None] | None:
    """Return one boundary per run of sorted samples; None if too many runs have a single mode."""
    boundaries: list[float | None] = []
    single = 0
    for run in runs:
        boundaries.append(boundary(run))
        single += boundaries[-1] is None
        if 2 * single >= len(runs):
            return None
    return boundaries or None


def _right_of(ordered: Floats, boundary: float | None) -> Floats:
    return ordered if boundary is None else ordered[np.searchsorted(ordered, boundary) :]
