"""Gungraun's summary of a benchmark as JSON (version 7): what its console text shows.

Its standard output has one per line; a file with several documents comes here in parts.
"""

from collections.abc import Iterator
from typing import Final

from bot.collect.json_value import JsonValue
from bot.collect.line_formats import valgrind_metric
from bot.collect.parser import Parsed, from_samples, gathered
from bot.collect.source import Source
from bot.model.run import Benchmark

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
    return Parsed(benchmarks=gathered(_measured(source.root())))


def _measured(summary: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    name = summary.at("module_path").text()
    if (case := summary.find("id")) is not None:
        arguments = summary.find("description")
        name += f" {case.text()}" + (f":{arguments.text()}" if arguments is not None else "")
    for profile in summary.at("profiles").elements():
        for kind, counted in profile.at("data").at("total").at("metrics").members():
            new = counted.at("values").find("new") if kind in LABELS else None
            if new is not None:
                metric = valgrind_metric(LABELS[kind])
                yield from_samples(name, metric=metric, samples=(new.number(),), place=new.place), new.place
