"""Julia, Ruby, PHP, Dart, Luau and ReBench, beyond their golden files."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import from_golden, parse, parse_golden


def test_julia_refuses_what_is_no_result() -> None:
    content = [{"BenchmarkTools": "1.0"}, [["Parameters", {"seconds": 5.0}]]]
    with pytest.raises(DataError, match="is not a trial, estimate or group"):
        parse("julia", content)


FILE = golden("phpbench/words.xml")


def test_iterations_are_samples_per_revolution() -> None:
    run = collect_sources([Source("bench.xml", FILE)])
    results = {(one.name, one.metric.name): (one.samples, one.metric.unit) for one in run.benchmarks}
    assert results["Shop\\WordsBench::benchSplit", "time"][0][:3] == (1.495, 1.47, 1.4)
    assert results["Shop\\WordsBench::benchSort small", "time"] == (
        (0.305, 0.32, 0.32, 0.315, 0.32, 0.325, 0.32, 0.32),
        "us",
    )
    assert results["Shop\\WordsBench::benchSort large", "peak_memory"] == ((486_656.0,) * 8, "B")
    assert len(results) == 6
    assert run.time is not None
    assert run.time.isoformat() == "2026-11-23T02:40:15+00:00"
    assert run.notes == ("`Shop\\WordsBench::benchBroken` failed",)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (b'time-revs="200"', b'time-revs="0"', "without its net time and revolutions"),
        (b'time-net="299"', b'time="299"', "without its net time and revolutions"),
        (b'time-net="299"', b'time-net="fast"', "`time-net` of `iteration` is not a number"),
        (b"</phpbench>", b"", "not well-formed XML"),
        (b"<phpbench ", b"<!DOCTYPE a [<!ENTITY b 'c'>]><phpbench ", "declares a document type"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old: bytes, new: bytes, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        READERS["phpbench"].read(Source("bench.xml", FILE.replace(old, new)))
    assert (caught.value.place or "").startswith("bench.xml")
    assert caught.value.next_step is not None


def test_benchmark_ips_text_and_json_agree() -> None:
    text, file = (
        parse_golden("benchmark_ips_text", "benchmark_ips/ips.txt"),
        parse_golden("benchmark_ips", "benchmark_ips/ips.json"),
    )
    assert [b.key for b in text.benchmarks] == [b.key for b in file.benchmarks]
    for printed, written in zip(text.benchmarks, file.benchmarks, strict=True):
        assert printed.metric == written.metric
        assert printed.value == pytest.approx(written.value, rel=1e-3)
        assert printed.summary is not None
        assert written.summary is not None
        assert printed.summary.standard_deviation == pytest.approx(written.summary.standard_deviation, rel=1e-2)


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


def test_rebench_invocations_are_groups() -> None:
    results = {b.metric.name: b for b in parse_golden("rebench", "rebench/rebench.data").benchmarks}
    assert results["time"].name == "seq Sh Small 1"
    assert (results["time"].samples, results["time"].group_sizes) == ((30.0, 10.0, 0.0), (1, 1, 1))
    assert results["MaxRSS"].metric.direction is Direction.LOWER_IS_BETTER
    broken = golden("rebench/rebench.data").replace(b"\t30.000000\t", b"\tmany\t")
    with pytest.raises(DataError, match=r"r\.data:\d+: is not a row of ReBench"):
        READERS["rebench"].read(Source("r.data", broken))


def test_luau_prints_means_with_their_interval_as_a_share() -> None:
    text = b"SUCCESS: string concat                  :    4.250ms +/-  2.000% on luau -O2\n"
    (benchmark,) = collect_sources([Source("bench.txt", text)], Reading(tool="benchmarkluau")).benchmarks
    assert (benchmark.name, benchmark.metric.unit, benchmark.value) == ("string concat", "ms", 4.25)
    assert benchmark.summary is not None
    assert benchmark.summary.confidence_interval == pytest.approx((4.165, 4.335))


def test_julia_s_printed_groups_and_trials() -> None:
    group = READERS["julia_text"].read(Source("x.txt", golden("julia/group.txt")))
    assert [(each.name, each.value) for each in group.benchmarks] == [
        ("trig/(sin, 0.5)".replace("(sin", '("sin"'), 7.25),
        ("trig/cos", 8.125),
        ("sum", 15300.0),
    ]
    (trial,) = READERS["julia_text"].read(Source("sort.txt", golden("julia/trial.txt"))).benchmarks
    assert (trial.name, trial.value) == ("sort", 15019.0)
    assert trial.summary is not None
    assert trial.summary.standard_deviation == 1982.0


def test_phpbench_s_text_names_as_its_xml_does() -> None:
    parsed = READERS["phpbench_text"].read(Source("x.txt", golden("phpbench/run.txt")))
    assert [(each.name, round(each.value, 6)) for each in parsed.benchmarks] == [
        ("Shop\\WordsBench::benchSplit", 1.421),
        ("Shop\\WordsBench::benchJoin short", 953.0),
        ("Shop\\WordsBench::benchJoin long", 12014.0),
    ]
    assert parsed.notes == ("left out: subjects that failed: 1",)


@pytest.mark.parametrize("member", ["results", "benchmarks"])
def test_benchmark_ips_in_a_script_s_object(member: str) -> None:
    plain = from_golden("benchmark_ips/ips.json")
    assert parse("benchmark_ips", {"ruby": "3.3", member: plain}).benchmarks == parse("benchmark_ips", plain).benchmarks


def test_phpbench_s_table_has_the_mode_and_decimal_sizes() -> None:
    row = "| Words | sort | {} | 5 | 1.933mb | 2.727\N{GREEK SMALL LETTER MU}s | ±0.69% |\n"
    text = "| benchmark | subject | set | its | mem_peak | mode | rstdev |\n" + row.format("") + row.format("big")
    parsed = READERS["phpbench_table"].read(Source("t.txt", text.encode()))
    assert {(each.name, each.metric.name, each.metric.unit): each.value for each in parsed.benchmarks} == {
        ("Words::sort", "time", "us"): 2.727,
        ("Words::sort", "peak_memory", "B"): 1_933_000.0,
        ("Words::sort big", "time", "us"): 2.727,
        ("Words::sort big", "peak_memory", "B"): 1_933_000.0,
    }


def test_julia_s_trials_between_other_lines() -> None:
    parsed = READERS["julia_text"].read(Source("t.txt", b"sum: Trial(20.5 ns)\ndone\nsort: Trial(1.152 s)\n"))
    assert {each.name: each.value for each in parsed.benchmarks} == {"sum": 20.5, "sort": 1_152_000_000.0}
