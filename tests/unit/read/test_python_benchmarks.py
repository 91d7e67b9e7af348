"""pytest-benchmark, pyperf and asv, beyond their golden files: their pitfalls, one by one."""

from pathlib import Path
from typing import Any

import pytest

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import collect
from perf_culprit.read.results.json_value import JsonValue
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import from_golden, parse, parse_golden

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


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


def test_asv_tracked_values_have_the_unit_of_the_suite_beside_the_machines_folder(tmp_path: Path) -> None:
    (tmp_path / "machine").mkdir()
    result = tmp_path / "machine" / "result.json"
    result.write_bytes(golden("asv/226be61e.json"))
    (tmp_path / "benchmarks.json").write_bytes(golden("asv/benchmarks.json"))
    units = {b.metric.name: b.metric.unit for b in collect([str(result)]).benchmarks}
    assert units == {"time": "s", "value": "numbers", "memory": "B"}


def test_list_of_more_numbers_than_samples_may_be_is_refused_unread() -> None:
    with pytest.raises(TooLargeError, match="more than 1,000,000 samples"):
        JsonValue([1] * 1_000_001, "bench.json", "data").numbers()


def test_asv_s_console_with_the_tables_of_parameters() -> None:
    parsed = parse_golden("asv_text", "asv/console.txt")
    results = {b.key.full_name: (round(b.value, 10), b.metric.unit) for b in parsed.benchmarks}
    assert len(results) == 11
    assert results["b.Sort.time_sort(10, up) time"] == (6.23e-6, "s")
    assert results["b.Sort.time_sort(100, down) time"] == (4.46e-6, "s")
    assert results["b.Sort.track_size(100, up) value"] == (100.0, "")
    assert results["b.mem_list memory"] == (2100.0, "B")
    assert results["b.time_join time"] == (2.99e-6, "s")
    assert parsed.notes == ("left out because they failed: 1",)


ASV_ONE_PARAMETER = """[50.00%] ··· b.time_a                         1/2 failed
[50.00%] ··· ====== ==========
              size
             ------ ----------
               10    1.5±0.1ms
              100      failed
             ====== ==========
"""


def test_asv_s_table_of_one_parameter() -> None:
    parsed = READERS["asv_text"].read(Source("x.txt", ASV_ONE_PARAMETER.encode()))
    assert [(b.name, round(b.value, 9)) for b in parsed.benchmarks] == [("b.time_a(10)", 1.5e-3)]
    assert parsed.notes == ("left out because they failed: 1",)


def test_timeit_prints_the_best_and_pyperf_the_mean() -> None:
    best = READERS["timeit"].read(Source("sum.txt", golden("timeit/timeit.txt"))).benchmarks
    assert [(each.name, each.value, each.metric.unit) for each in best] == [("sum", 1990.0, "ns")]
    mean = READERS["pyperf_text"].read(Source("sum.txt", golden("pyperf/timeit.txt"))).benchmarks
    assert [(each.name, each.value) for each in mean] == [("sum", 2000.0)]
    assert mean[0].summary is not None
    assert mean[0].summary.standard_deviation == 150.0


def test_compared_runs_of_pytest_benchmark_are_read_one_at_a_time() -> None:
    text = golden("pytest_benchmark/compared.csv")
    parsed = READERS["pytest_benchmark_csv"].read(Source("compared.csv", text))
    assert [each.name for each in parsed.benchmarks] == [
        "test_b.py::test_sum[100]",
        "test_b.py::test_sort",
        "test_b.py::test_sum[3000]",
    ]
    assert parsed.benchmarks[1].value == 7.674029655955282e-05
    assert parsed.benchmarks[1].metric.unit == "s"
    with pytest.raises(DataError, match="holds several runs, and no row names its run"):
        READERS["pytest_benchmark_csv"].read(Source("compared.csv", text + text.partition(b"\n")[2]))
