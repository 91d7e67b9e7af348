"""Properties of control charts that hold for any numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace
from scipy import stats

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge import control_chart
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.limit_verdict import exceeds_threshold
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Evidence
from perf_culprit.model.report import Conclusion, decode_report, encode_report
from perf_culprit.model.run import Run
from perf_culprit.say.report_parts import build_report
from perf_culprit.stats.chart_limits import PERCENTILES, THREE_DEVIATIONS, chart
from tests.support.noisy_counters import counter_run, noisy_counters, stored
from tests.support.reasons import words_of
from tests.support.reports import SETTINGS

LEVELS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))
KINDS = (*PERCENTILES, THREE_DEVIATIONS)
SERIES = st.lists(LEVELS, min_size=1, max_size=40)
HOSTILE = st.lists(st.floats(), min_size=4, max_size=30)


def evidence(target: Run, *runs: Run) -> Evidence:
    (entry,) = control_chart.DETECTOR.detect_counters(pair_counters(stored(*runs), target).tables, DetectorOptions())
    return entry


@given(target=SERIES, runs=st.lists(SERIES, min_size=1, max_size=4), kind=st.sampled_from(KINDS))
def test_ratios_are_shares_and_the_limits_enclose_the_center(
    target: list[float], runs: list[list[float]], kind: str
) -> None:
    made = chart(np.sort(np.array(target)), [np.sort(np.array(run)) for run in runs], kind=kind)
    assert made.limits.lower <= made.limits.center <= made.limits.upper
    assert 0 <= made.violations.ratio <= 1
    assert all(0 <= part.ratio <= made.threshold for run in made.left_out for part in run)


@given(seed=st.integers(0, 2**32 - 1), power=st.integers(-20, 20))
def test_another_unit_changes_nothing(seed: int, power: int) -> None:
    rng = np.random.default_rng(seed)
    series = [rng.normal(50, 5, 60) for _ in range(4)]

    def scored(factor: float) -> tuple[float | None, float | None]:
        target, *runs = (counter_run({"cpu": values * factor}) for values in series)
        entry = evidence(target, *runs)
        return entry.score, entry.threshold

    assert scored(2.0**power) == scored(1.0)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_instants_and_runs_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target, *runs = (rng.normal(50, 5, 60) for _ in range(4))
    one = evidence(counter_run({"cpu": target}), *(counter_run({"cpu": run}) for run in runs))
    turned = [counter_run({"cpu": rng.permutation(run)}) for run in reversed(runs)]
    other = evidence(counter_run({"cpu": rng.permutation(target)}), *turned)
    assert (one.score, one.threshold) == (other.score, other.threshold)


@given(target=HOSTILE, run=HOSTILE, load=HOSTILE)
def test_any_numbers_have_an_answer(target: list[float], run: list[float], load: list[float]) -> None:
    def made(values: list[float]) -> Run:
        size = min(len(values), len(load))
        return counter_run({"cpu": values[:size]}, load=np.array(load[:size]))

    baseline = stored(made(run), made(run[::-1]), made(run))
    judgement = judge(baseline, made(target), settings=PolicySettings())
    report = build_report(judgement, baseline=baseline, target=made(target), settings=SETTINGS)
    decoded = decode_report(encode_report(report), place="report").findings
    # The load may be a finding of its own.
    assert 1 <= len(judgement.findings) <= 2
    for finding, one in zip(judgement.findings, decoded, strict=True):
        assert one == replace(finding, drawn=UNSET)
        assert words_of(finding.reason)
        assert finding.score is None or 0 <= finding.score <= 1


@pytest.mark.slow  # a rate needs trials
@pytest.mark.parametrize("offsets", [(0.0, 0.0), (0.03, 0.0), (0.0, 0.03)])
def test_a_a_alarms_stay_within_the_stated_rate(offsets: tuple[float, float]) -> None:
    """The rates of docs/detectors/control-chart.md are 1 / runs per target and 1 / (runs + 1) per counter."""
    rng = np.random.default_rng([7, round(100 * offsets[0]), round(100 * offsets[1])])
    trials, runs, counters = 25, 4, 10
    own, shared = offsets

    def made() -> Run:
        return noisy_counters(rng, counters=counters, instants=60, own_offset=own, shared_offset=shared)

    judgements = [
        judge(stored(*(made() for _ in range(runs))), made(), settings=PolicySettings()) for _ in range(trials)
    ]
    alarms = sum(judgement.conclusion is Conclusion.REGRESSION for judgement in judgements)
    outside = np.array([sum(exceeds_threshold(f) for f in entry.findings) for entry in judgements])
    assert alarms <= stats.binom.ppf(0.99, trials, 1 / runs)
    # Counters of one run are not independent where they share an offset: the mean of the runs' counts is bounded.
    assert outside.mean() <= counters / (runs + 1) + 2.33 * outside.std(ddof=1) / np.sqrt(trials)
