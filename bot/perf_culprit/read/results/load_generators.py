"""Load generators that print a summary: wrk, hey, vegeta, ab, Gatling, Locust, JMeter, memtier, and database tools."""

import re
from dataclasses import replace
from typing import Final

from perf_culprit.model.run import Direction, Metric, Summary
from perf_culprit.model.unit_sizes import MILLISECONDS
from perf_culprit.read.results.console import NUMBER, SPACE, Lines, Measured, line_reader
from perf_culprit.read.results.parsed import Parsed, ResultReader, from_summary, unique
from perf_culprit.read.results.source import Source, json_object

THROUGHPUT: Final = Measured(
    metric=Metric(name="throughput", unit="1/s", direction=Direction.HIGHER_IS_BETTER), group="rate"
)
OPERATIONS: Final = replace(THROUGHPUT, group="operations")
LATENCY: Final = Measured(metric=Metric(name="latency", unit="ms", direction=Direction.LOWER_IS_BETTER), group="mean")
# A Go duration has several parts: 1m2.5s.
MICRO: Final = "\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}"
DURATION: Final = rf"(?:[0-9]{{1,9}}(?:\.[0-9]{{1,12}})?(?:h|ms?|s|[nu{MICRO}]s|\b)){{1,4}}"
PART: Final = re.compile(rf"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s|[nu{MICRO}]s)?")
MS_PER_PART: Final = MILLISECONDS | {"m": 6e4, "": 1.0}


def milliseconds(text: str) -> float:
    """Convert a duration of parts with units to milliseconds; a number without a unit is unchanged."""
    return sum(float(number) * MS_PER_PART[unit] for number, unit in PART.findall(text.replace(",", "")))


def percentile(name: str, group: str) -> Measured:
    plain = name.rstrip("0").rstrip(".") if "." in name else name
    return Measured(
        metric=Metric(name=f"latency_p{plain}", unit="ms", direction=Direction.LOWER_IS_BETTER), group=group
    )


def _measures(row: re.Match[str]) -> tuple[Measured, ...]:
    """Return the row's measurements by its groups: `rate`, `mean`, and `p50`, … or `percent` with `value`.

    A pattern's second group of a percentile is `p50_table`.
    """
    groups = {name: text for name, text in row.groupdict().items() if text not in (None, "---")}
    shared = (measure for measure in (THROUGHPUT, OPERATIONS, LATENCY) if measure.group in groups)
    percents = (percentile(name[1:3], name) for name in groups if re.fullmatch(r"p[0-9]{2}(?:_table)?", name))
    named = (percentile(groups["percent"], "value"),) if "percent" in groups else ()
    # hey and siege write seconds as `secs`.
    factor = 1e3 if groups.get("unit") == "secs" else 1.0
    return tuple(
        replace(one, factor=1.0 if one.metric is THROUGHPUT.metric else factor) for one in (*shared, *percents, *named)
    )


def _reader(
    reader_id: str,
    description: str,
    example: str,
    *,
    mark: str,
    row: str,
    title: str = "",
    lost: str = "",
    total: str = r"(?!)(?P<total>)",
    is_cumulative: bool = False,
) -> ResultReader:
    return line_reader(
        reader_id,
        Lines(
            mark=mark,
            title=re.compile(title) if title else None,
            row=re.compile(row),
            measures=_measures,
            number=milliseconds,
            spelling=lambda text: " ".join(text.split()),
            lost=re.compile(lost) if lost else None,
            loss="lines that say that requests failed",
            total=re.compile(total),
            is_cumulative=is_cumulative,
        ),
        description=description,
        example=example,
    )


