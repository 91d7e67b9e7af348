"""The findings of controls, and what the report says of them."""

import pytest

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark, VerdictReason
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import Metric, Run
from tests.support.noisy_runs import THROUGHPUT, TIME, run_of

# A spread of about 2% with an exact mean and median of 1.
SHAPE = (0.97, 0.98, 0.99, 1.0, 1.0, 1.0, 1.01, 1.02, 1.03)
CONTROL = "bench_00001"


def around(*means: float, metric: Metric = TIME) -> Run:
    return run_of([[mean * factor for factor in SHAPE] for mean in means], metric=metric, processes=True)


def compare(run: Run, target: Run, *controls: str) -> Judgement:
    baseline = Baseline(runs=(run,), source=BaselineSource.PAIRED)
    return judge(baseline, target, settings=PolicySettings(control=controls))


def codes(judgement: Judgement) -> set[str]:
    arguments = [note.arguments for note in judgement.notes if note.code is Remark.CONTROL_MOVED]
    return {how for one in arguments for how in ("slower", "faster") if how in one}


def test_a_control_is_never_called() -> None:
    judgement = compare(around(5, 6), around(5, 8), CONTROL)
    moved = next(one for one in judgement.findings if one.key.benchmark == CONTROL)
    assert (moved.verdict, moved.reason.code) == (Verdict.NOT_SEEN, VerdictReason.CONTROL)
    assert judgement.conclusion is Conclusion.NO_CHANGE
    assert not judgement.failed
    assert not codes(judgement), "nothing else moved"


@pytest.mark.parametrize(
    ("factor", "metric", "how"),
    [
        (1.3, TIME, "slower"),
        (0.7, TIME, "faster"),
        (0.7, THROUGHPUT, "slower"),
        (1.3, THROUGHPUT, "faster"),
    ],
)
def test_the_report_says_how_the_control_moved(factor: float, metric: Metric, how: str) -> None:
    run, target = around(5, 6, metric=metric), around(5 * factor, 6 * factor, metric=metric)
    assert compare(run, target).conclusion in {Conclusion.REGRESSION, Conclusion.IMPROVEMENT}
    judgement = compare(run, target, "bench_*1")
    assert codes(judgement) == {how}
    assert judgement.conclusion is Conclusion.NO_CHANGE
    (note,) = (note for note in judgement.notes if note.code is Remark.CONTROL_MOVED)
    assert note.arguments["benchmark"] == CONTROL
    assert note.arguments[how] == pytest.approx(0.3, abs=0.02)


def test_a_count_that_changed_is_reached() -> None:
    """No machine changes it, so it is no control whatever the configuration says."""
    metric = Metric(name="instructions", unit="", direction=TIME.direction)
    run, target = (run_of([[1e6] * 4, [number] * 4], metric=metric, processes=True) for number in (2e6, 3e6))
    judgement = compare(run, target, CONTROL)
    assert judgement.conclusion is Conclusion.REGRESSION
    assert not codes(judgement)
