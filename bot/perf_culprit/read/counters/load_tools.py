"""Load-test tools: JMeter, k6 and Locust. Response times become benchmarks; the course over time becomes a table."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.counters.counter_shapes import CsvRecords, Row, Sheet, csv_rows, first_line
from perf_culprit.read.counters.counter_tables import (
    Clock,
    Readings,
    counter,
    names_shown,
    number_of,
    number_or_none,
    parsed_tables,
)
from perf_culprit.read.counters.load_test import ERROR_RATE, RESPONSE_TIME, THROUGHPUT, USERS, LoadTest
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue, mean_summary
from perf_culprit.read.results.parsed import Parsed, ResultReader, from_summary, unique
from perf_culprit.read.results.source import Source, json_object

JMETER_DELIMITERS = (",", "\t", ";", "|")
JMETER_NEEDED = frozenset({"timeStamp", "elapsed", "label"})
# JMeter's default columns without a header, by their number: before version 3.1 or so, 4 and 5.
_START = ("timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName")
_MIDDLE = (*_START, "dataType", "success", "failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads")
_END = ("Latency", "IdleTime", "Connect")
JMETER_COLUMNS = {
    13: (*_START, "success", "bytes", "grpThreads", "allThreads", "Latency", "Hostname", "Connect"),
    16: (*_MIDDLE, *_END),
    17: (*_MIDDLE, "URL", *_END),
}
# A transaction controller's own row repeats its children's rows. JMeter marks it only by this message.
TRANSACTION_START = "Number of samples in transaction : "


class _JMeter:
    """A taker of rows as requests. It stores the columns' indices, because there may be millions of rows."""

    def __init__(self, source: Source, columns: Mapping[str, int]) -> None:
        self._test = LoadTest(name="jmeter", place=source.place)
        self._clock = Clock()
        self._negative = 0
        self._time, self._elapsed, self._label = (columns[name] for name in ("timeStamp", "elapsed", "label"))
        self._success, self._message = columns.get("success"), columns.get("responseMessage")
        self._users = columns.get("allThreads")

    def take(self, _: int, cells: list[str]) -> None:
        elapsed_ms = float(cells[self._elapsed])
        second = self._test.at(self._clock(cells[self._time]))
        if not elapsed_ms >= 0:
            self._negative += 1  # JMeter writes negative times after the clock was set back
            return
        success = "true" if self._success is None else cells[self._success]
        is_repeated = self._message is not None and cells[self._message].startswith(TRANSACTION_START)
        self._test.request(
            second,
            cells[self._label] or "(no label)",
            elapsed_ms,
            has_failed=success != "true" and success.strip().lower() != "true",
            is_repeated=is_repeated,
        )
        if self._users is not None and not is_repeated:
            users = cells[self._users]
            if users.isdecimal() and len(users) < FILE_LIMITS.user_digits:
                second.users = float(users)

    def parsed(self) -> Parsed:
        parsed, place = self._test.parsed(), self._test.place
        notes = [f"{place}: negative times are left out: {self._negative}"] if self._negative else []
        if self._success is None:
            notes.append(f"{place}: does not say which samples failed")
        return structs.replace(parsed, notes=(*parsed.notes, *notes, *self._clock.notes(place)))


def _jmeter_columns(line: str) -> tuple[str, dict[str, int]] | None:
    """Return the delimiter and the columns' indices, from the header or JMeter's defaults; None if neither fits."""
    line = line.strip("\r\n\ufeff")
    for delimiter in JMETER_DELIMITERS:
        names = [name.strip().strip('"') for name in line.split(delimiter)]
        if set(names) >= JMETER_NEEDED:
            return delimiter, _places(names)
        default = JMETER_COLUMNS.get(len(names))
        if default and names[0].isdecimal() and len(names[0]) == 13 and names[1].isdecimal():
            columns = _places(default)
            if names[columns["success"]].lower() in {"true", "false"}:
                return delimiter, columns
    return None


