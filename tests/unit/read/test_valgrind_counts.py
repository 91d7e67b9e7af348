"""The counts of Gungraun and iai."""

import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import parse_golden, times


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


def test_iai_counts_have_the_metrics_of_its_successor() -> None:
    results = {b.key.full_name: b for b in parse_golden("iai", "iai/iai.txt").benchmarks}
    assert results["sum_long instructions"].samples == (3756.0,)
    assert results["sum_short ram_accesses"].metric.direction is Direction.LOWER_IS_BETTER
    assert results["sum_short l2_accesses"].metric.direction is Direction.UNKNOWN
