"""Counters to compare: each table of the target with the same table of the baseline's runs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from perf_culprit.arrays import ABSENT, Floats, Integers
from perf_culprit.errors import UsageError, list_names
from perf_culprit.judge.common_rows import common_rows
from perf_culprit.judge.counter_load import Load, load_of
from perf_culprit.judge.metric_pairs import obstacle_of
from perf_culprit.judge.unit_factors import conversion_factor
from perf_culprit.model.finding import Baseline
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import NO_COST, CounterTable, Direction, Metric, MetricKey, Run
from perf_culprit.model.work_limits import WORK_LIMITS


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BaselineTable:
    """One baseline run's table paired with the target's: the places of its counters, and factors to the target's unit.

    `run` is the whole run. `columns` (m,): the column of each of the pair's counters, ABSENT if this run has no usable
    one. `factors` (m,) multiply its values. `parts`: number of tests as long as the target's in its table. `load` at
    its rows, as in `TablePair`.
    """

    run: Run
    table: CounterTable
    columns: Integers
    factors: Floats
    parts: int = 1
    load: Load | Reason | None = None

    def values(self, chosen: slice) -> Floats:
        """(n, k): the chosen counters in the target's unit; all NaN where the run lacks one. A copy."""
        columns = self.columns[chosen]
        values = self.table.values[:, columns] * self.factors[chosen]
        values[:, columns == ABSENT] = np.nan
        return values


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TablePair:
    """One source's counters on both sides. Its m counters are those of the target that any baseline run also has.

    `metrics` are used for judging: a direction may be the user's. `columns` (m,) are their places in `target`.
    `baseline` has one entry per run that has the table, oldest first. `obstacles` (m entries) are reasons why a counter
    cannot be compared, or None. `run` is the whole target. `unsettled` as in `Baseline`.
    """

    run: Run
    name: str
    metrics: tuple[Metric, ...]
    target: CounterTable
    columns: Integers
    baseline: tuple[BaselineTable, ...]
    obstacles: tuple[Reason | None, ...]
    load: Load | Reason | None = None
    unsettled: frozenset[MetricKey] = frozenset()

    @property
    def keys(self) -> tuple[MetricKey, ...]:
        return tuple(MetricKey(self.name, metric.name) for metric in self.metrics)

    def target_values(self, chosen: slice) -> Floats:
        """(n, k): the chosen counters of the target. A copy."""
        return self.target.values[:, self.columns[chosen]]

    def medians(self, index: int) -> tuple[float, ...]:
        """Return a counter's median in each run that has values, oldest to newest, the target's last."""
        one = slice(index, index + 1)
        runs = (*(run.values(one) for run in self.baseline), self.target_values(one))
        finite = (values[np.isfinite(values)] for values in runs)
        return tuple(float(np.median(values)) for values in finite if len(values))


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterPairing:
    """`tables` in the target's order; `missing` and `new` as in `Pairing`; `notes` on the preparation of the tables."""

    tables: tuple[TablePair, ...]
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    notes: tuple[Reason, ...] = ()


def tests_apart(baseline: Sequence[Run], target: Run) -> tuple[Run, ...]:
    """Return each test as a run of its own, if a run holds several tests that are one table in the target."""
    if len(target.counters) != 1:
        _refuse_several(baseline, target)
        return tuple(baseline)
    wanted = {metric.name for metric in target.counters[0].metrics}
    return tuple(part for run in baseline for part in _tests(run, wanted))


def _refuse_several(baseline: Sequence[Run], target: Run) -> None:
    """Raise an error if no table of the target is named as one of the baseline: the test to judge is ambiguous."""
    names = [table.name for table in target.counters]
    before = {table.name for run in baseline for table in run.counters}
    kinds = {frozenset(metric.name for metric in table.metrics) for table in target.counters}
    if before and len(kinds) == 1 and before.isdisjoint(names):
        raise UsageError(
            f"the target holds {len(names)} tests of the same counters ({list_names(names, most=WORK_LIMITS.names)})",
            next_step="give one of them as the target, and the files of earlier tests as the baseline",
        )


def _tests(run: Run, wanted: set[str]) -> Iterator[Run]:
    """Split a run into its tests. The last keeps the benchmarks: a report lists those missing from the newest run."""
    tables = run.counters
    if len(tables) < 2 or not all(wanted & {metric.name for metric in table.metrics} for table in tables):
        yield run
        return
    yield from (structs.replace(run, counters=(table,), benchmarks=(), cost=NO_COST) for table in tables[:-1])
    yield structs.replace(run, counters=tables[-1:])


