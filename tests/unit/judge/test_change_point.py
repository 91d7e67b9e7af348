"""The detector on stored runs: silent on noise and blips, fires on a lasting change, and names missing data."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.policy_settings import BenchmarkConfig, PolicySettings
from perf_culprit.judge import change_point
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Finding, Verdict
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from perf_culprit.stats.steps import ALARM_STRENGTH, FIRST_JUDGED, NEWEST
from tests.support.noisy_runs import THROUGHPUT, TIME
from tests.support.reasons import words_of

STORED = 60
SETTINGS = PolicySettings()


def levels(*, slow: int = 0, factor: float = 1.3, stored: int = STORED, seed: int = 4) -> list[float]:
    """Values of the stored runs, then of the target. The newest `slow` of them are multiplied by `factor`."""
    values = np.random.default_rng(seed).normal(100.0, 1.0, stored + 1)
    values[len(values) - slow :] *= factor
    return [float(value) for value in values]


def run(number: int, level: float, *, metric: Metric = TIME) -> Run:
    samples = tuple(level * factor for factor in (0.98, 1.0, 1.0, 1.02, 5.0))
    return Run(benchmarks=(Benchmark.of(name="sort", metric=metric, samples=samples),), commit=f"{number:040x}")


def runs(values: Sequence[float], *, metric: Metric = TIME) -> list[Run]:
    return [run(number, value, metric=metric) for number, value in enumerate(values)]


def judged(history: Sequence[Run], settings: PolicySettings = SETTINGS) -> Finding:
    baseline = Baseline(runs=tuple(history[:-1]), source=BaselineSource.HISTORY)
    (finding,) = judge(baseline, history[-1], detector="change_point", settings=settings).findings
    return finding


def evidence_of(history: Sequence[Run]) -> Evidence:
    baseline = Baseline(runs=tuple(history[:-1]), source=BaselineSource.HISTORY)
    (evidence,) = change_point.DETECTOR.detect(pair_metrics(baseline, history[-1]).pairs, DetectorOptions()).evidence
    return evidence


def test_silent_when_nothing_changed() -> None:
    finding = judged(runs(levels()))
    assert finding.verdict is Verdict.NOT_SEEN
    assert finding.p_value is None
    assert finding.score is not None
    assert finding.score <= ALARM_STRENGTH
    before, now = finding.baseline, finding.target
    assert before is not None
    assert now is not None
    assert finding.relative_change == pytest.approx(now.value / before.value - 1)
    assert now.value != before.value


@pytest.mark.parametrize("slow", [1, 2, 3])
def test_silent_on_blips_of_any_size(slow: int) -> None:
    assert judged(runs(levels(slow=slow, factor=10.0))).verdict is Verdict.NOT_SEEN


def first_alarm(factor: float, *, metric: Metric = TIME) -> Finding:
    """The finding of the first target that is not judged unchanged, while the change ages run by run."""
    history = runs(levels(slow=NEWEST, factor=factor), metric=metric)
    findings = (judged(history[:end]) for end in range(STORED - NEWEST + 2, STORED + 2))
    return next(finding for finding in findings if finding.verdict is not Verdict.NOT_SEEN)


def test_fires_on_a_change_that_lasts() -> None:
    finding = first_alarm(1.3)
    assert finding.verdict is Verdict.REGRESSION
    assert finding.score is not None
    assert (finding.score > ALARM_STRENGTH, finding.threshold) == (True, ALARM_STRENGTH)
    assert finding.relative_change == pytest.approx(0.3, abs=0.03)
    assert finding.baseline is not None
    assert finding.baseline.median == pytest.approx(100, abs=1)


def test_it_says_since_which_run_and_commit() -> None:
    finding = first_alarm(1.3)
    index = int(finding.details["change_index"])
    assert abs(index - (STORED + 1 - NEWEST)) <= NEWEST // 2
    ago = len(finding.series) - 1 - index
    assert words_of(finding.notes) == (f"changed since {ago} runs before the target (commit {f'{index:040x}'[:12]})",)


def test_direction_decides_what_a_change_is() -> None:
    assert first_alarm(0.7).verdict is Verdict.IMPROVEMENT
    assert first_alarm(0.7, metric=THROUGHPUT).verdict is Verdict.REGRESSION
    unknown = replace(TIME, direction=Direction.UNKNOWN)
    assert first_alarm(0.7, metric=unknown).verdict is Verdict.REGRESSION


def test_a_change_below_the_minimum_effect_is_none() -> None:
    rule = BenchmarkConfig(match="*", minimum_effect="50%")
    history = runs(levels(slow=NEWEST + 3))
    assert judged(history).verdict is not Verdict.NOT_SEEN
    assert judged(history, PolicySettings(benchmarks=(rule,))).verdict is Verdict.NOT_SEEN


def test_a_trifle_does_not_silence_the_runs_after_it() -> None:
    """A noiseless count rises by 0.2% and seven runs later fourfold, within the wait after an alarm."""
    counts = [10_000.0] * 40 + [10_020.0] * 7 + [40_100.0] * NEWEST
    verdicts = [judged(runs(counts[:end])).verdict for end in range(41, len(counts) + 1)]
    assert set(verdicts[:7]) == {Verdict.NOT_SEEN}
    assert Verdict.REGRESSION in verdicts[7:]
    assert Verdict.UNTESTED not in verdicts[: verdicts.index(Verdict.REGRESSION)]


def test_a_regression_is_said_again_while_it_lasts() -> None:
    """Runs at a lasting new level are not a baseline, so the next slow target meets the same series."""
    history = runs(levels(slow=NEWEST + 6))
    verdicts: list[Verdict] = []
    kept = history[: STORED - NEWEST - 5]
    for target in history[len(kept) :]:
        finding = judged([*kept, target])
        verdicts.append(finding.verdict)
        regressions = (finding.key,) if finding.verdict is Verdict.REGRESSION else ()
        kept.append(replace(target, regressions=regressions))
    first = verdicts.index(Verdict.REGRESSION)
    assert first <= NEWEST
    # The run after the alarm is the first evidence for it, the next run the second.
    assert verdicts[first + 1] is Verdict.UNTESTED
    assert set(verdicts[first + 2 :]) == {Verdict.REGRESSION}
    assert len(verdicts) > first + 3


def test_after_an_alarm_it_waits_and_says_so() -> None:
    finding = judged(runs(levels(slow=NEWEST + 5)))
    assert finding.verdict is Verdict.UNTESTED
    assert words_of(finding.reason).startswith("alarm ")
    assert "the 12 runs after it are not judged" in words_of(finding.reason)
    assert words_of(finding.reason).count("(commit ") == 2


def test_too_few_runs_are_untested_with_the_number() -> None:
    finding = judged(runs(levels(stored=FIRST_JUDGED - 4)))
    assert finding.verdict is Verdict.UNTESTED
    assert words_of(finding.reason) == "change points need 30 stored runs, and there are 26; 4 more would do"
    assert judged(runs(levels(stored=FIRST_JUDGED))).verdict is Verdict.NOT_SEEN


def test_the_number_of_samples_within_a_run_does_not_matter() -> None:
    lone = [as_summary(entry, "median") for entry in runs(levels())]
    assert judged(lone).verdict is Verdict.NOT_SEEN


def as_summary(entry: Run, statistic: str) -> Run:
    benchmark = entry.benchmarks[0]
    summary = Summary(value=benchmark.value, statistic=statistic)
    return replace(entry, benchmarks=(replace(benchmark, samples=(), summary=summary),))


def test_compacted_runs_are_compared_by_their_mean() -> None:
    """Old runs keep only the mean, so newer runs are compared by theirs: medians would look like a step."""
    history = runs(levels())
    compacted = [as_summary(entry, "mean") for entry in history[:-NEWEST]]
    assert judged([*compacted, *history[-NEWEST:]]).verdict is Verdict.NOT_SEEN


def test_runs_of_different_statistics_are_not_compared() -> None:
    history = runs(levels())
    mixed = [as_summary(entry, "mean" if number % 2 else "minimum") for number, entry in enumerate(history)]
    assert judged(mixed).verdict is Verdict.UNTESTED
    assert "different statistics" in words_of(judged(mixed).reason)


def test_numbers_beyond_all_measure_are_not_calculated_with() -> None:
    assert "too large or small" in words_of(judged(runs([*levels()[:-1], 1e300])).reason)


def test_another_unit_is_an_obstacle() -> None:
    history = runs(levels())
    other = run(99, 100.0, metric=replace(TIME, unit="MB"))
    assert "the unit changed" in words_of(judged([*history[:-1], other]).reason)


def test_a_unit_of_another_scale_changes_nothing() -> None:
    history = runs(levels(slow=NEWEST))
    in_us = [run(number, value / 1000, metric=replace(TIME, unit="us")) for number, value in enumerate(levels(slow=7))]
    mixed = evidence_of([*in_us[:20], *history[20:]])
    assert mixed.score == pytest.approx(evidence_of(history).score)
