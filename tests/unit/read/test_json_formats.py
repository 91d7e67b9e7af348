"""What each JSON format means, beyond its golden file: the gotchas, one by one."""

import json
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.run import Benchmark, Direction
from perf_culprit.model.run_file import decode_run
from perf_culprit.read.results.collect import collect, collect_sources
from perf_culprit.read.results.parser import Parsed
from perf_culprit.read.results.result_formats import HISTORY_PARSERS, PARSERS
from perf_culprit.read.results.source import JsonValue, Source
from tests.support.goldens import golden

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


def parse(name: str, content: Any) -> Parsed:
    return PARSERS[name].parse(Source("f.json", json.dumps(content).encode()))


def from_golden(path: str) -> Any:
    return json.loads(golden(path))


def keyed(parsed: Parsed) -> dict[tuple[str, str], Benchmark]:
    return {(benchmark.name, benchmark.metric.name): benchmark for benchmark in parsed.benchmarks}


# pytest-benchmark


def stats(**changes: object) -> dict[str, Any]:
    return {"machine_info": {}, "benchmarks": [{"fullname": "t", "stats": {"mean": 1.0, "rounds": 1, **changes}}]}


def test_pytest_benchmark_of_one_round_has_no_spread() -> None:
    (benchmark,) = parse("pytest_benchmark", stats(stddev=0, min=1.0)).benchmarks
    assert benchmark.summary is not None
    assert (benchmark.summary.standard_deviation, benchmark.summary.count, benchmark.summary.minimum) == (None, 1, 1.0)


def test_pytest_benchmark_of_a_changed_tree_belongs_to_no_commit() -> None:
    content = from_golden("pytest_benchmark/with_data.json")
    content["commit_info"]["dirty"] = True
    assert parse("pytest_benchmark", content).commit is None


@pytest.mark.parametrize("sample", [-1.0, float("nan"), float("inf"), "1", True, None, 10**400])
def test_pytest_benchmark_names_the_place_of_a_sample_that_is_none(sample: object) -> None:
    with pytest.raises(DataError, match=r"f\.json: benchmarks\[0\]\.stats\.data\[1\]"):
        parse("pytest_benchmark", stats(data=[1.0, sample]))


def test_pytest_benchmark_refuses_a_name_that_is_there_twice() -> None:
    content = stats(data=[1.0])
    content["benchmarks"] *= 2
    with pytest.raises(DataError, match=r"benchmarks\[1\]: `t` is also at benchmarks\[0\]"):
        parse("pytest_benchmark", content)


# Google Benchmark


def entry(name: str, time: float, **changes: object) -> dict[str, Any]:
    return {"name": name, "iterations": 1, "real_time": time, "cpu_time": time, "time_unit": "us", **changes}


def google(*entries: dict[str, Any], **context: object) -> Parsed:
    return parse("google_benchmark", {"context": {"num_cpus": 4, **context}, "benchmarks": list(entries)})


def test_google_benchmark_of_aggregates_only_is_a_summary() -> None:
    parsed = google(
        entry("BM_mean", 5.0, run_name="BM", run_type="aggregate", aggregate_name="mean", repetitions=3),
        entry("BM_stddev", 0.5, run_name="BM", run_type="aggregate", aggregate_name="stddev", repetitions=3),
        entry("BM_cv", 0.1, run_name="BM", run_type="aggregate", aggregate_name="cv", repetitions=3),
    )
    summary = keyed(parsed)["BM", "time"].summary
    assert summary is not None
    assert (summary.value, summary.statistic, summary.count, summary.standard_deviation) == (5.0, "mean", 3, 0.5)
    assert len(parsed.benchmarks) == 2
    own = entry("BM_best", 5.0, run_name="BM", run_type="aggregate", aggregate_name="best")
    assert google(own).notes == ("left out because neither a repetition nor a mean is in the file: 1",)


def test_google_benchmark_before_run_type_tells_aggregates_by_name() -> None:
    parsed = google(
        entry("BM", 1.0), entry("BM", 3.0), entry("BM_mean", 2.0), entry("BM_stddev", 1.0), entry("cv", 9.0)
    )
    assert {key: benchmark.samples for key, benchmark in keyed(parsed).items() if key[1] == "time"} == {
        ("BM", "time"): (1.0, 3.0),
        ("cv", "time"): (9.0,),
    }


