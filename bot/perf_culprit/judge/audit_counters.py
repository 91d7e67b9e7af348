"""Audit of the counter detectors on a history of recorded counters."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import and_
from typing import Final

import numpy as np
from msgspec import structs

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge.detector import Sweep, detector_of
from perf_culprit.judge.trials import (
    FEWEST_TRIALS,
    PLANTED,
    Choose,
    Judge,
    JudgedTrial,
    alarms_of,
    replay,
    wrong_metrics,
    wrong_runs,
)
from perf_culprit.model.accuracy import CounterAudit, LabelPoint, SweepPoint
from perf_culprit.model.detectors import COUNTER_DETECTORS, DEFAULT_COUNTER_DETECTOR, DEFAULT_DETECTOR, SCALES, Scale
from perf_culprit.model.finding import QUIET_VERDICTS, Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.run import CounterTable, MetricKey, Run
from perf_culprit.model.work_limits import WORK_LIMITS

INJECTED_EFFECTS: Final = PLANTED[1:4]
# Share of the counters that are changed at a time: few enough that the others still show what is normal.
INJECTED_SHARE: Final = 0.1


def audit_counters(
    runs: Sequence[Run], *, settings: PolicySettings, choose: Choose, rng: np.random.Generator, most_trials: int
) -> tuple[CounterAudit, ...]:
    """Return one entry per counter detector; empty if too few runs have counters."""
    with_counters = _with_few_counters([structs.replace(run, benchmarks=()) for run in runs if run.counters], rng)
    if len(with_counters) <= FEWEST_TRIALS:
        return ()
    audits = []
    for name in COUNTER_DETECTORS:
        judge = Judge(detector=DEFAULT_DETECTOR, counter_detector=name, settings=settings)
        first = max(len(with_counters) - most_trials, 0)
        trials = replay(with_counters, judge=judge, choose=choose, first=first)
        if len(trials) >= FEWEST_TRIALS:
            audits.append(_audit(name, trials, judge, settings, rng))
    return tuple(audits)


def _audit(
    name: str, trials: Sequence[JudgedTrial], judge: Judge, settings: PolicySettings, rng: np.random.Generator
) -> CounterAudit:
    alarms = [alarms_of(entry, judge) for entry in trials]
    by_counters = SCALES[name] is Scale.VOTES
    # A chart cannot be more certain than its number of baseline runs allows (docs/detectors/control-chart.md).
    surest = [max(settings.proven, 1 / len(entry.trial.baseline.runs)) for entry in trials]
    return CounterAudit(
        detector=name,
        stated_rate=settings.proven if by_counters else float(np.mean(surest)),
        stated_of_counters=by_counters,
        alarms=wrong_runs(alarms),
        metric_alarms=wrong_metrics(alarms),
        lasting=sum(entry.lasting for entry in alarms),
        power=tuple((effect, _power(trials[-FEWEST_TRIALS:], judge, effect, rng)) for effect in INJECTED_EFFECTS),
    )


def _power(trials: Sequence[JudgedTrial], judge: Judge, effect: float, rng: np.random.Generator) -> float | None:
    """The share of counters without an alarm that are called once they are larger by `effect`."""
    tried, detected = 0, 0
    for entry in trials:
        quiet = [f.key for f in entry.findings if f.verdict in QUIET_VERDICTS]
        if not quiet:
            continue
        chosen, findings = _enlarge(entry, quiet, judge, effect, rng)
        tried += len(chosen)
        detected += sum(f.verdict is Verdict.REGRESSION and f.key in chosen for f in findings)
    return detected / tried if tried else None


def sweep_thresholds(
    runs: Sequence[Run], *, settings: PolicySettings, choose: Choose, rng: np.random.Generator
) -> tuple[SweepPoint, ...]:
    """Measure precision and recall of control charts for each threshold [N12]."""
    with_counters = _with_few_counters([structs.replace(run, benchmarks=()) for run in runs if run.counters], rng)
    name = DEFAULT_COUNTER_DETECTOR
    sweep = detector_of(name).sweep or Sweep(option="", values=())
    judge = _judge(name, settings, sweep, None)
    first = max(len(with_counters) - WORK_LIMITS.swept_trials, 0)
    trials = replay(with_counters, judge=judge, choose=choose, first=first)
    if not trials:
        raise DataError("fewer than two runs have counters", place="--sweep", next_step="record runs with counters")
    planted = ((effect, _planted_ratios(trials, judge, effect, rng)) for effect in INJECTED_EFFECTS)
    return tuple(point for effect, counters in planted for point in _swept(counters, effect, sweep))


def _judge(name: str, settings: PolicySettings, sweep: Sweep, value: float | None) -> Judge:
    section = getattr(settings, name).model_copy(update={sweep.option: value})
    changed = settings.model_copy(update={name: section})
    return Judge(detector=DEFAULT_DETECTOR, counter_detector=name, settings=changed)


def sweep_labels(
    runs: Sequence[Run], bad: Sequence[bool], *, settings: PolicySettings, rng: np.random.Generator
) -> tuple[LabelPoint, ...]:
    """Measure both counter detectors for each threshold on the user's good and `bad` runs [N12, figure 11].

    Each run is judged against the good ones; a good one against the others.
    """
    smaller = _with_few_counters([structs.replace(run, benchmarks=(), regressions=()) for run in runs], rng)
    good = [index for index, is_bad in enumerate(bad) if not is_bad]
    trials = [
        (Baseline(runs=tuple(smaller[other] for other in good if other != index), source=BaselineSource.FILES), run)
        for index, run in enumerate(smaller)
    ]
    return tuple(
        _point(name, threshold, called, bad)
        for name in COUNTER_DETECTORS
        if (sweep := detector_of(name).sweep) is not None
        for threshold, called in _calls_by_value(name, sweep, settings, trials)
    )


def _calls_by_value(
    name: str, sweep: Sweep, settings: PolicySettings, trials: Sequence[tuple[Baseline, Run]]
) -> Iterator[tuple[float | None, list[bool]]]:
    """Yield each value of the option, and whether the detector calls any counter of each run."""

    def findings_at(value: float | None) -> list[Sequence[Finding]]:
        judge = _judge(name, settings, sweep, value)
        return [judge(baseline, run) for baseline, run in trials]

    at_any_limit = findings_at(None) if sweep.is_limit else []
    for value in sweep.values:
        limit = value if sweep.is_limit else None
        yield value, [any(_exceeds(one, limit) for one in findings) for findings in at_any_limit or findings_at(value)]


def _exceeds(finding: Finding, threshold: float | None) -> bool:
    limit = finding.threshold if threshold is None else threshold
    return finding.score is not None and limit is not None and finding.score > limit


def _point(detector: str, threshold: float | None, called: Sequence[bool], bad: Sequence[bool]) -> LabelPoint:
    right = sum(map(and_, called, bad))
    return LabelPoint(
        detector=detector,
        threshold=threshold,
        precision=right / sum(called) if any(called) else None,
        recall=right / sum(bad),
        f=2 * right / (sum(called) + sum(bad)) if any(called) else None,
    )


def _planted_ratios(trials: Sequence[JudgedTrial], judge: Judge, effect: float, rng: np.random.Generator) -> Floats:
    """(n, 3): each counter's violation ratio, its own threshold, and 1 if it was enlarged."""
    rows = []
    for entry in trials:
        scored = [one.key for one in entry.findings if one.score is not None]
        chosen, findings = _enlarge(entry, scored, judge, effect, rng)
        rows += [(one.score, one.threshold, one.key in chosen) for one in findings if one.score is not None]
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _swept(planted: Floats, effect: float, sweep: Sweep) -> Iterator[SweepPoint]:
    ratio, own, is_planted = planted.T
    for threshold in sweep.values:
        called = ratio > (own if threshold is None else threshold)
        right = float((called * is_planted).sum())
        yield SweepPoint(
            threshold=threshold,
            effect=effect,
            precision=right / float(called.sum()) if called.any() else None,
            recall=right / max(float(is_planted.sum()), 1.0),
        )