def pair_counters(
    baseline: Baseline,
    target: Run,
    *,
    direction: Callable[[Metric, MetricKey], Direction] | None = None,
    ignored: Callable[[MetricKey], bool] | None = None,
) -> CounterPairing:
    """Pair the target's counters with the baseline's by table and name; a single table is paired whatever its name.

    All tables of a pair have rows of one length: medians stored in the history are compared with such medians. A run
    that was judged a regression in a counter is no baseline for that counter. `direction` overrides a metric's.
    `ignored` counters are skipped on both sides.
    """
    pairs: list[TablePair] = []
    new: list[MetricKey] = []
    missing: list[MetricKey] = []
    notes: list[Reason] = []
    for table in target.counters:
        runs = [(run, own) for run in baseline.runs if (own := _same_table(table, run, target)) is not None]
        common = common_rows(table, [own for _, own in runs])
        beside = [
            (run, made, parts)
            for (run, _), made, parts in zip(runs, common.baseline, common.parts, strict=True)
            if made is not None
        ]
        pair, unknown = _pair(target, common.target, beside, direction=direction, ignored=ignored)
        new += unknown
        if pair.metrics:
            pairs.append(_under_load(replace(pair, unsettled=baseline.unsettled)))
            notes += [*common.notes, *_load_remarks(pairs[-1])]
        if runs and runs[-1][0] is baseline.runs[-1]:
            present = {metric.name for metric in table.metrics}
            missing += [MetricKey(table.name, m.name) for m in runs[-1][1].metrics if m.name not in present]
    missing += _missing_tables(baseline, target)
    gone = tuple(key for key in dict.fromkeys(missing) if ignored is None or not ignored(key))
    return CounterPairing(tables=tuple(pairs), missing=gone, new=tuple(new), notes=tuple(notes))


def _same_table(table: CounterTable, run: Run, target: Run) -> CounterTable | None:
    named = next((entry for entry in run.counters if entry.name == table.name), None)
    # Files are often named after their run; if there is only one, it is unambiguous.
    only = len(run.counters) == len(target.counters) == 1
    return run.counters[0] if named is None and only else named


def _under_load(pair: TablePair) -> TablePair:
    """Add the loads of all its tables, each from its own run; prefer the target's quantity if runs recorded several."""
    load = load_of(pair.target, _others(pair.run, pair.name))
    name = load.name if isinstance(load, Load) else None
    return replace(
        pair,
        load=load,
        baseline=tuple(
            replace(entry, load=load_of(entry.table, _others(entry.run, entry.table.name), name=name))
            for entry in pair.baseline
        ),
    )


def _others(run: Run, name: str) -> list[CounterTable]:
    return [table for table in run.counters if table.name != name]


def _load_remarks(pair: TablePair) -> list[Reason]:
    """Report a clock that does not fit, if any run has one; otherwise the other table of the target's load."""
    loads = (pair.load, *(entry.load for entry in pair.baseline))
    misfits = [load for load in loads if isinstance(load, Reason)]
    if misfits:
        return misfits[:1]
    return [pair.load.remark] if isinstance(pair.load, Load) and pair.load.remark is not None else []


def _missing_tables(baseline: Baseline, target: Run) -> list[MetricKey]:
    newest = baseline.runs[-1].counters if baseline.runs else ()
    if len(newest) == len(target.counters) == 1:
        return []
    present = {table.name for table in target.counters}
    return [MetricKey(table.name, m.name) for table in newest if table.name not in present for m in table.metrics]


def _pair(
    target: Run,
    table: CounterTable,
    runs: Sequence[tuple[Run, CounterTable, int]],
    *,
    direction: Callable[[Metric, MetricKey], Direction] | None,
    ignored: Callable[[MetricKey], bool] | None,
) -> tuple[TablePair, list[MetricKey]]:
    usable = [_usable_columns(run, before, table.name) for run, before, _ in runs]
    entries: list[tuple[int, Metric, Reason | None]] = []
    new = []
    for column, own in enumerate(table.metrics):
        key = MetricKey(table.name, own.name)
        if ignored is not None and ignored(key):
            continue
        earlier = [
            before.metrics[columns[own.name]]
            for (_, before, _), columns in zip(runs, usable, strict=True)
            if own.name in columns
        ]
        if not earlier:
            new.append(key)
            continue
        override = own.direction if direction is None else direction(own, key)
        trusted = override is not own.direction
        entries.append(
            (column, structs.replace(own, direction=override) if trusted else own, obstacle_of(own, earlier, trusted))
        )
    metrics = tuple(metric for _, metric, _ in entries)
    pair = TablePair(
        run=target,
        name=table.name,
        metrics=metrics,
        target=table,
        columns=np.array([column for column, _, _ in entries], dtype=np.intp),
        baseline=tuple(
            _beside(run, before, columns, metrics, parts=parts)
            for (run, before, parts), columns in zip(runs, usable, strict=True)
        ),
        obstacles=tuple(obstacle for _, _, obstacle in entries),
    )
    return pair, new


def _usable_columns(run: Run, table: CounterTable, name: str) -> dict[str, int]:
    regressed = {key.metric for key in run.regressions if key.benchmark in {table.name, name}}
    return {m.name: column for column, m in enumerate(table.metrics) if m.name not in regressed}


def _beside(
    run: Run, table: CounterTable, columns: dict[str, int], metrics: Sequence[Metric], *, parts: int
) -> BaselineTable:
    places = [columns.get(metric.name, ABSENT) for metric in metrics]
    factors = [
        1.0 if column == ABSENT else conversion_factor(table.metrics[column].unit, metric.unit) or 1.0
        for column, metric in zip(places, metrics, strict=True)
    ]
    return BaselineTable(
        run=run,
        table=table,
        columns=np.array(places, dtype=np.intp),
        factors=np.array(factors, dtype=np.float64),
        parts=parts,
    )
