"""A scrape in Prometheus' text format (or OpenMetrics): every series at one instant, or at the times it states."""

import re

from bot.collect.counters.reader import counter
from bot.collect.counters.table import Readings
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.model.metric import Metric

ID = "prometheus_text"
DESCRIPTION = "Prometheus text format (a scrape)"
EXAMPLE = "curl http://HOST:9100/metrics > scrape.txt"

TYPE = re.compile(
    r"#[ \t]{1,20}TYPE[ \t]{1,20}(?P<name>[A-Za-z_:][A-Za-z0-9_:]{0,500})[ \t]{1,20}"
    r"(?P<type>counter|gauge|histogram|summary|untyped|unknown|info|stateset|gaugehistogram)[ \t\r]{0,20}"
)
NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,500}")
LABEL = re.compile(r'[ \t]{0,20}(?P<name>[A-Za-z_][A-Za-z0-9_]{0,500})[ \t]{0,20}=[ \t]{0,20}"')
UNITS = {"seconds": "s", "milliseconds": "ms", "bytes": "B", "ratio": "", "percent": "%", "celsius": "C", "joules": "J"}
PARTS = ("_total", "_sum", "_count", "_created")
BUCKET = "_bucket"
MILLISECONDS = 1e3
# OpenMetrics ends with this line and writes seconds; the text format of Prometheus itself writes milliseconds.
OPEN_METRICS_END = "# EOF"


def matches(source: Source, /) -> bool:
    return any(line.startswith("#") and TYPE.fullmatch(line) for line in source.head().splitlines())


def parse(source: Source, /) -> Parsed:
    readings = Readings(source.place)
    types: dict[str, str] = {}
    buckets = 0
    is_open_metrics = any(line.strip() == OPEN_METRICS_END for line in source.lines())
    divisor = 1.0 if is_open_metrics else MILLISECONDS
    for number, line in enumerate(source.lines(), start=1):
        if not (text := line.strip()) or text.startswith("#"):
            if declared := TYPE.fullmatch(text):
                types[declared["name"]] = declared["type"]
            continue
        try:
            name, labels, time, value = _sample(text)
        except (ValueError, IndexError, OverflowError):
            raise source.error("is no sample of Prometheus", "check this line", line=number) from None
        if name.endswith(BUCKET) and types.get(name.removesuffix(BUCKET)) in {"histogram", "gaugehistogram"}:
            buckets += 1
            continue
        readings.add(time / divisor, _metric(name, labels, types), value)
    if not readings:
        raise source.error("holds no sample", "check that the target was up")
    table, notes = readings.build("prometheus")
    left_out = (f"{source.place}: buckets of histograms are left out: {buckets}",) if buckets else ()
    return Parsed(counters=(table,), notes=(*notes, *left_out))


def _sample(text: str) -> tuple[str, str, float, float]:
    """`name{label="value",} value [time]`; without a time the instant is 0. ValueError for anything else."""
    if (match := NAME.match(text)) is None:
        raise ValueError(text[:20])
    position = match.end()
    while text[position] in " \t":
        position += 1
    has_labels = text[position] == "{"
    position, labels = _labels(text, position + 1) if has_labels else (position, [])
    words = text[position:].partition(" # ")[0].split()  # an exemplar follows the mark
    if not 1 <= len(words) <= 2:
        raise ValueError(text[:20])
    time = float(words[1]) if len(words) == 2 else 0.0
    shown_labels = "{" + ",".join(sorted(labels)) + "}" if labels else ""
    return match[0], shown_labels, time, float(words[0])


def _labels(text: str, position: int) -> tuple[int, list[str]]:
    """The labels as `name="value"`, and where they end."""
    labels: list[str] = []
    while True:
        while text[position] in " \t,":
            position += 1
        if text[position] == "}":
            return position + 1, labels
        if (match := LABEL.match(text, position)) is None:
            raise ValueError(text[:20])
        end = match.end()
        while text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        labels.append(f'{match["name"]}="{text[match.end() : end]}"')
        position = end + 1


def _metric(name: str, labels: str, types: dict[str, str]) -> Metric:
    """What only grows says so in its unit: its level means little, its growth does."""
    part = next((part for part in PARTS if name.endswith(part)), "")
    family = name.removesuffix(part)
    kind = types.get(name) or types.get(family)
    grows = kind == "counter" or (kind in {"histogram", "summary"} and part != "")
    unit = "" if part == "_count" else UNITS.get(family.rpartition("_")[2], "")
    return counter(name + labels, f"{unit} total".strip() if grows else unit)
