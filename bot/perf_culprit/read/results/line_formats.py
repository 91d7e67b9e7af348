"""Formats with a result per line: declared by a pattern and what its groups mean."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from msgspec import structs

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import NANOSECONDS, NUMBER, TIME_UNIT, lines, nanoseconds, number_of
from perf_culprit.read.results.jmh import CONFIDENCE_LEVEL as JMH_LEVEL
from perf_culprit.read.results.jmh import MODES
from perf_culprit.read.results.parser import NANOSECOND_TIME, TIME, VALUE, Parsed, from_samples, from_summary, gathered
from perf_culprit.read.results.source import STDIN_NAME, Source

# Formats of which every result is one line: declared by a pattern and what its groups mean, read by one engine.


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """What a line measures: the number of its `group`, multiplied by `factor` to be in the metric's unit."""

    metric: Metric
    factor: float = 1.0
    group: str = "value"


# Parts that formats share.
SPACE: Final = r"\s{1,60}"
VALUE_GROUP: Final = rf"(?P<value>{NUMBER})"
SECONDS: Final = Measured(metric=Metric(name=TIME, unit="s", direction=Direction.LOWER_IS_BETTER))


def plain_summary(row: re.Match[str], value: float) -> Summary:  # noqa: ARG001 - one of several that a format names
    return Summary(value=value)


@dataclass(frozen=True, kw_only=True, slots=True)
class LineFormat:
    """A parser. `row` matches a whole line of a result, with a group `value` and perhaps `name`.

    `title` matches another line, whose `name` is that of the rows after it. Where neither names a row, the file does.
    `measures` says what a row is; nothing: it is left out. `number` makes a number of the text; `summary` takes the row
    and the number in the metric's unit, and is None where the number is a sample; `spelling` takes a name as the line
    has it. `mark` stands in every such file. `lost` matches lines whose results cannot be read, which `loss` describes.
    `warm_up` matches the lines before and after results that do not count; the one before has a group `begins`.
    """

    ID: str
    DESCRIPTION: str
    EXAMPLE: str
    mark: str
    row: re.Pattern[str]
    measures: Callable[[re.Match[str]], tuple[Measured, ...]]
    title: re.Pattern[str] | None = None
    number: Callable[[str], float] = number_of
    spelling: Callable[[str], str] = str.strip
    summary: Callable[[re.Match[str], float], Summary] | None = plain_summary
    warm_up: re.Pattern[str] | None = None
    lost: re.Pattern[str] | None = None
    loss: str = ""

    def matches(self, source: Source, /) -> bool:
        kinds = (self.row,) if self.lost is None else (self.row, self.lost)
        return self.mark in source.text_or_empty() and any(
            kind.fullmatch(line) for _, line in lines(source) for kind in kinds
        )

    def parse(self, source: Source, /) -> Parsed:
        placed: list[tuple[Benchmark, str]] = []
        name = "value" if source.name == STDIN_NAME else PurePath(source.parts[-1]).stem
        lost = 0
        counts = True
        for number, line in lines(source):
            if self.warm_up is not None and (edge := self.warm_up.fullmatch(line)) is not None:
                counts = edge["begins"] is None
            elif counts and (row := self.row.fullmatch(line)) is not None:
                own = self.spelling(row.groupdict().get("name") or "") or name
                benchmarks = self._benchmarks(own, row, f"{source.place}:{number}")
                placed += benchmarks
                lost += not benchmarks
            elif self.lost is not None and self.lost.fullmatch(line) is not None:
                lost += 1
            elif self.title is not None and (title := self.title.fullmatch(line)) is not None:
                name = title["name"].strip()
        return Parsed(benchmarks=gathered(placed), notes=(f"left out: {self.loss}: {lost}",) * bool(lost))

    def _benchmarks(self, name: str, row: re.Match[str], place: str) -> list[tuple[Benchmark, str]]:
        placed = []
        for measured in self.measures(row):
            metric, value = measured.metric, self.number(row[measured.group]) * measured.factor
            if self.summary is None:
                benchmark = from_samples(name, metric=metric, samples=(value,), place=place)
            else:
                benchmark = from_summary(name, metric=metric, summary=self.summary(row, value), place=place)
            placed.append((benchmark, place))
        return placed


