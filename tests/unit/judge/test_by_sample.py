"""`unit: sample`: the published test of samples decides if the configuration asks for it."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.config.settings import Config
from perf_culprit.errors import ConfigError
from perf_culprit.flows.compare import judge_run
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.reason import Remark, Untested, VerdictReason
from perf_culprit.model.report import Judgement
from perf_culprit.say.finding_tables import certainty_text
from perf_culprit.say.numbers import significant
from tests.support.noisy_runs import run_of

BY_SAMPLE = PolicySettings(unit="sample")
RNG = np.random.default_rng(5)
BEFORE = RNG.normal(10, 0.5, 50).tolist()


def one_against_one(after: list[float], settings: PolicySettings = BY_SAMPLE) -> Judgement:
    baseline = Baseline(runs=(run_of([BEFORE]),), source=BaselineSource.FILES)
    return judge(baseline, run_of([after]), settings=settings)


def only(judgement: Judgement) -> Finding:
    (finding,) = judgement.findings
    return finding


def test_50_samples_a_side_prove_65_percent_as_published() -> None:
    after = RNG.normal(16.5, 0.5, 50).tolist()
    assert only(one_against_one(after, PolicySettings())).verdict is not Verdict.REGRESSION
    judgement = one_against_one(after)
    finding = only(judgement)
    assert finding.verdict is Verdict.REGRESSION
    assert finding.reason.code is VerdictReason.SIGNIFICANT_BY_SAMPLE
    assert finding.p_value == pytest.approx(stats.f_oneway(BEFORE, after).pvalue)
    assert (finding.test, finding.rate) == ("anova_by_sample", None)
    assert certainty_text(finding).startswith("published test, p ")
    codes = {note.code for note in judgement.notes}
    assert Remark.BY_SAMPLE in codes
    assert Remark.LONE_BASELINE not in codes
    assert judgement.failed


def test_the_interval_is_students() -> None:
    after = RNG.normal(10.1, 0.5, 50).tolist()
    interval = only(one_against_one(after)).confidence_interval
    expected = stats.ttest_ind(after, BEFORE).confidence_interval(0.95)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(
        (expected.low / np.mean(BEFORE), expected.high / np.mean(BEFORE))
    )


def test_the_minimum_effect_stays_and_0_percent_is_the_paper() -> None:
    after = [value * 1.04 for value in BEFORE]
    assert only(one_against_one(after)).verdict is not Verdict.REGRESSION
    published = PolicySettings(unit="sample", minimum_effect="0%")
    assert only(one_against_one(after, published)).verdict is Verdict.REGRESSION


def test_one_sample_a_side_is_not_tested() -> None:
    baseline = Baseline(runs=(run_of([[10.0]]),), source=BaselineSource.FILES)
    finding = only(judge(baseline, run_of([[11.0]]), settings=BY_SAMPLE))
    assert finding.verdict is Verdict.UNTESTED


def test_both_conditions_of_a_median_interval_prove_65_percent_as_published() -> None:
    after = (np.array(BEFORE) * 1.65).tolist()
    baseline = Baseline(runs=(run_of([BEFORE]),), source=BaselineSource.FILES)
    config = Config(unit="sample", detector="median_interval")
    report = judge_run(baseline, run_of([after]), config=config)
    (finding,) = report.findings
    assert (finding.verdict, finding.test) == (Verdict.REGRESSION, "median_interval_by_sample")
    assert finding.relative_change == pytest.approx(0.65)
    # [Olive 2005] by hand: L = 25 - 4, SE = half the distance of the 29th and the 22nd sample, 7 degrees of freedom.
    errors = [(ordered[28] - ordered[21]) / 2 for ordered in map(sorted, (BEFORE, after))]
    squares = np.square(errors)
    freedom = squares.sum() ** 2 / (squares**2 / 7).sum()
    half = stats.t.ppf(0.975, freedom) * np.sqrt(squares.sum()) / np.median(BEFORE)
    assert finding.confidence_interval is not None
    assert finding.p_value is not None
    assert finding.confidence_interval.low == pytest.approx(0.65 - half)
    assert certainty_text(finding) == f"published test, p {significant(finding.p_value)}, 50 samples against 50"
    (rate,) = (note for note in report.notes if note.code is Remark.BY_SAMPLE)
    assert rate.arguments == {"of_benchmarks": 0.3, "of_runs": 0.9}


def test_four_samples_have_no_published_median_interval() -> None:
    baseline = Baseline(runs=(run_of([BEFORE]),), source=BaselineSource.FILES)
    finding = only(judge(baseline, run_of([BEFORE[:4]]), detector="median_interval", settings=BY_SAMPLE))
    assert (finding.verdict, finding.reason.code) == (Verdict.UNTESTED, Untested.TOO_FEW_FOR_MEDIAN)


def test_a_detector_without_a_published_test_of_samples_is_refused() -> None:
    baseline = Baseline(runs=(run_of([BEFORE]),), source=BaselineSource.FILES)
    with pytest.raises(ConfigError, match="for the detector anova or median_interval, and change_point is chosen"):
        judge_run(baseline, run_of([BEFORE]), config=Config(unit="sample", detector="change_point"))
