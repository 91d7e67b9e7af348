"""Comparisons with known or checkable answers: a history judged run by run, and halves of single runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.metric_pairs import scale_benchmark
from perf_culprit.judge.policy import judge
from perf_culprit.model.accuracy import Power, Rate
from perf_culprit.model.finding import (
    CALLED_VERDICTS,
    PROVEN,
    QUIET_VERDICTS,
    Baseline,
    BaselineSource,
    Finding,
    Verdict,
)
from perf_culprit.model.run import HARDWARE_COMPONENTS, Benchmark, MetricKey, Run
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.binomial import share_interval
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES

PLANTED: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
# Returns the baseline of a run, given all runs before it, oldest first; provided by the caller.
Choose = Callable[[Sequence[Run], Run], Baseline]
# A change that lasts for this number of runs is not chance: a mode in 20% of runs occurs twice in a row in 4%.
LASTS = 2
# Fewer comparisons of stored runs do not show a rate; then the samples within the runs are used.
FEWEST_TRIALS: Final = 3
DRAWS: Final = 20  # of each planted size: 18 found are nine in ten


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTrial:
    """`following` are up to LASTS runs after the target on its hardware, which show whether an alarm lasts."""

    baseline: Baseline
    target: Run
    following: tuple[Run, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTrial:
    """A trial and its findings."""

    trial: RunTrial
    findings: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Judge:
    """The rule in force, with one detector for benchmarks and one for counters."""

    detector: str
    counter_detector: str
    settings: PolicySettings

    def __call__(self, baseline: Baseline, target: Run) -> tuple[Finding, ...]:
        judgement = judge(
            baseline, target, detector=self.detector, counter_detector=self.counter_detector, settings=self.settings
        )
        return judgement.findings


def replay(runs: Sequence[Run], *, judge: Judge, choose: Choose, first: int = 0) -> list[JudgedTrial]:
    """Judge every run, oldest first, as if it was the newest, against the baseline that it would have had then.

    Later runs see the regressions judged here, as with the bot itself; runs before `first` keep the stored ones. A run
    without a baseline is no trial.
    """
    earlier, trials = list(runs[:first]), []
    for index in range(first, len(runs)):
        target = replace(runs[index], regressions=())
        baseline = choose(earlier, target)
        if baseline.runs:
            findings = judge(baseline, target)
            regressions = tuple(entry.key for entry in findings if entry.verdict is Verdict.REGRESSION)
            earlier.append(replace(target, regressions=regressions))
            following = [
                run
                for run in runs[index + 1 :]
                if not run.environment.differences(target.environment, HARDWARE_COMPONENTS)
            ]
            trial = RunTrial(baseline=baseline, target=target, following=tuple(following[:LASTS]))
            trials.append(JudgedTrial(trial=trial, findings=findings))
        else:
            earlier.append(target)
    return trials


def split_trials(runs: Sequence[Run], *, count: int, rng: np.random.Generator) -> list[RunTrial]:
    """Random halves of the runs' samples, `count` trials in total; none if no run has enough samples for two sides."""
    enough = [run for run in map(_divisible, runs) if run.benchmarks]
    if not enough:
        return []
    trials = []
    for index in range(count):
        run = enough[index % len(enough)]
        split = [_split(benchmark, rng) for benchmark in run.benchmarks]
        first, second = (replace(run, benchmarks=side, counters=()) for side in zip(*split, strict=True))
        trials.append(RunTrial(baseline=Baseline(runs=(first,), source=BaselineSource.PAIRED), target=second))
    return trials


def _divisible(run: Run) -> Run:
    return replace(
        run,
        benchmarks=tuple(entry for entry in run.benchmarks if len(entry.samples) >= 2 * MINIMUM_SAMPLES),
        counters=(),
        regressions=(),
    )