def _jmeter(source: Source) -> Sheet:
    if (layout := _jmeter_columns(next(source.lines(), ""))) is None:
        raise source.error(
            "names no columns timeStamp, elapsed and label",
            "let JMeter write CSV with field names (jmeter.save.saveservice.print_field_names=true)",
            line=1,
        )
    delimiter, columns = layout
    rows = csv_rows(source, delimiter=delimiter)
    # If a test was appended to the file, the header is repeated.
    rows = (row for row in rows if row[1][0][:1].isdecimal() or row[1][0].strip() not in columns)
    return Sheet(rows=rows, cells=max(columns.values()) + 1, taker=_JMeter(source, columns))


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(names)}


K6_START = "metric_name,timestamp,metric_value,"
K6_NEEDED = frozenset({"metric_name", "timestamp", "metric_value"})
K6_REQUEST_TIMES = frozenset({"http_req_duration", "grpc_req_duration"})
# k6's own times in addition to those of requests, and the column that names what was timed.
K6_OTHER_TIMES = {"iteration_duration": "scenario", "group_duration": "group"}
# The parts of a request's time, and metrics that the counter table or the response times already hold.
K6_KNOWN = frozenset(
    {
        *("http_req_blocked", "http_req_connecting", "http_req_tls_handshaking", "http_req_sending"),
        *("http_req_waiting", "http_req_receiving", "http_req_failed", "http_reqs", "vus", "vus_max"),
        *("checks", "data_sent", "data_received", "iterations", "dropped_iterations"),
    }
)


class _K6Points:
    def __init__(self, source: Source, columns: Mapping[str, int]) -> None:
        self._test = LoadTest(name="k6", place=source.place)
        self._columns = columns
        self._metric, self._time, self._value = (columns[n] for n in ("metric_name", "timestamp", "metric_value"))
        self._clock = Clock()
        self._last: tuple[str, float] = "", 0.0
        self._unknown: dict[str, None] = {}

    def take(self, _: int, cells: list[str]) -> None:
        time = cells[self._time]
        if time != self._last[0]:
            self._last = time, self._clock(time)
        metric, time_s, value = cells[self._metric], self._last[1], float(cells[self._value])
        if metric in K6_REQUEST_TIMES:
            label = " ".join(filter(None, (self._cell(cells, "method"), self._cell(cells, "name")))) or metric
            self._test.request(self._test.at(time_s), label, value, has_failed=self._has_failed(cells))
        elif metric == "vus":
            self._test.at(time_s).users = value
        elif metric in K6_OTHER_TIMES:
            name = self._cell(cells, K6_OTHER_TIMES[metric]).removeprefix("::") or metric
            kind = Metric(name=f"{metric.partition('_')[0]}_time", unit="ms", direction=Direction.LOWER_IS_BETTER)
            self._test.time(name, value, metric=kind)
        elif metric not in K6_KNOWN and len(self._unknown) < TEXT_LIMITS.metric_names:
            self._unknown[metric] = None

    def parsed(self) -> Parsed:
        parsed, place = self._test.parsed(), self._test.place
        names = names_shown(list(self._unknown))
        note = f"{place}: the file does not say what these metrics mean; left out: {names}"
        return structs.replace(parsed, notes=(*parsed.notes, note)) if self._unknown else parsed

    def _has_failed(self, cells: list[str]) -> bool:
        """Whether the script did not expect the response; if that is not recorded, whether it has an error code."""
        expected = self._cell(cells, "expected_response")
        return expected == "false" if expected else bool(self._cell(cells, "error_code"))

    def _cell(self, cells: list[str], name: str) -> str:
        index = self._columns.get(name)
        return "" if index is None else cells[index]


def _k6_points(source: Source) -> Sheet:
    rows = csv_rows(source, delimiter=",")
    _, header = next(rows, (1, []))
    columns = _places(header)
    if not columns.keys() >= K6_NEEDED:
        raise source.error("has no header of k6", "write the file with k6 run --out csv=FILE", line=1)
    again = (row for row in rows if row[1][0] != header[0])  # the header of a test that was appended
    return Sheet(rows=again, cells=len(header), taker=_K6Points(source, columns))


# The same points as lines of JSON. A line that describes a metric precedes its first point.
K6_LINE = re.compile(
    r'\{(?:"metric":"[^"\n]{0,999}",)?"type":"(?:Metric|Point)"[^\n]{0,9999}\n\{"(?:metric|type)":"[^\n]{0,999}'
)
K6_TAGS = ("method", "name", "expected_response", "error_code", "scenario", "group")
K6_COLUMNS = ("metric_name", "timestamp", "metric_value", *K6_TAGS)


