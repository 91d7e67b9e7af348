from msgspec.structs import replace

from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Conclusion
from perf_culprit.say.report_parts import outputs
from tests.support.reports import every_conclusion, finding, report


def test_regression() -> None:
    assert outputs(every_conclusion()["regression-fails"]) == {
        "conclusion": "regression",
        "failed": "true",
        "compared": "10",
        "regressions": "2",
        "improvements": "1",
        "suspected": "2",
        "inconclusive": "0",
        "worst-benchmark": "parse_large",
        "worst-change-percent": "38.60",
        "detectable-effect-percent": "5.00",
    }


def test_nothing_to_say_is_empty() -> None:
    first = outputs(every_conclusion()["first-run"])
    assert (first["worst-benchmark"], first["worst-change-percent"], first["detectable-effect-percent"]) == ("", "", "")


def test_a_name_is_no_shell_and_no_markdown() -> None:
    name = "$(rm -rf /); `x` @octocat #1 ${{ secrets.A }} \"'|&<>\nfailed=true"
    hostile = report(Conclusion.REGRESSION, finding(name, 1.0, 2.0, verdict=Verdict.REGRESSION))
    shown = outputs(hostile)["worst-benchmark"]
    assert not set(shown) & set("$()`;@#{}\"'|&<>\n")
    assert shown.startswith("__rm -rf /__")


def test_infinite_values_are_left_out() -> None:
    assert (
        outputs(replace(report(Conclusion.NO_CHANGE), detectable_effect=float("inf")))["detectable-effect-percent"]
        == ""
    )
