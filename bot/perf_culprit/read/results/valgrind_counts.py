"""Valgrind's counts of Rust programs: Gungraun (iai-callgrind), as text and JSON, and iai."""

import re
from collections.abc import Iterator
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.console import NUMBER, VALUE_GROUP, Lines, Measured, line_reader
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue
from perf_culprit.read.results.parsed import Parsed, ResultReader, from_samples, gathered
from perf_culprit.read.results.source import Source, json_object

# The counts that are costs. A near cache's hit may be good (no miss) or bad (one more access), so it has no direction.
VALGRIND_COSTS = frozenset(
    {"Instructions", "Total read+write", "RAM Hits", "RAM Accesses", "Estimated Cycles", "Total bytes", "Total blocks"}
)


def valgrind_metric(label: str) -> Metric:
    """Return the metric of a count by its name in the console text, such as "RAM Hits"."""
    direction = Direction.LOWER_IS_BETTER if label in VALGRIND_COSTS else Direction.UNKNOWN
    return Metric(name=label.lower().replace(" ", "_"), unit="", direction=direction)


GUNGRAUN = line_reader(
    "gungraun",
    Lines(
        mark="Instructions:",
        title=re.compile(r"(?P<name>\S+::\S+(?: \S.{0,10000})?)"),
        row=re.compile(
            rf" {{2,8}}(?P<label>[A-Z][A-Za-z0-9+() -]{{1,40}}): {{1,60}}{VALUE_GROUP}\|(?:N/A|{NUMBER})"
            r" {1,40}\(.{0,999}"
        ),
        measures=lambda row: (Measured(metric=valgrind_metric(row["label"])),),
        # Counts are exact.
        summary=None,
    ),
    description="Gungraun (iai-callgrind) console text",
    example="cargo bench | tee bench.txt",
)


IAI = line_reader(
    "iai",
    Lines(
        mark="L1 Accesses:",
        title=re.compile(r"(?P<name>\w{1,999})"),
        row=re.compile(
            rf" {{2,8}}(?P<label>[A-Z][A-Za-z0-9 ]{{1,40}}): {{1,60}}{VALUE_GROUP}(?: {{1,40}}\(.{{0,99}}\))?"
        ),
        measures=lambda row: (Measured(metric=valgrind_metric(row["label"])),),
        summary=None,
    ),
    description="iai console text",
    example="cargo bench | tee bench.txt",
)


# The counts' names in the console text, so that both forms have the same metrics.
GUNGRAUN_LABELS: Final = {
    "Ir": "Instructions",
    "L1hits": "L1 Hits",
    "LLhits": "LL Hits",
    "RamHits": "RAM Hits",
    "TotalRW": "Total read+write",
    "EstimatedCycles": "Estimated Cycles",
    "TotalBytes": "Total bytes",
    "TotalBlocks": "Total blocks",
}
GUNGRAUN_MEMBERS: Final = frozenset({"module_path", "profiles", "version"})


def _read_gungraun(source: Source) -> Parsed:
    """Read a summary as JSON (versions 6 and 7), with the same content as the console text.

    The standard output has one summary per line; a file with several documents is split before it is read here.
    """
    others: set[str] = set()
    benchmarks = gathered(_gungraun_measured(source.root(), others))
    return Parsed(
        benchmarks=benchmarks, notes=(f"left out: other kinds of counts, such as `{min(others)}`",) if others else ()
    )


def _gungraun_measured(summary: JsonValue, others: set[str]) -> Iterator[tuple[Benchmark, str]]:
    name = summary.at("module_path").text()
    if (case := summary.find("id")) is not None:
        arguments = summary.find("description") or summary.find("details")
        name += f" {case.text()}" + (f":{arguments.text()}" if arguments is not None else "")
    if (newest := {"6": _version_6, "7": _version_7}.get(summary.at("version").text())) is None:
        raise DataError(
            "is a summary of Gungraun of another version than 6 and 7",
            place=summary.place,
            next_step="give the console text of `cargo bench`, or use another version of Gungraun",
        )
    for profile in summary.at("profiles").elements():
        for kind, new in newest(profile):
            if kind not in GUNGRAUN_LABELS:
                others.add(shown(kind))
            elif new is not None:
                metric = valgrind_metric(GUNGRAUN_LABELS[kind])
                yield from_samples(name, metric=metric, samples=(new.number(),), place=new.place), new.place


def _version_7(profile: JsonValue) -> Iterator[tuple[str, JsonValue | None]]:
    for kind, counted in profile.at("data").at("total").at("metrics").members():
        yield kind, counted.at("values").find("new")


def _version_6(profile: JsonValue) -> Iterator[tuple[str, JsonValue | None]]:
    """Yield the new counts. `Left` is the new count, `Right` an old one, `Both` first the new and then the old."""
    summary = profile.at("summaries").at("total").at("summary")
    for _, counts in summary.members() if isinstance(summary.value, dict) else ():
        for kind, counted in counts.members():
            both = counted.at("metrics").find("Both")
            new = counted.at("metrics").find("Left") if both is None else next(both.elements(), None)
            yield kind, None if new is None else new.find("Int") or new.find("Float")


GUNGRAUN_JSON = ResultReader(
    id="gungraun_json",
    description="Gungraun summaries as JSON",
    example="cargo bench -- --output-format=json > bench.jsonl",
    matches=json_object(lambda root: root.keys() >= GUNGRAUN_MEMBERS),
    read=_read_gungraun,
)
