"""Numbers and times of foreign counters, and the only functions that build a table of them."""

import math
from array import array
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from perf_culprit.errors import DataError, list_names
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import CounterTable, Direction, Environment, Metric
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parsed import Parsed, checked_metric, checked_name

if TYPE_CHECKING:
    from perf_culprit.arrays import Floats


# Each entry: the limit of numbers in a unit, which all reach to the year 5138, and the units per second.
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6))
_NANOSECONDS = 1e9
LOCAL_NOTE: Final = "its times have no time zone and are taken as UTC"
MISSING: Final = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "-", "?"})


def counter(name: str, unit: str = "", direction: Direction = Direction.UNKNOWN) -> Metric:
    """Return a counter's metric. Pass a direction only if the format's own meaning defines it."""
    return Metric(name=name, unit=unit, direction=direction)


def number_or_none(text: str) -> float | None:
    """Parse a number; NaN if the text marks a missing value, None for any other text."""
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return None


def number_of(text: str) -> float:
    """Parse a number like `number_or_none`, but raise ValueError for any other text."""
    if (number := number_or_none(text)) is None:
        raise ValueError(text)
    return number


def names_shown(names: list[str]) -> str:
    """List a few foreign names for a note."""
    return list_names([shown(name) for name in names], most=TEXT_LIMITS.counter_names)


def epoch_divisor(number: float) -> float:
    """Return the divisor of s, ms, us or ns since 1970 to seconds. Small numbers are seconds since a start."""
    return next((divisor for limit, divisor in _EPOCH_UNITS if abs(number) < limit), _NANOSECONDS)


