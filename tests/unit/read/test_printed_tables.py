"""Tables that tools print for people, and results of pytest-codspeed outside of CodSpeed."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, Run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden


def read(text: str | bytes) -> Run:
    return collect_sources([Source("x.txt", text if isinstance(text, bytes) else text.encode())])


def numbers(run: Run) -> dict[tuple[str, str], float]:
    return {(each.name, each.metric.name): each.value for each in run.benchmarks}


def test_tinybench_s_table() -> None:
    run = read(golden("tinybench/table.txt"))
    assert numbers(run)["join array", "latency_avg"] == 2182.9
    assert numbers(run)["split string", "throughput_med"] == 3558719.0
    assert {each.metric.name.startswith("throughput"): each.metric.direction for each in run.benchmarks} == {
        True: Direction.HIGHER_IS_BETTER,
        False: Direction.LOWER_IS_BETTER,
    }


def test_a_table_of_a_project_s_own() -> None:
    text = """
┌─────────┬──────────┬───────────┬────────────┬─────────┐
│ (index) │   name   │   ops/s   │ mean (ms)  │ samples │
├─────────┼──────────┼───────────┼────────────┼─────────┤
│    0    │ 'parse'  │ '1234.50' │  '0.8100'  │   100   │
│    1    │ 'broken' │   'n/a'   │   'n/a'    │    0    │
└─────────┴──────────┴───────────┴────────────┴─────────┘
"""
    assert numbers(read(text)) == {("parse", "throughput"): 1234.5, ("parse", "time"): 0.81}


def test_a_table_without_units_is_none_of_ours() -> None:
    source = Source("x.txt", "│ (index) │ name │ score │\n│ 0 │ a │ 1 │\n".encode())
    assert not READERS["console_table"].matches(source)
    with pytest.raises(DataError, match="without times or rates"):
        READERS["console_table"].read(source)


@pytest.mark.parametrize("file", ["hyperfine/hyperfine.txt", "hyperfine/hyperfine.md"])
def test_hyperfine_s_text(file: str) -> None:
    times = {
        each.name: each.value * (1e-6 if each.metric.unit == "ns" else 1.0) for each in read(golden(file)).benchmarks
    }
    assert times == pytest.approx({"seq 10": 3.4, "seq 1000": 1.0})


def test_pytest_benchmark_s_table() -> None:
    run = read(golden("pytest_benchmark/table.txt"))
    (first, _, _) = run.benchmarks
    assert (first.name, first.value, first.metric.unit) == ("test_sort[10]", 1622.0422, "ns")
    assert first.summary is not None
    assert (first.summary.count, first.summary.standard_deviation) == (4088, 23585.4747)


def test_of_compared_runs_the_new_one_counts() -> None:
    text = (
        "----- benchmark: 2 tests -----\nName (time in ms)          Mean            Rounds\n-----\n"
        "test_a (0001_base)     4.0 (1.0)      7\ntest_a (NOW)     5.0 (1.25)      9\n-----\n"
    )
    assert numbers(read(text)) == {("test_a", "time"): 5e6}


def test_columns_without_a_time_are_refused() -> None:
    text = "Name (time in ms)    Rounds\ntest_a    7\n"
    with pytest.raises(DataError, match="has no mean, median or minimum"):
        collect_sources([Source("x.txt", text.encode())], Reading(tool="pytest_benchmark_text"))


def test_codspeed_s_names_do_not_hold_the_checkout() -> None:
    text = golden("codspeed/results.json")
    names = {each.name for each in read(text).benchmarks}
    assert "tests/test_words.py::test_many[10]" in names
    outside = read(text.replace(b'"uri": "tests/', b'"uri": "/tmp/1-abc/tests/'))
    assert "test_words.py::test_many[10]" in {each.name for each in outside.benchmarks}


def test_benchmarkdotnet_s_table() -> None:
    run = read(golden("benchmarkdotnet/report.txt"))
    assert numbers(run) == pytest.approx(
        {
            ("Sort(N: 10)", "time"): 81.25,
            ("Sort(N: 10)", "allocated"): 64,
            ("by key(N: 10)", "time"): 121.5,
            ("by key(N: 10)", "allocated"): 0,
            ("Sort(N: 10000)", "time"): 612_345.7,
            ("Sort(N: 10000)", "allocated"): 78.2 * 1024,
        }
    )
    summary = next(each.summary for each in run.benchmarks if each.name == "Sort(N: 10)" and each.summary)
    assert (summary.standard_deviation, summary.confidence_level) == (0.479, 0.999)
    assert summary.confidence_interval == pytest.approx((80.738, 81.762))
    assert "left out because they failed: 1" in str(run.notes)


def test_benchmarkdotnet_s_csv_names_jobs_where_they_differ() -> None:
    assert {name for name, _ in numbers(read(golden("benchmarkdotnet/report.csv")))} == {
        "Sort(Runtime: .NET 8.0, N: 10)",
        "Sort(Runtime: .NET 9.0, N: 10)",
        "by key(Runtime: .NET 8.0, N: 1000)",
    }


def test_benchmarkdotnet_s_decimal_commas_are_refused() -> None:
    with pytest.raises(DataError, match="`7,513 us` is not a mean with a decimal point"):
        read("| Method | Mean |\n|---|---|\n| Sort | 7,513 us |\n")
