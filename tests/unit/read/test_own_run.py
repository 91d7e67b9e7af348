"""Our own run files."""

import json
from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run_file import decode_run
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import from_golden, parse


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "written by a newer perf-culprit"),
        ({"extra": 1}, "not a valid run-v1"),
        ({"benchmarks": [{"name": "a"}]}, "needs either samples"),
        ({"benchmarks": [{"name": "a", "samples": [-1.0]}]}, "cannot be negative"),
        ({"benchmarks": [{"name": "a", "samples": [1.0]}] * 2}, "has the name and the metric of"),
        ({"benchmarks": [{"name": "a", "samples": [float("nan")]}]}, "run-v1"),
    ],
)
def test_our_own_files_are_checked_like_any_other(change: dict[str, Any], reason: str) -> None:
    content = {**from_golden("perf_culprit/run.json"), **change}
    with pytest.raises(DataError, match=reason):
        parse("perf_culprit", content)


def test_what_was_stored_with_a_doubled_benchmark_is_still_read() -> None:
    content = {**from_golden("perf_culprit/run.json"), "benchmarks": [{"name": "a", "samples": [1.0]}] * 2}
    run = decode_run(json.dumps(content).encode(), place="stored")
    assert [benchmark.name for benchmark in run.benchmarks] == ["a", "a"]


def test_our_own_files_may_come_from_a_windows_shell() -> None:
    text = golden("perf_culprit/run.json").decode()
    plain = collect_sources([Source("f", text.encode())])
    assert collect_sources([Source("f", text.encode("utf-16"))]) == plain
    assert collect_sources([Source("f", text.encode("utf-8-sig"))]) == plain
