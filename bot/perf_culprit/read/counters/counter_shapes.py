"""The three shapes of files with counters: CSV, lines of text or JSON, and one JSON document.

A format declares how it is recognized, the taker of its records, and the message for an invalid record. The engine of
its shape reads the file, counts its lines and adds the place to errors.
"""

import csv
import sys
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.counters.counter_tables import check_size, number_or_none
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parsed import Parsed
from perf_culprit.read.results.source import Source

if TYPE_CHECKING:
    from perf_culprit.arrays import Floats


Record_contra = TypeVar("Record_contra", contravariant=True)
Row: TypeAlias = tuple[int, list[str]]
# The errors that an invalid record raises when its cells are used as numbers, times or parts.
STRANGE = (ValueError, IndexError, OverflowError)


class Taker(Protocol[Record_contra]):
    """A taker of one file's records, each with its line. It raises one of STRANGE for an invalid record."""

    def take(self, line: int, record: Record_contra, /) -> None: ...
    def parsed(self) -> Parsed: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet:
    """The rows of a CSV below its header, which names `cells` cells, and their taker."""

    rows: Iterator[Row]
    cells: int
    taker: Taker[list[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class CsvRecords:
    """A header, then rows. With `may_be_cut`, the last row may be cut off, as by a recorder that was stopped.

    `opened` finds the header or raises an error. Rows may have more cells than the header, unless `is_exact`.
    """

    opened: Callable[[Source], Sheet]
    broken: str
    is_exact: bool = False
    may_be_cut: bool = True

    def __call__(self, source: Source) -> Parsed:
        sheet = self.opened(source)
        take, least, most = sheet.taker.take, sheet.cells, sheet.cells if self.is_exact else sys.maxsize
        lines_read = 0
        odd: Row | None = None
        for line, cells in sheet.rows:
            if odd is not None:
                break
            if not least <= len(cells) <= most:
                odd = line, cells
                continue
            try:
                take(line, cells)
            except STRANGE:
                raise source.error(self.broken, "check this row, or leave it out", line=line) from None
            lines_read += 1
        else:
            if odd is None or (lines_read and self.may_be_cut):
                note = () if odd is None else (f"{source.place}: the last line is cut off and left out",)
                parsed = sheet.taker.parsed()
                return structs.replace(parsed, notes=(*parsed.notes, *note))
        line, cells = odd
        raise source.error(
            f"has {len(cells)} cells, the header has {least}", "check the separators of this row", line=line
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class LineRecords:
    """A record per line. Empty lines are skipped; the taker skips other lines that are not records."""

    taker: Callable[[Source], Taker[str]]
    broken: str
    next_step: str = "check this line"

    def __call__(self, source: Source) -> Parsed:
        taker = self.taker(source)
        take = taker.take
        for number, line in enumerate(source.lines(), start=1):
            if not line.isspace():
                try:
                    take(number, line.rstrip("\r\n"))
                except STRANGE:
                    raise source.error(self.broken, self.next_step, line=number) from None
        return taker.parsed()


def csv_rows(source: Source, *, delimiter: str) -> Iterator[Row]:
    """Yield each row with its line number from 1, without empty lines."""
    reader = csv.reader(source.lines(), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise source.error(f"is not CSV: {shown(str(error))}", "check this row", line=reader.line_num) from None


def first_line(source: Source) -> str:
    return source.head().partition("\n")[0]


class Grid:
    """A fast reader of rows in bounded memory: a time, then numbers; one row per instant.

    A column may hold only words; a word among numbers is an error with its line.
    """

    def __init__(
        self, columns: int, *, time_of: Callable[[str], float], place: str, decimal_comma: bool = False
    ) -> None:
        self._columns = columns
        self._time_of = time_of
        self._place = place
        self._decimal_comma = decimal_comma
        self._times, self._values = array("d"), array("d")
        self._words: dict[int, tuple[int, str]] = {}

    def take(self, line: int, cells: list[str]) -> None:
        try:
            self._times.append(self._time_of(cells[0]))
        except (ValueError, OverflowError):
            raise self._error(f"`{shown(cells[0])}` is not a time", "check this row", line) from None
        try:
            self._values.extend(list(map(float, cells[1:])))
        except ValueError:
            self._values.extend([self._number(cell, line, column) for column, cell in enumerate(cells[1:])])
        if len(self._values) > FILE_LIMITS.counter_cells:
            check_size(FILE_LIMITS.counter_cells + 1, 1, place=self._place)

    def numbers(self) -> "tuple[Floats, Floats, tuple[int, ...]]":
        """Return the times (n,), the values (n, m) in the file's order, and the columns of words."""
        import numpy as np

        check_size(len(self._times), self._columns, place=self._place)
        values = np.frombuffer(self._values).reshape(len(self._times), self._columns)
        for column, (line, text) in self._words.items():
            if not np.isnan(values[:, column]).all():
                raise self._error(f"`{shown(text)}` is not a number", "check this cell", line)
        return np.frombuffer(self._times), values, tuple(self._words)

    def _number(self, text: str, line: int, column: int) -> float:
        if (number := number_or_none(text.replace(",", ".") if self._decimal_comma else text)) is None:
            self._words.setdefault(column, (line, text))
            return nan
        return number

    def _error(self, message: str, next_step: str, line: int) -> DataError:
        return DataError(message, place=f"{self._place}:{line}", next_step=next_step)
