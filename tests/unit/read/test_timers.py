"""hyperfine, GNU time, shells, Ruby's Benchmark, console.time and plain numbers, beyond their golden files."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import parse, parse_golden


def test_hyperfine_without_times_is_a_summary_and_one_run_has_no_spread() -> None:
    (benchmark,) = parse(
        "hyperfine", {"results": [{"command": "a", "mean": 1.0, "stddev": None, "min": 1.0}]}
    ).benchmarks
    assert benchmark.summary is not None
    assert (benchmark.summary.value, benchmark.summary.standard_deviation) == (1.0, None)


def test_hyperfine_refuses_a_command_that_nothing_tells_apart() -> None:
    with pytest.raises(DataError, match="`a` is also at"):
        parse("hyperfine", {"results": [{"command": "a", "times": [1.0]}] * 2})


@pytest.mark.parametrize("line", ["nan", "inf", "1_000", "0x10", "1,5", "1 2", "1e", "--1", "1" * 200])
def test_numbers_are_decimal_and_one_per_line(line: str) -> None:
    with pytest.raises(DataError, match="f:2: is not one number"):
        READERS["numbers"].read(Source("f", f"1\n{line}\n".encode()))


def test_a_flood_of_numbers_is_refused() -> None:
    flood = Source("f", b"1\n" * 1_000_001)
    assert READERS["numbers"].matches(flood)
    with pytest.raises(DataError, match="more than 1,000,000 numbers"):
        READERS["numbers"].read(flood)


def test_numbers_too_large_for_a_float_are_refused() -> None:
    with pytest.raises(DataError, match="not a finite number"):
        READERS["numbers"].read(Source("f", b"1e999\n"))


def test_hyperfines_csv_is_a_summary_and_commands_are_told_by_their_parameters() -> None:
    parsed = READERS["hyperfine_csv"].read(Source("h.csv", golden("hyperfine/two.csv")))
    summary = parsed.benchmarks[0].summary
    assert parsed.benchmarks[0].name == "seq 10"
    assert summary is not None
    assert (summary.value, summary.count) == (0.0048822562500000005, None)
    header = "command,mean,stddev,median,user,system,min,max,parameter_n\n"
    same = header + "true,1,,1,1,1,1,1,10\ntrue,2,,1,1,1,1,1,20\n"
    result = READERS["hyperfine_csv"].read(Source("h.csv", same.encode())).benchmarks
    assert [(benchmark.name, benchmark.metric.name, benchmark.value) for benchmark in result] == [
        ("true (n=10)", "time", 1.0),
        ("true (n=10)", "cpu_time", 2.0),
        ("true (n=20)", "time", 2.0),
        ("true (n=20)", "cpu_time", 2.0),
    ]


@pytest.mark.parametrize(
    ("row", "message"), [("true,1", r"h\.csv:2: has another number"), ("true,,,1,1,1,1,1", r"h\.csv:2: has no `mean`")]
)
def test_hyperfines_rows_that_are_cut_off_are_refused_with_their_line(row: str, message: str) -> None:
    text = f"command,mean,stddev,median,user,system,min,max\n{row}\n"
    with pytest.raises(DataError, match=message):
        READERS["hyperfine_csv"].read(Source("h.csv", text.encode()))


def test_gnu_times_of_a_command_again_are_its_samples() -> None:
    results = {b.metric.name: b for b in parse_golden("gnu_time", "gnu_time/verbose.txt").benchmarks}
    assert results["time"].name == "sh -c seq 100000 | sort -n | tail -1"
    assert results["time"].samples == (0.11, 0.03)
    assert (results["peak_memory"].samples, results["peak_memory"].metric.unit) == ((6896.0, 6888.0), "KiB")


@pytest.mark.parametrize(("text", "seconds"), [("1:02:03", 3723.0), ("2:03.50", 123.5), ("0:00.11", 0.11)])
def test_gnu_times_with_minutes_and_hours(text: str, seconds: float) -> None:
    content = f'\tCommand being timed: "x"\n\tElapsed (wall clock) time (h:mm:ss or m:ss): {text}\n'
    assert READERS["gnu_time"].read(Source("t", content.encode())).benchmarks[0].value == pytest.approx(seconds)


def test_shell_times_are_named_by_their_file() -> None:
    results = {b.metric.name: b for b in parse_golden("shell_time", "shell_time/bash.txt").benchmarks}
    assert {b.name for b in results.values()} == {"bash"}
    assert results["time"].samples == (0.098, 0.108, 0.104)
    minutes = READERS["shell_time"].read(Source("t", b"real\t2m1.5s\n")).benchmarks[0]
    assert (minutes.value, minutes.metric.unit) == (121.5, "s")
    assert parse_golden("shell_time", "shell_time/posix.txt").benchmarks[0].metric.name == "time"


def test_ruby_rehearses_once_and_measures_once() -> None:
    results = {b.key.full_name: b.samples for b in parse_golden("ruby_benchmark", "ruby_benchmark/bmbm.txt").benchmarks}
    assert results["sort by length time"] == (0.256634,)
    assert results["sort by length user_time"] == (0.056032,)
    assert results["bmbm time"] == (0.091657,)
    assert len(results) == 9


def test_console_times_are_results_only_where_somebody_says_so() -> None:
    source = Source("spin.txt", golden("console_time/spin.txt"))
    times = {b.name: b.value for b in collect_sources([source], Reading(tool="console_time")).benchmarks}
    assert times == {"spin: 100000": 0.041683, "spin: 300000000": 2.997, "default": 61.065}
    firefox = Source("f", b"benchmark 3: The Third - timer: 8827ms - timer ended\n")
    assert collect_sources([firefox], Reading(tool="console_time")).benchmarks[0].value == pytest.approx(8.827)
    with pytest.raises(DataError):
        collect_sources([source])


def timed(*seconds: float) -> str:
    return "".join(f"\nreal\t0m{second}s\nuser\t0m0.010s\nsys\t0m0.001s\n" for second in seconds)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        (timed(1.5, 2.5), {"t": [1.5, 2.5]}),
        ("noise of a log\n" + timed(1.5, 2.5), {"t": [1.5, 2.5]}),
        ("done\n" + timed(1.5) + "done\n" + timed(2.5), {"t": [1.5, 2.5]}),
        ("parse:\n" + timed(1.5) + "render:\n" + timed(2.5), {"parse": [1.5], "render": [2.5]}),
        ("+ ./a -n 1\nx\n+ ./a\n" + timed(1.5) + "+ ./b\n" + timed(2.5), {"./a": [1.5], "./b": [2.5]}),
        (
            "$ time ./a\n" + timed(1.5) + "$ time ./b\n" + timed(2.5) + "$ time ./a\n" + timed(3.5),
            {"./a": [1.5, 3.5], "./b": [2.5]},
        ),
    ],
)
def test_times_of_different_commands_are_different_benchmarks(text: str, times: dict[str, list[float]]) -> None:
    parsed = READERS["shell_time"].read(Source("t.txt", text.encode()))
    results = {
        each.name: list(each.samples) or [each.value] for each in parsed.benchmarks if each.metric.name == "time"
    }
    assert results == times


def test_times_of_commands_that_nothing_names_are_refused() -> None:
    text = "one\ntwo\n" + timed(1.5) + "three\nfour\n" + timed(2.5)
    with pytest.raises(DataError, match="cannot be told apart"):
        READERS["shell_time"].read(Source("t.txt", text.encode()))


def test_times_of_tests_are_results_only_where_somebody_says_so() -> None:
    xml = Source("tests.xml", golden("junit/pytest.xml"))
    run = collect_sources([xml], Reading(tool="junit"))
    times = {b.name: b.value for b in run.benchmarks}
    assert times == {"test_words::test_join": 0.26, "test_words.TestSplit::test_split": 0.195}
    assert any("left out: tests that failed, were skipped or have no time: 2" in note for note in run.notes)
    assert {one.message for one in run.lost} == {"unconditional skip", "AssertionError: assert not 'x'"}
    twice = Source("again.xml", golden("junit/pytest.xml"))
    assert [len(b.samples) for b in collect_sources([xml, twice], Reading(tool="junit")).benchmarks] == [2, 2]
    text = Source("tests.txt", golden("junit/pytest.txt"))
    run = collect_sources([text], Reading(tool="pytest_durations"))
    assert {b.name.rpartition(":")[2]: b.value for b in run.benchmarks} == {"test_join": 0.14, "test_split": 0.19}
    assert any("setup and teardown: 1" in note for note in run.notes)
    with pytest.raises(DataError, match="which tests passed"):
        collect_sources([xml], Reading())


def test_a_heading_names_the_times_below_it() -> None:
    text = "".join(
        f"=== {name} ===\nbegins\nends\n\nreal\t0m{time}s\n=== end ===\n" for name, time in (("a", 1.5), ("b", 0.25))
    )
    run = collect_sources([Source("times.txt", text.encode())])
    assert {each.name: each.value for each in run.benchmarks} == {"a": 1.5, "b": 0.25}


def test_a_name_and_its_time_on_every_line_are_results() -> None:
    text = b"parse: 118.49 ms\nwrite to disk: 3 us\n\nparse: 120 ms\n"
    run = collect_sources([Source("times.txt", text)])
    assert {each.name: each.samples for each in run.benchmarks} == {
        "parse": (118_490_000.0, 120_000_000.0),
        "write to disk": (3000.0,),
    }
    with pytest.raises(DataError):
        collect_sources([Source("times.txt", text + b"finished\n")])


def test_linetimer_s_blocks_are_named_by_themselves() -> None:
    run = collect_sources([Source("times.txt", b"starting\n" + golden("linetimer/linetimer.txt"))])
    assert {each.name: each.samples for each in run.benchmarks} == {
        "sum": (14_938_830.0, 1_923_360.0),
        "sort": (5_331_760.0,),
    }
