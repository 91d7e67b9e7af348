"""Comparisons whose answers are known or can be checked: a history judged run by run, and halves of single runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.accuracy import Rate
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.run import HARDWARE_COMPONENTS, Benchmark, Run
from perf_culprit.stats.binomial import share_interval
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES

# What would be the baseline of a run, given all runs before it, oldest first; a stage above knows.
Choose = Callable[[Sequence[Run], Run], Baseline]
# What stays changed for so many runs is no chance: a mode that comes in 20% of runs comes twice in a row in 4%.
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


CHANGES: Final = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarms:
    """Of one trial: the findings that called an unchanged metric, how many were right, and how many had an answer.

    `unknown`: alarms of the newest run, which no later run can confirm or refute yet.
    """

    wrong: tuple[Finding, ...] = ()
    lasting: int = 0
    unknown: int = 0
    judged: int = 0


def alarms_of(judged: JudgedTrial, judge: Judge, *, surely_unchanged: bool = False) -> Alarms:
    """An alarm lasts if the following runs, judged against the same baseline, say the same of the metric."""
    called = [entry for entry in judged.findings if entry.verdict in CHANGES]
    answered = sum(entry.p_value is not None or entry.score is not None for entry in judged.findings)
    if surely_unchanged or not called:
        return Alarms(wrong=tuple(called), judged=answered)
    later = [
        {entry.key: entry.verdict for entry in judge(judged.trial.baseline, run)} for run in judged.trial.following
    ]
    verdicts = {entry.key: [of[entry.key] for of in later if entry.key in of] for entry in called}
    unknown = [entry for entry in called if not verdicts[entry.key]]
    wrong = [entry for entry in called if any(verdict is not entry.verdict for verdict in verdicts[entry.key])]
    lasting = len(called) - len(unknown) - len(wrong)
    return Alarms(wrong=tuple(wrong), lasting=lasting, unknown=len(unknown), judged=answered - lasting - len(unknown))


def wrong_runs(alarms: Sequence[Alarms], *, q_value: float = 1.0) -> Rate:
    """Runs with a false alarm, of those of which all is known; only alarms of at most this q-value count."""
    decided = [entry for entry in alarms if entry.wrong or not entry.unknown]
    return rate(sum(any((f.q_value or 0.0) <= q_value for f in entry.wrong) for entry in decided), len(decided))


def wrong_metrics(alarms: Sequence[Alarms]) -> Rate:
    return rate(sum(len(entry.wrong) for entry in alarms), sum(entry.judged for entry in alarms))


def rate(count: int, trials: int) -> Rate:
    low, high = share_interval(count, trials)
    return Rate(count=count, trials=trials, low=low, high=high)
