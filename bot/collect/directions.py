"""Metrics whose file does not say which way is good: the configuration says it, or they are left out by name."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from bot.collect.content import shown
from bot.collect.parser import VALUE, Parsed
from bot.errors import listed
from bot.model.metric import Direction, MetricKey

if TYPE_CHECKING:
    from bot.model.run import Benchmark

# What the configuration says of a metric; None where it says nothing.
Directions: TypeAlias = Callable[[MetricKey], Direction | None]

SET_DIRECTION = "set their `direction` in the configuration (benchmarks: - match: NAME)"
MAX_SHOWN_NAMES = 5


def directed(parsed: Parsed, directions: Directions | None, *, keep: bool = False) -> Parsed:
    """`parsed` with benchmarks of known direction only, unless all are to be kept; a note names the others."""
    kept: list[Benchmark] = []
    undirected: dict[str, None] = {}
    for benchmark in parsed.benchmarks:
        metric = benchmark.metric
        stated = directions(benchmark.key) if directions and metric.direction is Direction.UNKNOWN else None
        direction = stated or metric.direction
        if direction is Direction.UNKNOWN and not (keep and stated is None):
            undirected[benchmark.name if metric.name == VALUE else metric.name] = None
        elif direction is metric.direction:
            kept.append(benchmark)
        else:
            kept.append(replace(benchmark, metric=replace(metric, direction=direction)))
    if not undirected:
        return replace(parsed, benchmarks=tuple(kept)) if kept else parsed
    names = [f"`{shown(name)}`" for name in undirected]
    few = listed(names, most=MAX_SHOWN_NAMES)
    note = f"left out because nothing says which way is good: {few}; {SET_DIRECTION}"
    return replace(parsed, benchmarks=tuple(kept), notes=(*parsed.notes, note), undirected=len(undirected))
