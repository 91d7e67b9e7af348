"""Choice of the statistic that is compared, and of the numbers that can be."""

from collections.abc import Sequence

from perf_culprit.model.run import Benchmark, Summary

MEAN = "mean"
MEDIAN = "median"
# No benchmark measures numbers outside this range.
SMALLEST_NUMBER = 1e-60
LARGEST_NUMBER = 1 / SMALLEST_NUMBER


def common_statistic(benchmarks: Sequence[Benchmark], *, preferred: str = MEAN) -> str | None:
    """`preferred` if all summaries state it, else the one all state ("value" may be any); None if they disagree."""
    if all(entry.summary is None or states(entry.summary, preferred) for entry in benchmarks):
        return preferred
    named = {entry.summary.statistic for entry in benchmarks if entry.summary is not None}
    if len(named) > 1:
        named.discard("value")
    return named.pop() if len(named) == 1 else None


def unmeasurable(benchmark: Benchmark) -> float | None:
    """Return the first number, zero excepted, that is too large or small for its squared quotients, or None."""
    summary = benchmark.summary
    numbers: tuple[float, ...] = benchmark.samples
    if summary is not None:
        numbers = (summary.value, summary.standard_deviation or 0.0, *(summary.confidence_interval or ()))
        numbers += () if summary.median is None else (summary.median,)
    # Run in C for the usual case that all is well: a suite has millions of samples.
    if min(numbers) >= SMALLEST_NUMBER and max(numbers) <= LARGEST_NUMBER:
        return None
    return next(
        (number for number in numbers if number != 0 and not SMALLEST_NUMBER <= abs(number) <= LARGEST_NUMBER), None
    )


def states(summary: Summary, statistic: str) -> bool:
    return summary.statistic == statistic or (statistic == MEDIAN and summary.median is not None)