def test_google_benchmark_aggregates_of_any_name_are_no_samples() -> None:
    """`ComputeStatistics` adds aggregates of the user's own; older files name them nowhere but at the name's end."""
    content = from_golden("google_benchmark/repetitions.json")
    by_key = keyed(parse("google_benchmark", content))
    first = next(entry for entry in content["benchmarks"] if entry["run_type"] == "aggregate")
    more = {**first, "name": f"{first['run_name']}_maximum"}
    del more["aggregate_name"]
    content["benchmarks"].append(more)
    assert keyed(parse("google_benchmark", content)) == by_key


def test_bencher_metric_format_between_lines_refuses_a_name_that_stands_twice() -> None:
    text = b'built\n{"a": {"latency": {"value": 1}}, "a": {"latency": {"value": 2}}}\ndone\n'
    with pytest.raises(DataError, match=r"f\.txt:2: holds the name `a` twice"):
        collect_sources([Source("f.txt", text)])


def test_google_benchmark_leaves_out_failures_and_fits() -> None:
    parsed = google(
        entry("ok", 1.0, run_type="iteration", cache_misses=7.0, bytes_per_second=5e6),
        {"name": "bad", "run_type": "iteration", "error_occurred": True, "error_message": "no"},
        {"name": "ok_BigO", "run_type": "aggregate", "aggregate_name": "BigO", "cpu_coefficient": 1.0, "big_o": "N"},
        {"name": "ok_RMS", "run_type": "aggregate", "aggregate_name": "RMS", "rms": 0.1},
        library_build_type="debug",
        cpu_scaling_enabled=True,
    )
    assert set(keyed(parsed)) == {("ok", metric) for metric in ("time", "cpu_time", "bytes_per_second", "cache_misses")}
    assert keyed(parsed)["ok", "bytes_per_second"].metric.direction is HIGHER
    assert keyed(parsed)["ok", "cache_misses"].metric.direction is Direction.UNKNOWN
    assert len(parsed.notes) == 3


# JMH


def jmh(mode: str = "avgt", unit: str = "ns/op", **metric: object) -> dict[str, Any]:
    return {"benchmark": "B.m", "mode": mode, "primaryMetric": {"score": 2.0, "scoreUnit": unit, **metric}}


@pytest.mark.parametrize(
    ("mode", "name", "direction"),
    [
        ("thrpt", "throughput", HIGHER),
        ("avgt", "time", LOWER),
        ("sample", "sample_time", LOWER),
        ("ss", "single_shot_time", LOWER),
    ],
)
def test_jmh_takes_the_direction_from_the_mode(mode: str, name: str, direction: Direction) -> None:
    (benchmark,) = parse("jmh", [jmh(mode, rawData=[[1.0, 2.0], [3.0]])]).benchmarks
    assert (benchmark.metric.name, benchmark.metric.direction) == (name, direction)
    assert benchmark.group_sizes == (2, 1)


def test_jmh_histograms_give_the_mean_of_each_iteration() -> None:
    histogram = [[[[1.0, 3], [5.0, 1]]], [[[4.0, 2]]]]
    (benchmark,) = parse("jmh", [jmh("sample", rawDataHistogram=histogram)]).benchmarks
    assert benchmark.samples == (2.0, 4.0)
    broken: list[list[object]] = [[], [[1.0]], [[1.0, 0]], [[1.0, -1]]]
    for iteration in broken:
        with pytest.raises(DataError):
            parse("jmh", [jmh("sample", rawDataHistogram=[[iteration]])])


def test_jmh_without_raw_data_is_a_summary_and_text_for_nan_is_no_interval() -> None:
    (bounded,) = parse("jmh", [jmh(scoreError=0.5, scoreConfidence=[1.5, 2.5])]).benchmarks
    assert bounded.summary is not None
    assert (bounded.summary.confidence_interval, bounded.summary.confidence_level) == ((1.5, 2.5), 0.999)
    (unknown,) = parse("jmh", [jmh(scoreError="NaN", scoreConfidence=["NaN", "NaN"])]).benchmarks
    assert unknown.summary is not None
    assert unknown.summary.confidence_interval is None


