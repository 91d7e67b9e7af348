"""Two sides of executions, as users have them: files, stored runs or rounds, with one or many numbers each."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.report import Judgement
from perf_culprit.model.run import CI_RUN, Benchmark, Environment, Metric, Run
from perf_culprit.read.results.merge import in_order
from tests.support.noisy_runs import TIME, Floats, run_of

_JOBS = count()
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


def files(side: Floats, metrics: Sequence[Metric] = ()) -> tuple[Run, ...]:
    """Return a run per file, each of a job of its own. `side` (files, benchmarks, samples), or without samples."""
    numbers = side.reshape(*side.shape, 1) if side.ndim == 2 else side
    return tuple(of_own_job(_with_metrics(run_of(file), metrics)) for file in numbers)


def of_own_job(run: Run) -> Run:
    """The run as a job of its own measured it, so that it is a block."""
    components = {**run.environment.components, CI_RUN: str(next(_JOBS))}
    return replace(run, environment=Environment(components=components))


def joined(runs: Sequence[Run], *, paired: bool = False) -> Run:
    """The files of a side as one run, as they are read; `paired`: measured in turn with the other side's."""
    first, *_ = runs
    return replace(
        first,
        benchmarks=tuple(
            _joined([run.benchmarks[row] for run in runs], paired=paired) for row in range(len(first.benchmarks))
        ),
        origins=() if paired else tuple(run.origin for run in runs),
    )


def compared(
    baseline: Sequence[Run],
    target: Sequence[Run],
    *,
    source: BaselineSource = BaselineSource.FILES,
    settings: PolicySettings | None = None,
    **others: Any,
) -> Judgement:
    paired = source is BaselineSource.PAIRED
    runs = (joined(baseline, paired=True),) if paired else tuple(baseline)
    judged = joined(target, paired=paired) if len(target) > 1 or paired else target[0]
    return judge(Baseline(runs=runs, source=source), judged, settings=settings or PolicySettings(), **others)


def by_name(judgement: Judgement) -> dict[str, Finding]:
    return {finding.key.full_name: finding for finding in judgement.findings}


def noise(rng: np.random.Generator, *shape: int, spread: float = 0.02, shared: float = 0.0) -> Floats:
    """(files, benchmarks, …) around 100; `shared`: what moves a file as a whole."""
    machine = rng.normal(0, shared, (shape[0],) + (1,) * (len(shape) - 1))
    return np.asarray(100 * np.exp(rng.normal(0, spread, shape) + machine))


def _with_metrics(run: Run, metrics: Sequence[Metric]) -> Run:
    entries = zip(run.benchmarks, metrics or (TIME,) * len(run.benchmarks), strict=True)
    return replace(run, benchmarks=tuple(entry.with_metric(metric) for entry, metric in entries))


def _joined(parts: Sequence[Benchmark], *, paired: bool) -> Benchmark:
    samples = tuple(value for part in parts for value in part.samples)
    return replace(
        parts[0],
        samples=samples,
        group_sizes=tuple(len(part.samples) for part in parts),
        rounds=in_order(len(parts)) if paired else tuple(range(1, len(parts) + 1)),
    )
