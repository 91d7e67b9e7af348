"""Lighthouse's pages and ClickBench's queries."""

import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden


def test_a_page_is_measured_by_the_audits_that_are_numbers() -> None:
    data = golden("lighthouse/page.json")
    run = collect_sources([Source("1.json", data), Source("2.json", data)])
    metrics = {each.metric.name: (each.samples, each.metric.unit) for each in run.benchmarks}
    assert metrics["total_blocking_time"] == ((81.0, 81.0), "ms")
    assert metrics["cumulative_layout_shift"] == ((0.0, 0.0), "")
    assert not {"server_response_time", "dom_size", "viewport"} & metrics.keys()
    (score,) = (each for each in run.benchmarks if each.metric.name == "performance_score")
    assert score.metric.direction is Direction.HIGHER_IS_BETTER


def test_a_page_that_could_not_be_measured_is_an_error() -> None:
    report = json.loads(golden("lighthouse/page.json"))
    for audit in report["audits"].values():
        audit["scoreDisplayMode"] = "error"
    with pytest.raises(DataError, match="could not measure"):
        collect_sources([Source("page.json", json.dumps(report).encode())])


def test_the_first_execution_of_a_query_is_cold() -> None:
    run = collect_sources([Source("results.json", golden("clickbench/results.json"))])
    measured = {(each.name, each.metric.name): each.samples for each in run.benchmarks}
    assert measured["Small DB Q0", "cold_time"] == (0.012,)
    assert measured["Small DB Q0", "time"] == (0.001, 0.002)
    assert measured["Small DB Q3", "time"] == (0.31,)
    assert ("Small DB Q2", "time") not in measured
    assert measured["Small DB", "load_time"] == (123.4,)
    assert any("Q2, Q3" in note for note in run.notes)
