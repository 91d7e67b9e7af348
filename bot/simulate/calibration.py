"""Demands from measurement: what the counters of a real run say that each kind of request holds, by least squares."""

from collections.abc import Iterator

import numpy as np
from scipy import optimize, special

from bot.config.design import Calibrated, Design
from bot.errors import DataError
from bot.model.counter import CounterTable
from bot.model.run import Run
from bot.model.simulation import Demanded
from bot.simulate.stations import Station, stations

LEVEL = 0.95


def calibrate(design: Design, scenario: str, run: Run) -> tuple[Demanded, ...]:
    """Utilisation law: units in use = sum over kinds of requests per second x demand, and a part that never rests.

    Demands below 0 are impossible, so that the squares are minimised over the others [Lawson & Hanson 1974].
    Assumes rows longer than a request; errors of rows that do not depend on each other.
    """
    places = stations(design, design.scenario[scenario])
    return tuple(demanded for entry in design.calibration for demanded in _fitted(entry, places[entry.component], run))


def _fitted(entry: Calibrated, station: Station, run: Run) -> Iterator[Demanded]:
    table = _table(entry, run)
    position = station.resources.index(entry.resource) if entry.resource in station.resources else None
    if position is None:
        raise DataError(
            f"has no {entry.resource}", place=station.name, next_step=f"give its {entry.resource} in the model"
        )
    used = _column(table, entry.counter) / 100 * station.capacities[position] * station.instances
    rates = np.stack([*(_column(table, name) for name in entry.rates.values()), np.ones(len(used))], axis=1)
    finite = np.isfinite(used) & np.isfinite(rates).all(axis=1)
    used, rates = used[finite], rates[finite]
    count, unknown = rates.shape
    if count <= unknown or np.linalg.matrix_rank(rates) < unknown:
        step = "measure under several rates and mixes"
        raise DataError(f"{count:,} rows do not tell {unknown - 1:,} demands apart", place=table.name, next_step=step)
    demands, residual = optimize.nnls(rates, used)
    variance = residual**2 / (count - unknown)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(rates.T @ rates)))
    quantile = special.stdtrit(count - unknown, (1 + LEVEL) / 2)
    total = float(((used - used.mean()) ** 2).sum())
    for kind, demand, error in zip(entry.rates, demands[:-1], errors, strict=False):
        service = station.services.get(kind)
        yield Demanded(
            component=entry.component,
            resource=entry.resource,
            request=kind,
            demand=float(demand),
            half_width=float(quantile * error),
            modelled=dict(service.needs).get(position, 0.0) * service.processing.mean if service else 0.0,
            explained=1 - residual**2 / total if total else 1.0,
        )


def _table(entry: Calibrated, run: Run) -> CounterTable:
    """The one that has all of the entry's counters, which have to share their clock."""
    needed = {entry.counter, *entry.rates.values()}
    for table in run.counters:
        if needed <= {metric.name for metric in table.metrics}:
            return table
    raise DataError(
        f"no table has all of the counters {', '.join(sorted(needed))}",
        place="calibration",
        next_step="name counters of one file under calibration; `perf-culprit collect` shows what it holds",
    )


def _column(table: CounterTable, name: str) -> "np.typing.NDArray[np.float64]":
    names = [metric.name for metric in table.metrics]
    values: np.typing.NDArray[np.float64] = table.values[:, names.index(name)]
    return values
