"""Plain numbers, one per line: what a shell loop writes. Lower is better."""

import re

from perf_culprit.model.run import Direction, Metric
from perf_culprit.read.results.parser import Parsed, from_samples
from perf_culprit.read.results.source import MAX_SAMPLES, Source

ID = "numbers"
DESCRIPTION = "plain numbers, one per line, lower is better"
EXAMPLE = "for i in $(seq 10); do measure-once; done > times.txt"

VALUE = Metric(name="value", unit="", direction=Direction.LOWER_IS_BETTER)
# Each part is bounded, so that no line can make the pattern work long.
NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,4})?")
MAX_LINE_CHARACTERS = 100
BEGINNING = 20_000


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    # The beginning speaks for the file, without its last line, which may be cut; `parse` reads all.
    lines = text[:BEGINNING].splitlines()[: None if len(text) <= BEGINNING else -1]
    numbers = [line.strip() for line in lines if line.strip()]
    return bool(numbers) and all(_is_number(number) for number in numbers)


def parse(source: Source, /) -> Parsed:
    samples: list[float] = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        if not (text := line.strip()):
            continue
        if not _is_number(text):
            raise source.error("is not one number", "write one number per line", line=number)
        if len(samples) == MAX_SAMPLES:
            raise source.error(f"holds more than {MAX_SAMPLES:,} numbers", "measure less often")
        samples.append(float(text))
    return Parsed(benchmarks=(from_samples(source.stem or "value", metric=VALUE, samples=samples, place=source.place),))


def _is_number(text: str) -> bool:
    return len(text) <= MAX_LINE_CHARACTERS and NUMBER.fullmatch(text) is not None