def _k6_lines(source: Source) -> Sheet:
    columns = _places(K6_COLUMNS)
    return Sheet(rows=_k6_line_rows(source), cells=len(columns), taker=_K6Points(source, columns))


def _k6_line_rows(source: Source) -> Iterator[Row]:
    for number, line in enumerate(source.lines(), start=1):
        if not line.strip():
            continue
        try:
            point = msgspec.json.decode(line)
            data = point["data"]
            tags = (data.get("tags") or {}) if point["type"] == "Point" else None
            if tags is not None:
                cells = (point["metric"], data["time"], data["value"], *(tags.get(name, "") for name in K6_TAGS))
                yield number, [str(cell) for cell in cells]
        except (msgspec.DecodeError, KeyError, TypeError, AttributeError, RecursionError):
            step = "write the file with k6 run --out json=FILE"
            raise source.error("is not a line of k6", step, line=number) from None


# The older export does not state what a trend measures; these are k6's own times.
K6_OWN_TIMES = frozenset(
    {
        *("http_req_duration", "http_req_blocked", "http_req_connecting", "http_req_tls_handshaking"),
        *("http_req_sending", "http_req_waiting", "http_req_receiving", "iteration_duration", "group_duration"),
        *("grpc_req_duration", "ws_connecting", "ws_session_duration", "ws_ping"),
    }
)
# k6's own shares and their directions.
K6_OWN_RATES = {"http_req_failed": Direction.LOWER_IS_BETTER, "checks": Direction.HIGHER_IS_BETTER}
# The load on the system is not a result.
K6_LOAD = frozenset({"http_reqs", "iterations", "vus", "vus_max", "data_sent", "data_received", "dropped_iterations"})
# These counters hold the number of k6's own times; the older export has no other count.
K6_EVENTS = {"http_req": "http_reqs", "iteration": "iterations"}
K6_PERCENTILES = (("med", "p50_time"), ("p(95)", "p95_time"), ("p(99)", "p99_time"))


def _k6_summary(source: Source) -> Parsed:
    root = source.root()
    benchmarks: list[Benchmark] = []
    unknown: list[str] = []
    metrics = root.at("metrics")
    for name, metric in metrics.members():
        of_metric = tuple(_k6_benchmarks(name, metric, metrics))
        benchmarks += of_metric
        if not of_metric and name.partition("{")[0] not in K6_LOAD:
            unknown.append(name)
    notes = (f"{root.file}: unknown which way is good, or without values; left out: {names_shown(unknown)}",)
    return Parsed(benchmarks=tuple(benchmarks), notes=notes if unknown else ())


def _k6_benchmarks(name: str, metric: JsonValue, metrics: JsonValue) -> Iterator[Benchmark]:
    base = name.partition("{")[0]  # a sub-metric is `name{tag:value}`
    values = metric.find("values") or metric
    is_time = metric.peek("contains") == "time" or ("type" not in metric.value and base in K6_OWN_TIMES)
    if is_time and values.find("avg") is not None:
        count = values.find_whole("count") or _k6_events(name, metrics)
        mean = structs.replace(mean_summary(values, "avg", count=count), median=values.find_number("med"))
        yield _k6_time(name, "time", mean, values)
        for key, percentile in K6_PERCENTILES:
            if (value := values.find_number(key)) is not None:
                yield _k6_time(name, percentile, Summary(value=value, statistic=percentile), values)
    elif base in K6_OWN_RATES:
        rate = values.find_number("rate")
        rate = values.find_number("value") if rate is None else rate
        if rate is not None:
            share = Metric(name="share", unit="%", direction=K6_OWN_RATES[base])
            yield from_summary(name, metric=share, summary=Summary(value=100 * rate), place=values.place)


def _k6_events(name: str, metrics: JsonValue) -> int | None:
    """Return the number of times in one of k6's own trends; None if unknown, as for a sub-metric."""
    kinds = (kind for kind in K6_EVENTS if name in K6_OWN_TIMES and name.startswith(kind))
    events = next((metrics.find(K6_EVENTS[kind]) for kind in kinds), None)
    return None if events is None else (events.find("values") or events).find_whole("count") or None


