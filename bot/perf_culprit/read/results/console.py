"""Console output of benchmark tools: lines, numbers, times and names, and formats with a result per line."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from msgspec import structs

from perf_culprit.errors import list_names
from perf_culprit.model.reason import Loss
from perf_culprit.model.run import TIME, Benchmark, Lost, Metric, Summary
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.model.unit_sizes import NANOSECONDS
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parsed import (
    SECOND_TIME,
    Parsed,
    ResultReader,
    from_samples,
    from_summary,
    gathered,
    lost,
)
from perf_culprit.read.results.source import STDIN_NAME, Source

# Each part is bounded, so that no line makes a pattern slow.
NUMBER = r"[0-9][0-9,]{0,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,4})?"
_SHORT = ("ps", "ns", "us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s", "ms", "s")
PRINTED_NS = {unit: NANOSECONDS[unit] for unit in _SHORT} | {"m": 60e9}
TIME_UNIT = f"(?:{'|'.join(PRINTED_NS)})"
_NUMBER = re.compile(NUMBER)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield each line with its number from 1, without colours, and as a terminal shows it after carriage returns."""
    for number, line in enumerate(source.text().split("\n"), start=1):
        text = _COLOUR.sub("", line) if "\x1b" in line else line
        yield number, text.rstrip("\r").rpartition("\r")[2] if "\r" in text else text


def plain_text(source: Source) -> str:
    """Return the text without colours; for `matches`, so it never raises."""
    text = source.text_or_empty()
    return _COLOUR.sub("", text) if "\x1b" in text else text


def csv_cells(source: Source, *, tool: str, delimiter: str = ",") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row's place and its cells by the header. Rows may span lines, because cells may hold line ends."""
    reader = csv.reader(io.StringIO(source.text().lstrip("\ufeff"), newline=""), delimiter=delimiter)
    header: list[str] = []
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            cells = [""]
        if cells is None:
            return
        if not header:
            header = cells
        elif len(cells) == len(header):
            yield f"{source.place}:{reader.line_num}", dict(zip(header, cells, strict=True))
        elif cells:
            next_step = f"check that only {tool} writes to this file"
            raise source.error("has another number of cells than the header", next_step, line=reader.line_num)


def headed(source: Source, heading: re.Pattern[str]) -> Iterator[tuple[int, list[str], str]]:
    """Yield each line below headings with its number and the headings' names, which their indentation nests."""
    above: list[tuple[int, str]] = []
    for number, line in lines(source):
        indent = len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs())
        if (match := heading.fullmatch(line)) is not None:
            above = [one for one in above if one[0] < indent] + [(indent, match["name"])]
        elif line.strip():
            yield number, [name for at, name in above if at < indent], line


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def number_of(text: str) -> float:
    """Parse text that `NUMBER` matched; commas group thousands."""
    return float(text.replace(",", ""))


def nanoseconds(number: str, unit: str) -> float:
    return number_of(number) * PRINTED_NS[unit]


def qualified(names: Iterable[tuple[str, str]], *, separator: str) -> dict[tuple[str, str], str]:
    """Map each (scope, name) to a unique name: the bare name, prefixed by the scope if several scopes have it."""
    pairs = set(names)
    scopes = Counter(name for _, name in pairs)
    return {(scope, name): f"{scope}{separator}{name}" if scopes[name] > 1 and scope else name for scope, name in pairs}


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A measurement in a line: the number in its `group`, which `factor` converts to the metric's unit."""

    metric: Metric
    factor: float = 1.0
    group: str = "value"


# Parts of patterns that formats share.
SPACE: Final = r"\s{1,60}+"
NAME_GROUP: Final = r"(?P<name>\S.{0,1000}?)"
VALUE_GROUP: Final = rf"(?P<value>{NUMBER})"
SCALES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12, "G": 1e9}
SIGMA: Final = "\N{GREEK SMALL LETTER SIGMA}"
SECONDS: Final = Measured(metric=SECOND_TIME)
# A script's line before the output of each of its benchmarks.
HEADING: Final = re.compile(r"([=*#-])\1{1,200}+ (?P<name>\S.{0,200}?) \1{2,200}\s{0,9}")
# Repeated measurements of one benchmark differ less: a first one without caches may take ten times as long.
LARGEST_RATIO: Final = 100.0
ROUNDED: Final = (TIME, "cpu_time", "latency")


