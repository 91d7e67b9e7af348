import pytest

from perf_culprit.github.host import CheckConclusion, check_conclusion
from perf_culprit.model.reason import Remark, because
from perf_culprit.model.report import Conclusion, Report, Settings

SETTINGS = Settings(detector="anova", proven=0.01, suspected=0.1, minimum_effect=0.05, fail=0.1)

EXPECTED = {
    Conclusion.REGRESSION: CheckConclusion.NEUTRAL,
    Conclusion.OTHER_HARDWARE: CheckConclusion.NEUTRAL,
    Conclusion.SUSPECTED: CheckConclusion.NEUTRAL,
    Conclusion.NOT_COMPARABLE: CheckConclusion.NEUTRAL,
    Conclusion.INCONCLUSIVE: CheckConclusion.NEUTRAL,
    Conclusion.FIRST_RUN: CheckConclusion.NEUTRAL,
    Conclusion.NOT_AFFECTED: CheckConclusion.NEUTRAL,
    Conclusion.IMPROVEMENT: CheckConclusion.SUCCESS,
    Conclusion.NO_CHANGE: CheckConclusion.SUCCESS,
}


@pytest.mark.parametrize("conclusion", list(Conclusion))
def test_only_the_fail_level_fails_the_check(conclusion: Conclusion) -> None:
    report = Report(conclusion=conclusion, findings=(), settings=SETTINGS)
    assert check_conclusion([report]) is EXPECTED[conclusion]


def test_a_regression_over_the_fail_level_fails() -> None:
    report = Report(conclusion=Conclusion.REGRESSION, findings=(), settings=SETTINGS, failed=True)
    assert check_conclusion([report]) is CheckConclusion.FAILURE


def test_what_was_measured_in_part_is_neutral() -> None:
    """Only the measuring job claims that the change does not reach the rest, and that job may be a fork's."""
    note = because(Remark.PARTLY_AFFECTED, packages=("./b",))
    report = Report(conclusion=Conclusion.NO_CHANGE, findings=(), settings=SETTINGS, notes=(note,))
    assert check_conclusion([report]) is CheckConclusion.NEUTRAL
