"""Files that hold no results, though their tools are known: test reports, logs, and parts of a tool's output."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.read.results import timers
from perf_culprit.read.results.source import Source, has_root

TIME_CODE: Final = (
    "run the benchmarks instead of the tests; if the tests are to be timed, write JUnit's XML and name its tool: "
    "--tool junit"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoResults:
    """`matches` gets the source and its JSON, or None."""

    matches: Callable[[Source, object], bool]
    message: str
    next_step: str


def _has(*keys: str) -> Callable[[Source, object], bool]:
    return lambda _, root: isinstance(root, dict) and root.keys() >= set(keys)


def _says(pattern: str) -> Callable[[Source, object], bool]:
    compiled = re.compile(pattern)
    return lambda source, root: root is None and compiled.search(source.text_or_empty()) is not None


def _tests(matches: Callable[[Source, object], bool], writer: str) -> NoResults:
    message = f"is a test report of {writer}, which says which tests passed and holds no benchmarks"
    return NoResults(matches=matches, message=message, next_step=TIME_CODE)


KNOWN: Final = (
    NoResults(
        matches=_has("metadata", "test-run"),
        message="is Catch2's JSON, in which Catch2 (up to 3.7) writes no benchmarks",
        next_step="run it with -r xml; its JUnit reporter leaves them out too",
    ),
    NoResults(
        matches=lambda source, _: has_root(source, timers.JUNIT_ROOTS),
        message="is JUnit's XML, which says which tests passed and holds no benchmarks",
        next_step="let the tool write its own format (-r xml of Catch2, --benchmark-json of pytest-benchmark); "
        "the tool junit takes how long each test took",
    ),
    _tests(lambda source, _: has_root(source, ("<TestRun ",)), ".NET (TRX)"),
    _tests(_has("stats", "tests", "passes"), "Mocha"),
    _tests(_has("numTotalTests", "testResults"), "Jest or Vitest"),
    _tests(_has("config", "suites", "stats"), "Playwright"),
    _tests(_says(r"\bTest +#\d{1,9}: "), "CTest"),
    _tests(_says(r"--- (?:PASS|FAIL|SKIP): Test"), "Go"),
    _tests(_says(r"\b(?:PASS|FAIL) +\S{1,999}\.(?:test|spec)\.[cm]?[jt]sx?\b"), "Jest"),
    _tests(_says(r"\btest result: (?:ok|FAILED)\. \d"), "Rust"),
    _tests(_says(r"== .{0,99}\b\d{1,9} (?:passed|failed).{0,99} in \d{1,9}\.\d\ds"), "pytest"),
    NoResults(
        matches=_says(r"(?m)^RUN\t(?:[^\t\n]{0,999}\t){3}"),
        message="is Gatling's log of single requests, whose form changes with each version",
        next_step="keep what Gatling prints at its end: mvn gatling:test | tee bench.txt",
    ),
    NoResults(
        matches=_says(r" o\.a\.j\.JMeter: "),
        message="is JMeter's log of what it did, without times of requests",
        next_step="take the file of -l: jmeter -n -t test.jmx -l results.jtl",
    ),
    NoResults(
        matches=_says(r"(?m)^Bucket +# +% +Histogram"),
        message="is vegeta's histogram, which counts requests per range and has no times",
        next_step="write vegeta report -type=json",
    ),
    NoResults(
        matches=_says(r"^Method,Name,Error,Occurrences"),
        message="is Locust's table of failures, without times of requests",
        next_step="take the table of the same run whose name ends in _stats.csv",
    ),
    NoResults(
        matches=_says(r"(?m)^[^,\n]{1,99},[^,\n]{0,99},(?:task-clock|cycles|instructions)[,:]"),
        message="mixes lines of perf stat -x with other lines",
        next_step="write perf's output alone, into a file for each command: perf stat -x, -o NAME.csv COMMAND",
    ),
)


def known_other(source: Source, root: object) -> DataError | None:
    """Return the reason why a file of a known tool has no results; None if nothing is known about it."""
    return next((source.error(one.message, one.next_step) for one in KNOWN if one.matches(source, root)), None)
