"""What was read, what can be read and what an import stored, for a terminal."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from bot.errors import listed
from bot.model.history_size import Imported
from bot.model.run import FileRead
from bot.report.inert import plain
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


SHOWN_SUITES = 10


def imported_text(imported: Imported) -> str:
    """One line, then what limits the use of the runs, each with its consequence."""
    verb = "imported" if imported.stored else "would import"
    new = imported.runs - imported.already_stored - imported.dropped
    share = f"{new:,} of " if new < imported.runs else ""
    what = f"{share}{counted(imported.runs, 'run')} of {counted(imported.commits, 'commit')}{_dates(imported)}"
    named = listed([plain(suite, limit=40) for suite in imported.suites], most=SHOWN_SUITES)
    doubt = "" if imported.on_line else "; is --repo the repository of these results?"
    lines = [
        f"{verb} {what} into {'suite' if len(imported.suites) == 1 else 'suites'} {named}",
        f"  {imported.on_line:,} of the commits are ancestors of HEAD: later runs are compared with those only{doubt}",
    ]
    if imported.already_stored:
        lines.append(f"  stored before, so kept as they are: {counted(imported.already_stored, 'run')}")
    if imported.without_environment:
        lines.append(
            f"  the machine of {counted(imported.without_environment, 'run')} is unknown: a step between runs may be"
            " another machine"
        )
    if imported.without_commit:
        lines.append(f"  left out, because they say no full commit hash: {counted(imported.without_commit, 'result')}")
    if imported.dropped:
        lines.append(f"  beyond the history's size limit, so not kept: the oldest {counted(imported.dropped, 'run')}")
    return "\n".join(lines) + "\n"


def _dates(imported: Imported) -> str:
    if imported.first is None or imported.last is None:
        return ""
    return f" ({imported.first:%Y-%m-%d} to {imported.last:%Y-%m-%d})"