def test_jmh_secondary_results_count_where_their_direction_is_known() -> None:
    content = jmh("thrpt", "ops/s", rawData=[[1.0]])
    content["secondaryMetrics"] = {
        "·gc.alloc.rate": {"score": 1.0, "scoreUnit": "MB/sec", "rawData": [[1.0]]},
        "·gc.alloc.rate.norm": {"score": 16.0, "scoreUnit": "B/op", "rawData": [[16.0]]},
        "gc.count": {"score": 2.0, "scoreUnit": "counts", "rawData": [[2.0]]},
        "gc.time": {"score": "NaN", "scoreUnit": "ms", "rawData": [["NaN"]]},
        "hits": {"score": 5.0, "scoreUnit": "ops/s", "rawData": [[5.0]]},
    }
    parsed = parse("jmh", [content])
    directions = {name: benchmark.metric.direction for (_, name), benchmark in keyed(parsed).items()}
    stated = {"throughput": HIGHER, "gc.alloc.rate.norm": LOWER, "gc.count": LOWER, "hits": HIGHER}
    assert directions == {**stated, "gc.alloc.rate": Direction.UNKNOWN}
    assert parsed.notes == ("secondary results without a finite value are left out: 1",)


def test_jmh_refuses_a_mode_that_it_does_not_know() -> None:
    with pytest.raises(DataError, match=r"f\.json: \[0\]\.mode: is no known mode"):
        parse("jmh", [jmh("all")])


# hyperfine


def test_hyperfine_without_times_is_a_summary_and_one_run_has_no_spread() -> None:
    (benchmark,) = parse(
        "hyperfine", {"results": [{"command": "a", "mean": 1.0, "stddev": None, "min": 1.0}]}
    ).benchmarks
    assert benchmark.summary is not None
    assert (benchmark.summary.value, benchmark.summary.standard_deviation) == (1.0, None)


def test_hyperfine_refuses_a_command_that_nothing_tells_apart() -> None:
    with pytest.raises(DataError, match="`a` is also at"):
        parse("hyperfine", {"results": [{"command": "a", "times": [1.0]}] * 2})


# pyperf


def pyperf(*runs: dict[str, Any], **metadata: object) -> dict[str, Any]:
    return {"version": "1.0", "benchmarks": [{"metadata": {"name": "b", **metadata}, "runs": list(runs)}]}


def test_pyperf_leaves_out_calibrations_and_warmups() -> None:
    calibration = {"metadata": {"calibrate_loops": 8}, "warmups": [[1, 9.0]]}
    parsed = parse("pyperf", pyperf(calibration, {"warmups": [[8, 9.0]], "values": [1.0, 2.0]}, {"values": [3.0]}))
    (benchmark,) = parsed.benchmarks
    assert (benchmark.samples, benchmark.group_sizes) == ((1.0, 2.0, 3.0), (2, 1))
    only = parse("pyperf", pyperf(calibration))
    assert (only.benchmarks, only.notes) == ((), ("left out because they hold only calibration runs: 1",))


def test_pyperf_takes_name_and_unit_from_the_file_where_they_are_shared() -> None:
    content = pyperf({"values": [1]})
    content["metadata"] = {"name": "shared", "unit": "byte"}
    content["benchmarks"][0]["metadata"] = {}
    (benchmark,) = parse("pyperf", content).benchmarks
    assert (benchmark.name, benchmark.metric.name, benchmark.metric.unit) == ("shared", "memory", "B")
    with pytest.raises(DataError, match="unit that pyperf does not know"):
        parse("pyperf", pyperf({"values": [1]}, unit="parsec"))
    with pytest.raises(DataError, match="no name"):
        parse("pyperf", pyperf({"values": [1]}, name=None))


# asv


def asv(row: object, name: str = "suite.time_it") -> dict[str, Any]:
    columns = ["result", "params", "stats_ci_99_a", "stats_ci_99_b", "stats_repeat", "samples"]
    return {"version": 2, "commit_hash": "a" * 40, "result_columns": columns, "results": {name: row}}