WRK = _reader(
    "wrk",
    "wrk and wrk2",
    "wrk --latency -d30s URL | tee bench.txt",
    mark="Thread Stats",
    title=r"Running .{1,50} test @ (?P<name>\S{1,1000})",
    row=(
        rf"\s{{0,9}}(?:Latency\s{{1,20}}(?P<mean>{DURATION})\s.{{0,200}}|Requests/sec:\s{{1,20}}(?P<rate>{NUMBER})"
        rf"|(?P<percent>[0-9]{{1,3}}(?:\.[0-9]{{1,6}})?)%\s{{1,20}}(?P<value>{DURATION}))\s{{0,9}}"
    ),
    lost=r"\s{0,9}(?:Socket errors: .{1,200}|Non-2xx or 3xx responses: (?P<count>[0-9]{1,15}))",
    total=r"\s{0,9}(?P<total>[0-9]{1,15}) requests in .{1,99}",
)
HEY = _reader(
    "hey",
    "hey",
    "hey -n 1000 URL | tee bench.txt",
    mark="Response time histogram:",
    row=(
        rf"  (?:Requests/sec:\t{{1,2}}(?P<rate>{NUMBER})|(?:Average:\t{{1,2}}(?P<mean>{NUMBER})"
        rf"|(?P<percent>[0-9]{{1,3}})%{{1,2}} in (?P<value>{NUMBER})) (?P<unit>secs))\s{{0,9}}"
    ),
    lost=r"  \[(?:[45][0-9]{2})\]\t.{1,200}|Error distribution:",
)
VEGETA = _reader(
    "vegeta",
    "vegeta report",
    "vegeta attack … | vegeta report | tee bench.txt",
    mark="Latencies ",
    row=(
        rf"Requests\s{{1,20}}\[total, rate, throughput\]\s{{1,20}}{NUMBER}, {NUMBER}, (?P<rate>{NUMBER})\s{{0,9}}"
        rf"|Latencies\s{{1,20}}\[min, mean, 50, 90, 95, 99, max\]\s{{1,20}}{DURATION}, (?P<mean>{DURATION}), "
        rf"(?P<p50>{DURATION}), (?P<p90>{DURATION}), (?P<p95>{DURATION}), (?P<p99>{DURATION}), {DURATION}\s{{0,9}}"
    ),
    lost=r"Success\s{1,20}\[ratio\]\s{1,60}(?!100\.00%)(?P<few>99\.)?\S{1,20}",
)
AB = _reader(
    "ab",
    "ApacheBench (ab)",
    "ab -n 1000 URL | tee bench.txt",
    mark="This is ApacheBench",
    title=r"Document Path:\s{1,20}(?P<name>\S{1,1000})",
    row=(
        rf"Requests per second:\s{{1,20}}(?P<rate>{NUMBER}) \[#/sec\] \(mean\)"
        rf"|Time per request:\s{{1,20}}(?P<mean>{NUMBER}) \[ms\] \(mean\)"
        rf"|\s{{1,9}}(?P<percent>[0-9]{{2}})%\s{{1,20}}(?P<value>{NUMBER})\s{{0,9}}"
    ),
    lost=r"(?:Failed requests|Non-2xx responses):\s{1,20}(?P<count>[1-9][0-9]{0,14})",
    total=r"Complete requests:\s{1,20}(?P<total>[0-9]{1,15})",
)
REDIS_BENCHMARK = _reader(
    "redis_benchmark",
    "redis-benchmark, with -q or without",
    "redis-benchmark -q -t set,get | tee bench.txt",
    mark=" requests per second",
    title=r"====== (?P<name>.{1,200}) ======\s{0,9}",
    row=(
        rf"\s{{0,9}}(?:(?P<name>[A-Z][^:]{{0,200}}): |throughput summary: )(?P<rate>{NUMBER}) requests per second"
        rf"(?:, p50=(?P<p50>{NUMBER}) msec)?\s{{0,9}}"
        rf"|{SPACE}(?P<mean>{NUMBER}){SPACE}{NUMBER}{SPACE}(?P<p50_table>{NUMBER}){SPACE}(?P<p95>{NUMBER})"
        rf"{SPACE}(?P<p99>{NUMBER}){SPACE}{NUMBER}\s{{0,9}}"
    ),
)
REDIS_BENCHMARK_CSV = _reader(
    "redis_benchmark_csv",
    "redis-benchmark --csv",
    "redis-benchmark --csv -t set,get > bench.csv",
    mark='"test","rps","avg_latency_ms"',
    row=(
        rf'"(?P<name>[^"]{{1,999}})","(?P<rate>{NUMBER})","(?P<mean>{NUMBER})","{NUMBER}","(?P<p50>{NUMBER})",'
        rf'"(?P<p95>{NUMBER})","(?P<p99>{NUMBER})","{NUMBER}"\s{{0,9}}'
    ),
)
PGBENCH = _reader(
    "pgbench",
    "pgbench",
    "pgbench -T 30 DATABASE | tee bench.txt",
    mark="transaction type: ",
    title=r"transaction type: (?P<name>.{1,999})",
    row=(
        rf"latency average = (?P<mean>{NUMBER}) ms|tps = (?P<rate>{NUMBER}) "
        r"\((?:without initial connection time|excluding connections establishing)\)"
    ),
    lost=r"number of failed transactions: [1-9].{0,99}",
)
SYSBENCH = _reader(
    "sysbench",
    "sysbench",
    "sysbench cpu run | tee bench.txt",
    mark="sysbench ",
    # The first of these lines begins every test.
    title=(
        r"Running the test with following options:|(?:Running )?(?P<name>memory speed|CPU speed|SQL statistics"
        r"|File operations|Throughput)(?: test with the following options)?:"
    ),
    row=(
        rf"Total operations: {NUMBER} \( {{0,9}}(?P<operations>{NUMBER}) per second\)"
        rf"|\s{{1,20}}(?:events per second:\s{{1,40}}(?P<rate>{NUMBER})|avg:\s{{1,60}}(?P<mean>{NUMBER})"
        rf"|(?P<percent>[0-9]{{2}})th percentile:\s{{1,60}}(?P<value>{NUMBER}))\s{{0,9}}"
    ),
    lost=r"\s{1,20}(?:ignored errors|reconnects):\s{1,40}[1-9].{0,99}",
)

