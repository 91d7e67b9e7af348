"""Metrics that left their limits without being called are listed in the comment and on a terminal."""

import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Evidence, Finding, Side, Verdict
from perf_culprit.model.reason import Untested, VerdictReason, because
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.say.comment import render_markdown
from perf_culprit.say.comparison import render_text
from perf_culprit.say.finding_tables import not_called
from perf_culprit.say.headlines import headline
from perf_culprit.say.sections import split
from tests.support.reports import report

NO_BREAK = "\N{NO-BREAK SPACE}"


def charted(name: str, score: float, threshold: float, *, verdict: Verdict = Verdict.NOT_SEEN) -> Finding:
    """A finding whose means are far from its medians. A control chart reports medians."""
    before, after = (Side(value=median, mean=7.0, standard_deviation=1.0, count=400, runs=5) for median in (40.0, 50.0))
    return Finding.judged(
        evidence=Evidence.of(
            key=MetricKey("host", name),
            metric=Metric(name=name, unit="", direction=Direction.UNKNOWN),
            test="control_chart",
            baseline=before,
            target=after,
            relative_change=0.25,
            score=score,
            threshold=threshold,
        ),
        verdict=verdict,
        reason=because(VerdictReason.OVER_LIMIT_LIKE_BASELINE, outside=score, limit_outside=threshold),
    )


QUIET = (charted("inside", 0.1, 0.12), charted("little", 0.13, 0.12), charted("much", 0.3, 0.1))


def test_the_furthest_beyond_its_limit_comes_first_and_what_was_called_is_not_repeated() -> None:
    made = report(Conclusion.REGRESSION, *QUIET, charted("called", 0.9, 0.1, verdict=Verdict.REGRESSION))
    assert [finding.key.metric for finding in not_called(split(made))] == ["much", "little"]


def test_the_comment_folds_them_with_ratio_limit_and_medians() -> None:
    text = render_markdown(report(Conclusion.NO_CHANGE, *QUIET)).replace(NO_BREAK, " ")
    assert "<summary>2 of 3 metrics left their limits, but were not called</summary>" in text
    fold = text.partition("<summary>2 of 3")[2]
    row = next(line for line in fold.splitlines() if "much" in line and "30%" in line)
    assert [cell.strip() for cell in row.split("|")[2:6]] == ["30%", "10%", "40", "50"]
    assert "baseline runs" in row


def test_the_terminal_lists_them() -> None:
    text = render_text(report(Conclusion.NO_CHANGE, *QUIET), colour=False, width=100).replace(NO_BREAK, " ")
    assert "2 of 3 metrics left their limits, but were not called:" in text
    assert "- host · much (40 → 50, +25.0%): " in text


def test_without_any_nothing_is_said() -> None:
    inside = report(Conclusion.NO_CHANGE, QUIET[0], charted("b", 0.0, 0.0))
    assert "left its limits" not in render_markdown(inside)
    assert "not called" not in render_text(inside, colour=False, width=100)


def test_the_headline_says_what_left_its_limits_and_no_more_of_it_than_that() -> None:
    title = headline(report(Conclusion.NO_CHANGE, *QUIET), split(report(Conclusion.NO_CHANGE, *QUIET))).text
    assert title == "No change seen in 1 of 3 metrics; 2 left the limits, not called"
    trifle = replace(QUIET[1], reason=because(VerdictReason.OVER_LIMIT_SMALL_EFFECT, outside=0.13, limit_outside=0.12))
    made = report(Conclusion.NO_CHANGE, QUIET[0], trifle)
    assert headline(made, split(made)).text == "No change seen in 2 metrics"


@pytest.mark.parametrize(
    ("conclusion", "verdict", "of_tested"),
    [
        (
            Conclusion.NO_CHANGE,
            Verdict.NOT_SEEN,
            "No change seen in 1 of 4 metrics",
        ),
        (Conclusion.REGRESSION, Verdict.REGRESSION, "1 of 4 metrics got worse"),
    ],
)
def test_the_headline_counts_what_could_not_be_tested(conclusion: Conclusion, verdict: Verdict, of_tested: str) -> None:
    why = because(Untested.WITHOUT_RULES)
    untested = [replace(charted(name, 0.1, 0.12, verdict=Verdict.UNTESTED), reason=why) for name in ("a", "b", "c")]
    made = report(conclusion, charted("tested", 0.1, 0.12, verdict=verdict), *untested)
    assert headline(made, split(made)).text == f"{of_tested}; 3 of 4 metrics could not be tested"


def test_rules_that_are_broken_and_not_called_are_told_as_rules() -> None:
    few = because(VerdictReason.OVER_LIMIT_FEW_RUNS, test="rule_ensemble", score=1.0, limit=0.5, runs=1)
    broken = replace(charted("cpu", 1.0, 0.5), test="rule_ensemble", reason=few)
    made = report(Conclusion.NO_CHANGE, QUIET[0], broken)
    told = headline(made, split(made)).text
    assert told == "No change seen in 1 of 2 metrics; 1 broke the rules, not called"
    text = render_text(made, colour=False, width=160)
    assert "1 of 2 metrics broke its rules, but was not called:" in text
