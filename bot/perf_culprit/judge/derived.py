"""Rates that a tool computes from the times of the same benchmark: a duplicate finding, so only the time is judged."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import groupby
from operator import attrgetter

from msgspec import structs

from perf_culprit.model.finding import Baseline
from perf_culprit.model.run import Benchmark, Direction, MetricKey, Run

RATE_ENDINGS = ("/s", "/sec", "_per_second")
# Relative tolerance: numbers printed with six digits are equal. Go prints MB/s with two decimals.
PRECISION = 1e-5
# The times must differ by this multiple of their rounding.
CLEARLY = 10.0


def without_derived(
    baseline: Baseline, target: Run, *, keep: Callable[[MetricKey], bool]
) -> tuple[Baseline, Run, tuple[str, ...]]:
    """Remove the rates that are a constant divided by the times in every run; also return their names.

    If the work per call changed too, the constant changed: such a rate is informative and stays. Rates that the user
    `keep`s and rates without repeated samples, which cannot be checked, also stay.
    """
    if len({benchmark.name for benchmark in target.benchmarks}) == len(target.benchmarks):
        return baseline, target, ()
    runs = (*baseline.runs, target)
    by_key = [{benchmark.key: benchmark for benchmark in run.benchmarks} for run in runs]
    derived = {
        rate.key
        for rate, times in _candidates(target.benchmarks)
        if not keep(rate.key) and any(_is_function(rate.key, time.key, by_key) for time in times)
    }
    if not derived:
        return baseline, target, ()
    *earlier, last = (
        structs.replace(
            run, benchmarks=tuple(benchmark for benchmark in run.benchmarks if benchmark.key not in derived)
        )
        for run in runs
    )
    names = tuple(dict.fromkeys(key.metric for key in sorted(derived)))
    return replace(baseline, runs=tuple(earlier)), last, names


def _candidates(benchmarks: Sequence[Benchmark]) -> Iterator[tuple[Benchmark, list[Benchmark]]]:
    """Yield each rate of a benchmark with its possible times."""
    by_name = sorted(benchmarks, key=attrgetter("name"))
    for _, group in groupby(by_name, key=attrgetter("name")):
        metrics = list(group)
        times = [entry for entry in metrics if entry.metric.direction is Direction.LOWER_IS_BETTER and entry.samples]
        for entry in metrics:
            metric = entry.metric
            is_rate = metric.unit.endswith(RATE_ENDINGS) or metric.name.endswith(RATE_ENDINGS)
            if metric.direction is Direction.HIGHER_IS_BETTER and is_rate and entry.samples and times:
                yield entry, times


def _is_function(rate: MetricKey, time: MetricKey, runs: Sequence[dict[MetricKey, Benchmark]]) -> bool:
    least, most, coarsest = 0.0, math.inf, 0.0
    times: list[float] = []
    for run in runs:
        ours, theirs = run.get(rate), run.get(time)
        if ours is None or theirs is None or not ours.samples:
            continue
        if len(ours.samples) != len(theirs.samples):
            return False
        times += theirs.samples
        for own, other in zip(ours.samples, theirs.samples, strict=True):
            rounding = PRECISION / 2 + _rounding(own) + _rounding(other)
            least, most = max(least, own * other * (1 - rounding)), min(most, own * other * (1 + rounding))
            coarsest = max(coarsest, rounding)
    # If times hardly differ, a roughly constant product proves nothing.
    return len(set(times)) > 1 and least <= most and max(times) - min(times) >= CLEARLY * coarsest * min(times)


def _rounding(number: float) -> float:
    """The largest rounding error of a number printed with this many decimals, as a fraction of it."""
    exponent = Decimal(repr(number)).as_tuple().exponent
    return 0.5 * 10.0**exponent / abs(number) if number and isinstance(exponent, int) else 0.0