def test_asv_rows_may_lack_trailing_columns() -> None:
    (benchmark,) = parse("asv", asv([[0.5], [], [0.4], [0.6]])).benchmarks
    assert benchmark.summary is not None
    assert (benchmark.summary.statistic, benchmark.summary.confidence_interval) == ("median", (0.4, 0.6))


@pytest.mark.parametrize("bounds", [[None, None], [float("-inf"), float("inf")]])
def test_asv_intervals_of_too_few_samples_are_left_out(bounds: list[object]) -> None:
    (benchmark,) = parse("asv", asv([[0.5], [], bounds[:1], bounds[1:], [3]])).benchmarks
    assert benchmark.summary is not None
    assert (benchmark.summary.confidence_interval, benchmark.summary.count) == (None, 3)


def test_asv_parameters_follow_their_product() -> None:
    row = [
        [1.0, None, 3.0, float("nan")],
        [["1", "2"], ["'a'", "'b'"]],
        None,
        None,
        None,
        [[1.0, 1.5], None, None, None],
    ]
    parsed = parse("asv", asv(row))
    assert [(b.name, b.samples, b.value) for b in parsed.benchmarks] == [
        ("suite.time_it(1, 'a')", (1.0, 1.5), 1.25),
        ("suite.time_it(2, 'a')", (), 3.0),
    ]
    assert parsed.notes == ("left out because they failed or were skipped: 2",)
    with pytest.raises(DataError, match="another number of results"):
        parse("asv", asv([[1.0], [["1", "2"]]]))


@pytest.mark.parametrize(
    ("name", "metric", "unit"),
    [
        ("time_x", "time", "s"),
        ("a.B.timeraw_x", "time", "s"),
        ("mem_x", "memory", "B"),
        ("peakmem_x", "peak_memory", "B"),
        ("track_x", "value", ""),
    ],
)
def test_asv_kinds_say_metric_and_unit(name: str, metric: str, unit: str) -> None:
    (benchmark,) = parse("asv", asv([[1.0]], name)).benchmarks
    assert (benchmark.metric.name, benchmark.metric.unit, benchmark.metric.direction) == (metric, unit, LOWER)


def test_asv_does_not_multiply_parameters_without_end() -> None:
    axes = [["x"] * 50] * 50
    with pytest.raises(DataError, match="another number of results"):
        parse("asv", asv([[1.0], axes]))


# BenchmarkDotNet, Bencher, custom, Nyrkiö, Perfherder, Skia, Julia


def test_benchmarkdotnet_results_need_operations() -> None:
    content = from_golden("benchmarkdotnet/full.json")
    content["Benchmarks"][0]["Measurements"][3]["Operations"] = 0
    with pytest.raises(DataError, match=r"Measurements\[3\]: has no operations"):
        parse("benchmarkdotnet", content)


def test_benchmarkdotnet_leaves_out_an_interval_of_unknown_level() -> None:
    content = from_golden("benchmarkdotnet/brief.json")
    content["Benchmarks"][0]["Statistics"]["ConfidenceInterval"]["Level"] = 3
    summary = parse("benchmarkdotnet", content).benchmarks[0].summary
    assert summary is not None
    assert summary.confidence_interval is None


@pytest.mark.parametrize("value", ["", "many", "nan", "inf", "1" * 200, True, None, [1]])
def test_custom_values_have_to_be_finite_numbers(value: object) -> None:
    with pytest.raises(DataError, match=r"f\.json: \[0\]"):
        parse("custom_smaller_is_better", [{"name": "a", "unit": "x", "value": value}])


def test_nyrkio_tests_keep_their_metrics_apart() -> None:
    metrics = [{"name": "p50", "unit": "ms", "value": 1}, {"name": "rate", "unit": "ops/s", "value": 2}]
    entry = {"timestamp": 1, "metrics": metrics, "attributes": {"test_name": "load", "git_commit": "short"}}
    parsed = parse("nyrkio", [entry])
    assert {key: b.metric.direction for key, b in keyed(parsed).items()} == {
        ("load", "p50"): LOWER,
        ("load", "rate"): HIGHER,
    }
    assert parsed.commit is None


