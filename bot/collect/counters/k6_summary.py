"""k6's end-of-test summary: what `handleSummary` gets (as JSON), or the older `--summary-export`."""

from collections.abc import Iterator
from dataclasses import replace

from bot.collect.content import shown
from bot.collect.counters.reader import names_shown
from bot.collect.json_value import JsonValue, mean_summary
from bot.collect.parser import Parsed, from_summary
from bot.collect.source import Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

ID = "k6_summary"
DESCRIPTION = "k6 end-of-test summary (handleSummary, --summary-export)"
EXAMPLE = "k6 run --summary-export=summary.json script.js"

# The older export does not say what a trend holds; these are k6's own times.
OWN_TIMES = frozenset(
    {
        *("http_req_duration", "http_req_blocked", "http_req_connecting", "http_req_tls_handshaking"),
        *("http_req_sending", "http_req_waiting", "http_req_receiving", "iteration_duration", "group_duration"),
        *("grpc_req_duration", "ws_connecting", "ws_session_duration", "ws_ping"),
    }
)
# k6's own shares, and which way is good.
OWN_RATES = {"http_req_failed": Direction.LOWER_IS_BETTER, "checks": Direction.HIGHER_IS_BETTER}
# How much was asked of the system is no result.
LOAD = frozenset({"http_reqs", "iterations", "vus", "vus_max", "data_sent", "data_received", "dropped_iterations"})
# Each of its own times is one of these counted events; the older export counts them nowhere else.
EVENTS = {"http_req": "http_reqs", "iteration": "iterations"}
PERCENTILES = (("med", "p50_time"), ("p(95)", "p95_time"), ("p(99)", "p99_time"))


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and isinstance(root.get("metrics"), dict) and isinstance(root.get("root_group"), dict)


def parse(source: Source, /) -> Parsed:
    benchmarks: list[Benchmark] = []
    unknown: list[str] = []
    metrics = source.root().at("metrics")
    for name, metric in metrics.members():
        of_metric = tuple(_benchmarks(name, metric, metrics))
        benchmarks += of_metric
        if not of_metric and name.partition("{")[0] not in LOAD:
            unknown.append(shown(name))
    notes = (f"{source.place}: unknown which way is good, or without values; left out: {names_shown(unknown)}",)
    return Parsed(benchmarks=tuple(benchmarks), notes=notes if unknown else ())


def _benchmarks(name: str, metric: JsonValue, metrics: JsonValue) -> Iterator[Benchmark]:
    base = name.partition("{")[0]  # a sub-metric is `name{tag:value}`
    values = metric.find("values") or metric
    is_time = metric.peek("contains") == "time" or ("type" not in metric.value and base in OWN_TIMES)
    if is_time and values.find("avg") is not None:
        count = values.find_whole("count") or _events(name, metrics)
        mean = replace(mean_summary(values, "avg", count=count), median=values.find_number("med"))
        yield _time(name, "time", mean, values)
        for key, percentile in PERCENTILES:
            if (value := values.find_number(key)) is not None:
                yield _time(name, percentile, Summary(value=value, statistic=percentile), values)
    elif base in OWN_RATES:
        rate = values.find_number("rate")
        rate = values.find_number("value") if rate is None else rate
        if rate is not None:
            share = Metric(name="share", unit="%", direction=OWN_RATES[base])
            yield from_summary(name, metric=share, summary=Summary(value=100 * rate), place=values.place)


def _events(name: str, metrics: JsonValue) -> int | None:
    """How many times a trend of k6's own holds; of a sub-metric nobody knows."""
    counter = next((metrics.find(EVENTS[kind]) for kind in EVENTS if name in OWN_TIMES and name.startswith(kind)), None)
    return None if counter is None else (counter.find("values") or counter).find_whole("count") or None


def _time(name: str, metric: str, summary: Summary, values: JsonValue) -> Benchmark:
    time = Metric(name=metric, unit="ms", direction=Direction.LOWER_IS_BETTER)
    return from_summary(name, metric=time, summary=summary, place=values.place)
