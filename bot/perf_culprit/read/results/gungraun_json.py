"""Gungraun's summary of a benchmark as JSON (versions 6 and 7): what its console text shows.

Its standard output has one per line; a file with several documents comes here in parts.
"""

from collections.abc import Iterator
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.line_formats import valgrind_metric
from perf_culprit.read.results.parser import Parsed, from_samples, gathered
from perf_culprit.read.results.source import JsonValue, Source

ID = "gungraun_json"
DESCRIPTION = "Gungraun summaries as JSON"
EXAMPLE = "cargo bench -- --output-format=json > bench.jsonl"

# Their names in the console text, so that both forms are the same metrics.
LABELS: Final = {
    "Ir": "Instructions",
    "L1hits": "L1 Hits",
    "LLhits": "LL Hits",
    "RamHits": "RAM Hits",
    "TotalRW": "Total read+write",
    "EstimatedCycles": "Estimated Cycles",
    "TotalBytes": "Total bytes",
    "TotalBlocks": "Total blocks",
}
MEMBERS: Final = frozenset({"module_path", "profiles", "version"})


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and root.keys() >= MEMBERS


def parse(source: Source, /) -> Parsed:
    others: set[str] = set()
    benchmarks = gathered(_measured(source.root(), others))
    return Parsed(
        benchmarks=benchmarks, notes=(f"left out: other kinds of counts, such as `{min(others)}`",) if others else ()
    )


def _measured(summary: JsonValue, others: set[str]) -> Iterator[tuple[Benchmark, str]]:
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
            if kind not in LABELS:
                others.add(shown(kind))
            elif new is not None:
                metric = valgrind_metric(LABELS[kind])
                yield from_samples(name, metric=metric, samples=(new.number(),), place=new.place), new.place


def _version_7(profile: JsonValue) -> Iterator[tuple[str, JsonValue | None]]:
    for kind, counted in profile.at("data").at("total").at("metrics").members():
        yield kind, counted.at("values").find("new")


def _version_6(profile: JsonValue) -> Iterator[tuple[str, JsonValue | None]]:
    """`Left` is the new count, `Right` an old one, `Both` first the new and then the old."""
    summary = profile.at("summaries").at("total").at("summary")
    for _, counts in summary.members() if isinstance(summary.value, dict) else ():
        for kind, counted in counts.members():
            both = counted.at("metrics").find("Both")
            new = counted.at("metrics").find("Left") if both is None else next(both.elements(), None)
            yield kind, None if new is None else new.find("Int") or new.find("Float")
