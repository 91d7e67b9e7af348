"""`vitest bench`: tinybench's statistics by file and suite, as `--outputJson` wrote them up to version 4.

From version 5 on benchmarks are parts of tests, in the file of the JSON reporter, which tells absolute paths.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from bot.collect.json_value import JsonValue
from bot.collect.parser import Parsed, unique
from bot.collect.source import Source
from bot.collect.tinybench import benchmark

ID = "vitest"
DESCRIPTION = "vitest bench JSON (--reporter=json, up to version 4 --outputJson)"
EXAMPLE = "vitest bench --run --reporter=json --outputFile=bench.json"


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and (_is_of_suites(root) or _is_of_tests(root))


def _is_of_suites(root: Mapping[str, Any]) -> bool:
    files = root.get("files")
    return (
        isinstance(files, list)
        and bool(files)
        and all(
            isinstance(file, dict) and "filepath" in file and isinstance(file.get("groups"), list) for file in files
        )
    )


def _is_of_tests(root: Mapping[str, Any]) -> bool:
    """Jest's files are alike, and hold no benchmarks."""
    files = root.get("testResults")
    tests = (
        test
        for file in (files if isinstance(files, list) else ())
        for test in (file.get("assertionResults") or () if isinstance(file, dict) else ())
    )
    return any(isinstance(test, dict) and isinstance(test.get("benchmarks"), list) for test in tests)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    entries = list(_of_suites(root) if root.find("files") is not None else _of_tests(root))
    # A benchmark that threw has a name and nothing measured.
    measured = [(name, entry) for name, entry in entries if entry.find("mean") is not None]
    failed = len(entries) - len(measured)
    return Parsed(
        benchmarks=unique((benchmark(name, entry), entry.place) for name, entry in measured),
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _of_suites(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Each benchmark with its full name, as vitest shows it: `file > suite > name`."""
    for file in root.at("files").elements():
        for group in file.at("groups").elements():
            for entry in group.at("benchmarks").elements():
                yield f"{group.at('fullName').text()} > {entry.at('name').text()}", entry


def _of_tests(root: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """The latency of each task, and each test that failed; results that were read from an earlier file are none."""
    for file in root.at("testResults").elements():
        name = PurePath(file.at("name").text()).name
        for test in file.at("assertionResults").elements():
            if test.at("status").text() == "failed":
                yield name, test
            for group in test.at("benchmarks").elements():
                for task in group.at("tasks").elements():
                    if task.find("fromStore") is None:
                        yield f"{name} > {group.at('name').text()} > {task.at('name').text()}", task.at("latency")
