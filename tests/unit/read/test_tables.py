"""Results that tools print or export as tables: Google Benchmark and hyperfine, against what their JSON gives."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.parsed import Parsed
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

FAILED = "left out because they failed or were skipped: 1"


def keyed(parsed: Parsed) -> dict[tuple[str, str], Benchmark]:
    return {(benchmark.name, benchmark.metric.name): benchmark for benchmark in parsed.benchmarks}


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


def test_hyperfines_csv_is_a_summary_and_commands_are_told_by_their_parameters() -> None:
    parsed = READERS["hyperfine_csv"].read(Source("h.csv", golden("hyperfine/two.csv")))
    summary = parsed.benchmarks[0].summary
    assert parsed.benchmarks[0].name == "seq 10"
    assert summary is not None
    assert (summary.value, summary.count) == (0.0048822562500000005, None)
    header = "command,mean,stddev,median,user,system,min,max,parameter_n\n"
    same = header + "true,1,,1,1,1,1,1,10\ntrue,2,,1,1,1,1,1,20\n"
    result = READERS["hyperfine_csv"].read(Source("h.csv", same.encode())).benchmarks
    assert [benchmark.name for benchmark in result] == ["true (n=10)", "true (n=20)"]


@pytest.mark.parametrize(
    ("row", "message"), [("true,1", r"h\.csv:2: has another number"), ("true,,,1,1,1,1,1", r"h\.csv:2: has no `mean`")]
)
def test_hyperfines_rows_that_are_cut_off_are_refused_with_their_line(row: str, message: str) -> None:
    text = f"command,mean,stddev,median,user,system,min,max\n{row}\n"
    with pytest.raises(DataError, match=message):
        READERS["hyperfine_csv"].read(Source("h.csv", text.encode()))


def test_google_benchmarks_aggregates_alone_are_one_summary_and_no_samples() -> None:
    lines = golden("google_benchmark/repetitions.csv").decode().splitlines()
    header = next(line for line in lines if line.startswith("name,"))
    aggregates = [line for line in lines if line.split('",')[0].endswith(("_mean", "_median", "_stddev", "_cv"))]
    parsed = READERS["google_benchmark_csv"].read(Source("b.csv", "\n".join([header, *aggregates]).encode()))
    assert parsed.benchmarks
    assert {b.summary.statistic for b in parsed.benchmarks if b.summary is not None} == {"mean"}
    assert not any(b.samples or b.name.endswith("_stddev") for b in parsed.benchmarks)
