"""METHODS 3 as a detector in addition to the engine: both of Olive's conditions must hold."""

from collections.abc import Sequence

import numpy as np
import pytest

from perf_culprit.judge import median_interval
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Verdict
from perf_culprit.model.reason import Untested, VerdictReason, because
from tests.support.noisy_runs import run_of
from tests.support.sides import compared, files, noise

SEED = 31


def one(target: Sequence[float], baseline: Sequence[float]) -> Evidence:
    """The evidence on paired sides with one process per sample."""
    side = Baseline(runs=(run_of([baseline], processes=True),), source=BaselineSource.PAIRED)
    pairs = pair_metrics(side, run_of([target], processes=True)).pairs
    return median_interval.DETECTOR.detect(pairs, DetectorOptions(paired=True)).evidence[0]


@pytest.mark.parametrize(
    ("effect", "verdicts"),
    [(1.0, {Verdict.UNCHANGED, Verdict.NOT_SEEN}), (1.3, {Verdict.REGRESSION}), (1 / 1.3, {Verdict.IMPROVEMENT})],
)
def test_median_interval_is_silent_and_fires(effect: float, verdicts: set[Verdict]) -> None:
    rng = np.random.default_rng(SEED)
    before, after = files(noise(rng, 8, 1, 9)), files(effect * noise(rng, 8, 1, 9))
    assert compared(before, after, detector="median_interval").findings[0].verdict in verdicts


def test_methods_3_numbers_of_1_to_11() -> None:
    samples = [float(i) for i in range(1, 12)]
    entry = one(samples, samples)
    assert (entry.details["target_low"], entry.details["target_high"]) == pytest.approx((0.447, 11.553), abs=5e-4)
    assert entry.target is not None
    assert (entry.target.median, entry.target.count) == (6.0, 11)
    assert entry.evidence_reason == because(VerdictReason.INTERVALS_MEET)


def test_both_conditions_are_in_the_details_and_hold_apart() -> None:
    rng = np.random.default_rng(SEED)
    before = rng.normal(100, 2, 30)
    entry = one((1.3 * before).tolist(), before.tolist())
    assert (entry.details["difference_excludes_zero"], entry.details["intervals_overlap"]) == (1.0, 0.0)
    assert entry.evidence_reason is None


@pytest.mark.parametrize(
    ("target", "baseline", "side", "count"),
    [([1.0, 2.0, 3.0, 4.0], [1.0] * 6, "target", 4), ([1.0, 2.0], [1.0, 2.0, 3.0], "target", 2)],
)
def test_methods_3_below_five_samples_nothing_is_tested(
    target: list[float], baseline: list[float], side: str, count: int
) -> None:
    entry = one(target, baseline)
    assert entry.rate is None
    assert entry.evidence_reason == because(Untested.TOO_FEW_FOR_MEDIAN, side=side, count=count, minimum=5)
