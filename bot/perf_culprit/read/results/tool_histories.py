"""Histories that tools keep in git: git-perf's notes, and the folders of OCaml's Sandmark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from msgspec.structs import replace

from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.console import is_number, number_of
from perf_culprit.read.results.content import load_json
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    SECOND_TIME,
    VALUE,
    Parsed,
    ResultReader,
    components,
    epoch_time,
    from_samples,
    full_hash,
    gathered,
    newest,
    utc_time,
)
from perf_culprit.read.results.source import Source

SEPARATOR: Final = "\x1c"
NOTE: Final = re.compile(r"[0-9a-f]{40}\s{1,9}[0-9]{1,10}\x1c")
LEAST_FIELDS: Final = 4
UNDIRECTED: Final = Metric(name=VALUE, unit="", direction=Direction.UNKNOWN)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measurement:
    epoch: int
    name: str
    time_s: float
    value: float


def _measurement(line: str) -> _Measurement | None:
    """Parse epoch, name, time, value and pairs KEY=VALUE, separated by FS (0x1C); None for another line."""
    fields = [field for field in line.strip().split(SEPARATOR) if field]
    if len(fields) < LEAST_FIELDS or not fields[0].isdecimal() or not all(map(is_number, fields[2:LEAST_FIELDS])):
        return None
    name = " ".join((fields[1], *sorted(fields[LEAST_FIELDS:])))
    return _Measurement(epoch=int(fields[0][:10]), name=name, time_s=number_of(fields[2]), value=number_of(fields[3]))


def _read_notes(source: Source) -> tuple[Parsed, ...]:
    """Read notes as `git log` prints them: the commit's hash, then a line per measurement.

    Units and directions are in git-perf's configuration, not in the notes.
    """
    runs: list[Parsed] = []
    commit: str | None = None
    lines: list[str] = []
    # Not splitlines, for which the separator ends a line.
    for line in [*source.text().split("\n"), ""]:
        if (full := full_hash(line)) is not None:
            runs.extend(_noted(source, commit, lines))
            commit, lines = full, []
        elif line.strip():
            lines.append(line)
    runs.extend(_noted(source, commit, lines))
    return tuple(sorted(runs, key=lambda run: run.time or datetime.min.replace(tzinfo=UTC)))


def _read_newest_note(source: Source) -> Parsed:
    if not (runs := _read_notes(source)):
        raise source.error("holds no measurement of git-perf", "print the notes as docs/formats.md shows")
    return newest(runs)


def _noted(source: Source, commit: str | None, lines: list[str]) -> Iterator[Parsed]:
    """Yield the run of a commit that has measurements."""
    read = [_measurement(line) for line in lines]
    points = [one for one in read if one is not None]
    values: dict[str, dict[int, list[float]]] = {}
    for one in points:
        values.setdefault(one.name, {}).setdefault(one.epoch, []).append(one.value)
    if commit is None or not values:
        return
    lost = len(read) - len(points)
    yield Parsed(
        benchmarks=tuple(_of_epochs(name, epochs, source.place) for name, epochs in values.items()),
        commit=commit,
        time=epoch_time(max(one.time_s for one in points)),
        notes=(f"left out: lines that are not measurements: {lost}",) * bool(lost),
    )


def _of_epochs(name: str, epochs: dict[int, list[float]], place: str) -> Benchmark:
    """A new epoch says that earlier numbers do not compare, as a new version of a benchmark does."""
    epoch = max(epochs)
    benchmark = from_samples(name, metric=UNDIRECTED, samples=epochs[epoch], place=place)
    return replace(benchmark, version=str(epoch))


GIT_PERF = ResultReader(
    id="git_perf",
    description="git-perf's notes, as git log prints them",
    example="git log --notes=refs/notes/perf-v3 --format=%H%n%N > notes.txt",
    matches=lambda source: NOTE.search(source.head()) is not None,
    read=_read_newest_note,
    read_history=_read_notes,
)


SANDMARK_MEMBERS: Final = ("name", "command", "time_secs", "user_time_secs", "sys_time_secs", "maxrss_kB")
CPU_TIME: Final = Metric(name="cpu_time", unit="s", direction=Direction.LOWER_IS_BETTER)
PEAK_MEMORY: Final = Metric(name="peak_memory", unit="kB", direction=Direction.LOWER_IS_BETTER)
NIGHT: Final = re.compile(r"(\d{4})(\d\d)(\d\d)_(\d\d)(\d\d)(\d\d)", re.ASCII)


def _is_sandmark(source: Source) -> bool:
    head = source.head().lstrip().partition("\n")[0]
    return head.startswith("{") and are_objects([load_json(head, source.place)], *SANDMARK_MEMBERS)


def _read_sandmark(source: Source) -> Parsed:
    """Read an object per benchmark and line. sandmark-nightly keeps them as TIME/COMMIT/VARIANT_1.orun…."""
    *_, time, commit, file = ("", "", *source.parts)
    night = NIGHT.fullmatch(time)
    return Parsed(
        benchmarks=gathered(chain.from_iterable(map(_of_sandmark, source.json_lines()))),
        environment=components(ocaml=re.sub(r"_\d+\.orun.*", "", file) if ".orun" in file else None),
        commit=full_hash(commit),
        time=utc_time("{}-{}-{}T{}:{}:{}Z".format(*night.groups())) if night else None,
    )


def _of_sandmark(entry: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    name = entry.at("name").text()
    seconds = [entry.at(f"{part}time_secs").number() for part in ("", "user_", "sys_")]
    for metric, value in (
        (SECOND_TIME, seconds[0]),
        (CPU_TIME, seconds[1] + seconds[2]),
        (PEAK_MEMORY, entry.at("maxrss_kB").number()),
    ):
        yield from_samples(name, metric=metric, samples=(value,), place=entry.place), entry.place


SANDMARK = ResultReader(
    id="sandmark",
    description="Sandmark's summaries (OCaml)",
    example="make ocaml-versions/5.1.0+trunk.bench",
    matches=_is_sandmark,
    read=_read_sandmark,
)
