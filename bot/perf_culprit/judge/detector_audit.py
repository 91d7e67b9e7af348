"""Audit of every detector on a history: its rate of false alarms, and the injected changes that it finds.

docs/detectors/audit.md explains the numbers and their limits.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from statistics import median

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge.audit_counters import audit_counters, sweep_thresholds
from perf_culprit.judge.recommendation import recommend
from perf_culprit.judge.trials import (
    DRAWS,
    FEWEST_TRIALS,
    Choose,
    Judge,
    JudgedTrial,
    alarms_of,
    planted_power,
    replay,
    split_trials,
    wrong_metrics,
    wrong_runs,
)
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.accuracy import Audit, DetectorAudit, MetricLimit, NoiseSources, TrialKind
from perf_culprit.model.detectors import BENCHMARK_DETECTORS, DEFAULT_COUNTER_DETECTOR, DEFAULT_DETECTOR
from perf_culprit.model.finding import CALLED_VERDICTS, QUIET_VERDICTS
from perf_culprit.model.reason import AuditReason, Reason, because
from perf_culprit.model.run import Benchmark, MetricKey, Run
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.variance_components import VarianceComponents, variance_components


def audit(
    runs: Sequence[Run],
    *,
    settings: PolicySettings,
    rng: np.random.Generator,
    choose: Choose,
    detectors: Collection[str] | None = None,
    detector: str = DEFAULT_DETECTOR,
    counter_detector: str = DEFAULT_COUNTER_DETECTOR,
    sweep: bool = False,
) -> Audit:
    """Judge the runs of one suite, oldest first, by every detector at these settings.

    `choose` selects a run's baseline from the runs before it. `detector` and `counter_detector` are the configured
    ones. `sweep`: also vary the threshold of control charts.
    """
    usable = [replace(run, counters=()) for run in runs if run.benchmarks]
    chosen = tuple(detectors or BENCHMARK_DETECTORS)
    judges = {name: Judge(detector=name, counter_detector=counter_detector, settings=settings) for name in chosen}
    kind, by_detector = _trials(usable, judges, choose=choose, rng=rng) if usable else (TrialKind.STORED_RUNS, {})
    counters = audit_counters(runs, settings=settings, choose=choose, rng=rng, most_trials=WORK_LIMITS.audit_trials)
    if not by_detector and not counters:
        raise DataError(
            f"there is too little to audit (runs: {len(runs)}, none of them with samples enough for two halves)",
            next_step="record more runs, or give result files with ten samples or more per benchmark",
        )
    audits = tuple(_audit_detector(judges[name], by_detector[name], kind, rng=rng) for name in chosen if by_detector)
    newest = next(iter(by_detector.values()))[-1].findings if by_detector else ()
    samples = int(median([len(entry.samples) for run in usable for entry in run.benchmarks] or [0]))
    return Audit(
        suite=runs[-1].suite,
        kind=kind,
        runs=len(runs),
        metrics=len(newest),
        samples_per_run=samples,
        planted=DRAWS,
        stated=(settings.proven, settings.suspected),
        minimum_effect=settings.minimum_effect,
        configured=detector,
        detectors=audits,
        counters=counters,
        recommendation=recommend(
            audits, counters, settings=settings, detector=detector, counter_detector=counter_detector
        ),
        noise=noise_sources(usable),
        sweep=sweep_thresholds(runs, settings=settings, choose=choose, rng=rng) if sweep else (),
        notes=tuple(_notes(kind, runs=len(usable), audits=audits)),
    )


def _trials(
    runs: Sequence[Run], judges: Mapping[str, Judge], *, choose: Choose, rng: np.random.Generator
) -> tuple[TrialKind, dict[str, list[JudgedTrial]]]:
    """Run each detector's trials: on stored runs if there are enough, else on halves of them; empty if impossible."""
    first = max(len(runs) - WORK_LIMITS.audit_trials, 0)
    bare = [replace(run, regressions=()) for run in runs]
    comparable = (index for index in range(first, len(bare)) if choose(bare[:index], bare[index]).runs)
    if len(list(islice(comparable, FEWEST_TRIALS))) == FEWEST_TRIALS:
        stored = {name: replay(runs, judge=judge, choose=choose, first=first) for name, judge in judges.items()}
        return TrialKind.STORED_RUNS, stored
    splits = split_trials(runs, count=DRAWS, rng=rng)
    halves = {
        name: [JudgedTrial(trial=trial, findings=judge(trial.baseline, trial.target)) for trial in splits]
        for name, judge in judges.items()
    }
    return TrialKind.SPLIT_RUNS, halves if splits else {}