def under_headings(
    headed_benchmarks: Sequence[tuple[Benchmark, str, str]], file_name: str
) -> Iterator[tuple[Benchmark, str]]:
    """Name benchmarks by their headings if several headings have the same ones."""
    keys = {(benchmark.key, heading) for benchmark, _, heading in headed_benchmarks}
    are_same = len(keys) > len({key for key, _ in keys})
    for benchmark, place, heading in headed_benchmarks:
        name = heading if benchmark.name == file_name else f"{heading}: {benchmark.name}"
        yield structs.replace(benchmark, name=name) if are_same and heading else benchmark, place


def without_rounded(benchmarks: Sequence[Benchmark]) -> tuple[tuple[Benchmark, ...], tuple[str, ...]]:
    """Leave out times that a tool rounded to 0, because they would be equal for ever. Return a note about them."""
    rounded = [
        benchmark
        for benchmark in benchmarks
        if benchmark.metric.name.startswith(ROUNDED) and 0.0 in (benchmark.samples or (benchmark.value,))
    ]
    names = list_names([f"`{shown(one.name)}` {one.metric.name}" for one in rounded], most=TEXT_LIMITS.rounded_names)
    exact = tuple(benchmark for benchmark in benchmarks if benchmark not in rounded) if rounded else tuple(benchmarks)
    return exact, (f"left out because the tool printed them as 0: {names}",) * bool(rounded)


def check_likeness(benchmarks: Iterable[Benchmark], source: Source) -> None:
    """Raise DataError if the numbers of a series, which the tool did not name, cannot be of one benchmark."""
    for benchmark in benchmarks:
        least, most = min(benchmark.samples, default=0.0), max(benchmark.samples, default=0.0)
        if 0.0 < least * LARGEST_RATIO < most:
            raise source.error(
                f"holds results from {least:g} to {most:g} {benchmark.metric.unit} under one name: "
                "they are of several benchmarks",
                "print a line `=== NAME ===` before each, or write each benchmark's results to a file of its own",
            )


# Up to this share of failed requests, the times of the others are the service's.
FEW_FAILED: Final = 0.01


