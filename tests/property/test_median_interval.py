"""Symmetries of the two conditions, for any samples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.judge import median_interval
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from tests.support.noisy_runs import run_of

# Steps of 1/4 make ties, and scaling by powers of two exact.
SAMPLES = st.lists(st.integers(1, 400).map(lambda number: number / 4), min_size=5, max_size=40)


def judged(target: list[float], baseline: list[float]) -> Evidence:
    stored = Baseline(runs=(run_of([baseline]),), source=BaselineSource.FILES)
    return median_interval.DETECTOR.detect(pair_metrics(stored, run_of([target])).pairs, DetectorOptions()).evidence[0]


@given(SAMPLES, SAMPLES)
def test_swapping_the_sides_keeps_the_conditions(target: list[float], baseline: list[float]) -> None:
    there, back = judged(target, baseline), judged(baseline, target)
    assert there.evidence_reason == back.evidence_reason
    assert there.details["intervals_overlap"] == back.details["intervals_overlap"]


@given(SAMPLES, SAMPLES, st.integers(0, 2**32 - 1))
def test_the_order_of_samples_is_no_matter(target: list[float], baseline: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = judged(rng.permutation(target).tolist(), rng.permutation(baseline).tolist())
    plain = judged(target, baseline)
    assert (shuffled.details, shuffled.evidence_reason) == (plain.details, plain.evidence_reason)


@given(SAMPLES, SAMPLES)
def test_intervals_that_overlap_hold_a_call_back(target: list[float], baseline: list[float]) -> None:
    entry = judged(target, baseline)
    assert (entry.evidence_reason is not None) or not entry.details["intervals_overlap"]
