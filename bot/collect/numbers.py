"""Plain numbers, one per line: what a shell loop writes. Lower is better."""

import re

from bot.collect.parser import Parsed, from_samples
from bot.collect.source import STDIN_NAME, Source
from bot.errors import DataError
from bot.model.metric import Direction, Metric

ID = "numbers"
DESCRIPTION = "plain numbers, one per line, lower is better"
DOCS = "numbers"

VALUE = Metric(name="value", unit="", direction=Direction.LOWER_IS_BETTER)
# Each part is bounded, so that no line can make the pattern work long.
NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?")
MAX_LINE_CHARACTERS = 100


def matches(source: Source, /) -> bool:
    lines = source.text_or_empty().split()
    return bool(lines) and all(len(line) <= MAX_LINE_CHARACTERS and NUMBER.fullmatch(line) for line in lines)


def parse(source: Source, /) -> Parsed:
    samples = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        text = line.strip()
        if not text:
            continue
        if len(text) > MAX_LINE_CHARACTERS or not NUMBER.fullmatch(text):
            raise DataError(
                "is not one number", place=f"{source.place}:{number}", next_step="write one number per line"
            )
        samples.append(float(text))
    name = "value" if source.name == STDIN_NAME else source.parts[-1].rpartition(".")[0] or source.parts[-1]
    return Parsed(benchmarks=(from_samples(name, metric=VALUE, samples=samples, place=source.place),))