def _failed_requests(name: str, line: re.Match[str], total: int | None) -> Lost | None:
    """Return the failed requests of a load test; None if they are few."""
    groups = line.groupdict()
    if total is None or not groups.get("count"):
        return None if groups.get("few") else lost(name, line[0], kind=Loss.REQUESTS)
    count = int(groups["count"])
    return lost(name, kind=Loss.REQUESTS, count=count, total=total) if count > FEW_FAILED * total else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """A format with a result per line.

    `row` matches a whole line of a result, with a group `value` or those that `measures` names, and optionally `name`.
    `title` matches another line, whose `name` applies to the rows after it. If neither names a row, the file does.
    The same results under several headings (`=== NAME ===`) are those of several benchmarks.
    With a `separator`, the title's name precedes the row's own, up to a title without a name.
    `measures` returns a row's measurements; a row without any is left out. `number` parses the text. `summary` takes
    the row and the number in the metric's unit; None means that the number is a sample. `spelling` cleans the line's
    name. `mark` is in every such file. `lost` matches lines whose results cannot be read, which `loss` describes.
    With a `total`, such a line counts requests that failed, unless its group `few` matches.
    `warm_up` matches the lines before and after results that do not count; the one before has a group `begins`.
    `is_printed_twice`: an identical row is the same result. `is_cumulative`: a later row covers the time from the
    start, so the last one counts.
    """

    mark: str
    row: re.Pattern[str]
    measures: Callable[[re.Match[str]], tuple[Measured, ...]]
    title: re.Pattern[str] | None = None
    number: Callable[[str], float] = number_of
    spelling: Callable[[str], str] = str.strip
    summary: Callable[[re.Match[str], float], Summary] | None = lambda _, value: Summary(value=value)
    warm_up: re.Pattern[str] | None = None
    lost: re.Pattern[str] | None = None
    loss: str = ""
    total: re.Pattern[str] | None = None
    separator: str = ""
    is_printed_twice: bool = False
    is_cumulative: bool = False

    def matches(self, source: Source) -> bool:
        kinds = (self.row,) if self.lost is None else (self.row, self.lost)
        return self.mark in plain_text(source) and any(
            kind.fullmatch(line) for _, line in lines(source) for kind in kinds
        )

    def read(self, source: Source) -> Parsed:
        headed_benchmarks: list[tuple[Benchmark, str, str]] = []
        file_name = "value" if source.name == STDIN_NAME else PurePath(source.parts[-1]).stem
        name = unnamed = "" if self.separator else file_name
        earlier: set[tuple[str, str]] = set()
        named: set[str] = set()
        left_out = 0
        counts = True
        heading = ""
        for number, line in lines(source):
            if self.warm_up is not None and (edge := self.warm_up.fullmatch(line)) is not None:
                counts = edge["begins"] is None
            elif counts and (row := self.row.fullmatch(line)) is not None:
                own = self.spelling(row.groupdict().get("name") or "")
                full_name = f"{name}{self.separator}{own}" if self.separator and name else own or name
                if self.is_printed_twice and (full_name, line) in earlier:
                    continue
                earlier.add((full_name, line))
                named |= {full_name} if own else set()
                pairs = self.measured(full_name, row, f"{source.place}:{number}")
                headed_benchmarks += [(benchmark, place, heading) for benchmark, place in pairs]
                left_out += not pairs
            elif self.lost is not None and self.lost.fullmatch(line) is not None:
                left_out += 1
            elif self.title is not None and (title := self.title.fullmatch(line)) is not None:
                name = (title["name"] or "").strip() or unnamed
            elif (above := HEADING.fullmatch(line)) is not None:
                heading = above["name"]
        if self.is_cumulative:
            headed_benchmarks = list(
                {(each.key, above): (each, place, above) for each, place, above in headed_benchmarks}.values()
            )
        benchmarks, notes = without_rounded(gathered(under_headings(headed_benchmarks, file_name)))
        check_likeness((each for each in benchmarks if each.name not in named), source)
        return Parsed(
            benchmarks=benchmarks,
            lost=tuple(self._failures(source, file_name)),
            notes=(*notes, *(f"left out: {self.loss}: {left_out}",) * bool(left_out)),
        )

    def _failures(self, source: Source, name: str) -> Iterator[Lost]:
        """Yield the load tests in which more than a few requests failed."""
        if self.total is None or self.lost is None:
            return
        total, failed = None, set[str]()
        for _, line in lines(source):
            if self.title is not None and (title := self.title.fullmatch(line)) is not None:
                name, total = (title["name"] or "").strip() or name, None
            elif (row := self.total.fullmatch(line)) is not None:
                total = int(row["total"])
            elif (loss := self.lost.fullmatch(line)) is not None:
                failure = None if name in failed else _failed_requests(name, loss, total)
                failed |= {name} if failure is not None else set()
                yield from () if failure is None else (failure,)

    def measured(self, name: str, row: re.Match[str], place: str) -> list[tuple[Benchmark, str]]:
        placed = []
        for measure in self.measures(row):
            metric, value = measure.metric, self.number(row[measure.group]) * measure.factor
            if self.summary is None:
                benchmark = from_samples(name, metric=metric, samples=(value,), place=place)
            else:
                benchmark = from_summary(name, metric=metric, summary=self.summary(row, value), place=place)
            placed.append((benchmark, place))
        return placed


def line_reader(
    reader_id: str,
    lines: Lines,
    *,
    description: str,
    example: str,
    aliases: tuple[str, ...] = (),
    is_named_only: bool = False,
) -> ResultReader:
    return ResultReader(
        id=reader_id,
        description=description,
        example=example,
        matches=lines.matches,
        read=lines.read,
        is_console=True,
        is_named_only=is_named_only,
        aliases=aliases,
    )
