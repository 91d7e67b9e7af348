"""The evidence of executions, files and rounds, independent of their metrics, units and sides."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import corrected_for_analyses, judge_run
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import PROVEN, Baseline, BaselineSource, Interval, Verdict
from perf_culprit.model.reason import Remark, Untested, VerdictReason, because
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Direction, Metric
from perf_culprit.say.comparison import render_text
from tests.support.noisy_runs import THROUGHPUT, TIME, run_of
from tests.support.sides import by_name, compared, files, joined, noise

ALLOCATIONS = Metric(name="allocs", unit="allocs/op", direction=Direction.LOWER_IS_BETTER)
PAIRED, FILES = BaselineSource.PAIRED, BaselineSource.FILES
FIRST = "bench_00000 time"
TURNED = {Verdict.REGRESSION: Verdict.IMPROVEMENT, Verdict.IMPROVEMENT: Verdict.REGRESSION}


@pytest.mark.parametrize("source", [FILES, PAIRED])
@pytest.mark.parametrize("factor", [1.0, 1.08, 1.5])
def test_swapped_sides_mirror_change_interval_and_tier(factor: float, source: BaselineSource) -> None:
    rng = np.random.default_rng(2)
    before, after = noise(rng, 6, 8), noise(rng, 6, 8)
    after[:, 0] *= factor
    there, back = (by_name(compared(files(a), files(b), source=source)) for a, b in ((before, after), (after, before)))
    for name, finding in there.items():
        other = back[name]
        assert other.verdict is TURNED.get(finding.verdict, finding.verdict)
        assert other.rate == pytest.approx(finding.rate)
        assert isinstance(finding.confidence_interval, Interval)
        assert isinstance(other.confidence_interval, Interval)
        ends = [other.relative_change, other.confidence_interval.high, other.confidence_interval.low]
        mirrored = [finding.relative_change, finding.confidence_interval.low, finding.confidence_interval.high]
        assert np.log1p(np.array(ends, float)) == pytest.approx(-np.log1p(np.array(mirrored, float)))


def test_scaling_all_times_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    before, after = noise(rng, 4, 8, 5), noise(rng, 4, 8, 5)
    after[:, 0] *= 1.4
    plain, scaled = (compared(files(factor * before), files(factor * after)) for factor in (1.0, 1024.0))
    assert [(f.verdict, f.rate) for f in plain.findings] == [(f.verdict, f.rate) for f in scaled.findings]


@pytest.mark.parametrize("source", [FILES, PAIRED])
def test_copies_of_a_file_count_once(source: BaselineSource) -> None:
    rng = np.random.default_rng(4)
    before, after = noise(rng, 1, 4, 10), noise(rng, 1, 4, 10)
    after[:, 0] *= 1.5
    once = compared(files(before), files(after), source=source)
    copied = compared(files(before.repeat(6, 0)), files(after.repeat(6, 0)), source=source)
    assert because(Remark.SAME_CONTENT, count=10) in copied.notes
    assert {f.verdict for f in copied.findings}.isdisjoint(TURNED)
    assert [f.rate for f in copied.findings] == pytest.approx([f.rate for f in once.findings])
    real = compared(files(noise(rng, 6, 4, 10)), files(1.5 * noise(rng, 6, 4, 10)), source=source)
    assert because(Remark.SAME_CONTENT, count=10) not in real.notes


def test_one_number_per_file_six_times_is_one_number() -> None:
    once = 100.0 * np.arange(1, 5)
    judgement = compared(files(np.tile(once, (6, 1))), files(np.tile(1.2 * once, (6, 1))))
    assert {finding.verdict for finding in judgement.findings}.isdisjoint(TURNED)
    assert because(Remark.SAME_CONTENT, count=10) in judgement.notes
    # A smaller number of different values may come from a coarse clock.
    coarse = compared(files(np.tile(once[:3], (6, 1))), files(np.tile(once[:3], (6, 1))))
    assert coarse.notes == ()


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (10, 11, Verdict.REGRESSION),
        (0, 3, Verdict.REGRESSION),
        (3, 0, Verdict.IMPROVEMENT),
        (7, 7, Verdict.UNCHANGED),
        (0, 0, Verdict.UNCHANGED),
    ],
)
@pytest.mark.parametrize("count", [1, 6])
def test_an_exact_count_is_compared_as_it_is(before: int, after: int, verdict: Verdict, count: int) -> None:
    sides = (files(np.full((count, 1), float(number)), [ALLOCATIONS]) for number in (before, after))
    judgement = compared(*sides)
    # One file a side doesn't show how much a count varies.
    is_open = count == 1 and before != after
    assert judgement.findings[0].verdict is (Verdict.SUSPECTED if is_open else verdict)
    # Equal counts are not copies.
    assert judgement.notes == ()


@pytest.mark.parametrize("factor", [1.06, 1000.0, 1 / 1000])
def test_times_that_repeat_exactly_need_no_statistics(factor: float) -> None:
    """A simulated machine gives such times."""
    before = noise(np.random.default_rng(5), 1, 8)
    after = before.copy()
    after[:, 0] *= factor
    judged = by_name(compared(files(before), files(after)))
    assert judged[FIRST].verdict is (Verdict.REGRESSION if factor > 1 else Verdict.IMPROVEMENT)
    assert {finding.verdict for name, finding in judged.items() if name != FIRST} == {Verdict.UNCHANGED}


def test_a_coarse_clock_repeats_itself_and_is_not_exact() -> None:
    before = np.arange(1.0, 9.0)[None] / 100
    after = before.copy()
    after[:, 1] = 0.03
    assert by_name(compared(files(before), files(after)))["bench_00001 time"].verdict not in TURNED


@pytest.mark.parametrize(
    ("value", "unit", "step"),
    [(5e-8, "s", 0.2), (0.001, "ms", 1.0), (0.5, "s", 0.2), (0.12, "s", 1 / 12), (0.125, "s", None), (5.0, "us", None)],
)
def test_times_of_one_digit_are_too_short_to_time(value: float, unit: str, step: float | None) -> None:
    metric = Metric(name="time", unit=unit, direction=Direction.LOWER_IS_BETTER)
    run = run_of([[value] * 5], metric=metric)
    (finding,) = judge(Baseline(runs=(run,), source=BaselineSource.FILES), run, settings=PolicySettings()).findings
    if step is None:
        assert finding.reason.code is not Untested.TOO_SHORT
    else:
        assert (finding.verdict, finding.reason.code) == (Verdict.UNTESTED, Untested.TOO_SHORT)
        assert finding.reason.arguments["step"] == pytest.approx(step)


@pytest.mark.parametrize(("before", "after", "is_called"), [(0, 1, False), (6, 2, False), (0, 8, True), (64, 80, True)])
def test_bytes_per_operation_below_an_allocation_are_a_rest_of_the_run(
    before: int, after: int, *, is_called: bool
) -> None:
    unit = Metric(name="bytes", unit="B/op", direction=Direction.LOWER_IS_BETTER)
    (finding,) = compared(files(np.array([[before]]), [unit]), files(np.array([[after]]), [unit])).findings
    assert (finding.verdict is Verdict.SUSPECTED) is is_called


def test_other_metrics_take_nothing_from_what_the_times_alone_show() -> None:
    rng = np.random.default_rng(5)
    before, after = noise(rng, 6, 8), noise(rng, 6, 8)
    after[:, 0] *= 1.5
    alone = by_name(compared(files(before), files(after)))
    count = np.full((6, 1), 10.0)
    metrics = [*[TIME] * 8, THROUGHPUT, ALLOCATIONS]
    mixed = by_name(
        compared(
            *(files(np.hstack([side, noise(rng, 6, 1), count]), metrics) for side in (before, after)),
        )
    )
    assert alone[FIRST].verdict is mixed[FIRST].verdict is Verdict.REGRESSION
    assert {name: mixed[name].verdict in TURNED for name in alone} == {name: name == FIRST for name in alone}


@pytest.mark.parametrize("benchmarks", [1, 2, 3])
def test_an_unrelated_benchmark_takes_no_proof_away(benchmarks: int) -> None:
    rng = np.random.default_rng(6)
    before, after = noise(rng, 16, benchmarks), noise(rng, 16, benchmarks)
    after[:, 0] *= 4
    assert by_name(compared(files(before), files(after), source=PAIRED))[FIRST].verdict is Verdict.REGRESSION


def test_paired_is_not_weaker_than_unpaired() -> None:
    rng = np.random.default_rng(7)
    before, after = noise(rng, 6, 1), 1.62 * noise(rng, 6, 1)
    for source in (FILES, PAIRED):
        assert compared(files(before), files(after), source=source).conclusion is Conclusion.REGRESSION


def test_a_suite_that_moved_as_a_whole_is_suspected_and_shows_the_raw_change() -> None:
    rng = np.random.default_rng(8)
    before, after = noise(rng, 5, 12, shared=0.01), 1.2 * noise(rng, 5, 12, shared=0.01)
    judgement = compared(files(before), files(after))
    (note,) = judgement.notes
    assert (judgement.conclusion, note.code) == (Conclusion.SUSPECTED, Remark.SUITE_MOVED)
    for finding in judgement.findings:
        assert finding.verdict not in TURNED
        assert finding.relative_change == pytest.approx(0.2, abs=0.06)
        # A change that moved with the suite was not seen, so a smaller one would not have been seen either.
        assert (finding.detectable_effect or 0.0) > (finding.relative_change or 0.0)
    paired = compared(files(before), files(after), source=PAIRED)
    assert {finding.verdict for finding in paired.findings} <= {Verdict.REGRESSION, Verdict.SUSPECTED}


def test_a_detector_holds_back_what_its_own_rule_does_not_see() -> None:
    """The files' medians differ, but their samples are noisy, so the intervals of the sides' medians overlap."""
    rng = np.random.default_rng(9)
    wide = 100 * np.array([0.3, 0.6, 1.0, 1.4, 1.9]) * noise(rng, 6, 1, 1) / 100
    (finding,) = compared(files(wide), files(1.15 * wide), detector="anova").findings
    assert finding.verdict is Verdict.REGRESSION
    (finding,) = compared(files(wide), files(1.15 * wide), detector="median_interval").findings
    assert finding.verdict is Verdict.NOT_SEEN
    assert finding.reason.code is VerdictReason.INTERVALS_MEET
    assert finding.detectable_effect is None
    assert finding.confidence_interval is not None
    assert finding.confidence_interval.low <= 0.05


def test_rates_are_of_all_planned_analyses() -> None:
    config = Config(profile="sensitive")
    assert (config.proven, config.suspected) == (0.05, 0.25)
    corrected = corrected_for_analyses(config, analyses=5)
    assert (corrected.proven, corrected.suspected) == pytest.approx((0.01, 0.05))


def test_a_report_states_the_rates_over_all_looks() -> None:
    """A rate of .9% in one of four looks stood beside "not proven" and a rule of 1%."""
    rng = np.random.default_rng(2)
    baseline, target = (noise(rng, 6, 4) for _ in range(2))
    target[:, 0] *= 1.2

    def judged(looks: int) -> Report:
        runs = [replace(joined(files(side), paired=True), analyses=looks) for side in (baseline, target)]
        return judge_run(Baseline(runs=(runs[0],), source=BaselineSource.PAIRED), runs[1], config=Config())

    alone, shared = judged(1), judged(4)
    assert (shared.settings.proven, shared.settings.suspected, shared.settings.looks) == (0.01, 0.1, 4)
    assert "proven 1%, suspected 10%, shared by 4 looks" in render_text(shared, colour=False, width=200)
    rates = {one.key: one.rate or 0.0 for one in alone.findings}
    for one in shared.findings:
        rate = one.rate or 0.0
        assert rate == pytest.approx(min(4 * rates[one.key], 1.0))
        assert one.reason.arguments.get("rate", rate) == rate
        assert (rate <= 0.01) is (one.verdict in PROVEN)


@pytest.mark.parametrize(
    ("count", "proven_by"),
    [(4, {"sensitive"}), (6, {"balanced", "sensitive"}), (10, {"strict", "balanced", "sensitive"})],
)
def test_what_is_proven_follows_the_profile(count: int, proven_by: set[str]) -> None:
    rng = np.random.default_rng(10)
    before, after = files(noise(rng, count, 1)), files(1.4 * noise(rng, count, 1))
    for profile in ("strict", "balanced", "sensitive"):
        settings = PolicySettings.model_validate({"profile": profile})
        verdict = compared(before, after, settings=settings).findings[0].verdict
        assert verdict is (Verdict.REGRESSION if profile in proven_by else Verdict.SUSPECTED)