def test_bencher_counts_a_result_once_and_its_iterations_are_samples() -> None:
    """The branch `topic` began at `main`, so its series shows the same numbers again."""
    source = Source("perf.json", golden("bencher_perf/perf.json"))
    first, second, third = HISTORY_PARSERS["bencher_perf"].parse_history(source)
    assert [run.commit for run in (first, second, third)] == ["1d3e" * 10, "2c5f" * 10, None]
    assert keyed(first)["shop::search", "time"].samples == (1200.5, 1202.5)
    assert keyed(first)["shop::search", "Cache Hits"].metric.direction is Direction.UNKNOWN
    assert (second.suite, second.environment.components) == ("ubuntu-latest", {})


def test_bencher_reports_that_were_listed_without_their_results_say_how_to_get_them() -> None:
    reports = [{**report, "results": None} for report in from_golden("bencher_perf/reports.json")]
    with pytest.raises(DataError, match="--expand"):
        parse("bencher_perf", reports)


def test_nyrkio_without_entries_is_no_data() -> None:
    with pytest.raises(DataError, match="holds no entry"):
        parse("nyrkio", [])


def test_perfherder_without_direction_is_lower_is_better() -> None:
    content = {"framework": {}, "suites": [{"name": "s", "value": 1, "subtests": [{"name": "t", "value": 2}]}]}
    assert [(b.name, b.metric.direction) for b in parse("perfherder", content).benchmarks] == [
        ("s", LOWER),
        ("s / t", LOWER),
    ]


def test_skia_results_that_nothing_tells_apart_are_refused() -> None:
    result = {"key": {"test": "a", "units": "ms"}, "measurement": 1.0}
    with pytest.raises(DataError, match="`a` is also at"):
        parse("skia_perf", {"version": 1, "git_hash": "x", "results": [result, result]})


def test_julia_refuses_what_is_no_result() -> None:
    content = [{"BenchmarkTools": "1.0"}, [["Parameters", {"seconds": 5.0}]]]
    with pytest.raises(DataError, match="is no trial, estimate or group"):
        parse("julia", content)


# plain numbers, our own files


@pytest.mark.parametrize("line", ["nan", "inf", "1_000", "0x10", "1,5", "1 2", "1e", "--1", "1" * 200])
def test_numbers_are_decimal_and_one_per_line(line: str) -> None:
    with pytest.raises(DataError, match="f:2: is not one number"):
        PARSERS["numbers"].parse(Source("f", f"1\n{line}\n".encode()))


def test_a_flood_of_numbers_is_refused() -> None:
    flood = Source("f", b"1\n" * 1_000_001)
    assert PARSERS["numbers"].matches(flood)
    with pytest.raises(DataError, match="more than 1,000,000 numbers"):
        PARSERS["numbers"].parse(flood)


def test_numbers_too_large_for_a_float_are_refused() -> None:
    with pytest.raises(DataError, match="not a finite number"):
        PARSERS["numbers"].parse(Source("f", b"1e999\n"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 2}, "written by a newer perf-culprit"),
        ({"version": 0}, "not a valid run-v1"),
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


def test_asv_tracked_values_have_the_unit_of_the_suite_beside_the_machines_folder(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()
    result = tmp_path / "machine" / "result.json"
    result.write_bytes(golden("asv/226be61e.json"))
    (tmp_path / "benchmarks.json").write_bytes(golden("asv/benchmarks.json"))
    units = {b.metric.name: b.metric.unit for b in collect([str(result)]).benchmarks}
    assert units == {"time": "s", "value": "numbers", "memory": "B"}


def test_nanobench_results_have_to_be_objects() -> None:
    with pytest.raises(DataError, match="is text, not an object") as refused:
        parse("nanobench", {"results": ["sum"]})
    assert refused.value.place == "f.json: results[0]"


def test_list_of_more_numbers_than_samples_may_be_is_refused_unread() -> None:
    with pytest.raises(TooLargeError, match="more than 1,000,000 samples"):
        JsonValue([1] * 1_000_001, "bench.json", "data").numbers()
