"""Formats with a result per line, declared: a new one is a pattern and what its groups mean."""

import re
from dataclasses import replace
from typing import Final

from bot.collect.console import NANOSECONDS, NUMBER, TIME_UNIT, nanoseconds, number_of
from bot.collect.jmh import CONFIDENCE_LEVEL as JMH_LEVEL
from bot.collect.jmh import MODES
from bot.collect.lines import SECONDS, SPACE, VALUE_GROUP, LineFormat, Measured
from bot.collect.parser import NANOSECOND_TIME, TIME, VALUE
from bot.collect.timer_formats import TIMER_FORMATS
from bot.model.metric import Direction, Metric
from bot.model.run import Summary

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
# benchmark.js takes the margin of error from the t distribution at 95%, fixed in its source.
BENCHMARK_JS_LEVEL = 0.95
# bench.py's, where SciPy is installed; else it prints the standard deviation, which is wider from 7 executions on.
LUAU_LEVEL = 0.95
NAME = r"(?P<name>\S.{0,1000}?)"

RATE = Measured(metric=Metric(name="throughput", unit="ops/sec", direction=HIGHER))
SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "G": 1e9}
MILLISECONDS = Measured(metric=Metric(name=TIME, unit="ms", direction=LOWER))
MICROSECONDS = Measured(metric=Metric(name=TIME, unit="us", direction=LOWER))
# Criterion's default; the text does not say where a suite chose another.
CRITERION_LEVEL = 0.95
# What a run costs. A hit of a near cache may be good news (no miss) or bad (one access more): nothing says which.
VALGRIND_COSTS = frozenset(
    {"Instructions", "Total read+write", "RAM Hits", "RAM Accesses", "Estimated Cycles", "Total bytes", "Total blocks"}
)
ASV_KINDS = {"mem": "memory", "peakmem": "peak_memory"}


def _inverted_error(row: re.Match[str], value: float) -> Summary:
    """The rate is the inverse of the mean time, and the error is relative to that time: both ends are inverted."""
    error = number_of(row["error"]) / 100.0
    return Summary(
        value=value,
        statistic="mean",
        count=int(row["count"]),
        confidence_interval=(value / (1.0 + error), value / (1.0 - error)) if error < 1.0 else None,
        confidence_level=BENCHMARK_JS_LEVEL if error < 1.0 else None,
    )


def _relative_deviation(row: re.Match[str], value: float) -> Summary:
    return Summary(value=value, statistic="mean", standard_deviation=value * number_of(row["error"]) / 100.0)


def _luau_interval(row: re.Match[str], value: float) -> Summary:
    error = value * number_of(row["error"]) / 100.0
    return Summary(
        value=value,
        statistic="mean",
        confidence_interval=(value - error, value + error) if error else None,
        confidence_level=LUAU_LEVEL if error else None,
    )


def _jmh(row: re.Match[str]) -> tuple[Measured]:
    name, direction = MODES[row["mode"]]
    return (Measured(metric=Metric(name=name, unit=row["unit"], direction=direction)),)


def _jmh_summary(row: re.Match[str], value: float) -> Summary:
    error = None if row["error"] is None else number_of(row["error"])
    return Summary(
        value=value,
        statistic="mean",
        count=None if row["count"] is None else int(row["count"]),
        confidence_interval=None if error is None else (value - error, value + error),
        confidence_level=None if error is None else JMH_LEVEL,
    )


def _asv(row: re.Match[str]) -> tuple[Measured]:
    """A time has a unit; memory and tracked values have at most a scale."""
    if row["unit"]:
        return (Measured(metric=SECONDS.metric, factor=NANOSECONDS[row["unit"]] / 1e9),)
    name = ASV_KINDS.get(row["name"].rpartition(".")[2].partition("_")[0], VALUE)
    unit = "" if name == VALUE else "B"
    return (Measured(metric=Metric(name=name, unit=unit, direction=LOWER), factor=SCALES[row["scale"] or ""]),)


def _libtest(row: re.Match[str]) -> tuple[Measured, ...]:
    """`ns/iter` is a time, any other cost per iteration named by its unit; beside it perhaps `MB/s`, a throughput."""
    cost, _, per = row["unit"].rpartition("/")
    rate = Metric(name="throughput", unit=row["rate_unit"] or "", direction=HIGHER)
    if row["unit"].endswith("/s"):
        return (Measured(metric=replace(rate, unit=row["unit"])),)
    if per != "iter":
        return ()
    first = Measured(metric=Metric(name=TIME if cost in NANOSECONDS else cost, unit=cost, direction=LOWER))
    return (first, Measured(metric=rate, group="rate")) if rate.unit.endswith("/s") else (first,)