def _k6_time(name: str, metric: str, summary: Summary, values: JsonValue) -> Benchmark:
    time = Metric(name=metric, unit="ms", direction=Direction.LOWER_IS_BETTER)
    return from_summary(name, metric=time, summary=summary, place=values.place)


LOCUST_TOTAL = "Aggregated"
LOCUST_NEEDED = frozenset({"type", "name", "request count", "failure count", "average response time"})
LOCUST_START = ("timestamp", "user count", "type", "name")
LOCUST_RATE = "requests/s"
# The rate of the moment. The columns `Total ...` count from the start, so they show little of the moment.
LOCUST_FAILURES = "failures/s"
# Other percentile columns differ between Locust's versions.
LOCUST_PERCENTILES = {
    column: Metric(name=f"p{column[:-1]}_response_time", unit="ms", direction=Direction.LOWER_IS_BETTER)
    for column in ("50%", "95%", "99%")
}


def _locust_names(header: list[str]) -> tuple[str, ...]:
    return tuple(name.strip().strip('"').lower() for name in header)


def _is_total(row: Mapping[str, str]) -> bool:
    return row["name"] == LOCUST_TOTAL and not row["type"]


def _locust_history(source: Source) -> Sheet:
    rows = csv_rows(source, delimiter=",")
    _, header = next(rows, (1, []))
    names = _locust_names(header)
    if names[: len(LOCUST_START)] != LOCUST_START or not {LOCUST_RATE, LOCUST_FAILURES} <= set(names):
        raise source.error("is not Locust's history", "give the file PREFIX_stats_history.csv", line=1)
    return Sheet(rows=rows, cells=len(names), taker=_LocustHistory(source, names))


class _LocustHistory:
    def __init__(self, source: Source, names: tuple[str, ...]) -> None:
        self._names = names
        self._metrics: dict[str, list[tuple[str, Metric]]] = {}
        self._readings = Readings(source.place)
        self._clock = Clock()

    def take(self, _: int, cells: list[str]) -> None:
        row = dict(zip(self._names, cells, strict=True))
        time_s, rate = self._clock(row["timestamp"]), number_of(row[LOCUST_RATE])
        scope = "" if _is_total(row) else f"{row['type']} {row['name']}: ".lstrip()
        if (metrics := self._metrics.get(scope)) is None:
            metrics = self._metrics[scope] = self._metrics_of(scope)
        for column, metric in metrics:
            value = number_of(row[column])
            # Locust writes 0 if its window has no request.
            is_unknown = column in LOCUST_PERCENTILES and not value and not rate
            self._readings.add(time_s, metric, math.nan if is_unknown else value)

    def _metrics_of(self, scope: str) -> list[tuple[str, Metric]]:
        columns = {
            LOCUST_RATE: counter(LOCUST_RATE, "1/s"),
            **({} if scope else {"user count": USERS}),
            LOCUST_FAILURES: counter(LOCUST_FAILURES, "1/s", Direction.LOWER_IS_BETTER),
            **LOCUST_PERCENTILES,
        }
        return [
            (column, structs.replace(m, name=scope + m.name)) for column, m in columns.items() if column in self._names
        ]

    def parsed(self) -> Parsed:
        return parsed_tables([self._readings.build("locust", load_column=LOCUST_RATE, load_name=THROUGHPUT)])


def _locust_stats(source: Source) -> Sheet:
    rows = csv_rows(source, delimiter=",")
    _, header = next(rows, (1, []))
    names = _locust_names(header)
    if not set(names) >= LOCUST_NEEDED:
        raise source.error("is not Locust's statistics", "give the file PREFIX_stats.csv", line=1)
    return Sheet(rows=rows, cells=len(names), taker=_LocustStats(place=source.place, names=names))


