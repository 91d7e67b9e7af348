"""Files of known tools that hold no results are refused with what they are and where the results would be."""

import json
from typing import Final

import pytest

from perf_culprit.read.results.result_formats import unknown_format
from perf_culprit.read.results.source import Source

STAMP: Final = "2026-06-04T08:09:33.9857948Z "
SENTENCE: Final = "which says which tests passed and holds no benchmarks"
TRX: Final = (
    '\ufeff<?xml version="1.0" encoding="utf-8"?>\n<TestRun id="1" name="n" '
    'xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010"><Results/></TestRun>'
)
MOCHA: Final = json.dumps({"stats": {"tests": 1}, "tests": [], "passes": [], "failures": []})
JEST: Final = json.dumps({"numTotalTests": 1, "testResults": [], "success": True})
PLAYWRIGHT: Final = json.dumps({"config": {}, "suites": [], "errors": [], "stats": {"expected": 1}})
CTEST: Final = "    Start 1: parse\n1/1 Test #1: parse ............................   Passed    2.15 sec\n"
GATLING: Final = "RUN\texample.Load\tload\t1776038458506\t \t3.10.5\nUSER\thome\tSTART\t1776038459187\n"
PERF: Final = "Starting\n2227810,,task-clock,2227810,100.00,0.001,CPUs utilized\nEnd\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRX, f"is a test report of .NET (TRX), {SENTENCE}"),
        (MOCHA, f"is a test report of Mocha, {SENTENCE}"),
        (JEST, f"is a test report of Jest or Vitest, {SENTENCE}"),
        (PLAYWRIGHT, f"is a test report of Playwright, {SENTENCE}"),
        (CTEST, f"is a test report of CTest, {SENTENCE}"),
        (f"{STAMP}{CTEST}", f"is a test report of CTest, {SENTENCE}"),
        ("=== RUN   TestParse\n--- PASS: TestParse (2.15s)\nPASS\n", f"is a test report of Go, {SENTENCE}"),
        ("PASS ./parse.test.js\n  ✓ short (2 ms)\n", f"is a test report of Jest, {SENTENCE}"),
        ("test result: ok. 3 passed; 0 failed; finished in 0.00s\n", f"is a test report of Rust, {SENTENCE}"),
        ("..  [100%]\n====== 2 passed in 0.12s ======\n", f"is a test report of pytest, {SENTENCE}"),
        (GATLING, "is Gatling's log of single requests, whose form changes with each version"),
        (
            "2026-04-13 00:00:54,066 INFO o.a.j.JMeter: Version 5.6.3\n",
            "is JMeter's log of what it did, without times of requests",
        ),
        (
            "Bucket           #    %        Histogram\n[0s,     10ms]   500  100.00%  ####\n",
            "is vegeta's histogram, which counts requests per range and has no times",
        ),
        ("Method,Name,Error,Occurrences\n", "is Locust's table of failures, without times of requests"),
        (PERF, "mixes lines of perf stat -x with other lines"),
    ],
)
def test_a_file_of_a_known_tool_is_refused_with_what_it_is(text: str, reason: str) -> None:
    refusal = unknown_format(Source("x", text.encode()))
    assert refusal.message == reason
    assert refusal.next_step