def _enlarge(
    entry: JudgedTrial, keys: Sequence[MetricKey], judge: Judge, effect: float, rng: np.random.Generator
) -> tuple[set[MetricKey], Sequence[Finding]]:
    """Draw some counters at random, and return them with the findings if they were larger by `effect`."""
    chosen = {keys[index] for index in rng.permutation(len(keys))[: max(int(INJECTED_SHARE * len(keys)), 1)]}
    target = entry.trial.target
    tables = tuple(
        replace(table, values=table.values * np.array([1 + effect if key in chosen else 1.0 for key in table.keys]))
        for table in target.counters
    )
    return chosen, judge(entry.trial.baseline, structs.replace(target, counters=tables))


def _with_few_counters(runs: Sequence[Run], rng: np.random.Generator) -> list[Run]:
    """Keep a limited number of each table, the same in all runs."""
    names: dict[str, list[str]] = {}
    for run in runs:
        for table in run.counters:
            earlier = dict.fromkeys(names.get(table.name, ()))
            names[table.name] = list(earlier | dict.fromkeys(metric.name for metric in table.metrics))
    picks = {
        table: {of[index] for index in rng.permutation(len(of))[: WORK_LIMITS.audited_counters]}
        for table, of in sorted(names.items())
    }
    return [
        structs.replace(run, counters=tuple(_only(table, picks[table.name]) for table in run.counters)) for run in runs
    ]


def _only(table: CounterTable, names: set[str]) -> CounterTable:
    columns = [index for index, metric in enumerate(table.metrics) if metric.name in names]
    if len(columns) == len(table.metrics):
        return table
    return replace(table, metrics=tuple(table.metrics[index] for index in columns), values=table.values[:, columns])
