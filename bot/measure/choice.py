"""Which metric of which benchmark is followed through the commits."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from bot.errors import DataError, UsageError, listed
from bot.measure.log import shown_output
from bot.model.metric import Direction, Metric, MetricKey
from bot.model.run import Run

LISTED: Final = 20


def require_benchmark(run: Run, *, benchmark: str | None, metric: str | None, end: str) -> None:
    """Refuse names that the run of one end does not have, before the other end is built and measured."""
    if not _matching(run, benchmark, metric):
        raise _unknown(run, benchmark, metric, where=f" at the {end} commit")


def choose_metric(good: Run, bad: Run, *, benchmark: str | None, metric: str | None) -> tuple[MetricKey, Metric]:
    """The one metric that the names leave, measured at both ends.

    Raises:
        UsageError: the names match nothing or several metrics; the message lists what there is.
        DataError: only one end has it.
    """
    at_good, at_bad = _matching(good, benchmark, metric), _matching(bad, benchmark, metric)
    both = {key: followed for key, followed in at_good.items() if key in at_bad}
    if not both and (at_good or at_bad):
        key, end = next(((key, "bad") for key in at_good), None) or next((key, "good") for key in at_bad)
        raise DataError(
            f"{_named([key])} is not measured at the {end} commit",
            place="--benchmark",
            next_step="choose ends that both have the benchmark, or another benchmark",
        )
    if not both:
        raise _unknown(good, benchmark, metric)
    if len(both) > 1:
        raise UsageError(
            f"{len(both)} metrics are measured, and a search follows one",
            place="--benchmark",
            next_step=f"name one with --benchmark and --metric: {_named(list(both))}",
        )
    key, followed = next(iter(both.items()))
    if followed.direction is Direction.UNKNOWN:
        raise UsageError(
            f"{_named([key])} does not say whether lower or higher is better",
            place="--metric",
            next_step="choose another metric, or name the format with --tool",
        )
    return key, followed


def _unknown(run: Run, benchmark: str | None, metric: str | None, *, where: str = "") -> UsageError:
    wanted = f"benchmark {benchmark!r}" if benchmark else "benchmark"
    wanted += f" with a metric {metric!r}" if metric else ""
    keys = list(_matching(run, None, None))
    close = get_close_matches(benchmark or "", [key.benchmark for key in keys], n=3)
    keys.sort(key=lambda key: close.index(key.benchmark) if key.benchmark in close else len(close))
    return UsageError(
        f"there is no {wanted}{where}",
        place="--benchmark" if benchmark else "--metric",
        next_step=f"use one of: {_named(keys)}",
    )


def _matching(run: Run, benchmark: str | None, metric: str | None) -> dict[MetricKey, Metric]:
    return {
        entry.key: entry.metric
        for entry in run.benchmarks
        if benchmark in (None, entry.name) and metric in (None, entry.metric.name)
    }


def _named(keys: Sequence[MetricKey]) -> str:
    names = [shown_output(f"{key.benchmark} ({key.metric})".encode(errors="replace")) for key in keys]
    return listed(names, most=LISTED)
