"""Trials with real rounds of one commit: which metrics a change is planted into."""

from perf_culprit.judge.planting import Planting
from perf_culprit.model.run import Benchmark, Run


def benchmark(metric: str, unit: str) -> Benchmark:
    return Benchmark(name="b", metric_name=metric, unit=unit, samples=(1.0, 2.0), group_sizes=(1, 1), rounds=(1, 1))


def test_changes_are_planted_into_counts_only_where_nothing_is_timed() -> None:
    count, time = benchmark("allocs", "allocs/op"), benchmark("time", "ms")
    for benchmarks, expected in (((count, time), ["time"]), ((count,), ["allocs"])):
        run = Run(benchmarks=benchmarks)
        assert [key.metric for key in Planting((run, run), lambda *_: ()).keys] == expected