MEMTIER = _reader(
    "memtier",
    "memtier_benchmark",
    "memtier_benchmark --hide-histogram | tee bench.txt",
    mark="Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency",
    row=(
        rf"(?P<name>[A-Z][a-z]{{1,40}}){SPACE}(?P<rate>{NUMBER})(?:{SPACE}(?:{NUMBER}|---)){{2}}"
        rf"{SPACE}(?P<mean>{NUMBER}){SPACE}(?P<p50>{NUMBER}){SPACE}(?P<p99>{NUMBER})(?:{SPACE}(?:{NUMBER}|---)){{2}}\s{{0,9}}"
    ),
    lost=r"connection error: .{1,200}",
)
# The column of successful requests; failed requests have separate times.
GATLING_OK: Final = rf"[ |]{{1,200}}+{NUMBER}(?: \| {{0,30}}| \(OK=)"
GATLING = _reader(
    "gatling",
    "Gatling's summary",
    "mvn gatling:test | tee bench.txt",
    mark="---- Global Information",
    row=(
        rf"> (?:mean response time(?: \(ms\))?{GATLING_OK}(?P<mean>{NUMBER})"
        rf"|response time (?P<percent>[0-9]{{2}})th percentile(?: \(ms\))?{GATLING_OK}(?P<value>{NUMBER})"
        rf"|mean (?:requests/sec|throughput \(rps\)){GATLING_OK}(?P<rate>{NUMBER}))[ |K].{{0,99}}"
    ),
    lost=rf"> request count{GATLING_OK}{NUMBER}(?: {{1,30}}KO=| \| {{0,30}})[1-9].{{0,30}}",
)
JMETER_SUMMARY = _reader(
    "jmeter_summary",
    "JMeter's summary lines",
    "jmeter -n -t test.jmx | tee bench.txt",
    mark="summary =",
    row=(
        rf"(?P<name>summary) ={SPACE}[0-9]{{1,15}} in\s{{1,20}}\S{{1,20}} ={SPACE}(?P<rate>{NUMBER})/s "
        rf"Avg:{SPACE}(?P<mean>{NUMBER}) Min:{SPACE}{NUMBER} Max:{SPACE}{NUMBER} Err:.{{0,99}}"
    ),
    lost=r"summary \+.{1,199} Err:\s{1,20}[1-9].{0,99}",
    is_cumulative=True,
)
# Locust prints its table repeatedly while it runs, each time from the start on.
LOCUST_TEXT = _reader(
    "locust_text",
    "Locust's console tables",
    "locust --headless --only-summary -t 60s 2>&1 | tee bench.txt",
    mark="# reqs",
    row=(
        rf"(?P<name>[A-Z]{{1,20}}{SPACE}\S[^|]{{0,999}}?){SPACE}(?:"
        rf"[0-9]{{1,15}}{SPACE}[0-9]{{1,15}}\([0-9.]{{1,9}}%\) \|{SPACE}(?P<mean>{NUMBER})(?:{SPACE}{NUMBER}){{3}}"
        rf" \|{SPACE}(?P<rate>{NUMBER}){SPACE}{NUMBER}"
        rf"|(?P<p50>{NUMBER})(?:{SPACE}{NUMBER}){{3}}{SPACE}(?P<p90>{NUMBER}){SPACE}(?P<p95>{NUMBER}){SPACE}{NUMBER}"
        rf"{SPACE}(?P<p99>{NUMBER})(?:{SPACE}{NUMBER}){{4}})\s{{0,9}}"
    ),
    lost=r"[0-9]{1,15}\s{1,20}[A-Z]{1,20} .{1,999}: .{1,999}",
    is_cumulative=True,
)


