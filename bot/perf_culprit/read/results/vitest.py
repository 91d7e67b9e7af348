"""`vitest bench`: tinybench's statistics by file and suite, as `--outputJson` wrote them up to version 4.

From version 5 on benchmarks are parts of tests, in the file of the JSON reporter, which tells absolute paths.
"""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from perf_culprit.read.results.parser import Parsed, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects
from perf_culprit.read.results.tinybench import benchmark

ID = "vitest"
DESCRIPTION = "vitest bench JSON (--reporter=json, up to version 4 --outputJson)"
EXAMPLE = "vitest bench --run --reporter=json --outputFile=bench.json"


def matches(source: Source, /) -> bool:
    files = source.member("files")
    of_suites = are_objects(files, "filepath", "groups") and all(isinstance(file["groups"], list) for file in files)
    return of_suites or _is_of_tests(source.member("testResults"))


def _is_of_tests(files: Any) -> bool:
    """Jest's files are alike, and hold no benchmarks."""
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
