"""Where the noise of a history comes from, and so what measuring more would help."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from statistics import median
from typing import Final

import numpy as np

from bot.detect.units import depends_on_machine
from bot.model.audit import NoiseSources
from bot.model.metric import MetricKey
from bot.model.run import Benchmark, Run
from bot.stats.variance_components import VarianceComponents, variance_components

# A mixed model of more takes seconds and says the same.
MOST_METRICS: Final = 20
MOST_RUNS: Final = 20
MOST_SAMPLES: Final = 30


def noise_sources(runs: Sequence[Run]) -> NoiseSources | None:
    """Of the newest runs, the medians over some of their timed benchmarks; None where nothing could be fitted."""
    newest = runs[-MOST_RUNS:]
    measured = defaultdict[MetricKey, list[Benchmark]](list)
    for benchmark in chain.from_iterable(run.benchmarks for run in newest):
        if benchmark.samples and depends_on_machine(benchmark.metric.unit):
            measured[benchmark.key].append(benchmark)
    several = [benchmarks for benchmarks in measured.values() if len(benchmarks) > 1]
    step = max(1, len(several) // MOST_METRICS)
    fitted = [one for benchmarks in several[::step][:MOST_METRICS] if (one := _components(benchmarks)) is not None]
    if not fitted:
        return None
    processes = [one.processes for one in fitted if one.processes is not None]
    return NoiseSources(
        metrics=len(fitted),
        runs=median(one.runs for one in fitted),
        processes=median(processes) if processes else None,
        samples=median(one.samples for one in fitted),
    )


def _components(benchmarks: Sequence[Benchmark]) -> VarianceComponents | None:
    values, runs, processes = [], [], []
    for number, benchmark in enumerate(benchmarks):
        sizes = benchmark.group_sizes or (len(benchmark.samples),)
        group = np.repeat(np.arange(len(sizes)), sizes)
        # From all processes alike, not the first ones'.
        kept = np.unique(np.linspace(0, len(group) - 1, min(len(group), MOST_SAMPLES)).round().astype(np.intp))
        values.append(np.array(benchmark.samples)[kept])
        runs.append(np.full(len(kept), number))
        processes.append(group[kept])
    return variance_components(np.concatenate(values), run=np.concatenate(runs), process=np.concatenate(processes))
