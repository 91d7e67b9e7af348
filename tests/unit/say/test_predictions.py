"""Predictions of simulations are separate from measurements, and any name of a model stays inert."""

from msgspec.structs import replace

from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Conclusion, Prediction, Report, decode_report, encode_report
from perf_culprit.say.comment import render_markdown
from perf_culprit.say.comparison import render_text
from tests.support.reports import every_conclusion

REPORTS = every_conclusion()
HOSTILE = "a`](https://evil.example)<img src=x>@everyone|.yml"


def with_prediction(conclusion: str, *, model: str = "design.yml", effect: float | None = None) -> Report:
    """A report without a measured change. Its prediction has the findings of the report with this conclusion."""
    predicted = REPORTS[conclusion]
    prediction = Prediction(
        model=model,
        scenario="evening",
        conclusion=predicted.conclusion,
        findings=predicted.findings,
        detectable_effect=effect,
    )
    return replace(REPORTS["no-change"], predictions=(prediction,))


def test_a_worse_design_is_a_line_and_a_folded_table_and_changes_no_verdict() -> None:
    report = with_prediction("regression-fails")
    worse = sum(finding.verdict is Verdict.REGRESSION for finding in REPORTS["regression-fails"].findings)
    assert worse
    text = render_markdown(report)
    assert "**Predicted** by `design.yml`, scenario `evening` (simulated, not measured)" in text
    assert "<details><summary>Predicted by simulation: " in text
    assert text.splitlines()[0] == render_markdown(replace(report, predictions=())).splitlines()[0]
    assert "Predicted by design.yml, scenario evening" in render_text(report, colour=False, width=200)


def test_an_unchanged_design_says_what_would_have_shown() -> None:
    text = render_markdown(with_prediction("no-change", effect=0.031))
    assert "a change for the worse of 3.1% or more would show." in text
    assert "Predicted by simulation" not in text


def test_predictions_survive_the_file() -> None:
    report = with_prediction("regression-fails", effect=0.05)
    again = decode_report(encode_report(report), place="report.json")
    assert again.predictions == report.predictions
    assert again.conclusion is Conclusion.NO_CHANGE


def test_a_models_name_is_inert() -> None:
    text = render_markdown(with_prediction("regression-fails", model=HOSTILE))
    shown = [line for line in text.splitlines() if "evil.example" in line]
    assert shown
    assert all("``" in line for line in shown)  # within a code span that the name's own backtick does not close
