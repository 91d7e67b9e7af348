"""Catch2's console text: a table per test case, three rows per benchmark."""

import re
from dataclasses import dataclass, field

from perf_culprit.model.run import Benchmark, Summary
from perf_culprit.read.results.console import NUMBER, TIME_UNIT, lines, nanoseconds, qualified
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, from_summary, gathered, unique
from perf_culprit.read.results.source import Source

ID = "catch2_text"
DESCRIPTION = "Catch2's console text"
EXAMPLE = "./tests '[!benchmark]' | tee bench.txt"

# The last column is `estimated` or, from 3.5 on, `est run time`; without analysis it is `mean`.
HEADER = re.compile(r"benchmark name {2,200}samples {2,200}iterations {2,200}(?P<last>estimated|est run time|mean)")
COUNTS = re.compile(rf"([0-9]{{1,15}}) ([0-9]{{1,15}}) ({NUMBER}) ({TIME_UNIT})")
TIMES = re.compile(rf"({NUMBER}) ({TIME_UNIT}) ({NUMBER}) ({TIME_UNIT}) ({NUMBER}) ({TIME_UNIT})")
FAILED = "Benchmark failed ("
PROGRAM_RULE, TITLE_RULE, END_RULE = "~~~~~~~~", "--------", "========"
# Catch2's default; the text does not say where a run chose another (--benchmark-confidence-interval).
CONFIDENCE_LEVEL = 0.95


@dataclass(kw_only=True, slots=True)
class _Row:
    """One benchmark. `program` counts the programs whose outputs one file holds; times in ns."""

    program: int
    scope: str
    name: str
    place: str
    count: int
    mean: float | None = None
    interval: tuple[float, float] | None = None
    standard_deviation: float | None = None


@dataclass(kw_only=True, slots=True)
class _Reader:
    """Where in the output we are: in a title, in a table's header, in a table, or outside of all."""

    file: str
    rows: list[_Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    part: str = "outside"
    program: int = 0
    title: list[str] = field(default_factory=list)
    scope: str = ""
    analysed: bool = True
    wrapped: list[str] = field(default_factory=list)

    def read(self, line: str, number: int) -> None:
        if line.startswith((PROGRAM_RULE, END_RULE)):
            self.part = "outside"
            self.program += line.startswith(PROGRAM_RULE)
        elif line.startswith(TITLE_RULE):
            self._read_rule()
        elif (header := HEADER.match(line)) is not None:
            self.part, self.analysed = "header", header["last"] != "mean"
        elif self.part == "title":
            self.title.append(line.strip())
        elif self.part == "table":
            self._read_row(line, number)

    def _read_rule(self) -> None:
        if self.part == "header":
            self.part, self.wrapped = "table", []
        elif self.part == "title":
            self.part, self.scope = "outside", "/".join(self.title)
        else:
            self.part, self.title = "title", []

    def _read_row(self, line: str, number: int) -> None:
        fields = line.split()
        if (counts := COUNTS.fullmatch(" ".join(fields[-4:]))) is not None:
            name, place = " ".join((*self.wrapped, *fields[:-4])), f"{self.file}:{number}"
            row = _Row(program=self.program, scope=self.scope, name=name, place=place, count=int(counts[1]))
            if not self.analysed:
                row.mean = nanoseconds(counts[3], counts[4])
            self.rows.append(row)
            self.wrapped = []
        elif self.rows and (times := TIMES.fullmatch(" ".join(fields[:7]))) is not None:
            _add_times(self.rows[-1], [nanoseconds(times[i], times[i + 1]) for i in (1, 3, 5)])
        elif FAILED in line:
            head, _, reason = line.partition(FAILED)
            name = " ".join((*self.wrapped, *head.split()))
            self.failures.append(f"`{shown(name)}` failed: {shown(reason.strip().removesuffix(')'))}")
            self.wrapped = []
        elif fields:
            self.wrapped.append(" ".join(fields))
        else:
            self.wrapped = []


def matches(source: Source, /) -> bool:
    return HEADER.search(source.text_or_empty()) is not None


def parse(source: Source, /) -> Parsed:
    reader = _Reader(file=source.place)
    for number, line in lines(source):
        reader.read(line, number)
    names = qualified(((row.scope, row.name) for row in reader.rows), separator="/")
    programs: dict[int, list[tuple[Benchmark, str]]] = {}
    for row in reader.rows:
        if row.mean is not None:
            benchmark = _benchmark(names[row.scope, row.name], row.mean, row)
            programs.setdefault(row.program, []).append((benchmark, row.place))
    # A name twice in one program is two benchmarks; in the outputs of several programs it is one, measured again.
    placed = [(benchmark, source.place) for pairs in programs.values() for benchmark in unique(pairs)]
    cut = sum(row.mean is None for row in reader.rows)
    return Parsed(
        benchmarks=gathered(placed), notes=(*reader.failures, *(f"{cut} benchmarks have no times",) * bool(cut))
    )


def _add_times(row: _Row, times: list[float]) -> None:
    value, low, high = times
    if row.mean is None:
        row.mean, row.interval = value, (low, high)
    elif row.standard_deviation is None:
        row.standard_deviation = value


def _benchmark(name: str, mean: float, row: _Row) -> Benchmark:
    summary = Summary(
        value=mean,
        statistic="mean",
        count=row.count,
        standard_deviation=row.standard_deviation,
        confidence_interval=row.interval,
        confidence_level=None if row.interval is None else CONFIDENCE_LEVEL,
    )
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=row.place)
