"""Rows of cells as a grid of numbers: one row per instant, its time in the first cell. Fast, and in bounded memory."""

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING

from bot.collect.content import shown
from bot.collect.counters.reader import number_or_none
from bot.collect.counters.table import MAX_CELLS, check_size
from bot.collect.source import Source
from bot.errors import DataError

if TYPE_CHECKING:
    from bot.stats.ragged import Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """`times_s` (n,) and `values` (n, m) in the file's order. `text_columns` hold words only."""

    times_s: "Floats"
    values: "Floats"
    text_columns: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def csv_rows(source: Source, *, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with its line number from 1; empty lines are left out."""
    reader = csv.reader(source.lines(), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise source.error(f"is no CSV: {shown(str(error))}", "check this row", line=reader.line_num) from None


def read_grid(
    rows: Iterable[tuple[int, list[str]]],
    *,
    columns: int,
    time_of: Callable[[str], float],
    place: str,
    decimal_comma: bool = False,
) -> Grid:
    """The numbers of `columns` columns after the time.

    A row of another length is an error with its line, except the last one: a recorder that was stopped cuts it.
    """
    import numpy as np

    times, values = array("d"), array("d")
    odd = _OddCells(decimal_comma=decimal_comma)
    cut: int | None = None
    for line, cells in rows:
        if cut is not None:
            raise _wrong_length(place, cut, columns)
        if len(cells) != columns + 1:
            cut = line
            continue
        try:
            times.append(time_of(cells[0]))
        except (ValueError, OverflowError):
            raise DataError(
                f"`{shown(cells[0])}` is no time", place=f"{place}:{line}", next_step="check this row"
            ) from None
        try:
            values.extend(list(map(float, cells[1:])))
        except ValueError:
            values.extend([odd.number(cell, line=line, column=column) for column, cell in enumerate(cells[1:])])
        if len(values) > MAX_CELLS:
            check_size(MAX_CELLS + 1, 1, place=place)
    if cut is not None and not times:
        raise _wrong_length(place, cut, columns)
    check_size(len(times), columns, place=place)
    grid = np.frombuffer(values).reshape(len(times), columns)
    for column, (line, text) in odd.texts.items():
        if not np.isnan(grid[:, column]).all():
            raise DataError(f"`{shown(text)}` is no number", place=f"{place}:{line}", next_step="check this cell")
    return Grid(
        times_s=np.frombuffer(times),
        values=grid,
        text_columns=tuple(odd.texts),
        notes=() if cut is None else (f"{place}: the last line is cut off and left out",),
    )


@dataclass(kw_only=True, slots=True)
class _OddCells:
    """Reads rows that hold more than plain numbers, and remembers the first word of each column."""

    decimal_comma: bool
    texts: dict[int, tuple[int, str]] = field(default_factory=dict)

    def number(self, text: str, *, line: int, column: int) -> float:
        if (number := number_or_none(text.replace(",", ".") if self.decimal_comma else text)) is None:
            self.texts.setdefault(column, (line, text))
            return nan
        return number


def _wrong_length(place: str, line: int, columns: int) -> DataError:
    return DataError(
        f"does not have {columns + 1} cells, as the header has",
        place=f"{place}:{line}",
        next_step="check the separators of this row",
    )
