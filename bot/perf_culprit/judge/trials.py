"""Comparisons whose answers are known or can be checked: a history judged run by run, and halves of single runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.metric_pairs import scaled
from perf_culprit.judge.policy import judge
from perf_culprit.model.accuracy import Power, Rate
from perf_culprit.model.finding import CALLED, PROVEN, QUIET, Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.run import HARDWARE_COMPONENTS, Benchmark, MetricKey, Run
from perf_culprit.stats.binomial import share_interval
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES

PLANTED: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
# What would be the baseline of a run, given all runs before it, oldest first; a stage above knows.
Choose = Callable[[Sequence[Run], Run], Baseline]
# What stays changed for this number of runs is not chance: a mode that comes in 20% of runs comes twice in a row in 4%.
LASTS = 2
# Of a half: more would take long and show nothing else.
MOST_EXECUTIONS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """`following` are up to LASTS runs after the target on its hardware, which show whether an alarm lasts."""

    baseline: Baseline
    target: Run
    following: tuple[Run, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTrial:
    """A trial and all that was said of it."""

    trial: Trial
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
    """Every run, oldest first, judged when it was the newest: against what would have been its baseline then.

    What a run is judged to be is what later runs find stored, as with the bot itself; of the runs before `first` it is
    what was stored. A run without a baseline is no trial.
    """
    earlier, judged = list(runs[:first]), []
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
            trial = Trial(baseline=baseline, target=target, following=tuple(following[:LASTS]))
            judged.append(JudgedTrial(trial=trial, findings=findings))
        else:
            earlier.append(target)
    return judged


def split_trials(runs: Sequence[Run], *, count: int, rng: np.random.Generator) -> list[Trial]:
    """Random halves of the runs' samples, `count` trials in all; none where no run has enough samples for two sides."""
    enough = [run for run in map(_divisible, runs) if run.benchmarks]
    if not enough:
        return []
    trials = []
    for index in range(count):
        run = enough[index % len(enough)]
        split = [_split(benchmark, rng) for benchmark in run.benchmarks]
        first, second = (replace(run, benchmarks=side, counters=()) for side in zip(*split, strict=True))
        trials.append(Trial(baseline=Baseline(runs=(first,), source=BaselineSource.PAIRED), target=second))
    return trials


def _divisible(run: Run) -> Run:
    return replace(
        run,
        benchmarks=tuple(entry for entry in run.benchmarks if len(entry.samples) >= 2 * MINIMUM_SAMPLES),
        counters=(),
        regressions=(),
    )


def _split(benchmark: Benchmark, rng: np.random.Generator) -> tuple[Benchmark, Benchmark]:
    """Processes are torn apart: both halves have samples of each. What is drawn at random was executed in turn."""
    order = rng.permutation(len(benchmark.samples)).tolist()
    middle = len(order) // 2
    first, second = (
        replace(
            benchmark,
            samples=tuple(benchmark.samples[index] for index in half),
            group_sizes=tuple(map(len, np.array_split(half, min(len(half), MOST_EXECUTIONS)))),
            rounds=tuple(number // 2 for number in range(min(len(half), MOST_EXECUTIONS))),
        )
        for half in (order[:middle], order[middle:])
    )
    return first, second


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarms:
    """Of one trial: the proofs and suspicions of an unchanged metric, how many were right, how many had an answer.

    `unknown`: alarms of the newest run, which no later run can confirm or refute yet.
    """

    wrong: tuple[Finding, ...] = ()
    lasting: int = 0
    unknown: int = 0
    judged: int = 0

    def of(self, verdicts: frozenset[Verdict]) -> tuple[Finding, ...]:
        return tuple(entry for entry in self.wrong if entry.verdict in verdicts)


def alarms_of(judged: JudgedTrial, judge: Judge, *, surely_unchanged: bool = False) -> Alarms:
    """An alarm lasts if the following runs, judged against the same baseline, move the metric the same way."""
    called = [entry for entry in judged.findings if entry.verdict in CALLED]
    answered = sum(entry.verdict is not Verdict.UNTESTED for entry in judged.findings)
    if surely_unchanged or not called:
        return Alarms(wrong=tuple(called), judged=answered)
    later = [
        {entry.key: _direction(entry) for entry in judge(judged.trial.baseline, run)} for run in judged.trial.following
    ]
    ways = {entry.key: [of[entry.key] for of in later if entry.key in of] for entry in called}
    unknown = [entry for entry in called if not ways[entry.key]]
    wrong = [entry for entry in called if any(way != _direction(entry) for way in ways[entry.key])]
    lasting = len(called) - len(unknown) - len(wrong)
    return Alarms(wrong=tuple(wrong), lasting=lasting, unknown=len(unknown), judged=answered - lasting - len(unknown))


def _direction(finding: Finding) -> int:
    """1 where it was called worse, -1 better, 0 neither."""
    if finding.verdict not in CALLED:
        return 0
    return 1 if finding.verdict is Verdict.REGRESSION or finding.looks_worse else -1


def wrong_runs(alarms: Sequence[Alarms], verdicts: frozenset[Verdict] = PROVEN) -> Rate:
    """Runs with a false alarm, of those whose alarms are all decided."""
    decided = [entry for entry in alarms if entry.wrong or not entry.unknown]
    return rate(sum(bool(entry.of(verdicts)) for entry in decided), len(decided))


def wrong_metrics(alarms: Sequence[Alarms]) -> Rate:
    return rate(sum(len(entry.of(PROVEN)) for entry in alarms), sum(entry.judged for entry in alarms))


def rate(count: int, trials: int) -> Rate:
    low, high = share_interval(count, trials)
    return Rate(count=count, trials=trials, low=low, high=high)


# What would have been findings: a change in one quiet metric at a time, so that the others show what is normal.


def planted_power(judged: Sequence[JudgedTrial], judge: Judge, *, draws: int, rng: np.random.Generator) -> list[Power]:
    """Of each size of PLANTED the share of `draws` in which the metric is proven worse, and at least suspected."""
    quiet = [(entry.trial, finding.key) for entry in judged for finding in entry.findings if finding.verdict in QUIET]
    if not quiet:
        return []
    chosen = [quiet[index] for index in rng.integers(0, len(quiet), draws)]
    power = []
    for effect in PLANTED:
        findings = [_found(judge, trial, key, effect) for trial, key in chosen]
        proven = sum(one is not None and one.verdict is Verdict.REGRESSION for one in findings)
        suspected = sum(one is not None and one.looks_worse for one in findings)
        power.append(Power(effect=effect, proven=proven / draws, suspected=(proven + suspected) / draws))
    return power


def _found(judge: Judge, trial: Trial, key: MetricKey, effect: float) -> Finding | None:
    target = replace(
        trial.target,
        benchmarks=tuple(_worsened(one, effect) if one.key == key else one for one in trial.target.benchmarks),
    )
    return next((entry for entry in judge(trial.baseline, target) if entry.key == key), None)


def _worsened(benchmark: Benchmark, effect: float) -> Benchmark:
    worse = benchmark.metric.direction.worse_sign or 1
    return scaled(benchmark, benchmark.metric, (1 + effect) ** worse)
