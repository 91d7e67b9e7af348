"""Output of vitest, tinybench, mitata, Deno and benchmark.js, beyond their golden files."""

import json
from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, Run, Summary
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import from_golden, parse

FAILED = "left out because they failed: 1"


def names(parsed: Run) -> list[tuple[str, str, str]]:
    return [(benchmark.name, benchmark.metric.name, benchmark.metric.unit) for benchmark in parsed.benchmarks]


def test_vitest_names_are_file_suite_and_name_and_what_threw_is_noted() -> None:
    parsed = parse("vitest", from_golden("vitest/bench.json"))
    assert names(parsed) == [
        ("src/sort.bench.mjs > sort > numeric", "time", "ms"),
        ("src/sort.bench.mjs > sort > default", "time", "ms"),
        ("src/sort.bench.mjs > sum > reduce", "time", "ms"),
    ]
    assert parsed.notes == (FAILED,)
    summary = parsed.benchmarks[0].summary
    assert summary is not None
    assert (summary.count, summary.confidence_level) == (319, 0.95)
    assert summary.confidence_interval == pytest.approx((0.33468205 - 0.12595872, 0.33468205 + 0.12595872))


def test_vitest_5_has_its_benchmarks_in_tests_and_what_an_earlier_run_left_is_none() -> None:
    content = from_golden("vitest/bench-5.json")
    test = content["testResults"][0]["assertionResults"][0]
    test["benchmarks"][0]["tasks"].append({"name": "stored", "latency": {"mean": 1.0}, "fromStore": True})
    parsed = parse("vitest", content)
    assert names(parsed) == [
        ("text.bench.js > text > join > template", "time", "ms"),
        ("text.bench.js > text > join > array", "time", "ms"),
        ("text.bench.js > text > parse > json", "time", "ms"),
    ]
    assert parsed.notes == (FAILED,)
    summary = parsed.benchmarks[0].summary
    assert summary is not None
    assert summary.confidence_level == 0.95


def test_vitest_samples_count_where_they_were_kept() -> None:
    content = from_golden("vitest/bench.json")
    content["files"][0]["groups"][0]["benchmarks"][0]["samples"] = [1.5, 2.5]
    assert parse("vitest", content).benchmarks[0].samples == (1.5, 2.5)


def test_tinybench_keeps_samples_or_the_mean_and_reads_its_older_results() -> None:
    parsed = parse("tinybench", from_golden("tinybench/samples.json"))
    assert [len(benchmark.samples) for benchmark in parsed.benchmarks] == [8]
    assert parsed.notes == ("left out because they failed or did not run: 1",)
    older = [{"name": "f", "result": {"hz": 500.0, "mean": 2.0, "sd": 0.5, "samples": [1.5, 2.5]}}]
    assert parse("tinybench", older).benchmarks[0].samples == (1.5, 2.5)


def test_mitata_is_not_taken_for_pyperf_and_its_groups_stand_before_the_name() -> None:
    parsed = parse("mitata", from_golden("mitata/groups.json"))
    assert names(parsed) == [
        ("spin", "time", "ns"),
        ("spin", "allocated", "B"),
        ("arguments > spin for 50 ms", "time", "ns"),
        ("arguments > spin for 50 ms", "allocated", "B"),
        ("arguments > spin for 60 ms", "time", "ns"),
        ("arguments > spin for 60 ms", "allocated", "B"),
    ]
    assert 50e6 <= min(parsed.benchmarks[2].samples) <= 51e6
    assert parsed.notes == (FAILED,)
    assert parsed.time is not None
    assert not READERS["pyperf"].matches(Source("f.json", golden("mitata/groups.json")))


def test_mitata_without_samples_is_a_summary() -> None:
    content = from_golden("mitata/groups.json")
    del content["benchmarks"][0]["runs"][0]["stats"]["samples"]
    summary = parse("mitata", content).benchmarks[0].summary
    assert summary is not None
    assert summary.statistic == "mean"