def _read_vegeta(source: Source) -> Parsed:
    root = source.root()
    latencies = root.at("latencies")
    name = source.stem or "value"
    benchmarks = [
        from_summary(name, metric=measure.metric, summary=Summary(value=value * 1e-6), place=latencies.place)
        for measure, key in ((LATENCY, "mean"), *VEGETA_PERCENTILES)
        if (value := latencies.find_number(key)) is not None
    ]
    rate = Summary(value=root.at("throughput").number())
    success = root.at("success").number()
    return Parsed(
        benchmarks=(*benchmarks, from_summary(name, metric=THROUGHPUT.metric, summary=rate, place=source.place)),
        notes=(f"requests that succeeded: {success:.2%}",) * (success < 1),
    )


VEGETA_PERCENTILES: Final = tuple((percentile(str(number), ""), f"{number}th") for number in (50, 90, 95, 99))
VEGETA_JSON = ResultReader(
    id="vegeta_json",
    description="vegeta report -type=json",
    example="vegeta report -type=json results.bin > bench.json",
    matches=json_object(lambda root: isinstance(root.get("latencies"), dict) and "throughput" in root),
    read=_read_vegeta,
)


MEMTIER_PERCENTILES: Final = {"p50.00": "50", "p99.00": "99"}


def _read_memtier(source: Source) -> Parsed:
    """Read each kind of request that was made. Files before version 2 have the mean as `Latency` only."""
    placed = []
    for name, stats in source.root().at("ALL STATS").members():
        # From version 2.1 on, commands have lists of numbers as well.
        count, rate = (
            (stats.find_number(key) for key in ("Count", "Ops/sec")) if isinstance(stats.value, dict) else (0, 0)
        )
        if not count or rate is None:
            continue
        mean = stats.find_number("Average Latency")
        values = [(THROUGHPUT, rate), (LATENCY, stats.find_number("Latency") if mean is None else mean)]
        if (percentiles := stats.find("Percentile Latencies")) is not None:
            values += [(percentile(at, ""), percentiles.find_number(key)) for key, at in MEMTIER_PERCENTILES.items()]
        placed += [
            (from_summary(name, metric=measure.metric, summary=Summary(value=value), place=stats.place), stats.place)
            for measure, value in values
            if value is not None
        ]
    return Parsed(benchmarks=unique(placed))


MEMTIER_JSON = ResultReader(
    id="memtier_json",
    description="memtier_benchmark --json-out-file",
    example="memtier_benchmark --json-out-file bench.json",
    matches=json_object(lambda root: isinstance(root.get("ALL STATS"), dict)),
    read=_read_memtier,
)
# Its JSON does not say in which unit the response time is.
SIEGE = _reader(
    "siege",
    "siege",
    "siege -b -r 100 URL > bench.txt 2>&1",
    mark="ransaction",
    row=(
        rf"Transaction rate:\s{{1,40}}(?P<rate>{NUMBER}) trans/sec"
        rf"|\s{{0,9}}\"transaction_rate\":\s{{1,40}}(?P<operations>{NUMBER}),"
        rf"|Response time:\s{{1,40}}(?P<mean>{NUMBER}) (?P<unit>secs|ms)\s{{0,9}}"
    ),
    lost=r"(?:Failed transactions:|\s{0,9}\"failed_transactions\":)\s{1,40}[1-9].{0,99}",
)
