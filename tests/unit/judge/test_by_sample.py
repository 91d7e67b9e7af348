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
from perf_culprit.model.reason import Remark, VerdictReason
from perf_culprit.model.report import Judgement
from perf_culprit.say.finding_tables import certainty_text
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
    assert certainty_text(finding).startswith("ANOVA of samples, p ")
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


def test_only_anova_has_it() -> None:
    baseline = Baseline(runs=(run_of([BEFORE]),), source=BaselineSource.FILES)
    with pytest.raises(ConfigError, match="sample is for the detector anova, and change_point is chosen"):
        judge_run(baseline, run_of([BEFORE]), config=Config(unit="sample", detector="change_point"))
