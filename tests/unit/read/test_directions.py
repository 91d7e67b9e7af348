"""Metrics whose file does not say which way is good."""

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, MetricKey
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.source import Source

GO = Source("bench.txt", b"BenchmarkX-4 10 5 ns/op 2.5 hits\nBenchmarkY-4 10 5 ns/op 7 hits\n")


def only_x(key: MetricKey) -> Direction | None:
    return Direction.HIGHER_IS_BETTER if key == MetricKey("BenchmarkX", "hits") else None


def test_a_metric_without_direction_is_left_out_by_name() -> None:
    run = collect_sources([GO])
    assert [key.metric for key in run.keys] == ["time", "time"]
    (note,) = run.notes
    assert "`hits`" in note
    assert "`direction`" in note


def test_the_configuration_rescues_what_it_states_and_nothing_else() -> None:
    run = collect_sources([GO], Reading(directions=only_x))
    kept = {benchmark.key: benchmark for benchmark in run.benchmarks}
    assert kept[MetricKey("BenchmarkX", "hits")].metric.direction is Direction.HIGHER_IS_BETTER
    assert kept[MetricKey("BenchmarkX", "hits")].samples == (2.5,)
    assert MetricKey("BenchmarkY", "hits") not in kept
    assert len(run.notes) == 1


def test_a_configured_direction_does_not_touch_one_that_the_file_states() -> None:
    run = collect_sources([GO], Reading(directions=lambda _: Direction.HIGHER_IS_BETTER))
    directions = {benchmark.metric.name: benchmark.metric.direction for benchmark in run.benchmarks}
    assert directions == {"time": Direction.LOWER_IS_BETTER, "hits": Direction.HIGHER_IS_BETTER}
    assert run.notes == ()


def test_a_file_of_nothing_else_is_refused_with_what_to_set() -> None:
    with pytest.raises(DataError, match="`quality`") as refusal:
        collect_sources([Source("b.json", b'[{"name": "quality", "unit": "points", "value": 3}]')])
    assert "`direction`" in (refusal.value.next_step or "")
