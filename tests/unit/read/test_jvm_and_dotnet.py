"""JMH and BenchmarkDotNet, beyond their golden files."""

from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.readings import from_golden, keyed, parse, parse_golden

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


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
    with pytest.raises(DataError, match=r"f\.json: \[0\]\.mode: is not a known mode"):
        parse("jmh", [jmh("all")])


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


def test_jmh_scores_have_their_mode_and_interval_and_what_has_no_score_is_noted() -> None:
    parsed = parse_golden("jmh_text", "jmh/console.txt")
    results = {b.key.full_name: b for b in parsed.benchmarks}
    assert results["Words.join throughput"].metric.direction is Direction.HIGHER_IS_BETTER
    summary = results["Words.sort 1000 time"].summary
    assert summary is not None
    assert (summary.value, summary.count) == (9120.771, 10)
    assert summary.confidence_interval == pytest.approx((9016.160, 9225.382))
    assert {"Words.pick sample_time", "Words.pick p0.50", "Words.load single_shot_time"} <= results.keys()
    assert parsed.notes == ("left out: scores that the text only names by their power of ten, which -rf json has: 1",)


def test_jmh_csv_names_its_results_as_the_json_does_and_profiles_have_their_own_direction() -> None:
    results = {b.key.full_name: b for b in parse_golden("jmh_csv", "jmh/modes.csv").benchmarks}
    joined = results["demo.Text.join(separator=a,b, size=10) throughput"]
    assert joined.summary is not None
    assert (joined.summary.value, joined.summary.count, joined.metric.direction) == (0.799541, 6, HIGHER)
    assert joined.summary.confidence_interval == pytest.approx((0.094055, 1.505027))
    assert results["demo.Text.join(separator=a,b, size=10) gc.alloc.rate.norm"].metric.direction is LOWER
    assert results["demo.Text.join(separator=a,b, size=10) gc.alloc.rate"].metric.direction is Direction.UNKNOWN
    assert {f"demo.Text.hash(separator=a,b, size=10) {name}" for name in ("p0.50", "ss.gc.count")} <= results.keys()


def test_jmh_csv_of_a_german_machine_has_decimal_commas() -> None:
    parsed = parse_golden("jmh_csv", "jmh/german.scsv")
    assert [benchmark.value for benchmark in parsed.benchmarks] == [0.570627, 0.026629]


def test_jmh_csv_without_a_score_is_refused_and_a_profile_without_one_is_noted() -> None:
    header = '"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit"\n'
    source = Source(
        "f.csv", f'{header}"a.b","avgt",1,1,1.0,NaN,"ns/op"\n"a.b:gc.time","avgt",1,1,NaN,NaN,"ms"\n'.encode()
    )
    assert READERS["jmh_csv"].read(source).notes == ("secondary results without a finite value are left out: 1",)
    for row in ('"a.b","avgt",1,1,NaN,NaN,"ns/op"', '"a.b","all",1,1,1.0,NaN,"ns/op"'):
        with pytest.raises(DataError, match=r"f\.csv:2: has no known mode or no score"):
            READERS["jmh_csv"].read(Source("f.csv", f"{header}{row}\n".encode()))


def test_profiles_in_jmh_s_text_are_metrics_of_their_benchmark() -> None:
    results = {b.key.full_name: b.metric for b in parse_golden("jmh_text", "jmh/profiled.txt").benchmarks}
    assert results["Text.join a,b 10 throughput"].direction is HIGHER
    assert results["Text.join a,b 10 gc.alloc.rate.norm"].direction is LOWER
    assert results["Text.join a,b 10 gc.time"].unit == "ms"
    assert {"Text.hash a,b 10 avgt.gc.alloc.rate", "Text.hash a,b 10 ss.gc.alloc.rate"} <= results.keys()


def test_a_colon_in_a_parameter_is_no_profile() -> None:
    text = (
        b"Benchmark  (url)  Mode  Cnt  Score   Error  Units\nText.get  http://x:80  avgt  5  1.5 \xc2\xb1 0.1  ns/op\n"
    )
    (benchmark,) = READERS["jmh_text"].read(Source("f.txt", text)).benchmarks
    assert benchmark.key.full_name == "Text.get http://x:80 time"
