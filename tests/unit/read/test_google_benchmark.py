"""Google Benchmark's JSON, and its tables compared with the JSON."""

from typing import Any

from perf_culprit.model.run import Direction, Run
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import from_golden, keyed, parse

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


def entry(name: str, time: float, **changes: object) -> dict[str, Any]:
    return {"name": name, "iterations": 1, "real_time": time, "cpu_time": time, "time_unit": "us", **changes}


def google(*entries: dict[str, Any], **context: object) -> Run:
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
    """`ComputeStatistics` adds user-defined aggregates. Older files mark them only at the end of the name."""
    content = from_golden("google_benchmark/repetitions.json")
    by_key = keyed(parse("google_benchmark", content))
    first = next(entry for entry in content["benchmarks"] if entry["run_type"] == "aggregate")
    more = {**first, "name": f"{first['run_name']}_maximum"}
    del more["aggregate_name"]
    content["benchmarks"].append(more)
    assert keyed(parse("google_benchmark", content)) == by_key


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


FAILED = "left out because they failed or were skipped: 1"


def test_google_benchmarks_console_table_keeps_repetitions_and_leaves_out_aggregates() -> None:
    parsed = READERS["google_benchmark_text"].read(Source("b.txt", golden("google_benchmark/repetitions.txt")))
    by_key = keyed(parsed)
    assert {name for name, _ in by_key} == {"Fill/64", "Fill/4096", "Copy"}
    assert by_key["Fill/64", "time"].samples == (369.0, 468.0, 550.0)
    assert by_key["Copy", "cpu_time"].metric.unit == "us"
    assert parsed.notes[0] == FAILED


def test_google_benchmark_scales_bytes_by_1024_and_items_by_1000() -> None:
    line = "Benchmark   Time   CPU   Iterations\nf 2 ns 2 ns 9 bytes_per_second=2{}/s items_per_second=3M/s\n"
    for prefix in ("G", "Gi"):
        by_key = keyed(READERS["google_benchmark_text"].read(Source("b.txt", line.format(prefix).encode())))
        assert by_key["f", "bytes_per_second"].value == 2 * 2**30
        assert by_key["f", "items_per_second"].value == 3e6


def test_google_benchmarks_csv_is_read_after_other_lines_and_its_failures_are_noted() -> None:
    data = b"Running ./gb\n" + golden("google_benchmark/repetitions.csv")
    parsed = READERS["google_benchmark_csv"].read(Source("b.csv", data))
    by_key = keyed(parsed)
    assert by_key["Fill/64", "time"].samples == (401.825, 691.283, 727.749)
    assert by_key["Copy", "bytes_per_second"].samples == (1.63789e10, 1.67019e10, 1.56517e10)
    assert parsed.notes[0] == FAILED


def test_other_output_between_google_benchmarks_rows_is_passed_over() -> None:
    rows = golden("google_benchmark/repetitions.csv")
    noisy = b"built\n" + rows.replace(b"\n", b"\nPASS, really\n") + b'"f",1,2.5'
    read = READERS["google_benchmark_csv"].read
    assert read(Source("b.csv", noisy)) == read(Source("b.csv", rows))


def test_google_benchmarks_aggregates_alone_are_one_summary_and_no_samples() -> None:
    lines = golden("google_benchmark/repetitions.csv").decode().splitlines()
    header = next(line for line in lines if line.startswith("name,"))
    aggregates = [line for line in lines if line.split('",')[0].endswith(("_mean", "_median", "_stddev", "_cv"))]
    parsed = READERS["google_benchmark_csv"].read(Source("b.csv", "\n".join([header, *aggregates]).encode()))
    assert parsed.benchmarks
    assert {b.summary.statistic for b in parsed.benchmarks if b.summary is not None} == {"mean"}
    assert not any(b.samples or b.name.endswith("_stddev") for b in parsed.benchmarks)


def test_times_that_the_table_rounds_to_0_are_left_out() -> None:
    text = golden("google_benchmark/repetitions.txt").replace(
        b"Copy                   0.136 us", b"Copy                   0.000 us"
    )
    parsed = READERS["google_benchmark_text"].read(Source("bench.txt", text))
    assert {each.metric.name for each in parsed.benchmarks if each.name == "Copy"} == {"cpu_time", "bytes_per_second"}
    assert "left out because the tool printed them as 0: `Copy` time" in parsed.notes
