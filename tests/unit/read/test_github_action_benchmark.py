"""github-action-benchmark's custom JSON and its data.js."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import parse


@pytest.mark.parametrize("value", ["", "many", "nan", "inf", "1" * 200, True, None, [1]])
def test_custom_values_have_to_be_finite_numbers(value: object) -> None:
    with pytest.raises(DataError, match=r"f\.json: \[0\]"):
        parse("custom_smaller_is_better", [{"name": "a", "unit": "x", "value": value}])


FIRST, SECOND = "1" * 40, "2" * 40


def entry(commit: str, date: int, *, tool: str = "cargo", benches: list[dict[str, Any]] | None = None) -> Any:
    return {
        "commit": {"id": commit, "message": "m", "timestamp": "2026-01-01T00:00:00Z", "url": "u"},
        "date": date,
        "tool": tool,
        "benches": [{"name": "fib", "value": date / 1000, "range": "± 3", "unit": "ns/iter"}]
        if benches is None
        else benches,
    }


def store(**entries: list[Any]) -> Source:
    root = {"lastUpdate": 1, "repoUrl": "https://github.com/o/r", "entries": entries}
    return Source("data.js", f"window.BENCHMARK_DATA = {json.dumps(root, indent=2)};\n".encode())


def test_the_newest_entry_is_the_run() -> None:
    source = store(Suite=[entry(SECOND, 2000), entry(FIRST, 1000)])
    assert READERS["gab_data_js"].matches(source)
    run = collect_sources([source])
    assert (run.commit, run.suite, run.time) == (SECOND, "Suite", datetime.fromtimestamp(2, UTC))
    assert [(b.name, b.metric.name, b.metric.unit, b.value) for b in run.benchmarks] == [("fib", "time", "ns", 2.0)]
    assert run.benchmarks[0].summary is not None


def test_the_history_is_in_order_over_all_suites() -> None:
    source = store(A=[entry(SECOND, 3000), entry(FIRST, 1000)], B=[entry(FIRST, 2000)], Empty=[])
    runs = READERS["gab_data_js"].history(source)
    assert [(run.suite, run.commit) for run in runs] == [("A", FIRST), ("B", FIRST), ("A", SECOND)]


def test_several_suites_join_with_qualified_names() -> None:
    run = READERS["gab_data_js"].read(store(A=[entry(FIRST, 1000)], B=[entry(FIRST, 2000)]))
    assert ([b.name for b in run.benchmarks], run.commit, run.suite) == (["A/fib", "B/fib"], FIRST, "")
    run = READERS["gab_data_js"].read(store(A=[entry(FIRST, 1000)], B=[entry(SECOND, 2000)]))
    assert run.commit is None
    assert run.notes == ("the newest entries of the suites are of several commits",)


@pytest.mark.parametrize(
    ("tool", "unit", "direction"),
    [
        ("cargo", "ns/iter", Direction.LOWER_IS_BETTER),
        ("go", "ns/op\t3 times", Direction.LOWER_IS_BETTER),
        ("jmh", "ops/s", Direction.HIGHER_IS_BETTER),
        ("jmh", "us/op", Direction.LOWER_IS_BETTER),
        ("pytest", "iter/sec", Direction.LOWER_IS_BETTER),
        ("benchmarkjs", "ops/sec", Direction.HIGHER_IS_BETTER),
        ("customSmallerIsBetter", "ops/s", Direction.LOWER_IS_BETTER),
        ("customBiggerIsBetter", "ms", Direction.HIGHER_IS_BETTER),
    ],
)
def test_directions(tool: str, unit: str, direction: Direction) -> None:
    benches = [{"name": "f", "value": 1, "unit": unit}]
    run = READERS["gab_data_js"].read(store(S=[entry(FIRST, 1, tool=tool, benches=benches)]))
    assert [b.metric.direction for b in run.benchmarks] == [direction]


@pytest.mark.parametrize(
    ("tool", "unit", "expected"),
    [
        ("catch2", "us", ("time", "ns", 2000.0)),
        ("catch2", "ns", ("time", "ns", 2.0)),
        ("go", "ns/op", ("time", "ns", 2.0)),
        ("googlecpp", "us/iter", ("time", "us", 2.0)),
        ("jmh", "us/op", ("time", "us/op", 2.0)),
        ("customSmallerIsBetter", "ms", ("value", "ms", 2.0)),
        ("pytest", "iter/sec", ("time", "s", 0.5)),
        ("pytest", "iter/min", ("value", "iter/min", 2.0)),
    ],
)
def test_times_are_spelled_as_our_readers_of_the_tools_do(
    tool: str, unit: str, expected: tuple[str, str, float]
) -> None:
    benches = [{"name": "f", "value": 2, "unit": unit}]
    run = READERS["gab_data_js"].read(store(S=[entry(FIRST, 1, tool=tool, benches=benches)]))
    assert [(b.metric.name, b.metric.unit, b.value) for b in run.benchmarks] == [expected]


def test_neither_tool_nor_unit_may_say_the_direction() -> None:
    benches = [{"name": "f", "value": 1, "unit": "apples"}, {"name": "g", "value": 1, "unit": "ms"}]
    run = READERS["gab_data_js"].read(store(S=[entry(FIRST, 1, tool="newtool", benches=benches)]))
    assert [b.metric.direction for b in run.benchmarks] == [Direction.UNKNOWN, Direction.LOWER_IS_BETTER]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("window.BENCHMARK_DATA = {\n  'entries': {}\n}", r"data\.js:2:3: is not valid JSON"),
        ("window.BENCHMARK_DATA = alert(1)", "is not valid JSON"),
        ("window.BENCHMARK_DATA = {}", "has no `entries`"),
        ("window.BENCHMARK_DATA = ", "is empty"),
        ("var x = 1", "does not begin with"),
    ],
)
def test_anything_but_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        READERS["gab_data_js"].read(Source("data.js", text.encode()))


def test_a_rate_of_nothing_has_no_time() -> None:
    broken = entry(FIRST, 1, tool="pytest", benches=[{"name": "f", "value": 0, "unit": "iter/sec"}])
    with pytest.raises(DataError, match=r"entries\.S\[0\]\.benches\[0\]\.value: is a rate of 0"):
        READERS["gab_data_js"].read(store(S=[broken]))


def test_values_have_to_be_numbers() -> None:
    broken = entry(FIRST, 1, benches=[{"name": "f", "value": "1", "unit": "ns/iter"}])
    with pytest.raises(DataError, match=r"entries\.S\[0\]\.benches\[0\]\.value: is text"):
        READERS["gab_data_js"].history(store(S=[broken]))


def test_the_columns_of_version_2_are_runs() -> None:
    source = Source("data.js", golden("github_action_benchmark/columns.js"))
    first, second = READERS["gab_data_js"].history(source)
    assert first.commit == "a" * 40
    assert first.time is not None
    assert first.time.isoformat() == "2026-07-01T08:00:00+00:00"
    assert {b.name: b.value for b in first.benchmarks} == {"BenchmarkA - ns/op": 58.0, "BenchmarkOld": 7.0}
    assert {b.name: (b.metric.name, b.metric.direction) for b in second.benchmarks} == {
        "BenchmarkA - ns/op": ("time", Direction.LOWER_IS_BETTER),
        "BenchmarkA - MB/s": ("value", Direction.HIGHER_IS_BETTER),
    }
    assert READERS["gab_data_js"].read(source).commit in ("a" * 40, "b" * 40)


def test_the_csv_s_directions_are_its_own() -> None:
    text = (
        "test_name,metric_name,unit,value,direction\n"
        "parse,mean,ms,1.5,lower_is_better\nparse,throughput,MB/s,1400,higher_is_better\nparse,month,,4,\n"
    )
    run = collect_sources([Source("b.csv", text.encode())])
    assert [(each.metric.name, each.metric.unit, each.value, each.metric.direction) for each in run.benchmarks] == [
        ("mean", "ms", 1.5, Direction.LOWER_IS_BETTER),
        ("throughput", "MB/s", 1400.0, Direction.HIGHER_IS_BETTER),
    ]
    assert "left out because nothing says which way is good: `month`" in run.notes[0]
