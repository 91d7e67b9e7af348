"""Runs that differ by a number: commit, minute and samples follow from it."""

from datetime import UTC, datetime, timedelta

from perf_culprit.model.run import Benchmark, Direction, Metric, Run

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
START = datetime(2026, 1, 1, tzinfo=UTC)


def make_run(number: int, *, commit: str | None = None, suite: str = "default", samples: int = 3) -> Run:
    values = tuple(float(number * 100 + i) for i in range(samples))
    return Run(
        benchmarks=(Benchmark.of(name="sort", metric=TIME, samples=values),),
        commit=commit or f"{number:040x}",
        time=START + timedelta(minutes=number),
        suite=suite,
    )