def test_deno_tells_equal_names_by_their_groups() -> None:
    content = from_golden("deno/bench.json")
    assert [name for name, _, _ in names(parse("deno", content))] == ["sum", "sort", "sort numbers"]
    assert parse("deno", content).notes == (FAILED,)
    for bench in content["benches"]:
        bench["name"] = "same"
    assert [name for name, _, _ in names(parse("deno", content))][1:] == ["sorts > same"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vitest", {"files": [{"filepath": "f", "groups": [5]}]}, "is a number, not an object"),
        ("tinybench", [{"name": "f", "result": {"latency": {"mean": "x"}}}], "is text, not a number"),
        ("mitata", {"benchmarks": [{"alias": "f", "runs": [{"stats": {"samples": ["x"]}}]}]}, "is text, not a number"),
        ("deno", {"runtime": "", "benches": [{"name": "f", "results": [{"ok": {}}]}]}, "has no `avg`"),
    ],
)
def test_broken_values_are_refused_with_their_place(name: str, content: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as refusal:
        collect_sources([Source("f.json", json.dumps(content).encode())], Reading(tool=name))
    assert (refusal.value.place or "").startswith("f.json: ")


def summaries(text: bytes) -> dict[str, Summary | None]:
    return {b.name: b.summary for b in READERS["benchmarkjs_text"].read(Source("suite.txt", text)).benchmarks}


def test_the_golden_suite() -> None:
    parsed = READERS["benchmarkjs_text"].read(Source("suite.txt", golden("benchmarkjs/suite.txt")))
    assert [(b.name, b.value) for b in parsed.benchmarks] == [
        ("RegExp#test", 14_939_010.0),
        ("String#indexOf", 521_693_845.0),
        ("sort 20000", 133.0),
    ]
    assert {(b.metric.name, b.metric.unit, b.metric.direction) for b in parsed.benchmarks} == {
        ("throughput", "ops/sec", Direction.HIGHER_IS_BETTER)
    }


def test_the_error_is_of_the_time_so_the_rate_has_its_inverse() -> None:
    summary = summaries("a x b x 1,000 ops/sec ±25.00% (64 runs sampled)\n".encode())["a x b"]
    assert summary is not None
    assert (summary.value, summary.count, summary.confidence_level) == (1000.0, 64, 0.95)
    assert summary.confidence_interval == pytest.approx((800.0, 4000.0 / 3.0))


def test_an_error_of_all_or_more_bounds_nothing() -> None:
    summary = summaries(b"f x 3.5 ops/sec +-140.1% (1 run sampled)\n")["f"]
    assert summary == Summary(value=3.5, statistic="mean", count=1)


def test_other_lines_are_passed_over() -> None:
    text = "Fastest is b\nf x 1 ops/sec ±1% (2 runs sampled)\ng x many ops/sec ±1% (2 runs sampled)\nh: Error\n"
    assert list(summaries(text.encode())) == ["f"]


def test_vitest_s_text_gives_what_its_json_says_once() -> None:
    parsed = READERS["vitest_text"].read(Source("v.txt", golden("vitest/bench-4.txt")))
    results = {benchmark.name: benchmark for benchmark in parsed.benchmarks}
    assert not any(benchmark.samples for benchmark in parsed.benchmarks)
    summary = results["src/other.bench.mjs > more > replace all"].summary
    assert summary is not None
    assert summary.value == pytest.approx(0.04924452904973279)
    assert summary.count == 4062
    assert summary.confidence_interval == pytest.approx((0.0448358, 0.0536532), rel=1e-4)
    assert results["src/sort.bench.mjs > text > long > split"].value == 100.58
    assert {"src/sort.bench.mjs > join", "src/other.bench.mjs > join"} <= results.keys()
    assert parsed.notes == ("left out: benchmarks that failed, with their suites: 1",)


def test_the_text_of_an_earlier_vitest_reads_like_that_of_version_4() -> None:
    text = golden("vitest/bench-4.txt")
    earlier = collect_sources([Source("v.txt", text.replace(b" RUN  v4", b" RUN  v2"))])
    assert earlier == collect_sources([Source("v.txt", text)])


def test_vitest_s_colours_are_left_out() -> None:
    run = collect_sources([Source("v.txt", golden("vitest/bench-4-colour.txt"))])
    names = ["vb.bench.ts > loops > sum", "vb.bench.ts > loops > sort"]
    assert [(each.name, each.value) for each in run.benchmarks] == list(
        zip(names, [1000 / 911250.07, 1000 / 26294.14], strict=True)
    )


def test_mitata_s_text_has_its_groups_before_the_names() -> None:
    parsed = READERS["mitata_text"].read(Source("m.txt", golden("mitata/groups.txt")))
    times = {benchmark.name: benchmark.value for benchmark in parsed.benchmarks}
    assert times == pytest.approx(
        {
            "text > split": 31_300,
            "text > replace": 49_150,
            "split": 2_980,
            "sort 10": 2_170,
            "sort 1000": 278_760,
            "compact > split": 24_630,
        }
    )
    assert parsed.notes == ("left out: benchmarks that failed or whose names are cut off: 1",)


def test_a_name_that_mitata_cut_off_is_left_out() -> None:
    rows = ("a long na..  1.00 µs/iter  1.00 µs █", "b  2.00 h/iter  2.00 h █", "c  1.00 s/iter  1.00 s █")
    text = "\n".join(("benchmark  avg (min … max)", *rows))
    parsed = READERS["mitata_text"].read(Source("m.txt", text.encode()))
    assert [benchmark.name for benchmark in parsed.benchmarks] == ["c"]
    assert parsed.notes == ("left out: benchmarks that failed or whose names are cut off: 2",)


def test_vitest_5_s_text_gives_the_means_that_it_prints() -> None:
    text = golden("vitest/bench-5.txt")
    parsed = READERS["vitest_5_text"].read(Source("x.txt", text))
    assert {each.name: each.value for each in parsed.benchmarks} == {
        "sort.bench.mjs > text > join > replace": 0.1287,
        "sort.bench.mjs > text > join > comma": 0.1458,
        "sort.bench.mjs > text > split > large split": 584.66,
        "o.bench.mjs > alone > tiny": 0.0007,
    }
    assert parsed.notes == ("means printed with fewer than three digits, which the JSON has: 1",)
    failed = READERS["vitest_5_text"].read(Source("x.txt", text + "   \N{MULTIPLICATION SIGN} broken 3ms\n".encode()))
    assert failed.notes[0] == "left out because they failed: 1"


def test_mitata_of_version_0_1_groups_thousands_by_apostrophes() -> None:
    parsed = READERS["mitata_text"].read(Source("m.txt", golden("mitata/groups-0.1.txt")))
    assert {each.name: each.value for each in parsed.benchmarks} == {
        "top level": 1510.0,
        "text > join": 1132.0,
        "text > large split": 176_000.0,
    }
    assert parsed.notes == ("left out: benchmarks that failed or whose names are cut off: 1",)
