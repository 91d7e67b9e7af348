"""What every detector is worth on a history: how often it would have been wrong, and injected changes that it finds.

docs/detectors/audit.md says what the numbers mean and what they do not.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from statistics import median
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge import auto
from perf_culprit.judge.audit_counters import audit_counters
from perf_culprit.judge.detectable import (
    detectable_effect,
    detectable_range,
    injected_effects,
    metric_limits,
    samples_needed,
    trial_pairs,
)
from perf_culprit.judge.detector import BenchmarkDetector, DetectorOptions
from perf_culprit.judge.detectors import DETECTORS
from perf_culprit.judge.policy import DEFAULT_COUNTER_DETECTOR, DEFAULT_DETECTOR
from perf_culprit.judge.recommendation import recommend
from perf_culprit.judge.trials import (
    Choose,
    Judge,
    JudgedTrial,
    alarms_of,
    replay,
    split_trials,
    wrong_metrics,
    wrong_runs,
)
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.accuracy import Audit, DetectorAudit, NoiseSources, TrialKind
from perf_culprit.model.reason import AuditReason, Reason, because
from perf_culprit.model.run import Benchmark, MetricKey, Run
from perf_culprit.stats.variance_components import VarianceComponents, variance_components

# Fewer comparisons of stored runs say nothing about a rate; the samples within the runs then have to do.
FEWEST_TRIALS = 3
SPLITS = 20
# The newest runs tell how the machines are now; older ones would only cost time.
MOST_TRIALS = 60
INJECTED_TRIALS = 3
CURVE_EFFECTS: Final = tuple(float(effect) for effect in np.geomspace(0.005, 2.0, 27))
# Parts of the false discovery rate in force at which the false alarms are counted as well.
STRICTER: Final = (0.5, 0.1, 0.01)


def audit(
    runs: Sequence[Run],
    *,
    settings: PolicySettings,
    rng: np.random.Generator,
    choose: Choose,
    detectors: Mapping[str, BenchmarkDetector] | None = None,
    detector: str = DEFAULT_DETECTOR,
    counter_detector: str = DEFAULT_COUNTER_DETECTOR,
) -> Audit:
    """Judge the runs of one suite, given oldest first, by every detector at these settings.

    `choose` gives a run its baseline from those before it. `detector` and `counter_detector` are in force. `auto` only
    picks one of the others, so it is audited only where it is in force.
    """
    measured = [replace(run, counters=()) for run in runs if run.benchmarks]
    chosen = detectors or {name: module for name, module in DETECTORS.items() if name != auto.ID or name == detector}
    judges = {name: Judge(detector=name, counter_detector=counter_detector, settings=settings) for name in chosen}
    kind, judged = _judged(measured, judges, choose=choose, rng=rng) if measured else (TrialKind.STORED_RUNS, {})
    counters = audit_counters(runs, settings=settings, choose=choose, rng=rng, most_trials=MOST_TRIALS)
    if not judged and not counters:
        raise DataError(
            f"there is too little to audit (runs: {len(runs)}, none of them with samples enough for two halves)",
            next_step="record more runs, or give result files with ten samples or more per benchmark",
        )
    audits = tuple(
        _audit_detector(judges[name], module, judged[name], kind, rng=rng) for name, module in chosen.items() if judged
    )
    newest = trial_pairs(next(iter(judged.values()))[-1].trial, settings) if judged else ()
    samples = int(median([len(entry.samples) for run in measured for entry in run.benchmarks] or [0]))
    return Audit(
        suite=runs[-1].suite,
        kind=kind,
        runs=len(runs),
        metrics=len(newest),
        samples_per_run=samples,
        injected_trials=min(INJECTED_TRIALS, *map(len, judged.values())) if judged else 0,
        stated_rate=settings.false_discovery_rate,
        minimum_effect=settings.minimum_effect,
        configured=detector,
        detectors=audits,
        counters=counters,
        recommendation=recommend(
            audits, counters, kind=kind, settings=settings, samples_per_run=samples, counter_detector=counter_detector
        ),
        noise=noise_sources(measured),
        notes=tuple(_notes(kind, runs=len(measured), audits=audits)),
        auto=auto.remarks(newest, DetectorOptions()) if auto.ID in DETECTORS and detectors is None and judged else (),
    )


def _judged(
    runs: Sequence[Run], judges: Mapping[str, Judge], *, choose: Choose, rng: np.random.Generator
) -> tuple[TrialKind, dict[str, list[JudgedTrial]]]:
    """Each detector's trials: the stored runs where there are enough, else halves of them; none if neither will do."""
    first = max(len(runs) - MOST_TRIALS, 0)
    bare = [replace(run, regressions=()) for run in runs]
    comparable = (index for index in range(first, len(bare)) if choose(bare[:index], bare[index]).runs)
    if len(list(islice(comparable, FEWEST_TRIALS))) == FEWEST_TRIALS:
        stored = {name: replay(runs, judge=judge, choose=choose, first=first) for name, judge in judges.items()}
        return TrialKind.STORED_RUNS, stored
    splits = split_trials(runs, count=SPLITS, rng=rng)
    halves = {
        name: [JudgedTrial(trial=trial, findings=judge(trial.baseline, trial.target)) for trial in splits]
        for name, judge in judges.items()
    }
    return TrialKind.SPLIT_RUNS, halves if splits else {}


def _audit_detector(
    judge: Judge,
    detector: BenchmarkDetector,
    judged: Sequence[JudgedTrial],
    kind: TrialKind,
    *,
    rng: np.random.Generator,
) -> DetectorAudit:
    settings = judge.settings
    alarms = [alarms_of(entry, judge, surely_unchanged=kind is TrialKind.SPLIT_RUNS) for entry in judged]
    injected = [judged[index].trial for index in _spread(len(judged), INJECTED_TRIALS)]
    keys, effects = injected_effects(injected, detector, settings=settings, rng=rng)
    # NaN: not every run has every metric, and not every trial tells something.
    finite = effects[~np.isnan(effects)]
    return DetectorAudit(
        detector=judge.detector,
        alarms=wrong_runs(alarms),
        metric_alarms=wrong_metrics(alarms),
        lasting=sum(entry.lasting for entry in alarms),
        unknown=sum(entry.unknown for entry in alarms),
        stricter=tuple(
            (part * settings.false_discovery_rate, wrong_runs(alarms, q_value=part * settings.false_discovery_rate))
            for part in STRICTER
        ),
        detectable_effect=detectable_effect(finite),
        detectable_range=detectable_range(effects, rng),
        curve=tuple((effect, float(np.mean(finite <= effect)) if len(finite) else 0.0) for effect in CURVE_EFFECTS),
        limits=metric_limits(keys, effects),
        samples_needed=samples_needed(injected[-1], detector, settings),
    )


def _spread(available: int, wanted: int) -> list[int]:
    """Evenly over the newer half, whose baselines are the largest; the newest is always among them."""
    first = min(available // 2, max(available - wanted, 0))
    return sorted(set(np.linspace(first, available - 1, min(wanted, available)).round().astype(int).tolist()))


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