# Formats of timers with a result per line: those of shells, of Ruby and of JavaScript's console.

LOWER = Direction.LOWER_IS_BETTER

USER_SECONDS = Measured(metric=Metric(name="user_time", unit="s", direction=LOWER))
SYSTEM_SECONDS = Measured(metric=Metric(name="system_time", unit="s", direction=LOWER))
SHELL_TIMES = {"real": SECONDS, "user": USER_SECONDS, "sys": SYSTEM_SECONDS}
GNU_TIMES = {
    "User time (seconds)": USER_SECONDS,
    "System time (seconds)": SYSTEM_SECONDS,
    "Elapsed (wall clock) time (h:mm:ss or m:ss)": SECONDS,
    "Maximum resident set size (kbytes)": Measured(metric=Metric(name="peak_memory", unit="KiB", direction=LOWER)),
}


def _clock(text: str) -> float:
    """`1:02:03`, `0:00.11`, `0m0.098s` and `0.11` in seconds."""
    seconds = 0.0
    for part in re.split("[:m]", text.removesuffix("s")):
        seconds = 60 * seconds + float(part)
    return seconds


TIMER_FORMATS: Final = (
    LineFormat(
        ID="ruby_benchmark",
        DESCRIPTION="Ruby's Benchmark (bm, bmbm)",
        EXAMPLE="ruby bench.rb | tee bench.txt",
        mark=" user     system      total        real",
        row=re.compile(
            rf"(?P<name>.{{0,999}}?){SPACE}(?P<user>{NUMBER}){SPACE}(?P<system>{NUMBER}){SPACE}{NUMBER}"
            rf"{SPACE}\(\s{{0,9}}{VALUE_GROUP}\)\s{{0,9}}"
        ),
        measures=lambda _: (SECONDS, replace(USER_SECONDS, group="user"), replace(SYSTEM_SECONDS, group="system")),
        summary=None,
        # bmbm measures twice and means the second.
        warm_up=re.compile(r"(?P<begins>Rehearsal )-{1,9999}|-{1,9999} total: .{1,99}sec"),
    ),
    LineFormat(
        ID="console_time",
        DESCRIPTION="console.time of Node, Deno and browsers",
        EXAMPLE="node bench.js | tee bench.txt",
        mark=": ",
        row=re.compile(
            r"(?P<name>.{0,999}): (?P<value>(?:[0-9]{1,9}:){0,2}[0-9]{1,15}(?:\.[0-9]{1,20})?)"
            r" ?(?P<unit>ms|s|\((?:h:m)?m:ss\.mmm\))(?: - timer ended)?\s{0,9}"
        ),
        measures=lambda row: (replace(SECONDS, factor=1e-3 if row["unit"] == "ms" else 1.0),),
        number=_clock,
        summary=None,
    ),
    LineFormat(
        ID="gnu_time",
        DESCRIPTION="GNU time (-v)",
        EXAMPLE="/usr/bin/time -v -a -o times.txt COMMAND",
        mark="Command being timed:",
        title=re.compile(r'\s{0,9}Command being timed: "(?P<name>.{1,9999})"'),
        row=re.compile(
            rf"\s{{0,9}}(?P<label>{'|'.join(map(re.escape, GNU_TIMES))}): "
            r"(?P<value>[0-9]{1,15}(?::[0-9]{1,2}){0,2}(?:\.[0-9]{1,9})?)"
        ),
        measures=lambda row: (GNU_TIMES[row["label"]],),
        number=_clock,
    ),
    LineFormat(
        ID="shell_time",
        DESCRIPTION="time of bash, zsh and POSIX (-p)",
        EXAMPLE="for i in $(seq 10); do time COMMAND; done 2> times.txt",
        mark="real",
        row=re.compile(r"(?P<label>real|user|sys)\s{1,9}(?P<value>(?:[0-9]{1,9}m)?[0-9]{1,9}\.[0-9]{1,9}s?)"),
        measures=lambda row: (SHELL_TIMES[row["label"]],),
        number=_clock,
    ),
)


# Formats with a result per line, declared: a new one is a pattern and what its groups mean.

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
        return (Measured(metric=structs.replace(rate, unit=row["unit"])),)
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
