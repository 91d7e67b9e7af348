"""What every detector is worth on a history: false alarms where nothing changed, and injected changes that are found.

docs/detectors/audit.md says what the numbers mean and what they do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from bot.detect import DETECTORS, auto
from bot.detect.detector import BenchmarkDetector, DetectorOptions
from bot.detect.injection import smallest_effects
from bot.detect.pairs import MetricPair, pair_metrics
from bot.detect.policy import judge
from bot.detect.recommendation import recommend
from bot.detect.settings import PolicySettings
from bot.detect.trials import Trial, split_trials, stored_trials
from bot.errors import DataError
from bot.model.audit import Audit, DetectorAudit, MetricLimit, Rate, TrialKind
from bot.model.baseline import BaselineSource
from bot.model.finding import Verdict
from bot.model.metric import Direction, Metric, MetricKey
from bot.model.run import Run
from bot.stats.binomial import share_interval
from bot.stats.ragged import Floats

# Fewer comparisons of stored runs say nothing about a rate; the samples within the runs then have to do.
FEWEST_TRIALS = 3
SPLITS = 20
# The newest runs tell how the machines are now; older ones would only cost time.
MOST_TRIALS = 60
INJECTED_TRIALS = 3
POWER = 0.9
BOOTSTRAPS = 400
CURVE_EFFECTS: Final = tuple(float(effect) for effect in np.geomspace(0.005, 2.0, 27))
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


@dataclass(frozen=True, slots=True)
class _Alarms:
    """What one target's judgement counted."""

    false: int
    lasting: int
    judged: int


def audit(
    runs: Sequence[Run],
    *,
    settings: PolicySettings,
    rng: np.random.Generator,
    window: int = 30,
    detectors: Mapping[str, BenchmarkDetector] | None = None,
) -> Audit:
    """Judge the runs of one suite, given oldest first, by every detector at these settings.

    `window` is the largest number of baseline runs. `auto` is none of the detectors: it only picks one of the others.
    """
    chosen = detectors or {name: module for name, module in DETECTORS.items() if name != auto.ID}
    kind, trials = _trials(runs, window=window, rng=rng)
    injected = [trials[index] for index in _spread(len(trials), INJECTED_TRIALS)]
    audits = tuple(
        _audit_detector(name, module, trials, injected, settings=settings, rng=rng) for name, module in chosen.items()
    )
    newest = _pairs(trials[-1], settings)
    notes = list(_notes(kind, runs=len(runs), trials=len(trials), audits=audits))
    samples = [len(entry.samples) for run in runs for entry in run.benchmarks]
    return Audit(
        suite=runs[-1].suite,
        kind=kind,
        runs=len(runs),
        metrics=len(newest),
        samples_per_run=int(median(samples)),
        injected_trials=len(injected),
        stated_rate=settings.false_discovery_rate,
        minimum_effect=settings.minimum_effect,
        detectors=audits,
        recommendation=recommend(audits, kind=kind, settings=settings, samples_per_run=int(median(samples))),
        notes=tuple(notes),
        auto=auto.remarks(newest) if auto.ID in DETECTORS and detectors is None else (),
    )


def _trials(runs: Sequence[Run], *, window: int, rng: np.random.Generator) -> tuple[TrialKind, list[Trial]]:
    trials = stored_trials(runs, window=window)[-MOST_TRIALS:]
    if len(trials) >= FEWEST_TRIALS:
        return TrialKind.STORED_RUNS, trials
    splits = split_trials(runs, count=SPLITS, rng=rng)
    if not splits:
        raise DataError(
            f"there is too little to audit (runs: {len(runs)}, none of them with samples enough for two halves)",
            next_step="record more runs, or give result files with ten samples or more per benchmark",
        )
    return TrialKind.SPLIT_RUNS, splits


