"""Which detector the data's shape asks for, and that the report can say why."""

import numpy as np
import pytest

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge import anova, auto, median_interval
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.detectors import DETECTORS
from perf_culprit.judge.metric_pairs import MetricPair, pair_metrics
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Remark, because
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from tests.support.noisy_runs import THROUGHPUT, TIME, Noise, noisy_run, run_of
from tests.support.reasons import words_of

SEED = 41


def pairs_of(target: Run, *runs: Run) -> tuple[MetricPair, ...]:
    return pair_metrics(Baseline(runs=runs, source=BaselineSource.FILES), target).pairs


def noisy_pairs(noise: Noise, *, samples: int = 30, runs: int = 3, metric: Metric = TIME) -> tuple[MetricPair, ...]:
    rng = np.random.default_rng(SEED)
    measured = [
        noisy_run(rng, benchmarks=20, samples=samples, noise=noise, own_offset=0.05, metric=metric)
        for _ in range(runs + 1)
    ]
    return pairs_of(*measured)


@pytest.mark.parametrize(
    ("noise", "detector"),
    [
        ("normal", "anova"),
        ("lognormal", "anova"),
        ("bimodal", "median_interval"),
        ("heavy_tailed", "median_interval"),
    ],
)
def test_the_shape_chooses(noise: Noise, detector: str) -> None:
    """Offsets between the runs are no part of the shape: with them lumped in, no suite would look normal."""
    (choice,) = auto.choose(noisy_pairs(noise))
    assert choice.detector == DETECTORS[detector]


def test_two_equal_modes_leave_the_mean_its_place() -> None:
    rng = np.random.default_rng(SEED)
    values = np.where(rng.random((2, 20, 40)) < 0.5, 100.0, 150.0) + rng.normal(0, 1, (2, 20, 40))
    (choice,) = auto.choose(pairs_of(run_of(values[0]), run_of(values[1])))
    assert choice.detector is anova
    assert choice.reason.code is Remark.AUTO_MEANS_AS_GOOD
    assert choice.reason.arguments["odd"] == 20


def test_too_few_samples_to_see_a_shape() -> None:
    (choice,) = auto.choose(noisy_pairs("heavy_tailed", samples=6, runs=2))
    assert choice.detector is anova
    assert choice.reason == because(Remark.AUTO_TOO_FEW, metric="time", minimum=20)


def test_summaries_have_no_shape() -> None:
    run = Run(benchmarks=(Benchmark.of(name="a", metric=TIME, summary=Summary(value=3.0)),))
    (choice,) = auto.choose(pairs_of(run, run))
    assert choice.detector is anova
    assert choice.reason == because(Remark.AUTO_SUMMARIES, metric="time")


def test_constant_samples_have_no_shape() -> None:
    run = run_of([[4.0] * 30, [0.0] * 30])
    (choice,) = auto.choose(pairs_of(run, run))
    assert choice.detector is anova
    assert choice.reason == because(Remark.AUTO_CONSTANT, metric="time")


def test_metrics_are_chosen_for_apart_and_evidence_keeps_its_order() -> None:
    calm, wild = noisy_pairs("normal"), noisy_pairs("heavy_tailed", metric=THROUGHPUT)
    mixed = tuple(pair for both in zip(calm, wild, strict=True) for pair in both)
    options = DetectorOptions()
    evidence = auto.detect(mixed, options)
    assert [entry.key for entry in evidence] == [pair.key for pair in mixed]
    assert evidence[0::2] == anova.detect(calm, options)
    assert evidence[1::2] == median_interval.detect(wild, options)
    first, second = words_of(auto.remarks(mixed, options))
    assert first.startswith("time: judged by anova, because ")
    assert second.startswith("throughput: judged by median_interval, because ")


def test_the_target_does_not_choose_its_judge() -> None:
    rng = np.random.default_rng(SEED)
    runs = [noisy_run(rng, benchmarks=20, samples=30) for _ in range(2)]
    wild = noisy_run(rng, benchmarks=20, samples=30, noise="heavy_tailed", effects=3.0)
    assert auto.choose(pairs_of(runs[0], runs[1])) == auto.choose(pairs_of(wild, runs[1]))


def test_values_around_zero_of_any_size_have_a_shape() -> None:
    rng = np.random.default_rng(SEED)
    metric = Metric(name="drift", unit="", direction=Direction.LOWER_IS_BETTER)
    values = rng.normal(0, 1, (3, 30)) * np.array([[1.0], [1e50], [1e-50]])
    (choice,) = auto.choose(pairs_of(run_of(values, metric=metric), run_of(values, metric=metric)))
    assert choice.detector is anova
    assert choice.reason == because(Remark.AUTO_NORMAL, metric="drift", normal=3, count=3)


def test_the_report_says_which_detector_judged_and_why() -> None:
    rng = np.random.default_rng(SEED)
    runs = [noisy_run(rng, benchmarks=5, samples=30, noise="bimodal") for _ in range(3)]
    baseline = Baseline(runs=tuple(runs[:2]), source=BaselineSource.HISTORY)
    judgement = judge(baseline, runs[2], detector="auto", settings=PolicySettings())
    (note,) = [note for note in words_of(judgement.notes) if note.startswith("time: ")]
    assert note.startswith("time: judged by median_interval, because 5 of 5 benchmarks are not normal")
    assert not any(
        note.startswith("time: ") for note in words_of(judge(baseline, runs[2], settings=PolicySettings()).notes)
    )
