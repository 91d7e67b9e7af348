"""Formats that are declared as a pattern per line, on what the tools printed."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.console import Lines
from perf_culprit.read.results.parsed import Parsed
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

LINE_FORMATS = [
    pytest.param(lines, id=reader.id)
    for reader in READERS.values()
    if isinstance(lines := getattr(reader.read, "__self__", None), Lines)
]


def parse(name: str, path: str) -> Parsed:
    return READERS[name].read(Source(path, golden(path)))


def test_gnu_times_of_a_command_again_are_its_samples() -> None:
    results = {b.metric.name: b for b in parse("gnu_time", "gnu_time/verbose.txt").benchmarks}
    assert results["time"].name == "sh -c seq 100000 | sort -n | tail -1"
    assert results["time"].samples == (0.11, 0.03)
    assert (results["peak_memory"].samples, results["peak_memory"].metric.unit) == ((6896.0, 6888.0), "KiB")


@pytest.mark.parametrize(("text", "seconds"), [("1:02:03", 3723.0), ("2:03.50", 123.5), ("0:00.11", 0.11)])
def test_gnu_times_with_minutes_and_hours(text: str, seconds: float) -> None:
    content = f'\tCommand being timed: "x"\n\tElapsed (wall clock) time (h:mm:ss or m:ss): {text}\n'
    assert READERS["gnu_time"].read(Source("t", content.encode())).benchmarks[0].value == pytest.approx(seconds)


def test_shell_times_are_named_by_their_file() -> None:
    results = {b.metric.name: b for b in parse("shell_time", "shell_time/bash.txt").benchmarks}
    assert {b.name for b in results.values()} == {"bash"}
    assert results["time"].samples == (0.098, 0.108, 0.104)
    minutes = READERS["shell_time"].read(Source("t", b"real\t2m1.5s\n")).benchmarks[0]
    assert (minutes.value, minutes.metric.unit) == (121.5, "s")
    assert parse("shell_time", "shell_time/posix.txt").benchmarks[0].metric.name == "time"


def test_benchmark_ips_text_and_json_agree() -> None:
    text, file = parse("benchmark_ips_text", "benchmark_ips/ips.txt"), parse("benchmark_ips", "benchmark_ips/ips.json")
    assert [b.key for b in text.benchmarks] == [b.key for b in file.benchmarks]
    for printed, written in zip(text.benchmarks, file.benchmarks, strict=True):
        assert printed.metric == written.metric
        assert printed.value == pytest.approx(written.value, rel=1e-3)
        assert printed.summary is not None
        assert written.summary is not None
        assert printed.summary.standard_deviation == pytest.approx(written.summary.standard_deviation, rel=1e-2)


def test_jmh_scores_have_their_mode_and_interval_and_what_has_no_score_is_noted() -> None:
    parsed = parse("jmh_text", "jmh/console.txt")
    results = {b.key.full_name: b for b in parsed.benchmarks}
    assert results["Words.join throughput"].metric.direction is Direction.HIGHER_IS_BETTER
    summary = results["Words.sort 1000 time"].summary
    assert summary is not None
    assert (summary.value, summary.count) == (9120.771, 10)
    assert summary.confidence_interval == pytest.approx((9016.160, 9225.382))
    assert {"Words.pick sample_time", "Words.pick:p0.50 sample_time", "Words.load single_shot_time"} <= results.keys()
    assert parsed.notes == ("left out: scores that the text only names by their power of ten: 1",)


def test_asv_benchmarks_without_parameters_are_read_and_others_noted() -> None:
    parsed = parse("asv_text", "asv/console.txt")
    results = {b.key.full_name: (b.value, b.metric.unit) for b in parsed.benchmarks}
    assert results == {
        "b.mem_list memory": (2100.0, "B"),
        "b.peakmem_list peak_memory": (24.7e6, "B"),
        "b.time_join time": (pytest.approx(2.99e-6), "s"),
    }
    assert parsed.notes[0].endswith("which only the result file holds: 3")


@pytest.mark.parametrize(
    ("line", "name", "microseconds"),
    [
        ("Template(RunTime): 0.157 us.", "Template", 0.157),
        ("Resolve (cold caches)(RunTime): 190.25 us | 0.1903 ms | 0.000190 s", "Resolve (cold caches)", 190.25),
        ("I/flutter (14407): growable[32](RunTime): 1.5 us.", "growable[32]", 1.5),
        ("io(Runtime): 7442817.0 us.", "io", 7442817.0),
        ("SelfCompile(RunTimeRaw): 123 ms.", "SelfCompile", 123_000.0),
    ],
)
def test_dart_prints_a_time_and_its_unit_as_its_emitter_likes(line: str, name: str, microseconds: float) -> None:
    (benchmark,) = READERS["dart"].read(Source("d", f"{line}\nText(Size): 10044 bytes\n".encode())).benchmarks
    assert (benchmark.name, benchmark.value, benchmark.metric.unit) == (name, microseconds, "us")


def test_ruby_rehearses_once_and_measures_once() -> None:
    results = {b.key.full_name: b.samples for b in parse("ruby_benchmark", "ruby_benchmark/bmbm.txt").benchmarks}
    assert results["sort by length time"] == (0.256634,)
    assert results["sort by length user_time"] == (0.056032,)
    assert results["bmbm time"] == (0.091657,)
    assert len(results) == 9


def test_iai_counts_have_the_metrics_of_its_successor() -> None:
    results = {b.key.full_name: b for b in parse("iai", "iai/iai.txt").benchmarks}
    assert results["sum_long instructions"].samples == (3756.0,)
    assert results["sum_short ram_accesses"].metric.direction is Direction.LOWER_IS_BETTER
    assert results["sum_short l2_accesses"].metric.direction is Direction.UNKNOWN


def test_console_times_are_results_only_where_somebody_says_so() -> None:
    source = Source("spin.txt", golden("console_time/spin.txt"))
    times = {b.name: b.value for b in collect_sources([source], Reading(tool="console_time")).benchmarks}
    assert times == {"spin: 100000": 0.041683, "spin: 300000000": 2.997, "default": 61.065}
    firefox = Source("f", b"benchmark 3: The Third - timer: 8827ms - timer ended\n")
    assert collect_sources([firefox], Reading(tool="console_time")).benchmarks[0].value == pytest.approx(8.827)
    with pytest.raises(DataError):
        collect_sources([source])


def test_rebench_invocations_are_groups() -> None:
    results = {b.metric.name: b for b in parse("rebench", "rebench/rebench.data").benchmarks}
    assert results["time"].name == "seq Sh Small 1"
    assert (results["time"].samples, results["time"].group_sizes) == ((30.0, 10.0, 0.0), (1, 1, 1))
    assert results["MaxRSS"].metric.direction is Direction.LOWER_IS_BETTER
    broken = golden("rebench/rebench.data").replace(b"\t30.000000\t", b"\tmany\t")
    with pytest.raises(DataError, match=r"r\.data:\d+: is not a row of ReBench"):
        READERS["rebench"].read(Source("r.data", broken))


def test_sadf_lines_are_one_table() -> None:
    (table,) = collect_sources([Source("l", (golden("../counters/sadf/lines.txt")))]).counters
    assert len(table.times_s) == 3
    assert "%user" in {metric.name for metric in table.metrics}


@pytest.mark.parametrize("declared", LINE_FORMATS)
def test_a_pattern_has_what_the_engine_reads(declared: Lines) -> None:
    assert "value" in declared.row.groupindex
    assert declared.title is None or "name" in declared.title.groupindex


def test_luau_prints_means_with_their_interval_as_a_share() -> None:
    text = b"SUCCESS: string concat                  :    4.250ms +/-  2.000% on luau -O2\n"
    (benchmark,) = collect_sources([Source("bench.txt", text)], Reading(tool="benchmarkluau")).benchmarks
    assert (benchmark.name, benchmark.metric.unit, benchmark.value) == ("string concat", "ms", 4.25)
    assert benchmark.summary is not None
    assert benchmark.summary.confidence_interval == pytest.approx((4.165, 4.335))
