"""k6's raw points as CSV (`--out csv=FILE`): one row per point of every metric."""

from dataclasses import dataclass, field, replace

from bot.collect.content import shown
from bot.collect.counters.clock import Clock
from bot.collect.counters.grid import csv_rows
from bot.collect.counters.load_test import LoadTest
from bot.collect.counters.reader import RESPONSE_TIME, names_shown
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.errors import DataError
from bot.model.metric import Direction, Metric

ID = "k6_csv"
DESCRIPTION = "k6 raw points as CSV (--out csv)"
EXAMPLE = "k6 run --out csv=points.csv script.js"

START = "metric_name,timestamp,metric_value,"
REQUEST_TIMES = frozenset({"http_req_duration", "grpc_req_duration"})
# k6's own times beside those of requests, and the column that says what took the time.
OTHER_TIMES = {"iteration_duration": "scenario", "group_duration": "group"}
# The parts of a request's time, and what the counter table or the response times hold already.
KNOWN = frozenset(
    {
        *("http_req_blocked", "http_req_connecting", "http_req_tls_handshaking", "http_req_sending"),
        *("http_req_waiting", "http_req_receiving", "http_req_failed", "http_reqs", "vus", "vus_max"),
        *("checks", "data_sent", "data_received", "iterations", "dropped_iterations"),
    }
)
MAX_SHOWN_METRICS = 100


def matches(source: Source, /) -> bool:
    return source.head().startswith(START)


def parse(source: Source, /) -> Parsed:
    rows = csv_rows(source, delimiter=",")
    _, header = next(rows, (1, []))
    columns = {name: index for index, name in enumerate(header)}
    if not {"metric_name", "timestamp", "metric_value"} <= columns.keys():
        raise source.error("has no header of k6", "write the file with k6 run --out csv=FILE", line=1)
    points = _Points(test=LoadTest(name="k6", place=source.place), columns=columns)
    clock = Clock()
    last_text, last_s = "", 0.0
    cut: int | None = None
    for line, cells in rows:
        if cut is not None:
            raise _broken(source, cut)
        if cells[0] == header[0]:
            continue
        if len(cells) < len(header):
            cut = line
            continue
        text = cells[columns["timestamp"]]
        try:
            if text != last_text:
                last_text, last_s = text, clock(text)
            points.add(cells[columns["metric_name"]], cells, last_s, float(cells[columns["metric_value"]]))
        except (ValueError, OverflowError):
            raise _broken(source, line) from None
    parsed = points.test.parsed()
    notes = list(parsed.notes)
    if cut is not None:
        notes.append(f"{source.place}: the last line is cut off and left out")
    if points.unknown:
        names = names_shown([shown(name) for name in points.unknown])
        notes.append(f"{source.place}: the file does not say what these metrics mean; left out: {names}")
    return replace(parsed, notes=tuple(notes))


@dataclass(kw_only=True, slots=True)
class _Points:
    test: LoadTest
    columns: dict[str, int]
    unknown: dict[str, None] = field(default_factory=dict)

    def add(self, metric: str, cells: list[str], time_s: float, value: float) -> None:
        if metric in REQUEST_TIMES:
            self._request(metric, cells, time_s, value)
        elif metric == "vus":
            self.test.at(time_s).users = value
        elif metric in OTHER_TIMES:
            name = self._cell(cells, OTHER_TIMES[metric]).removeprefix("::") or metric
            time = Metric(name=f"{metric.partition('_')[0]}_time", unit="ms", direction=Direction.LOWER_IS_BETTER)
            self.test.response(name, value, metric=time)
        elif metric not in KNOWN and len(self.unknown) < MAX_SHOWN_METRICS:
            self.unknown[metric] = None

    def _request(self, metric: str, cells: list[str], time_s: float, value: float) -> None:
        label = " ".join(filter(None, (self._cell(cells, "method"), self._cell(cells, "name")))) or metric
        second = self.test.at(time_s)
        second.requests += 1
        if self._failed(cells):
            second.failed += 1
            self.test.failure(label)
            return
        second.succeeded += 1
        second.succeeded_ms += value
        self.test.response(label, value, metric=RESPONSE_TIME)

    def _failed(self, cells: list[str]) -> bool:
        """By what the script expected; where k6 does not say, by its error code."""
        expected = self._cell(cells, "expected_response")
        return expected == "false" if expected else bool(self._cell(cells, "error_code"))

    def _cell(self, cells: list[str], name: str) -> str:
        index = self.columns.get(name)
        return "" if index is None else cells[index]


def _broken(source: Source, line: int) -> DataError:
    return source.error("is no point of k6", "check this row, or leave it out", line=line)