def _spread(available: int, wanted: int) -> list[int]:
    """Evenly over the newer half, whose baselines are the largest; the newest is always among them."""
    first = min(available // 2, max(available - wanted, 0))
    return sorted(set(np.linspace(first, available - 1, min(wanted, available)).round().astype(int).tolist()))


def _audit_detector(
    name: str,
    detector: BenchmarkDetector,
    trials: Sequence[Trial],
    injected: Sequence[Trial],
    *,
    settings: PolicySettings,
    rng: np.random.Generator,
) -> DetectorAudit:
    alarms = [_alarms(trial, name, settings) for trial in trials]
    keys, effects = _injected(injected, detector, settings=settings, rng=rng)
    # NaN: not every run has every metric, and not every trial tells something.
    known = effects[~np.isnan(effects)]
    return DetectorAudit(
        detector=name,
        alarms=_rate(sum(entry.false > 0 for entry in alarms), len(alarms)),
        metric_alarms=_rate(sum(entry.false for entry in alarms), sum(entry.judged for entry in alarms)),
        lasting=sum(entry.lasting for entry in alarms),
        detectable_effect=_detectable(known),
        detectable_range=_detectable_range(effects, rng),
        curve=tuple((effect, float(np.mean(known <= effect)) if len(known) else 0.0) for effect in CURVE_EFFECTS),
        limits=_limits(keys, effects),
        samples_needed=_samples_needed(injected[-1], detector, settings),
    )


def _alarms(trial: Trial, detector: str, settings: PolicySettings) -> _Alarms:
    judgement = judge(trial.baseline, trial.target, detector=detector, settings=settings)
    alarms = {f.evidence.key: f.verdict for f in judgement.findings if f.verdict in CHANGES}
    judged = sum(f.evidence.p_value is not None or f.evidence.score is not None for f in judgement.findings)
    if not alarms or trial.following is None:
        return _Alarms(false=len(alarms), lasting=0, judged=judged)
    next_judgement = judge(trial.baseline, trial.following, detector=detector, settings=settings)
    confirmed = {f.evidence.key: f.verdict for f in next_judgement.findings}
    lasting = sum(confirmed.get(key) is verdict for key, verdict in alarms.items())
    return _Alarms(false=len(alarms) - lasting, lasting=lasting, judged=judged - lasting)


def _injected(
    trials: Sequence[Trial], detector: BenchmarkDetector, *, settings: PolicySettings, rng: np.random.Generator
) -> tuple[list[MetricKey], Floats]:
    """The metrics, and the smallest effect found per trial and metric, shape (trials, m)."""
    pairs_of = [_pairs(trial, settings) for trial in trials]
    keys = list(dict.fromkeys(pair.key for pairs in pairs_of for pair in pairs))
    column = {key: index for index, key in enumerate(keys)}
    effects = np.full((len(trials), len(keys)), np.nan)
    for row, (trial, pairs) in enumerate(zip(trials, pairs_of, strict=True)):
        options = _options(trial, settings, alpha=settings.alpha)
        found = smallest_effects(pairs, detector, options=options, settings=settings, rng=rng)
        effects[row, [column[pair.key] for pair in pairs]] = found
    return keys, effects


def _pairs(trial: Trial, settings: PolicySettings) -> tuple[MetricPair, ...]:
    def direction(metric: Metric, key: MetricKey) -> Direction:
        return settings.of(key).direction or metric.direction

    pairs = pair_metrics(trial.baseline, trial.target, direction=direction if settings.rules else None).pairs
    return tuple(pair for pair in pairs if pair.obstacle is None and not settings.of(pair.key).ignore)


def _options(trial: Trial, settings: PolicySettings, *, alpha: float) -> DetectorOptions:
    return DetectorOptions(
        alpha=alpha,
        minimum_effect=settings.minimum_effect,
        paired=trial.baseline.source is BaselineSource.PAIRED,
        control_limits=settings.control_limits,
        single_run_margin=settings.single_run_margin,
        drop_idle_time=settings.drop_idle_time,
    )


def _detectable(effects: Floats) -> float | None:
    if not len(effects):
        return None
    value = float(np.quantile(effects, POWER, method="higher"))
    return value if np.isfinite(value) else None


def _detectable_range(effects: Floats, rng: np.random.Generator) -> tuple[float, float | None] | None:
    """95 % range over target runs drawn anew: the trials of one run share its machine, so runs are what is drawn."""
    drawn = []
    for _ in range(BOOTSTRAPS):
        sample = effects[rng.integers(0, len(effects), len(effects))]
        sample = sample[~np.isnan(sample)]
        if len(sample):
            drawn.append(float(np.quantile(sample, POWER, method="higher")))
    if not drawn:
        return None
    low, high = np.quantile(drawn, (0.025, 0.975), method="nearest").tolist()
    return (low, high if np.isfinite(high) else None) if np.isfinite(low) else None


def _limits(keys: Sequence[MetricKey], effects: Floats) -> tuple[MetricLimit, ...]:
    # Minus infinity: no trial had a number that a factor changes.
    worst: list[float] = np.max(np.where(np.isnan(effects), -np.inf, effects), axis=0).tolist()
    found = [
        MetricLimit(key=key, effect=value if np.isfinite(value) else None)
        for key, value in zip(keys, worst, strict=True)
        if value > 0
    ]
    return tuple(sorted(found, key=lambda entry: (-(entry.effect or np.inf), entry.key)))


def _samples_needed(trial: Trial, detector: BenchmarkDetector, settings: PolicySettings) -> int | None:
    pairs = _pairs(trial, settings)
    # What the only discovery in a suite of this size has to be.
    alpha = min(settings.alpha, settings.false_discovery_rate / max(len(pairs), 1))
    evidence = detector.detect(pairs, _options(trial, settings, alpha=alpha))
    needed = [
        np.inf if entry.samples_needed is None else entry.samples_needed
        for entry in evidence
        if entry.p_value is not None and "standard_error" in entry.details
    ]
    if not needed:
        return None
    value = float(np.quantile(needed, POWER, method="higher"))
    return int(value) if np.isfinite(value) else None


def _rate(count: int, trials: int) -> Rate:
    low, high = share_interval(count, trials)
    return Rate(count=count, trials=trials, low=low, high=high)


def _notes(kind: TrialKind, *, runs: int, trials: int, audits: Sequence[DetectorAudit]) -> list[str]:
    notes = []
    if kind is TrialKind.SPLIT_RUNS:
        notes.append(
            f"too few runs ({runs}) to judge one by the others, so samples of one run were split at random: the "
            "numbers hold for both commits measured in one job, not against stored runs"
        )
    else:
        notes.append(
            "the trials share their baseline runs, so the ranges are somewhat too narrow; real changes that nobody "
            "marked count as false alarms unless the next run confirms them"
        )
    lasting = max((entry.lasting for entry in audits), default=0)
    if lasting:
        notes.append(
            f"up to {lasting} alarms were confirmed by the next run: probably real changes or another machine; "
            "they are in no rate"
        )
    if trials < 1 / 0.05:
        notes.append(f"{trials} trials cannot show a rate of false alarms below {100 * 3 / trials:.0f} %")
    return notes