def _criterion_summary(row: re.Match[str], value: float) -> Summary:
    low, high = (nanoseconds(row[end], row[f"{end}_unit"]) for end in ("low", "high"))
    # The slope of a linear fit where Criterion has one, else the mean.
    return Summary(value=value, statistic="estimate", confidence_interval=(low, high), confidence_level=CRITERION_LEVEL)


def valgrind_metric(label: str) -> Metric:
    """Of a count by its name in the console text, such as "RAM Hits"."""
    direction = LOWER if label in VALGRIND_COSTS else Direction.UNKNOWN
    return Metric(name=label.lower().replace(" ", "_"), unit="", direction=direction)


LINE_FORMATS: Final = (
    LineFormat(
        ID="bencher_text",
        DESCRIPTION="cargo bench text, Criterion's --output-format bencher",
        EXAMPLE="cargo bench -- --output-format bencher | tee bench.txt",
        mark=" ... bench:",
        # The number after +/- is the samples' range with libtest and their standard deviation with Criterion, and the
        # text does not say which of the two wrote it.
        row=re.compile(
            rf"test (?P<name>\S.{{0,9999}}?) \.\.\. bench: {{1,99}}{VALUE_GROUP} (?P<unit>\S{{1,60}}) \(\+/- {NUMBER}\)"
            rf"(?: = (?P<rate>{NUMBER}) (?P<rate_unit>\S{{1,60}}))?\s{{0,9}}"
        ),
        measures=_libtest,
        summary=lambda _, value: Summary(value=value, statistic="median"),
        lost=re.compile(r"test .{1,9999} \.\.\. bench:.{0,9999}"),
        loss="bench lines without a number whose unit says which way is good",
    ),
    LineFormat(
        ID="criterion_text",
        DESCRIPTION="Criterion's console text",
        EXAMPLE="cargo bench | tee bench.txt",
        mark=" time:",
        # The `change:` block has percentages in these brackets. A name that is too long for its column stands before.
        title=re.compile(r"(?P<name>\S.{0,9999})"),
        row=re.compile(
            rf"(?P<name>.{{0,9999}}) time: {{0,99}}\[(?P<low>{NUMBER}) (?P<low_unit>{TIME_UNIT}) {VALUE_GROUP} "
            rf"(?P<unit>{TIME_UNIT}) (?P<high>{NUMBER}) (?P<high_unit>{TIME_UNIT})\]\s{{0,9}}"
        ),
        measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=NANOSECONDS[row["unit"]]),),
        summary=_criterion_summary,
    ),
    LineFormat(
        ID="gungraun",
        DESCRIPTION="Gungraun (iai-callgrind) console text",
        EXAMPLE="cargo bench | tee bench.txt",
        mark="Instructions:",
        title=re.compile(r"(?P<name>\S+::\S+(?: \S.{0,10000})?)"),
        row=re.compile(
            rf" {{2,8}}(?P<label>[A-Z][A-Za-z0-9+() -]{{1,40}}): {{1,60}}{VALUE_GROUP}\|(?:N/A|{NUMBER})"
            r" {1,40}\(.{0,999}"
        ),
        measures=lambda row: (Measured(metric=valgrind_metric(row["label"])),),
        # Exact counts.
        summary=None,
    ),
    LineFormat(
        ID="iai",
        DESCRIPTION="iai console text",
        EXAMPLE="cargo bench | tee bench.txt",
        mark="L1 Accesses:",
        title=re.compile(r"(?P<name>\w{1,999})"),
        row=re.compile(
            rf" {{2,8}}(?P<label>[A-Z][A-Za-z0-9 ]{{1,40}}): {{1,60}}{VALUE_GROUP}(?: {{1,40}}\(.{{0,99}}\))?"
        ),
        measures=lambda row: (Measured(metric=valgrind_metric(row["label"])),),
        summary=None,
    ),
    LineFormat(
        ID="benchmarkjs_text",
        DESCRIPTION="benchmark.js text",
        EXAMPLE="node bench.js | tee bench.txt",
        mark=" ops/sec ",
        row=re.compile(
            rf"\s{{0,99}}{NAME}\s x\s{VALUE_GROUP}\sops/sec\s(?:±|\+-|\+/-)\s?(?P<error>{NUMBER})%\s"
            r"\((?P<count>[0-9]{1,15})\sruns?\ssampled\)\s{0,99}",
            re.VERBOSE,
        ),
        measures=lambda _: (RATE,),
        summary=_inverted_error,
    ),
    LineFormat(
        ID="benchmark_ips_text",
        DESCRIPTION="Ruby's benchmark-ips text",
        EXAMPLE="ruby bench.rb | tee bench.txt",
        mark=" i/s - ",
        row=re.compile(
            rf"\s{{0,99}}{NAME}{SPACE}{VALUE_GROUP}(?P<scale>[kMBT]?)\s\(±\s?(?P<error>{NUMBER})%\)\si/s\s.{{0,999}}"
        ),
        measures=lambda row: (
            Measured(metric=Metric(name="throughput", unit="i/s", direction=HIGHER), factor=SCALES[row["scale"]]),
        ),
        summary=_relative_deviation,
    ),
    LineFormat(
        ID="jmh_text",
        DESCRIPTION="JMH console text",
        EXAMPLE="java -jar benchmarks.jar | tee bench.txt",
        mark=" Mode ",
        row=re.compile(
            rf"(?P<name>\S{{1,999}}(?:{SPACE}\S{{1,200}}){{0,20}}?){SPACE}(?P<mode>thrpt|avgt|sample|ss)"
            rf"(?:{SPACE}(?P<count>[0-9]{{1,15}}))?{SPACE}(?:≈\s)?{VALUE_GROUP}"
            rf"(?:{SPACE}±{SPACE}(?P<error>{NUMBER}))?{SPACE}(?P<unit>\S{{1,20}}/\S{{1,20}})\s{{0,9}}"
        ),
        measures=_jmh,
        # A parameter that a benchmark does not have.
        spelling=lambda name: " ".join(word for word in name.split() if word != "N/A"),
        summary=_jmh_summary,
        lost=re.compile(r"\S{1,999} .{1,999} ≈ 10⁻.{1,99}"),
        loss="scores that the text only names by their power of ten",
    ),
    LineFormat(
        ID="asv_text",
        DESCRIPTION="asv console text",
        EXAMPLE="asv run | tee bench.txt",
        mark=" ··· ",
        row=re.compile(
            rf"\[[ 0-9.]{{1,9}}%\] ··· (?P<name>\S{{1,999}}){SPACE}{VALUE_GROUP}(?:±{NUMBER})?"
            rf"(?:(?P<unit>{TIME_UNIT})|(?P<scale>[kMGT]))?"
        ),
        measures=_asv,
        lost=re.compile(rf"\[[ 0-9.]{{1,9}}%\] ··· \S{{1,999}}{SPACE}(?:ok|failed|n/a|[0-9/]{{1,20}} failed)"),
        loss="benchmarks that failed, and those with parameters, which only the result file holds",
    ),
    LineFormat(
        ID="dart",
        DESCRIPTION="Dart's benchmark_harness text",
        EXAMPLE="dart run benchmark/main.dart | tee bench.txt",
        mark="(Run",
        # Emitters of one's own leave out the full stop or write the time again after it; Flutter's log has a prefix.
        row=re.compile(
            rf"(?:(?:I/)?flutter(?: \([ 0-9]{{1,9}}\))?: )?{NAME}\(Run[Tt]ime(?:Raw)?\): {VALUE_GROUP} "
            rf"(?P<unit>{TIME_UNIT})\.?(?: \|.{{0,999}})?\s{{0,9}}"
        ),
        measures=lambda row: (replace(MICROSECONDS, factor=NANOSECONDS[row["unit"]] / 1e3),),
        summary=lambda _, value: Summary(value=value, statistic="mean"),
    ),
    LineFormat(
        ID="luau_text",
        DESCRIPTION="Luau's bench/bench.py text",
        EXAMPLE="python3 bench/bench.py --vm ./luau | tee bench.txt",
        mark="SUCCESS: ",
        row=re.compile(
            rf"SUCCESS: (?P<name>\S{{1,200}}(?: \S{{1,200}}){{0,20}}) {{0,60}}: {{0,20}}{VALUE_GROUP}ms "
            rf"\+/- {{0,9}}(?P<error>{NUMBER})% on .{{0,999}}"
        ),
        measures=lambda _: (MILLISECONDS,),
        summary=_luau_interval,
    ),
    *TIMER_FORMATS,
)