def _split(benchmark: Benchmark, rng: np.random.Generator) -> tuple[Benchmark, Benchmark]:
    """Split all processes: both halves have samples of each. A random draw corresponds to alternating execution."""
    order = rng.permutation(len(benchmark.samples)).tolist()
    middle = len(order) // 2
    first, second = (
        replace(
            benchmark,
            samples=tuple(benchmark.samples[index] for index in half),
            group_sizes=tuple(map(len, np.array_split(half, min(len(half), WORK_LIMITS.values_per_half)))),
            rounds=tuple(number // 2 for number in range(min(len(half), WORK_LIMITS.values_per_half))),
        )
        for half in (order[:middle], order[middle:])
    )
    return first, second


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarms:
    """Alarms of one trial: false ones of unchanged metrics, how many were right, how many metrics were judged.

    `unknown`: alarms of the newest run, which no later run can confirm or refute yet.
    """

    wrong: tuple[Finding, ...] = ()
    lasting: int = 0
    unknown: int = 0
    judged: int = 0

    def of(self, verdicts: frozenset[Verdict]) -> tuple[Finding, ...]:
        return tuple(entry for entry in self.wrong if entry.verdict in verdicts)


def alarms_of(result: JudgedTrial, judge: Judge, *, surely_unchanged: bool = False) -> Alarms:
    """Classify alarms: one lasts if the following runs, against the same baseline, move the metric the same way."""
    called = [entry for entry in result.findings if entry.verdict in CALLED_VERDICTS]
    answered = sum(entry.verdict is not Verdict.UNTESTED for entry in result.findings)
    if surely_unchanged or not called:
        return Alarms(wrong=tuple(called), judged=answered)
    later = [
        {entry.key: _direction(entry) for entry in judge(result.trial.baseline, run)} for run in result.trial.following
    ]
    ways = {entry.key: [of[entry.key] for of in later if entry.key in of] for entry in called}
    unknown = [entry for entry in called if not ways[entry.key]]
    wrong = [entry for entry in called if any(way != _direction(entry) for way in ways[entry.key])]
    lasting = len(called) - len(unknown) - len(wrong)
    return Alarms(wrong=tuple(wrong), lasting=lasting, unknown=len(unknown), judged=answered - lasting - len(unknown))


def _direction(finding: Finding) -> int:
    """1 if it was called worse, -1 if better, 0 if neither."""
    if finding.verdict not in CALLED_VERDICTS:
        return 0
    return 1 if finding.verdict is Verdict.REGRESSION or finding.looks_worse else -1


def wrong_runs(alarms: Sequence[Alarms], verdicts: frozenset[Verdict] = PROVEN) -> Rate:
    """Runs with a false alarm, among those whose alarms are all decided."""
    decided = [entry for entry in alarms if entry.wrong or not entry.unknown]
    return rate(sum(bool(entry.of(verdicts)) for entry in decided), len(decided))


def wrong_metrics(alarms: Sequence[Alarms]) -> Rate:
    return rate(sum(len(entry.of(PROVEN)) for entry in alarms), sum(entry.judged for entry in alarms))


def rate(count: int, trials: int) -> Rate:
    low, high = share_interval(count, trials)
    return Rate(count=count, trials=trials, low=low, high=high)


def planted_power(trials: Sequence[JudgedTrial], judge: Judge, *, draws: int, rng: np.random.Generator) -> list[Power]:
    """Return the shares of `draws` in which a metric, worse by each of PLANTED, is proven so or at least suspected.

    One quiet metric is changed at a time, so that the others show what is normal.
    """
    quiet = [
        (entry.trial, finding.key)
        for entry in trials
        for finding in entry.findings
        if finding.verdict in QUIET_VERDICTS
    ]
    if not quiet:
        return []
    chosen = [quiet[index] for index in rng.integers(0, len(quiet), draws)]
    power = []
    for effect in PLANTED:
        findings = [_find(judge, trial, key, effect) for trial, key in chosen]
        proven = sum(one is not None and one.verdict is Verdict.REGRESSION for one in findings)
        suspected = sum(one is not None and one.looks_worse for one in findings)
        power.append(Power(effect=effect, proven=proven / draws, suspected=(proven + suspected) / draws))
    return power


def _find(judge: Judge, trial: RunTrial, key: MetricKey, effect: float) -> Finding | None:
    findings = judge(trial.baseline, with_planted(trial.target, key, effect))
    return next((entry for entry in findings if entry.key == key), None)


def with_planted(run: Run, key: MetricKey, effect: float) -> Run:
    """Return the run with one metric worse by `effect`, or larger if neither direction is worse."""

    def changed(benchmark: Benchmark) -> Benchmark:
        worse = benchmark.direction.worse_sign or 1
        return scale_benchmark(benchmark, benchmark.metric, (1 + effect) ** worse)

    return replace(run, benchmarks=tuple(changed(one) if one.key == key else one for one in run.benchmarks))
