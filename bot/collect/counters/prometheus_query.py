"""An answer of Prometheus' query API: a matrix (range query) or a vector (instant query)."""

from bot.collect.content import shown
from bot.collect.counters.reader import counter
from bot.collect.counters.table import MAX_CELLS, build_table, check_size
from bot.collect.json_value import JsonValue
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.model.metric import Metric

ID = "prometheus_query"
DESCRIPTION = "Prometheus query result (API, JSON)"
EXAMPLE = "curl 'http://HOST:9090/api/v1/query_range?query=...' > range.json"

TABLE_NAME = "prometheus"
SERIES_NAME = "__name__"
MAX_GRIDS = 1_000

# A series: its metric and its values.
Series = tuple[Metric, list[float]]


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    if not isinstance(root, dict) or root.get("status") not in ("success", "error"):
        return False
    data = root.get("data")
    return (root["status"] == "error" and "errorType" in root) or (isinstance(data, dict) and "resultType" in data)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    if root.at("status").text() == "error":
        raise root.error(f"is an error of Prometheus: {shown(str(root.peek('error')))}")
    data = root.at("data")
    kind = data.at("resultType").text()
    if kind not in ("matrix", "vector"):
        raise data.error("is neither a matrix nor a vector")
    grids: dict[tuple[float, ...], list[Series]] = {}
    cells = without = 0
    for series in data.at("result").elements():
        points = [series.at("value")] if kind == "vector" else list(series.elements_of("values"))
        if not points:
            without += 1
            continue
        cells += len(points)
        if cells > MAX_CELLS:
            check_size(cells, 1, place=source.place)
        pairs = [_point(point) for point in points]
        times = tuple(time for time, _ in pairs)
        grids.setdefault(times, []).append((_metric(series.at("metric")), [value for _, value in pairs]))
    if not grids or len(grids) > MAX_GRIDS:
        raise source.error(
            f"holds no series, or series of more than {MAX_GRIDS:,} different times",
            "check the query; query a range with one step",
        )
    return _parsed(source, grids, without=without)


def _parsed(source: Source, grids: dict[tuple[float, ...], list[Series]], *, without: int) -> Parsed:
    """One table per distinct times; series that begin or end at other times than the rest are on their own."""
    import numpy as np

    built = [
        build_table(
            TABLE_NAME if index == 1 else f"{TABLE_NAME} {index}",
            times_s=times,
            values=np.array([values for _, values in series], dtype=np.float64).T,
            metrics=[metric for metric, _ in series],
            place=source.place,
        )
        for index, (times, series) in enumerate(grids.items(), start=1)
    ]
    notes = [note for _, table_notes in built for note in table_notes]
    if without:
        notes.append(f"{source.place}: series without plain values are left out: {without}")
    return Parsed(counters=tuple(table for table, _ in built), notes=tuple(dict.fromkeys(notes)))


def _point(point: JsonValue) -> tuple[float, float]:
    """`[seconds, "value"]`; the value may be the text NaN or +Inf."""
    pair = point.value
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
        raise point.error('is not [seconds, "value"]')
    try:
        return JsonValue(pair[0], point.file, point.path).number(), float(pair[1])
    except ValueError:
        raise point.error(f"`{shown(pair[1])}` is no number") from None


def _metric(labels: JsonValue) -> Metric:
    words = {name: value.text() for name, value in labels.members()}
    name = words.pop(SERIES_NAME, "")
    shown_labels = ",".join(f'{label}="{words[label]}"' for label in sorted(words))
    return counter(f"{name}{{{shown_labels}}}" if shown_labels else name or "value")
