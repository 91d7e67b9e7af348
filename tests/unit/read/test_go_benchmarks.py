"""The output of `go test -bench`, as text and as events."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, Environment, Metric, Run
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import times

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


def parse(text: str) -> Run:
    return READERS["go_text"].read(Source("bench.txt", text.encode()))


def samples(parsed: Run) -> dict[tuple[str, str], tuple[float, ...]]:
    return {(b.name, b.metric.name): b.samples for b in parsed.benchmarks}


def test_two_packages_with_the_same_name() -> None:
    parsed = READERS["go_text"].read(Source("bench.txt", golden("go/duplicate_names.txt")))
    drawn = samples(parsed)
    codec, text = "example.com/demo/codec/text.BenchmarkJoin", "example.com/demo/text.BenchmarkJoin"
    assert drawn[codec, "time"] == (484.6, 240.8, 242.6, 183.5, 231.9)
    assert drawn[text, "time"] == (1585.0, 828.8, 843.4, 1821.0, 638.1)
    assert drawn[text, "B/op"] == (320.0,) * 5
    assert drawn["BenchmarkFields/size-8", "MB/s"] == (122.93, 101.55, 116.04, 132.87, 103.86)
    assert {name for name, _ in drawn} == {codec, text, "BenchmarkFields/size-8", "BenchmarkFields/size=64"}
    assert parsed.environment == Environment(
        components={"os": "linux", "architecture": "amd64", "cpu": "Intel(R) Xeon(R) Processor @ 2.80GHz"}
    )
    assert parsed.notes == ()


def test_units_and_directions() -> None:
    parsed = READERS["go_text"].read(Source("bench.txt", golden("go/duplicate_names.txt")))
    assert {(b.metric.name, b.metric.unit, b.metric.direction) for b in parsed.benchmarks} == {
        ("time", "ns", LOWER),
        ("B/op", "B/op", LOWER),
        ("allocs/op", "allocs/op", LOWER),
        ("MB/s", "MB/s", HIGHER),
        ("words/s", "words/s", HIGHER),
        ("p99-ms", "p99-ms", LOWER),
    }


def test_a_single_measurement_is_one_sample() -> None:
    parsed = READERS["go_text"].read(Source("bench.txt", golden("go/single.txt")))
    assert samples(parsed) == {("BenchmarkJoin", "time"): (1179.0,)}


def test_processor_counts_stay_where_they_tell_benchmarks_apart() -> None:
    text = "BenchmarkX \t 10\t 5 ns/op\nBenchmarkX-2 \t 10\t 3 ns/op\nBenchmarkX-4 \t 10\t 2 ns/op\n"
    assert samples(parse(text)) == {
        ("BenchmarkX", "time"): (5.0,),
        ("BenchmarkX-2", "time"): (3.0,),
        ("BenchmarkX-4", "time"): (2.0,),
    }


def test_sizes_at_the_end_stay_without_a_processor_count() -> None:
    text = "BenchmarkX/size-8 10 5 ns/op\nBenchmarkX/size-16 10 9 ns/op\n"
    assert [b.name for b in parse(text).benchmarks] == ["BenchmarkX/size-8", "BenchmarkX/size-16"]


def test_custom_metrics_need_a_direction() -> None:
    text = "BenchmarkX-4 10 5 ns/op 2.5 hits 3 misses\n"
    directions = [b.metric.direction for b in parse(text).benchmarks]
    assert directions == [LOWER, Direction.UNKNOWN, Direction.UNKNOWN]
    parsed = parse("Unit hits better=higher assume=nothing\nUnit misses better=lower\nUnit\n" + text)
    assert [b.metric for b in parsed.benchmarks][1:] == [
        Metric(name="hits", unit="hits", direction=HIGHER),
        Metric(name="misses", unit="misses", direction=LOWER),
    ]
    assert parsed.notes == ()


def test_failures_and_values_that_are_no_numbers_are_noted() -> None:
    text = "BenchmarkA-4 10 5 ns/op +Inf MB/s NaN hits/s\n--- FAIL: BenchmarkB-4\n    x_test.go:5: broken\n"
    text += "FAIL\nFAIL\texample.com/a\t0.5s\n"
    parsed = parse(text)
    assert samples(parsed) == {("BenchmarkA", "time"): (5.0,)}
    assert [(one.benchmark, one.message) for one in parsed.lost] == [("BenchmarkB", "x_test.go:5: broken")]
    assert parsed.notes == (
        "left out because they failed: 1",
        "go test failed in example.com/a: results may be missing",
        "2 values are left out: not finite numbers",
    )


def test_a_panic_is_told_of_the_benchmark_in_its_stack() -> None:
    text = (
        "goos: linux\npkg: example.com/parse\nBenchmarkFields-2   \t    7719\t      2631 ns/op\n"
        "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 25 [running]:\n"
        "example.com/parse.(*Table).at(...)\n\t/src/p.go:9\n"
        "example.com/parse.BenchmarkTable.func1(0x1cd65e3f0608)\n\t/src/p_test.go:6 +0x17c\n"
        "testing.(*B).runN(0x1cd65e3f0608, 0x1)\nexit status 2\nFAIL\texample.com/parse\t0.393s\n"
    )
    (lost,) = parse(text).lost
    assert lost.benchmark == "BenchmarkTable"
    assert lost.message == "panic: runtime error: index out of range [5] with length 3"


@pytest.mark.parametrize(
    "line",
    ["BenchmarkA-4", "BenchmarkA-4 10", "BenchmarkA-4 10 5", "BenchmarkA-4 ten 5 ns/op", "BenchmarkA-4 10 5 ns/op 3"],
)
def test_lines_that_are_no_result_are_passed_over(line: str) -> None:
    assert samples(parse(f"{line}\nBenchmarkZ-4 1 2 ns/op\n")) == {("BenchmarkZ", "time"): (2.0,)}


def test_go_events_give_what_the_text_would() -> None:
    parsed = READERS["go_json"].read(Source("e.jsonl", golden("go/events.jsonl")))
    joins = next(benchmark for benchmark in parsed.benchmarks if benchmark.metric.name == "time")
    assert (joins.name, joins.samples) == ("BenchmarkJoin", (71.69, 61.32, 82.41))
    assert parsed.notes == (
        "left out because they failed: 1",
        "go test failed in example.org/text: results may be missing",
    )
    assert parsed.environment.components["os"] == "linux"
    assert not READERS["go_text"].matches(Source("e.jsonl", golden("go/events.jsonl")))


def test_go_events_of_packages_in_turns_are_put_together() -> None:
    pieces = [("a", "pkg: a\\n"), ("b", "pkg: b\\n"), ("a", "BenchmarkX-2 \\t"), ("b", "BenchmarkX-2 \\t5\\t")]
    pieces += [("a", "9\\t 1.5 ns/op\\n"), ("b", "2.5 ns/op\\n")]
    text = "".join(f'{{"Action":"output","Package":"{package}","Output":"{out}"}}\n' for package, out in pieces)
    assert times(READERS["go_json"].read(Source("e", text.encode()))) == {"a.BenchmarkX": 1.5, "b.BenchmarkX": 2.5}


def test_a_broken_event_is_refused_with_its_line_unless_it_is_the_last() -> None:
    event = b'{"Action":"output","Package":"p","Output":"BenchmarkX-2 \\t9\\t1.5 ns/op\\n"}\n'
    with pytest.raises(DataError, match=r"e\.jsonl:2: is not an event"):
        READERS["go_json"].read(Source("e.jsonl", event + b'{"Action":"out\n' + event))
    assert times(READERS["go_json"].read(Source("e.jsonl", event + b'{"Action":"out'))) == {"BenchmarkX": 1.5}