class Clock:
    """A reader of one file's times. It raises ValueError for text that is not a time.

    Without `divisor`, the first number determines the unit of all.
    `is_local` is set after a time without a zone, which counts as UTC. Differences within the file stay right, except
    where summer time begins or ends.
    """

    def __init__(self, *, divisor: float | None = None) -> None:
        self._divisor = divisor
        self.is_local = False

    def __call__(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            return self._date(text)
        if self._divisor is None:
            self._divisor = epoch_divisor(number)
        return number / self._divisor

    def notes(self, place: str) -> tuple[str, ...]:
        return (f"{place}: {LOCAL_NOTE}",) if self.is_local else ()

    def _date(self, text: str) -> float:
        text = text.strip().replace("/", "-")
        if len(text) > FILE_LIMITS.time_characters:
            raise ValueError(text[: FILE_LIMITS.time_characters])
        without_zone = text.removesuffix(" UTC")
        time = datetime.fromisoformat(without_zone)
        if time.tzinfo is None:
            self.is_local |= without_zone == text
            time = time.replace(tzinfo=UTC)
        return time.timestamp()


Built: TypeAlias = tuple[CounterTable, tuple[str, ...]]


def build_table(
    name: str,
    *,
    times_s: "Sequence[float] | Floats",
    values: "Floats",
    metrics: Sequence[Metric],
    place: str,
    load: "Floats | None" = None,
    load_name: str | None = None,
) -> Built:
    """Build the table, and the notes about its data for the report.

    `values` is (n, m) in the file's order. Rows are sorted by time. If several rows share an instant, each counter's
    last value counts. Infinite values count as missing; a counter without any value is left out.
    """
    import numpy as np

    times = np.array(times_s, dtype=np.float64)
    check_size(len(times), len(metrics), place=place)
    if not np.isfinite(times).all():
        raise DataError(
            "holds a time that is not a finite number", place=place, next_step="check the times of the file"
        )
    notes = []
    columns = values if load is None else np.column_stack([values, load])
    infinite = np.isinf(columns)
    if infinite.any():
        columns = np.where(infinite, np.nan, columns)
        notes.append(f"infinite values count as missing: {int(infinite.sum())}")
    times, columns, order_notes = _order(times, columns)
    notes += order_notes
    if load is not None:
        columns, load = columns[:, :-1], columns[:, -1]
        load = None if np.isnan(load).all() else np.ascontiguousarray(load)
    filled = np.flatnonzero(~np.isnan(columns).all(axis=0))
    if not len(filled):
        raise DataError("no counter has a value", place=place, next_step="check that the counters were being recorded")
    if len(filled) < len(metrics):
        notes.append(f"counters without any value are left out: {len(metrics) - len(filled)}")
        columns = columns[:, filled]
    checked = [checked_metric(metrics[index], place=place) for index in filled.tolist()]
    _check_unique(checked, place)
    table = CounterTable(
        name=checked_name(name, place=place),
        metrics=tuple(checked),
        times_s=times,
        values=np.ascontiguousarray(columns),
        load=load,
        load_name=None if load is None else load_name,
    )
    return table, tuple(f"{place}: {note}" for note in notes)


def parsed_tables(
    built: Iterable[Built], *, notes: Iterable[str] = (), environment: Environment | None = None
) -> Parsed:
    """Return the tables of one file with their notes, without repeated ones."""
    tables, table_notes = zip(*built, strict=True)
    return Parsed(
        counters=tables,
        environment=environment or Environment(),
        notes=tuple(dict.fromkeys([*chain.from_iterable(table_notes), *notes])),
    )


def check_size(rows: int, columns: int, *, place: str) -> None:
    if not rows or not columns:
        raise DataError("holds no counter", place=place, next_step="check that the counters were being recorded")
    if columns > FILE_LIMITS.counter_columns or rows * columns > FILE_LIMITS.counter_cells:
        raise _too_large(place)


def _too_large(place: str) -> DataError:
    most = FILE_LIMITS
    return DataError(
        f"holds more than {most.counter_columns:,} counters, {most.counter_instants:,} instants or "
        f"{most.counter_cells:,} values",
        place=place,
        next_step="record fewer counters, or sample less often",
    )


def _order(times: "Floats", columns: "Floats") -> "tuple[Floats, Floats, list[str]]":
    """Sort the rows by time, one per instant. If a clock was set back, no other order can be recovered."""
    import numpy as np

    notes = []
    if back := int((np.diff(times) < 0).sum()):
        order = np.argsort(times, kind="stable")
        times, columns = times[order], columns[order]
        notes.append(f"the time goes back {back} times (was the clock set?); rows are sorted by time")
    is_first = np.append(True, np.diff(times) > 0)
    if not is_first.all():
        starts = np.flatnonzero(is_first)
        notes.append(f"rows of the same time as another, joined with it: {len(times) - len(starts)}")
        # Find each cell's newest row with a value, at or before it. If none is within the instant, it is missing.
        newest = np.where(np.isnan(columns), -1, np.arange(len(times))[:, None])
        newest = np.maximum.accumulate(newest, axis=0)[np.append(starts[1:], len(times)) - 1]
        joined = columns[np.maximum(newest, 0), np.arange(columns.shape[1])]
        times, columns = times[starts], np.where(newest < starts[:, None], np.nan, joined)
    return times, columns, notes


def _check_unique(metrics: Sequence[Metric], place: str) -> None:
    seen: set[str] = set()
    for metric in metrics:
        if metric.name in seen:
            raise DataError(
                f"the counter `{shown(metric.name)}` stands there twice",
                place=place,
                next_step="give each counter a name of its own",
            )
        seen.add(metric.name)


class Readings:
    """Values that arrive one at a time, in any order: each time becomes a row, each counter a column.

    If a counter has several values at one time, the last counts.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._rows: dict[float, int] = {}
        self._columns: dict[str, tuple[int, Metric]] = {}
        # One entry per value; arrays take a fifth of the memory of lists.
        self._cell_rows, self._cell_columns, self._cell_values = array("q"), array("q"), array("d")

    def __bool__(self) -> bool:
        return bool(self._columns)

    def __len__(self) -> int:
        """Return the number of values, without missing ones."""
        return len(self._cell_values)

    def add(self, time_s: float, metric: Metric, value: float) -> None:
        row = self._rows.setdefault(time_s, len(self._rows))
        column, _ = self._columns.setdefault(metric.name, (len(self._columns), metric))
        if (
            row >= FILE_LIMITS.counter_instants
            or column >= FILE_LIMITS.counter_columns
            or len(self) >= FILE_LIMITS.counter_cells
        ):
            raise _too_large(self._place)
        if not math.isnan(value):
            self._cell_rows.append(row)
            self._cell_columns.append(column)
            self._cell_values.append(value)

    def build(self, name: str, *, load_column: str | None = None, load_name: str | None = None) -> Built:
        """Build the table; the counter `load_column` becomes its load."""
        import numpy as np

        check_size(len(self._rows), len(self._columns), place=self._place)
        values = np.full((len(self._rows), len(self._columns)), np.nan)
        values[np.array(self._cell_rows), np.array(self._cell_columns)] = np.array(self._cell_values)
        metrics = [metric for _, metric in self._columns.values()]
        load = None
        if load_column in self._columns:
            index = self._columns[load_column][0]
            load = values[:, index]
            values = np.delete(values, index, axis=1)
            del metrics[index]
        return build_table(
            name,
            times_s=list(self._rows),
            values=values,
            metrics=metrics,
            place=self._place,
            load=load,
            load_name=load_name,
        )
