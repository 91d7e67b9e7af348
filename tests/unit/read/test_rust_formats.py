"""What divan and Gungraun print, and Go's events, beyond their golden files."""

import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.parsed import Parsed
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden


def times(parsed: Parsed) -> dict[str, float]:
    return {benchmark.name: benchmark.value for benchmark in parsed.benchmarks}


def test_divan_medians_are_named_by_their_path() -> None:
    parsed = READERS["divan"].read(Source("d.txt", golden("divan/table.txt")))
    assert times(parsed) == {"sorted::10": 36.49, "sorted::1000": 8697.0, "sum": 1.092, "text::repeat": 44.32}
    assert parsed.notes == ("left out: throughputs (the same times said again) and allocations, lines: 1",)
    summary = parsed.benchmarks[0].summary
    assert summary is not None
    assert (summary.minimum, summary.maximum, summary.count) == (35.08, 57.77, 20)


def test_divan_tables_of_several_binaries_keep_their_names_apart() -> None:
    table = golden("divan/table.txt")
    other = table.replace(b"d              fastest", b"other          fastest")
    assert set(times(READERS["divan"].read(Source("d.txt", table + other)))) >= {"d::sum", "other::sum"}
    twice = READERS["divan"].read(Source("d.txt", table + table)).benchmarks
    assert [len(benchmark.samples) for benchmark in twice] == [2, 2, 2, 2]


@pytest.mark.parametrize(("path", "cycles"), [("iai_callgrind", 151.0), ("gungraun", 117.0)])
def test_gungraun_counts_are_costs_and_hits_of_caches_have_no_direction(path: str, cycles: float) -> None:
    parsed = READERS["gungraun"].read(Source("g.txt", golden(f"gungraun/{path}.txt")))
    first = {b.metric.name: b.value for b in parsed.benchmarks if "short" in b.name}
    assert first.keys() == {"instructions", "l1_hits", "ll_hits", "ram_hits", "total_read+write", "estimated_cycles"}
    unknown = {b.metric.name for b in parsed.benchmarks if b.metric.direction is Direction.UNKNOWN}
    assert unknown == {"l1_hits", "ll_hits"}
    assert (first["instructions"], first["estimated_cycles"]) == (60.0, cycles)


def test_gungraun_counts_are_the_new_ones_of_a_comparison() -> None:
    text = b"m::g::f id:1\n  Instructions:     1,200|1000     (+20.0000%) [+1.20000x]\n"
    assert times(READERS["gungraun"].read(Source("g.txt", text))) == {"m::g::f id:1": 1200.0}


def test_gungraun_json_gives_the_metrics_of_its_text() -> None:
    text = READERS["gungraun"].read(Source("g.txt", golden("gungraun/gungraun.txt")))
    parsed = collect_sources([Source("g.jsonl", golden("gungraun/gungraun.jsonl"))], Reading(tool="gungraun_json"))
    costs = {(b.key, b.metric) for b in text.benchmarks if b.metric.direction is not Direction.UNKNOWN}
    assert {(b.key, b.metric) for b in parsed.benchmarks} == costs
    counts = {(b.name, b.metric.name): b.samples for b in parsed.benchmarks}
    assert counts["g::sums::bench_sum short:(10)", "instructions"] == (49.0,)
    assert counts["g::sums::bench_sum long:(1000)", "estimated_cycles"] == (2502.0,)


def test_gungraun_json_of_version_6_gives_the_newest_counts_and_notes_what_it_leaves_out() -> None:
    counts = {
        "Ir": {"Both": [{"Int": 60}, {"Int": 50}]},
        "D1mr": {"Left": {"Int": 3}},
        "TotalRW": {"Right": {"Int": 9}},
    }
    total = {"summary": {"Callgrind": {kind: {"diffs": None, "metrics": new} for kind, new in counts.items()}}}
    empty = {"summaries": {"parts": [], "total": {"summary": "None"}}}
    summary = {
        "version": "6",
        "module_path": "g::f",
        "id": "short",
        "details": "(10)",
        "profiles": [{"summaries": {"parts": [], "total": total}}, empty],
    }
    parsed = READERS["gungraun_json"].read(Source("g", json.dumps(summary).encode()))
    assert {b.key.full_name: b.samples for b in parsed.benchmarks} == {"g::f short:(10) instructions": (60.0,)}
    assert parsed.notes == ("left out: other kinds of counts, such as `D1mr`",)
    with pytest.raises(DataError, match="another version than 6 and 7"):
        READERS["gungraun_json"].read(Source("g", json.dumps({**summary, "version": "5"}).encode()))


def test_gungraun_json_names_the_line_that_is_cut_off() -> None:
    with pytest.raises(DataError, match=r"g\.jsonl:2"):
        collect_sources([Source("g.jsonl", golden("gungraun/gungraun.jsonl")[:-100])], Reading(tool="auto"))


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