def _audit_detector(
    judge: Judge, trials: Sequence[JudgedTrial], kind: TrialKind, *, rng: np.random.Generator
) -> DetectorAudit:
    alarms = [alarms_of(entry, judge, surely_unchanged=kind is TrialKind.SPLIT_RUNS) for entry in trials]
    recent = trials[len(trials) // 2 :]  # their baselines are the largest
    quiet = [entry for entry in trials[-1].findings if entry.verdict in QUIET_VERDICTS]
    limits = [MetricLimit(key=entry.key, effect=entry.detectable_effect) for entry in quiet]
    return DetectorAudit(
        detector=judge.detector,
        alarms=wrong_runs(alarms),
        suspicions=wrong_runs(alarms, CALLED_VERDICTS),
        metric_alarms=wrong_metrics(alarms),
        lasting=sum(entry.lasting for entry in alarms),
        unknown=sum(entry.unknown for entry in alarms),
        power=tuple(planted_power(recent, judge, draws=DRAWS, rng=rng)),
        limits=tuple(sorted(limits, key=lambda one: (-(one.effect or math.inf), one.key))),
    )


def _notes(kind: TrialKind, *, runs: int, audits: Sequence[DetectorAudit]) -> Iterator[Reason]:
    if not audits:
        return
    if kind is TrialKind.SPLIT_RUNS:
        yield because(AuditReason.SPLIT_AT_RANDOM, runs=runs)
    else:
        yield because(AuditReason.SHARED_BASELINES)
    if lasting := max(entry.lasting for entry in audits):
        yield because(AuditReason.LASTED, count=lasting)
    if unknown := max(entry.unknown for entry in audits):
        yield because(AuditReason.NOT_YET_REFUTED, count=unknown)
    trials = max(entry.alarms.trials for entry in audits)
    if 0 < trials < 1 / 0.05:
        yield because(AuditReason.FEW_TRIALS, trials=trials, rate=3 / trials)


def noise_sources(runs: Sequence[Run]) -> NoiseSources | None:
    """Medians over some timed benchmarks of the newest runs; None if nothing could be fitted."""
    newest = runs[-WORK_LIMITS.modelled_runs :]
    by_key = defaultdict[MetricKey, list[Benchmark]](list)
    for benchmark in chain.from_iterable(run.benchmarks for run in newest):
        if benchmark.samples and depends_on_machine(benchmark.metric.unit):
            by_key[benchmark.key].append(benchmark)
    several = [benchmarks for benchmarks in by_key.values() if len(benchmarks) > 1]
    step = max(1, len(several) // WORK_LIMITS.modelled_metrics)
    fitted = [
        one
        for benchmarks in several[::step][: WORK_LIMITS.modelled_metrics]
        if (one := _components(benchmarks)) is not None
    ]
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
        # From all processes evenly, not only from the first ones.
        at = np.unique(
            np.linspace(0, len(group) - 1, min(len(group), WORK_LIMITS.modelled_samples)).round().astype(np.intp)
        )
        values.append(np.array(benchmark.samples)[at])
        runs.append(np.full(len(at), number))
        processes.append(group[at])
    return variance_components(np.concatenate(values), run=np.concatenate(runs), process=np.concatenate(processes))
