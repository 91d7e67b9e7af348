"""divan's table: a tree of benchmarks, with the fastest, slowest, median and mean time of each."""

import re
from collections.abc import Iterator

from perf_culprit.model.run import Summary
from perf_culprit.read.results.console import NUMBER, TIME_UNIT, lines, nanoseconds, qualified
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, from_summary, gathered
from perf_culprit.read.results.source import Source

ID = "divan"
DESCRIPTION = "divan table (cargo bench)"
EXAMPLE = "cargo bench | tee bench.txt"

FASTEST = "fastest"
HEADER = re.compile(r"\S.{0,1000}? fastest {1,40}│ slowest {1,40}│ median {1,40}│ mean {1,40}│ samples {1,40}│ iters")
BRANCH = re.compile(r"(?P<stems>(?:│  |   ){0,100})(?:├─|╰─) (?P<name>.*)")
STEM = 3
QUANTITY = re.compile(rf"(?P<number>{NUMBER}) (?P<unit>{TIME_UNIT})")
COLUMNS = 6


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    return "│ slowest" in text and any(HEADER.match(line) for _, line in lines(source))


def parse(source: Source, /) -> Parsed:
    rows = list(_rows(source))
    measured = [(key, summary, place) for key, summary, place in rows if summary is not None]
    names = qualified((key for key, _, _ in measured), separator="::")
    other = len(rows) - len(measured)
    return Parsed(
        benchmarks=gathered(
            (from_summary(names[key], metric=NANOSECOND_TIME, summary=summary, place=place), place)
            for key, summary, place in measured
        ),
        notes=(f"left out: throughputs (the same times said again) and allocations, lines: {other}",) * bool(other),
    )


def _rows(source: Source) -> Iterator[tuple[tuple[str, str], Summary | None, str]]:
    """Each line with numbers: (binary, path) and its times; None for what stands below the times of a benchmark."""
    binary, column = "", 0
    path: list[str] = []
    for number, line in lines(source):
        if HEADER.match(line):
            column = line.index(FASTEST)
            binary, path = line[:column].strip(), []
            continue
        cells = [cell.strip() for cell in line[column:].split("│")]
        if not column or len(cells) != COLUMNS:
            continue
        if (branch := BRANCH.match(line[:column])) is not None:
            path = [*path[: len(branch["stems"]) // STEM], branch["name"].strip()]
        summary = _summary(cells)
        is_below = branch is None and any(cells)
        if summary is not None or is_below:
            yield (binary, "::".join(path)), None if is_below else summary, f"{source.place}:{number}"


def _summary(cells: list[str]) -> Summary | None:
    times = [QUANTITY.fullmatch(cell) for cell in cells[:3]]
    fastest, slowest, median = (None if time is None else nanoseconds(time["number"], time["unit"]) for time in times)
    if median is None:
        return None
    count = cells[4].replace(",", "")
    return Summary(
        value=median,
        statistic="median",
        count=int(count) if count.isdecimal() and len(count) < 16 else None,
        minimum=fastest,
        maximum=slowest,
    )
