"""METHODS 1, in addition to the engine's judgement: ANOVA, Welch's test for unequal variances, precision warnings."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.judge import anova
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.run import Metric, Run
from tests.support.noisy_runs import TIME, noisy_run, run_of
from tests.support.reasons import words_of

SEED = 11


def evidence(target: Run, *runs: Run) -> Sequence[Evidence]:
    pairs = pair_metrics(Baseline(runs=runs, source=BaselineSource.FILES), target).pairs
    return anova.DETECTOR.detect(pairs, DetectorOptions()).evidence


def one(target: Sequence[float], *runs: Sequence[float], metric: Metric = TIME) -> Evidence:
    return evidence(run_of([target], metric=metric), *(run_of([run], metric=metric) for run in runs))[0]


def stored_and_target(effect: float) -> Evidence:
    rng = np.random.default_rng(SEED)
    runs = [noisy_run(rng, benchmarks=20, samples=30, spread=0.03) for _ in range(12)]
    effects = np.where(np.arange(20) == 0, effect, 1.0)
    return evidence(noisy_run(rng, benchmarks=20, samples=30, spread=0.03, effects=effects), *runs)[0]


def test_anova_silent() -> None:
    entry = stored_and_target(1.0)
    assert (entry.rate, entry.test) == (1.0, "anova")
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low < 0 < entry.confidence_interval.high


def test_anova_fires() -> None:
    entry = stored_and_target(1.3)
    assert entry.rate is not None
    assert entry.rate <= 0.1
    assert entry.relative_change == pytest.approx(0.3, abs=0.03)
    assert entry.confidence_interval is not None
    assert 0 < entry.confidence_interval.low < 0.3 < entry.confidence_interval.high


def test_samples_of_one_file_do_not_decide_however_many() -> None:
    rng = np.random.default_rng(SEED)
    run, target = (noisy_run(rng, benchmarks=1, samples=300, spread=0.01, effects=effect) for effect in (1.0, 1.1))
    (entry,) = evidence(target, run)
    assert entry.details["p_anova"] < 1e-100
    assert (entry.rate or 0.0) > 0.1


def test_stalls_of_a_lone_run_are_no_change_however_far_they_move_its_mean() -> None:
    rng = np.random.default_rng(SEED)
    quiet, stalled = rng.normal(100, 1, 100), rng.normal(100, 1, 100)
    stalled[::10] *= 100 * rng.uniform(0.5, 1.5, 10)
    for before, after in ((quiet, stalled), (stalled, quiet)):
        assert one(after.tolist(), before.tolist()).rate == 1.0


def test_methods_1_p_value_is_that_of_one_way_anova() -> None:
    target, run = [11.0, 12.5, 11.7, 12.1], [10.1, 10.4, 9.9, 10.6, 10.2]
    entry = one(target, run)
    assert entry.details["p_anova"] == pytest.approx(stats.f_oneway(target, run).pvalue, rel=1e-9)
    assert entry.details["f"] == pytest.approx(stats.f_oneway(target, run).statistic, rel=1e-9)


def test_methods_1_welch_is_reported_where_variances_differ() -> None:
    rng = np.random.default_rng(SEED)
    calm, wild = rng.normal(100, 1, 30).tolist(), rng.normal(103, 9, 30).tolist()
    entry = one(wild, calm)
    assert entry.details["p_welch"] == pytest.approx(stats.ttest_ind(wild, calm, equal_var=False).pvalue, rel=1e-9)
    assert "p_welch" not in one(rng.normal(100, 1, 30).tolist(), calm).details


def test_methods_1_a_mean_known_worse_than_10_percent_is_said_with_the_repetitions() -> None:
    rng = np.random.default_rng(SEED)
    wild = (100 * rng.lognormal(0, 0.6, 12)).tolist()
    entry = one(wild, wild)
    assert entry.target is not None
    assert entry.target.relative_half_width is not None
    assert entry.target.relative_half_width > 0.1
    deviation = np.std(wild, ddof=1) / np.mean(wild)
    needed = int(words_of(entry.notes)[0].split("; ")[1].split()[0])
    assert stats.t.ppf(0.975, needed - 1) * deviation / np.sqrt(needed) <= 0.1


def test_constant_times_are_those_of_a_coarse_clock() -> None:
    entry = one([3.0] * 4, [3.0] * 4)
    assert words_of(entry.notes) == ("all samples are equal: the clock may be too coarse for this benchmark",)


@pytest.mark.parametrize(
    ("target", "run"),
    [
        pytest.param([3.0] * 4, [3.0, 3.1, 2.9], id="constant target"),
        pytest.param([1e-9, -1e-9, 2e-9], [1e-9, -2e-9, 0.0], id="around zero"),
        pytest.param([-5.0, -5.1, -5.2], [-5.0, -5.3, -5.1], id="negative"),
        pytest.param([1.0, 2.0], [1.0], id="one baseline sample"),
    ],
)
def test_strange_numbers_have_a_defined_answer(target: list[float], run: list[float]) -> None:
    entry = one(target, run)
    assert entry.rate is None or 0 <= entry.rate <= 1
    numbers = [entry.relative_change, *entry.details.values()]
    if entry.confidence_interval is not None:
        numbers += [entry.confidence_interval.low, entry.confidence_interval.high]
    assert np.isfinite([number for number in numbers if number is not None]).all()


def test_one_wild_sample_is_no_regression() -> None:
    rng = np.random.default_rng(SEED)
    runs = [noisy_run(rng, benchmarks=20, samples=30, noise="lognormal", spread=0.03) for _ in range(11)]
    target = runs.pop()
    first = target.benchmarks[0]
    wild = replace(first, samples=(*first.samples[:-1], first.samples[-1] * 8))
    assert evidence(replace(target, benchmarks=(wild, *target.benchmarks[1:])), *runs)[0].rate == 1.0
