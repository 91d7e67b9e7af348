"""Tables of spans, a span per row (CSV): which column holds what is named, as `csv:trace=TraceID,span=SpanID,…`."""

import csv
from dataclasses import dataclass
from typing import Final

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile
from perf_culprit.read.logs.service_calls import seconds_since_1970
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.spans import Spans, profiles

PREFIX: Final = "csv:"
NS_PER_UNIT: Final = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
NEEDED: Final = ("trace", "span", "parent", "service", "name")
_MOMENTS: Final = ("start", *(f"start_{unit}" for unit in NS_PER_UNIT))
_ENDS: Final = tuple(f"{what}_{unit}" for what in ("duration", "end") for unit in NS_PER_UNIT)
_SEPARATORS: Final = ",;\t|"


@dataclass(frozen=True, slots=True)
class SpanTable:
    """A reader of tables with these columns. What each is for -> its name in the header."""

    columns: dict[str, str]

    def matches(self, _: ProfileFile, /) -> bool:
        """Never: the columns have to be named."""
        return False

    def read(self, file: ProfileFile, /) -> tuple[Profile, ...]:
        lines = (line for _, line in file.lines())
        header = next(lines, "")
        separator = max(_SEPARATORS, key=header.count)
        names = next(csv.reader([header], delimiter=separator), [])
        missing = [column for column in self.columns.values() if column not in names]
        if missing:
            step = f"name its columns: {', '.join(names)[:400]}"
            raise DataError(f"has no column {', '.join(missing)[:200]}", place=file.place, next_step=step)
        places = {what: names.index(column) for what, column in self.columns.items()}
        spans = Spans(file=file)
        for number, row in enumerate(csv.reader(lines, delimiter=separator), 2):
            file.intake.records += 1
            cells = {what: row[place] if place < len(row) else "" for what, place in places.items()}
            start = _ns(cells, _MOMENTS)
            length = _ns(cells, _ENDS)
            if start is not None and length is not None and any(what.startswith("end_") for what in cells):
                length -= start
            spans.take(
                **{what: cells[what] for what in NEEDED},
                start=start,
                end=None if start is None or length is None else start + length,
                at=f": row {number}",
                text=separator.join(row),
            )
        return profiles(spans)


def span_table(format_name: str) -> SpanTable:
    """The reader that `csv:trace=TraceID,…` means; a UsageError names what is missing."""
    columns = dict(pair.partition("=")[::2] for pair in format_name.removeprefix(PREFIX).split(","))
    one_of = [("start", _MOMENTS), ("duration_us or end_us", _ENDS)]
    missing = [what for what in NEEDED if what not in columns]
    missing += [what for what, names in one_of if sum(name in columns for name in names) != 1]
    unknown = [what for what in columns if what not in (*NEEDED, *_MOMENTS, *_ENDS)]
    if missing or unknown:
        raise UsageError(
            f"names no column for {', '.join(missing)}" if missing else f"names unknown columns: {', '.join(unknown)}",
            place=format_name[:100],
            next_step="write csv:trace=…,span=…,parent=…,service=…,name=…,start_us=…,duration_us=… with your columns' "
            "names (units ns, us, ms, s; `start` alone is a date)",
        )
    return SpanTable(columns)


def _ns(cells: dict[str, str], names: tuple[str, ...]) -> int | None:
    name = next(name for name in names if name in cells)
    scale = NS_PER_UNIT.get(name.rpartition("_")[2])
    try:
        number = seconds_since_1970(cells[name].encode()) if scale is None else float(cells[name])
        return None if number is None else round(number * (scale or 1e9))
    except (ValueError, OverflowError):
        return None
