"""Formats of which every result is one line: declared by a pattern and what its groups mean, read by one engine."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from bot.collect.console import NUMBER, lines, number_of
from bot.collect.parser import TIME, Parsed, from_samples, from_summary, gathered
from bot.collect.source import STDIN_NAME, Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary


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