@dataclass(kw_only=True, slots=True)
class _LocustStats:
    place: str
    names: tuple[str, ...]
    placed: list[tuple[Benchmark, str]] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def take(self, line: int, cells: list[str]) -> None:
        place = f"{self.place}:{line}"
        row = dict(zip(self.names, map(str.strip, cells), strict=True))
        if _is_total(row):
            return  # it sums up the rows before it
        self.placed += [(benchmark, place) for benchmark in _locust_benchmarks(row, place)]
        if _locust_number(row, "failure count", place):
            self.failed.add(row["name"])

    def parsed(self) -> Parsed:
        notes = (f"{self.place}: response times of failed requests are among those of {len(self.failed)} names",)
        return Parsed(benchmarks=unique(self.placed), notes=notes if self.failed else ())


def _locust_benchmarks(row: dict[str, str], place: str) -> Iterator[Benchmark]:
    name = " ".join(filter(None, (row["type"], row["name"])))
    if not (requests := _locust_number(row, "request count", place)):
        return
    if (mean := _locust_number(row, "average response time", place)) is None:
        return
    summary = Summary(
        value=mean,
        statistic="mean",
        count=max(1, int(requests)),
        minimum=_locust_number(row, "min response time", place),
        maximum=_locust_number(row, "max response time", place),
    )
    yield from_summary(name, metric=RESPONSE_TIME, summary=summary, place=place)
    for column, metric in LOCUST_PERCENTILES.items():
        if (value := _locust_number(row, column, place)) is not None:
            yield from_summary(name, metric=metric, summary=Summary(value=value, statistic=metric.name), place=place)
    failures = _locust_number(row, "failure count", place) or 0.0
    yield from_summary(name, metric=ERROR_RATE, summary=Summary(value=100 * failures / requests), place=place)


def _locust_number(row: dict[str, str], column: str, place: str) -> float | None:
    """Read a cell as a number; None if the column or its value is missing."""
    if (number := number_or_none(row.get(column, ""))) is None or math.isinf(number):
        raise DataError(
            f"`{shown(row[column])}` is not a number", place=f"{place}: {column}", next_step="check this cell"
        )
    return None if math.isnan(number) else number


JMETER_JTL = ResultReader(
    id="jmeter_jtl",
    description="JMeter results as CSV (JTL)",
    example="jmeter -n -t test.jmx -l results.jtl",
    matches=lambda source: _jmeter_columns(first_line(source)) is not None,
    read=CsvRecords(opened=_jmeter, broken="its timeStamp or elapsed is not a number"),
    smaller="run a shorter test, or write one sampler only (Simple Data Writer)",
)
K6_CSV = ResultReader(
    id="k6_csv",
    description="k6 raw points as CSV (--out csv)",
    example="k6 run --out csv=points.csv script.js",
    matches=lambda source: source.head().startswith(K6_START),
    read=CsvRecords(opened=_k6_points, broken="is not a point of k6"),
)
K6_LINES = ResultReader(
    id="k6_lines",
    description="k6 raw points as lines of JSON (--out json)",
    example="k6 run --out json=points.ndjson script.js",
    matches=lambda source: K6_LINE.match(source.head()) is not None,
    read=CsvRecords(opened=_k6_lines, broken="is not a point of k6"),
)
K6_SUMMARY = ResultReader(
    id="k6_summary",
    description="k6 end-of-test summary (handleSummary, --summary-export)",
    example="k6 run --summary-export=summary.json script.js",
    matches=json_object(lambda root: all(isinstance(root.get(name), dict) for name in ("metrics", "root_group"))),
    read=_k6_summary,
)
LOCUST_HISTORY = ResultReader(
    id="locust_history",
    description="Locust's history (PREFIX_stats_history.csv)",
    example="locust --headless --csv results, then results_stats_history.csv",
    matches=lambda source: _locust_names(first_line(source).split(","))[: len(LOCUST_START)] == LOCUST_START,
    read=CsvRecords(opened=_locust_history, broken="is not a row of Locust's history"),
)
LOCUST_STATS = ResultReader(
    id="locust_stats",
    description="Locust statistics (PREFIX_stats.csv)",
    example="locust --headless --csv results, then results_stats.csv",
    matches=lambda source: set(_locust_names(first_line(source).strip().split(","))) >= LOCUST_NEEDED,
    read=CsvRecords(
        opened=_locust_stats, broken="is not a row of Locust's statistics", is_exact=True, may_be_cut=False
    ),
)
