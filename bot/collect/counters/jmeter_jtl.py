"""JMeter's results as CSV (JTL): one row per sample. Columns are configurable, and the header may be missing."""

from collections.abc import Mapping
from dataclasses import replace

from bot.collect.counters.clock import LOCAL_NOTE, Clock
from bot.collect.counters.grid import csv_rows
from bot.collect.counters.load_test import LoadTest
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.errors import DataError

ID = "jmeter_jtl"
DESCRIPTION = "JMeter results as CSV (JTL)"
EXAMPLE = "jmeter -n -t test.jmx -l results.jtl"

DELIMITERS = (",", "\t", ";", "|")
NEEDED = frozenset({"timeStamp", "elapsed", "label"})
# What JMeter writes when nothing is configured, by the number of columns: before version 3.1 or so, 4 and 5.
DEFAULT_COLUMNS = {
    13: (
        *("timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "success", "bytes"),
        *("grpThreads", "allThreads", "Latency", "Hostname", "Connect"),
    ),
    16: (
        *("timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success"),
        *("failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "Latency", "IdleTime", "Connect"),
    ),
    17: (
        *("timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success"),
        *("failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime", "Connect"),
    ),
}
SUCCESS = ("true", "false")
# A transaction controller's own row repeats what its children said; JMeter marks it by this message only.
TRANSACTION_START = "Number of samples in transaction : "
MAX_USERS_DIGITS = 10


def matches(source: Source, /) -> bool:
    return _columns(source.head().partition("\n")[0]) is not None


def parse(source: Source, /) -> Parsed:
    header = next(source.lines(), "")
    if (layout := _columns(header)) is None:
        raise source.error(
            "names no columns timeStamp, elapsed and label",
            "let JMeter write CSV with field names (jmeter.save.saveservice.print_field_names=true)",
            line=1,
        )
    delimiter, columns = layout
    rows = _Rows(test=LoadTest(name="jmeter", place=source.place), columns=columns)
    needed_cells = max(columns.values()) + 1
    cut: int | None = None
    for line, cells in csv_rows(source, delimiter=delimiter):
        if cut is not None:
            raise _broken(source, cut, "has fewer cells than the header")
        if not cells[0][:1].isdecimal() and cells[0].strip() in columns:
            continue  # a header; once more where a test was appended to the file
        if len(cells) < needed_cells:
            cut = line
            continue
        try:
            rows.add(cells)
        except (ValueError, OverflowError):
            raise _broken(source, line, "its timeStamp or elapsed is no number") from None
    parsed = rows.test.parsed()
    notes = (
        (cut is not None, "the last line is cut off and left out"),
        (rows.negative > 0, f"negative times are left out: {rows.negative}"),
        ("success" not in columns, "does not say which samples failed"),
        (rows.clock.is_local, LOCAL_NOTE),
    )
    remarks = tuple(f"{source.place}: {note}" for is_so, note in notes if is_so)
    return replace(parsed, notes=(*parsed.notes, *remarks))


class _Rows:
    """Counts rows into the test. The places of columns are kept, because there may be millions of rows."""

    def __init__(self, *, test: LoadTest, columns: Mapping[str, int]) -> None:
        self.test = test
        self.clock = Clock()
        self.negative = 0
        self._time, self._elapsed, self._label = (columns[name] for name in ("timeStamp", "elapsed", "label"))
        self._success, self._message = columns.get("success"), columns.get("responseMessage")
        self._users = columns.get("allThreads")

    def add(self, cells: list[str]) -> None:
        elapsed_ms = float(cells[self._elapsed])
        second = self.test.at(self.clock(cells[self._time]))
        if not elapsed_ms >= 0:
            self.negative += 1  # JMeter says so after the clock was set back
            return
        label = cells[self._label] or "(no label)"
        succeeded = self._success is None or cells[self._success].strip().lower() == "true"
        if succeeded:
            self.test.response(label, elapsed_ms)
        else:
            self.test.failure(label)
        if self._message is not None and cells[self._message].startswith(TRANSACTION_START):
            return
        second.requests += 1
        if succeeded:
            second.succeeded += 1
            second.succeeded_ms += elapsed_ms
        else:
            second.failed += 1
        if self._users is not None:
            users = cells[self._users]
            if users.isdecimal() and len(users) < MAX_USERS_DIGITS:
                second.users = float(users)


def _columns(line: str) -> tuple[str, dict[str, int]] | None:
    """The delimiter and where each column is, by the header or by what JMeter writes by default."""
    line = line.strip("\r\n\ufeff")
    for delimiter in DELIMITERS:
        names = [name.strip().strip('"') for name in line.split(delimiter)]
        if set(names) >= NEEDED:
            return delimiter, {name: index for index, name in enumerate(names)}
        default = DEFAULT_COLUMNS.get(len(names))
        if default and names[0].isdecimal() and len(names[0]) == 13 and names[1].isdecimal():
            columns = {name: index for index, name in enumerate(default)}
            if names[columns["success"]].lower() in SUCCESS:
                return delimiter, columns
    return None


def _broken(source: Source, line: int, message: str) -> DataError:
    return source.error(message, "check this row, or leave it out", line=line)
