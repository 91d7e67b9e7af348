"""`vitest bench --outputJson=FILE`: tinybench's statistics, by file and suite."""

from collections.abc import Iterator

from bot.collect.json_value import JsonValue
from bot.collect.parser import Parsed, unique
from bot.collect.source import Source
from bot.collect.tinybench import benchmark

ID = "vitest"
DESCRIPTION = "vitest bench JSON (--outputJson)"
EXAMPLE = "vitest bench --run --outputJson=bench.json"


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    files = root.get("files") if isinstance(root, dict) else None
    return (
        isinstance(files, list)
        and bool(files)
        and all(
            isinstance(file, dict) and "filepath" in file and isinstance(file.get("groups"), list) for file in files
        )
    )


def parse(source: Source, /) -> Parsed:
    entries = list(_entries(source.root()))
    # A benchmark that threw has a name and nothing measured.
    measured = [(name, entry) for name, entry in entries if entry.find("mean") is not None]
    failed = len(entries) - len(measured)
    return Parsed(
        benchmarks=unique((benchmark(name, entry), entry.place) for name, entry in measured),
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _entries(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Each benchmark with its full name, as vitest shows it: `file > suite > name`."""
    for file in root.at("files").elements():
        for group in file.at("groups").elements():
            for entry in group.at("benchmarks").elements():
                yield f"{group.at('fullName').text()} > {entry.at('name').text()}", entry
