"""Prometheus: a scrape in its text format or OpenMetrics, and the response of its query API."""

import re
from typing import Any

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Metric
from perf_culprit.read.counters.counter_shapes import LineRecords
from perf_culprit.read.counters.counter_tables import (
    Readings,
    build_table,
    check_size,
    counter,
    parsed_tables,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue
from perf_culprit.read.results.parsed import Parsed, ResultReader
from perf_culprit.read.results.source import Source, json_object

TABLE_NAME = "prometheus"
TYPE = re.compile(
    r"#[ \t]{1,20}TYPE[ \t]{1,20}(?P<name>[A-Za-z_:][A-Za-z0-9_:]{0,500})[ \t]{1,20}"
    r"(?P<type>counter|gauge|histogram|summary|untyped|unknown|info|stateset|gaugehistogram)[ \t\r]{0,20}"
)
# The patterns never backtrack, because lines may be long.
LABEL = re.compile(
    r'[ \t,]*+(?P<name>[A-Za-z_][A-Za-z0-9_]{0,500}+)[ \t]{0,20}+=[ \t]{0,20}+"(?P<value>(?:[^"\\]|\\.)*+)"', re.DOTALL
)
SAMPLE = re.compile(
    r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]{0,500}+)[ \t]*+"
    rf"(?:\{{(?P<labels>(?:{re.sub(r'[?]P<[a-z]+>', '?:', LABEL.pattern)})*+)[ \t,]*+\}})?+(?P<numbers>.*)",
    re.DOTALL,
)
UNITS = {"seconds": "s", "milliseconds": "ms", "bytes": "B", "ratio": "", "percent": "%", "celsius": "C", "joules": "J"}
PARTS = ("_total", "_sum", "_count", "_created")
BUCKET = "_bucket"
MILLISECONDS = 1e3
# OpenMetrics ends with this line and writes seconds; the text format of Prometheus itself writes milliseconds.
OPEN_METRICS_END = "# EOF"


class _Scrape:
    """A taker of every series of a scrape, at one instant or at the times that the samples state."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._readings = Readings(source.place)
        self._types: dict[str, str] = {}
        self._buckets = 0
        is_open_metrics = any(line.strip() == OPEN_METRICS_END for line in source.lines())
        self._divisor = 1.0 if is_open_metrics else MILLISECONDS

    def take(self, _: int, text: str) -> None:
        text = text.strip()
        if text.startswith("#"):
            if declared := TYPE.fullmatch(text):
                self._types[declared["name"]] = declared["type"]
            return
        name, labels, time, value = _sample(text)
        if name.endswith(BUCKET) and self._types.get(name.removesuffix(BUCKET)) in {"histogram", "gaugehistogram"}:
            self._buckets += 1
            return
        self._readings.add(time / self._divisor, _sample_metric(name, labels, self._types), value)

    def parsed(self) -> Parsed:
        if not self._readings:
            raise self._source.error("holds no sample", "check that the target was up")
        left_out = f"{self._source.place}: buckets of histograms are left out: {self._buckets}"
        return parsed_tables([self._readings.build(TABLE_NAME)], notes=(left_out,) * bool(self._buckets))


def _sample(text: str) -> tuple[str, str, float, float]:
    """Parse `name{label="value",} value [time]`; the time defaults to 0. Raise ValueError for anything else."""
    if (match := SAMPLE.match(text)) is None:
        raise ValueError(text[:20])
    value, *time = match["numbers"].partition(" # ")[0].split()  # an exemplar follows the mark
    if len(time) > 1:
        raise ValueError(text[:20])
    labels = ",".join(sorted(f'{label[1]}="{label[2]}"' for label in LABEL.finditer(match["labels"] or "")))
    return match["name"], f"{{{labels}}}" if labels else "", float(time[0]) if time else 0.0, float(value)


def _sample_metric(name: str, labels: str, types: dict[str, str]) -> Metric:
    """Return a sample's metric. The unit of a cumulative counter ends with "total": only its growth is meaningful."""
    part = next((part for part in PARTS if name.endswith(part)), "")
    family = name.removesuffix(part)
    kind = types.get(name) or types.get(family)
    grows = kind == "counter" or (kind in {"histogram", "summary"} and part != "")
    unit = "" if part == "_count" else UNITS.get(family.rpartition("_")[2], "")
    return counter(name + labels, f"{unit} total".strip() if grows else unit)


