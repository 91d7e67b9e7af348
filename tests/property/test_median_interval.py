"""Symmetries of the two conditions, for any samples."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.judge import median_interval
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from tests.support.noisy_runs import run_of

# Steps of 1/4 make ties, and scaling by powers of two exact.
SAMPLES = st.lists(st.integers(-400, 400).map(lambda number: number / 4), min_size=5, max_size=40)


def judged(target: list[float], baseline: list[float]) -> Evidence:
    paired = Baseline(runs=(run_of([baseline]),), source=BaselineSource.PAIRED)
    (entry,) = median_interval.detect(pair_metrics(paired, run_of([target])).pairs, DetectorOptions(paired=True)).evidence
    return entry


@given(SAMPLES, SAMPLES, st.sampled_from([2.0**-30, 0.5, 8.0, 2.0**40]))
def test_scaling_changes_no_evidence(target: list[float], baseline: list[float], factor: float) -> None:
    plain = judged(target, baseline)
    scaled = judged([factor * value for value in target], [factor * value for value in baseline])
    assert (scaled.p_value, scaled.relative_change) == (plain.p_value, plain.relative_change)


@given(SAMPLES, SAMPLES)
def test_swapping_the_sides_keeps_the_p_value(target: list[float], baseline: list[float]) -> None:
    there, back = judged(target, baseline), judged(baseline, target)
    assert there.p_value is not None
    assert back.p_value is not None
    assert math.isclose(there.p_value, back.p_value, rel_tol=1e-9)


@given(SAMPLES, SAMPLES, st.integers(0, 2**32 - 1))
def test_the_order_of_samples_is_no_matter(target: list[float], baseline: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert judged(rng.permutation(target).tolist(), rng.permutation(baseline).tolist()) == judged(target, baseline)


@given(SAMPLES, SAMPLES)
def test_intervals_that_overlap_are_no_evidence(target: list[float], baseline: list[float]) -> None:
    entry = judged(target, baseline)
    if entry.details.get("intervals_overlap"):
        assert entry.p_value == 1.0
