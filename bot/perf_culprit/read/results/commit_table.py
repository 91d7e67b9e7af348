"""Reading of a plain table as series: a header, then a row per commit or build, oldest first, split by `,;` or tabs."""

import csv
import io
import math
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO, Final

from perf_culprit.errors import DataError, UsageError, list_names
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Reason, remark
from perf_culprit.model.series import Series, SeriesTable
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.source import STDIN_NAME, Source, read_file, read_stream

DELIMITERS: Final = (",", ";", "\t")
MISSING: Final = frozenset({"", "nan", "na", "n/a", "null", "none"})
# Each part is bounded, so that no cell makes the pattern slow.
NUMBER: Final = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?", re.ASCII)
# The beginning of other files, such as results of benchmark tools, which `record` reads.
NO_TABLE: Final = re.compile(r"\s*([{\[]|window\.)")
# No benchmark measures numbers beyond these limits.
SMALLEST, LARGEST = 1e-60, 1e60

# Columns that identify the row. Clocks are among them only if they never go back.
COUNTER_NAMES: Final = frozenset({"", "index", "row", "row number", "no", "nr", "number", "id", "n"})
LABEL_NAMES: Final = frozenset({"build", "build number", "run number", "revision", "rev", "version", "branch", "tag"})
LABEL_ENDS: Final = frozenset(
    {"commit", "sha", "hash", "revision", "version", "id", "timestamp", "date", "datetime", "epoch"}
)
CLOCKS: Final = frozenset({"time", "second", "seconds", "elapsed"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Cells:
    """Columns of stripped texts in the file's order. `lines`: the rows' line numbers."""

    place: str
    columns: dict[str, tuple[str, ...]]
    lines: tuple[int, ...]


def read_table(
    path: str, *, columns: Sequence[str] = (), label: str | None = None, stdin: BinaryIO | None = None
) -> SeriesTable:
    """Read the chosen `columns` of the file, or of standard input for `-`; by default all numeric ones.

    Columns that count or name the rows (an index, a build, a commit, a time) are then left out; notes list them.
    `label`: the column that names the rows; by default the first one with such a name.
    """
    source = read_stream(path, stdin or sys.stdin.buffer) if path == STDIN_NAME else read_file(path)
    cells = _read(source)
    for name in (*columns, *([label] if label is not None else [])):
        if name not in cells.columns:
            raise UsageError(
                f"there is no column `{shown(name)}`", place=cells.place, next_step=f"use {_listed(cells.columns)}"
            )
    naming = [name for name, texts in cells.columns.items() if _names_rows(name, texts)]
    chosen = list(dict.fromkeys(columns))
    notes: tuple[Reason, ...] = ()
    if not chosen:
        chosen, notes = _numeric(cells, left_out={*naming, label})
    if label is None:
        label = next((name for name in naming if _words(name) not in COUNTER_NAMES and name not in chosen), None)
    labels = ("",) * len(cells.lines) if label is None else tuple(map(shown, cells.columns[label]))
    return SeriesTable(
        place=cells.place,
        series=tuple(Series(name=shown(name), values=_numbers(cells, name)) for name in chosen),
        labels=labels,
        label_name=None if label is None else shown(label),
        notes=notes,
    )


def _read(source: Source) -> _Cells:
    whole = source.text()
    text = whole.lstrip("\r\n")
    skipped = whole[: len(whole) - len(text)].count("\n")
    delimiter = _delimiter(text.partition("\n")[0][: FILE_LIMITS.commit_header_characters])
    if NO_TABLE.match(text):
        raise source.error(
            "is not a table of cells, it looks like JSON or JavaScript",
            "give a header and a row per commit; of recorded results, `changes --repo .` reads the history",
        )
    reader = csv.reader(io.StringIO(text.rstrip("\r\n"), newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        header = [cell.strip() for cell in next(reader)]
        _check_header(header, source.place)
        for row in reader:
            # An empty line is a missing value only if a row has one cell.
            filled = row or [""] * (len(header) == 1)
            if filled:
                rows.append(filled)
                lines.append(reader.line_num + skipped)
                _check_row(rows, header, place=source.place, line=lines[-1])
    except csv.Error as error:
        raise DataError(
            f"is not a table: {shown(str(error))}",
            place=f"{source.place}:{reader.line_num + skipped}",
            next_step="check the quotes of this row",
        ) from None
    if not rows:
        raise source.error("has no rows", "give a table with a header and a row per commit or build")
    texts = (tuple(cell.strip() for cell in column) for column in zip(*rows, strict=True))
    return _Cells(place=source.place, columns=dict(zip(header, texts, strict=True)), lines=tuple(lines))


def _check_row(rows: Sequence[Sequence[str]], header: Sequence[str], *, place: str, line: int) -> None:
    if len(rows[-1]) != len(header):
        raise DataError(
            f"has {len(rows[-1])} cells, the header has {len(header)}",
            place=f"{place}:{line}",
            next_step="check the delimiters and quotes of this row",
        )
    if len(rows) > FILE_LIMITS.commit_rows or len(rows) * len(header) > FILE_LIMITS.commit_cells:
        raise DataError(
            f"holds more than {FILE_LIMITS.commit_rows:,} rows or {FILE_LIMITS.commit_cells:,} cells",
            place=place,
            next_step="leave out the oldest rows, or columns that are not needed",
        )


def _delimiter(header: str) -> str:
    """Return the delimiter that splits the header into the most cells; a comma if none occurs."""

    def cells(delimiter: str) -> int:
        return len(next(csv.reader([header], delimiter=delimiter), []))

    try:
        return max(DELIMITERS, key=cells)
    except csv.Error:
        return ","


def _check_header(header: Sequence[str], place: str) -> None:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise DataError(
                f"has the column `{shown(name)}` twice",
                place=f"{place}:1",
                next_step="give each column a name of its own",
            )
        seen.add(name)
    if all(NUMBER.fullmatch(name) for name in header):
        raise DataError(
            "begins with numbers instead of names",
            place=f"{place}:1",
            next_step="put a line with the columns' names before the first row",
        )


def _numeric(cells: _Cells, *, left_out: Iterable[str | None]) -> tuple[list[str], tuple[Reason, ...]]:
    """Return the columns that are mostly numbers and do not name rows, and a note about all others."""
    naming = set(left_out)
    chosen = [name for name, texts in cells.columns.items() if name not in naming and _is_numeric(texts)]
    used_columns = set(chosen)
    others = [name for name in cells.columns if name not in used_columns]
    if not chosen:
        raise DataError(
            "has no column of numbers besides those that count or name the rows",
            place=cells.place,
            next_step=f"name one with --column: {_listed(others)}"
            if len(others) > 1
            else "give a table with a row per commit; perf-culprit compare OLD NEW judges results of single runs",
        )
    return chosen, (remark(f"columns left out: {_listed(others)}"),) * bool(others)


def _is_numeric(texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text.casefold() not in MISSING]
    return 2 * sum(NUMBER.fullmatch(text) is not None for text in filled) > len(filled)


def _names_rows(name: str, texts: Sequence[str]) -> bool:
    words = _words(name)
    if words in COUNTER_NAMES or words in LABEL_NAMES or words.startswith("unnamed "):
        return True
    if words not in CLOCKS:
        return words.rpartition(" ")[2] in LABEL_ENDS
    if not _is_numeric(texts):
        return True
    times = [float(text) for text in texts if NUMBER.fullmatch(text)]
    return all(earlier <= later for earlier, later in pairwise(times))


def _words(name: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", name.casefold()))


def _numbers(cells: _Cells, name: str) -> tuple[float, ...]:
    values = []
    for text, line in zip(cells.columns[name], cells.lines, strict=True):
        if text.casefold() in MISSING:
            values.append(math.nan)
            continue
        if NUMBER.fullmatch(text) is None:
            raise _bad_cell(cells, name, line, f"`{shown(text)}` is not a number")
        number = float(text)
        if number and not SMALLEST <= abs(number) <= LARGEST:
            raise _bad_cell(cells, name, line, f"`{shown(text)}` is too large or too small to calculate with")
        values.append(number)
    return tuple(values)


def _bad_cell(cells: _Cells, name: str, line: int, message: str) -> DataError:
    return DataError(
        message,
        place=f"{cells.place}:{line}: column `{shown(name)}`",
        next_step="write a number with a decimal point, leave the cell empty, or choose other columns with --column",
    )


def _listed(names: Iterable[str]) -> str:
    return list_names([f"`{shown(name)}`" for name in names], most=TEXT_LIMITS.column_names)