SERIES_NAME = "__name__"


def _is_answer(root: dict[str, Any]) -> bool:
    status, data = root.get("status"), root.get("data")
    has_result = isinstance(data, dict) and "resultType" in data
    return (status == "success" and has_result) or (status == "error" and (has_result or "errorType" in root))


def _answer(source: Source) -> Parsed:
    """Read a matrix (range query) or a vector (instant query) into one table per distinct set of times.

    Series that begin or end at other times than the rest get their own table.
    """
    root = source.root()
    if root.at("status").text() == "error":
        raise root.error(f"is an error of Prometheus: {shown(str(root.peek('error')))}")
    data = root.at("data")
    kind = data.at("resultType").text()
    if kind not in ("matrix", "vector"):
        raise data.error("is neither a matrix nor a vector")
    grids: dict[tuple[float, ...], list[tuple[Metric, list[float]]]] = {}
    cells = without = 0
    for series in data.at("result").elements():
        points = [series.at("value")] if kind == "vector" else list(series.elements_of("values"))
        if not points:
            without += 1
            continue
        cells += len(points)
        if cells > FILE_LIMITS.counter_cells:
            check_size(cells, 1, place=root.file)
        times, values = zip(*map(_point, points), strict=True)
        grids.setdefault(times, []).append((_series_metric(series.at("metric")), list(values)))
    if not grids or len(grids) > FILE_LIMITS.counter_grids:
        raise DataError(
            f"holds no series, or series of more than {FILE_LIMITS.counter_grids:,} different times",
            place=root.file,
            next_step="check the query; query a range with one step",
        )
    return _tables(grids, root.file, without=without)


def _tables(grids: dict[tuple[float, ...], list[tuple[Metric, list[float]]]], place: str, *, without: int) -> Parsed:
    import numpy as np

    built = [
        build_table(
            TABLE_NAME if index == 1 else f"{TABLE_NAME} {index}",
            times_s=times,
            values=np.array([values for _, values in series], dtype=np.float64).T,
            metrics=[metric for metric, _ in series],
            place=place,
        )
        for index, (times, series) in enumerate(grids.items(), start=1)
    ]
    notes = (f"{place}: series without plain values are left out: {without}",)
    return parsed_tables(built, notes=notes if without else ())


def _point(point: JsonValue) -> tuple[float, float]:
    """Read `[seconds, "value"]`; the value may be the text NaN or +Inf."""
    pair = point.value
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
        raise point.error('is not [seconds, "value"]')
    try:
        return JsonValue(pair[0], point.file, point.path).number(), float(pair[1])
    except ValueError:
        raise point.error(f"`{shown(pair[1])}` is not a number") from None


def _series_metric(labels: JsonValue) -> Metric:
    words = {name: value.text() for name, value in labels.members()}
    name = words.pop(SERIES_NAME, "")
    shown_labels = ",".join(f'{label}="{words[label]}"' for label in sorted(words))
    return counter(f"{name}{{{shown_labels}}}" if shown_labels else name or "value")


PROMETHEUS_QUERY = ResultReader(
    id="prometheus_query",
    description="Prometheus query result (API, JSON)",
    example="curl 'http://HOST:9090/api/v1/query_range?query=...' > range.json",
    matches=json_object(_is_answer),
    read=_answer,
)
PROMETHEUS_TEXT = ResultReader(
    id="prometheus_text",
    description="Prometheus text format (a scrape)",
    example="curl http://HOST:9100/metrics > scrape.txt",
    matches=lambda source: any(line.startswith("#") and TYPE.fullmatch(line) for line in source.head().splitlines()),
    read=LineRecords(taker=_Scrape, broken="is not a Prometheus sample"),
)
