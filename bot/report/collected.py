"""What was read and what can be read, for a terminal."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from bot.model.file_read import FileRead
from bot.report.words import counted

MAX_NOTES = 8


def collected_text(reads: Sequence[FileRead]) -> str:
    """A line per format, then what was left out."""
    by_format = sorted(reads, key=attrgetter("format"))
    lines = [_line(name, list(files)) for name, files in groupby(by_format, key=attrgetter("format"))]
    notes = list(dict.fromkeys(note for read in reads for note in read.notes))
    more = [f"  and {counted(len(notes) - MAX_NOTES, 'more note')}"] if len(notes) > MAX_NOTES else []
    return "\n".join([*lines, *(f"  note: {note}" for note in notes[:MAX_NOTES]), *more])


def derived_text(metrics: Sequence[str]) -> str:
    """Of rates that are judged with the times that they were computed from."""
    return f"{', '.join(metrics)}: computed from the same samples as the times, so judged once, as time"


def formats_text(formats: Iterable[tuple[str, str, str]]) -> str:
    """Each reader's id and description, and below how its file is written."""
    return "\n".join(f"{name:24} {description}\n{'':24}   {example}" for name, description, example in formats)


def _line(name: str, files: Sequence[FileRead]) -> str:
    benchmarks, metrics = sum(file.benchmarks for file in files), sum(file.metrics for file in files)
    samples, tables = sum(file.samples for file in files), sum(file.tables for file in files)
    parts = []
    if metrics:
        values = counted(samples, "sample") if samples else "summaries without samples"
        several = f" ({counted(metrics, 'metric')})" if metrics != benchmarks else ""
        parts.append(f"{counted(benchmarks, 'benchmark')}{several}, {values}")
    if tables:
        parts.append(counted(tables, "counter table"))
    where = f" in {counted(len(files), 'file')}" if len(files) > 1 else ""
    return f"{name}: {', '.join(parts) or 'nothing'}{where}"
