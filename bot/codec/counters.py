"""Counter tables within a run file: a column per counter, null where a value is missing."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from bot.errors import DataError
from bot.model.counter import CounterTable
from bot.model.metric import Direction, Metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

NEXT_STEP = "write the file again with this version of perf-culprit"


class CounterEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    unit: str = ""
    direction: Direction = Direction.UNKNOWN
    # Lists, because copying millions of numbers into tuples takes a second more.
    values: list[float | None]


class CounterTableEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    times_s: list[float]
    load: list[float | None] | UnsetType | None = UNSET
    load_name: str | UnsetType | None = UNSET
    interval_s: Annotated[float, msgspec.Meta(gt=0)] | UnsetType | None = UNSET
    counters: list[CounterEntry]


def encode_table(table: CounterTable) -> CounterTableEntry:
    return CounterTableEntry(
        name=table.name,
        times_s=table.times_s.tolist(),
        load=UNSET if table.load is None else _nullable(table.load),
        load_name=table.load_name or UNSET,
        interval_s=table.interval_s or UNSET,
        counters=[
            CounterEntry(
                name=metric.name,
                unit=metric.unit,
                direction=metric.direction,
                values=_nullable(table.values[:, column]),
            )
            for column, metric in enumerate(table.metrics)
        ],
    )


def decode_table(entry: CounterTableEntry, place: str, *, were_reduced: bool = False) -> CounterTable:
    """The table; a DataError where its parts do not fit each other.

    `were_reduced`: by a note of their run its long tables hold interval medians, and an older version, which wrote no
    `interval_s`, stored it. Then the usual step between rows is their interval; for a table that was too short to be
    reduced that is the step of its samples, which is as good.
    """
    import numpy as np

    times = np.array(entry.times_s, dtype=np.float64)
    load = None if entry.load is UNSET else entry.load
    count = len(times)
    names = [counter.name for counter in entry.counters]
    if not count or not names:
        raise DataError("needs at least one time and one counter", place=place, next_step=NEXT_STEP)
    if (np.diff(times) <= 0).any():
        raise DataError("its times do not increase", place=f"{place}.times_s", next_step=NEXT_STEP)
    if len(set(names)) != len(names):
        raise DataError("two counters have one name", place=f"{place}.counters", next_step=NEXT_STEP)
    columns = [(f"counters.{index}.values", counter.values) for index, counter in enumerate(entry.counters)]
    for part, column in [*columns, *([("load", load)] if load is not None else [])]:
        if len(column) != count:
            raise DataError(f"has {len(column)} values for {count} times", place=f"{place}.{part}", next_step=NEXT_STEP)
    values = np.empty((count, len(columns)))
    for index, (_, column) in enumerate(columns):
        values[:, index] = _floats(column)
    interval_s = entry.interval_s or None
    if interval_s is None and were_reduced and count > 1:
        interval_s = float(np.median(np.diff(times)))
    return CounterTable(
        name=entry.name,
        metrics=tuple(
            Metric(name=counter.name, unit=counter.unit, direction=counter.direction) for counter in entry.counters
        ),
        times_s=times,
        values=values,
        load=None if load is None else _floats(load),
        load_name=None if load is None else entry.load_name or None,
        interval_s=interval_s,
    )


def _floats(values: list[float | None]) -> "Floats":
    import numpy as np

    return np.array(values, dtype=np.float64)


def _nullable(values: "Floats") -> list[float | None]:
    import numpy as np

    missing = ~np.isfinite(values)
    if not missing.any():
        return list(values.tolist())
    cells = values.astype(object)
    cells[missing] = None
    return list(cells.tolist())
