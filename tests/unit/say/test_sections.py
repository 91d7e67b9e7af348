import ast
import random

from msgspec.structs import replace

from perf_culprit.model.counted_metric import metric_of
from perf_culprit.model.detectors import DECLARED
from perf_culprit.model.finding import Excess, Finding, Level, Severity, Verdict
from perf_culprit.model.report import Conclusion
from perf_culprit.say.comparison import render_text
from perf_culprit.say.sections import crossing, split, worsening
from tests.support.recipes import PROJECT
from tests.support.reports import FASTER, MEMORY, NOISY, SLOWER, THROUGHPUT, UNCHANGED, finding, report


def test_order_does_not_depend_on_the_input() -> None:
    findings = [*SLOWER, *FASTER, *NOISY, *UNCHANGED]
    expected = split(report(Conclusion.REGRESSION, *findings))
    for seed in range(5):
        random.Random(seed).shuffle(findings)
        assert split(report(Conclusion.REGRESSION, *findings)) == expected


def test_loudest_then_major_then_largest() -> None:
    results = [
        finding("small", 10.0, 11.0, verdict=Verdict.REGRESSION, level=Level.WARN),
        finding("large", 10.0, 19.0, verdict=Verdict.REGRESSION, level=Level.WARN),
        finding("from_zero", 0.0, 1.0, verdict=Verdict.REGRESSION, level=Level.WARN),
        finding("major", 10.0, 11.0, verdict=Verdict.REGRESSION, level=Level.WARN, severity=Severity.MAJOR),
        finding("fails", 10.0, 11.0, verdict=Verdict.REGRESSION, level=Level.FAIL),
    ]
    ordered = split(report(Conclusion.REGRESSION, *results)).regressions
    assert [item.key.benchmark for item in ordered] == ["fails", "major", "from_zero", "large", "small"]


def test_of_equal_scores_the_longest_beyond_its_limit_comes_first_then_the_largest_change() -> None:
    def broken(name: str, after: float, time: float) -> Finding:
        one = finding(name, 10.0, after, verdict=Verdict.REGRESSION)
        return replace(one, score=1.0, threshold=0.5, excess=Excess(time_in_violation=time))

    results = [broken("a", 10.4, 0.02), broken("b", 15.0, 0.98), broken("c", 18.0, 0.98)]
    ordered = split(report(Conclusion.REGRESSION, *results)).regressions
    assert [item.key.benchmark for item in ordered] == ["c", "b", "a"]


def test_metrics_are_counted_where_a_benchmark_has_several() -> None:
    one = report(Conclusion.NO_CHANGE, *UNCHANGED)
    two = report(Conclusion.NO_CHANGE, *UNCHANGED, finding("encode[8]", 1.0, 1.0, metric=MEMORY))
    assert (split(one).noun, split(two).noun) == ("benchmark", "metric")


def test_of_a_whole_command_the_metric_says_what_was_measured() -> None:
    weighed = finding("command", 30.0, 40.0, metric=metric_of("size:dist/*"), verdict=Verdict.REGRESSION)
    text = render_text(report(Conclusion.REGRESSION, weighed), colour=False, width=80)
    assert "command · size:dist/*" in text


def test_worsening_follows_the_direction() -> None:
    assert worsening(finding("x", 10.0, 12.0)) == 0.2
    assert worsening(finding("x", 10.0, 12.0, metric=THROUGHPUT)) == -0.2
    assert worsening(finding("x", 0.0, 12.0)) is None


def test_crossing_needs_two_different_categories() -> None:
    crossed = SLOWER[0]
    assert crossing(crossed) == ("fast", "medium")
    assert crossing(replace(crossed, category_now="fast")) is None
    assert crossing(replace(crossed, category_now=None)) is None


def test_wall_and_cpu_time_of_one_verdict_are_one_row_and_counted_once() -> None:
    wall = finding("sort", 10.0, 13.0, verdict=Verdict.REGRESSION)
    cpu_metric = replace(wall.metric, name="cpu_time")
    cpu = replace(wall, benchmark="sort", metric_name="cpu_time", unit=cpu_metric.unit, relative_change=0.4)
    sections = split(report(Conclusion.REGRESSION, wall, cpu))
    assert sections.regressions == (wall,)
    assert sections.beside == {wall.key: (cpu,)}
    assert (sections.total, sections.several_metrics) == (1, False)
    text = render_text(report(Conclusion.REGRESSION, wall, cpu), colour=False, width=200)
    assert "- sort · cpu_time (10.0 ms → 13.0 ms, +40.0%)" in text


def test_wall_and_cpu_time_of_different_verdicts_are_two_rows() -> None:
    wall = finding("sort", 10.0, 13.0, verdict=Verdict.REGRESSION)
    cpu = finding("sort", 10.0, 10.0)
    cpu = replace(cpu, benchmark="sort", metric_name="cpu_time")
    sections = split(report(Conclusion.REGRESSION, wall, cpu))
    assert (sections.regressions, sections.unchanged, sections.beside) == ((wall,), (cpu,), {})


def test_a_detector_is_named_by_itself_and_its_declaration_alone() -> None:
    names = {one.name for one in DECLARED}
    package = PROJECT / "bot" / "perf_culprit"
    for path in package.rglob("*.py"):
        if path.stem in names or path.is_relative_to(package / "demo") or path == package / "model" / "detectors.py":
            continue
        literals = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert not literals & names, path.name
