"""Numbers of another version of a benchmark are not a baseline: they give neither a regression nor a pass."""

import math

import pytest
from msgspec import structs

from perf_culprit.config.policy_settings import BenchmarkConfig, PolicySettings
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run, with_changed_files
from perf_culprit.github.host import CheckConclusion, check_conclusion
from perf_culprit.judge.policy import judge
from perf_culprit.judge.run_values import metric_series
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark, SeriesReason, Untested
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import Benchmark, Environment, MetricKey, Run
from perf_culprit.say.comparison import render_text

NOISE = (0.99, 1.0, 1.01, 1.0, 0.995, 1.005)
LEVELS = tuple(1 + 0.002 * math.sin(7 * index) for index in range(40))


def bench(name: str, level: float, version: str | None, *, metric: str = "time") -> Benchmark:
    samples = tuple(level * factor for factor in NOISE)
    return Benchmark(name=name, metric_name=metric, unit="ms", samples=samples, version=version)


def history(*versions: str | None) -> tuple[Run, ...]:
    return tuple(
        Run(commit=f"{index:040x}", benchmarks=(bench("parse", 10 * level, version), bench("render", 5 * level, None)))
        for index, (version, level) in enumerate(zip(versions, LEVELS, strict=False))
    )


def target(level: float, version: str | None) -> Run:
    return Run(commit="f" * 40, benchmarks=(bench("parse", level, version), bench("render", 5.0, None)))


def judged(runs: tuple[Run, ...], of: Run, settings: PolicySettings | None = None) -> Judgement:
    return judge(Baseline(runs=runs, source=BaselineSource.FILES), of, settings=settings or PolicySettings())


def test_a_slower_benchmark_of_another_version_is_no_regression_and_no_pass() -> None:
    judgement = judged(history(*["a"] * 30), target(20.0, "b"))
    by_name = {one.benchmark: one for one in judgement.findings}
    assert by_name["parse"].verdict is Verdict.UNTESTED
    assert by_name["parse"].reason.code is Untested.BENCHMARK_CHANGED
    assert by_name["parse"].is_decided, "more rounds would not tell"
    assert by_name["render"].verdict in {Verdict.UNCHANGED, Verdict.NOT_SEEN}
    assert judgement.conclusion is Conclusion.NOT_COMPARABLE
    assert not judgement.failed
    assert judgement.new == ()


@pytest.mark.parametrize(("before", "now"), [("a", "a"), (None, "a"), ("a", None)])
def test_the_same_version_and_one_that_nobody_knows_are_compared(before: str | None, now: str | None) -> None:
    judgement = judged(history(*[before] * 30), target(20.0, now))
    assert judgement.conclusion is Conclusion.SUSPECTED


def test_what_looks_slower_elsewhere_is_louder() -> None:
    slower = Run(commit="f" * 40, benchmarks=(bench("parse", 10.0, "b"), bench("render", 9.0, None)))
    report = judge_run(Baseline(runs=history(*["a"] * 30), source=BaselineSource.FILES), slower, config=Config())
    assert report.conclusion is Conclusion.SUSPECTED
    assert "1 of 2 benchmarks is not comparable: it changed" in render_text(report, colour=False, width=200)


def test_a_history_starts_again_at_the_new_version() -> None:
    judgement = judged(history(*["a"] * 6, *["b"] * 30), target(20.0, "b"))
    (parse,) = (one for one in judgement.findings if one.benchmark == "parse")
    assert parse.looks_worse
    assert parse.baseline is not None
    assert parse.baseline.runs == 30


def test_of_versions_that_nobody_knows_and_others_the_former_are_compared() -> None:
    judgement = judged(history(*["a"] * 6, *[None] * 9), target(20.0, "b"))
    (parse,) = (one for one in judgement.findings if one.benchmark == "parse")
    assert parse.looks_worse
    assert parse.baseline is not None
    assert parse.baseline.runs == 9


def test_what_is_ignored_stays_so() -> None:
    settings = PolicySettings(benchmarks=(BenchmarkConfig(match="parse", ignore=True),))
    judgement = judged(history(*["a"] * 30), target(20.0, "b"), settings)
    assert [one.benchmark for one in judgement.findings] == ["render"]


def test_where_all_changed_nothing_is_tested() -> None:
    runs = tuple(Run(benchmarks=(bench("parse", 10 * level, "a"),)) for level in LEVELS[:9])
    judgement = judged(runs, Run(benchmarks=(bench("parse", 20.0, "b"),)))
    assert judgement.conclusion is Conclusion.NOT_COMPARABLE
    assert judgement.missing == judgement.new == ()


def test_the_check_is_neutral_and_the_headline_says_why() -> None:
    """A fork cannot hide a regression by giving its benchmark another version."""
    report = judge_run(
        Baseline(runs=history(*["a"] * 30), source=BaselineSource.FILES), target(20.0, "b"), config=Config()
    )
    assert check_conclusion([report]) is CheckConclusion.NEUTRAL
    text = render_text(report, colour=False, width=200)
    assert text.startswith("1 of 2 benchmarks is not comparable: it changed; no change seen in 1")
    assert "--harness head" in text


def test_files_of_benchmarks_that_changed_are_told_and_leave_no_green_check() -> None:
    baseline = Baseline(runs=history(*["a"] * 30), source=BaselineSource.FILES)
    report = judge_run(baseline, target(10.0, "a"), config=Config())
    assert check_conclusion([report]) is CheckConclusion.SUCCESS
    for path in ("src/parse.py", "benchmarks/README.md", "src/workbench.py"):
        assert with_changed_files(report, [path], config=Config()) is report
    changed = with_changed_files(report, ["src/parse.py", "benchmarks/parse.py"], config=Config())
    (note,) = (note for note in changed.notes if note.code is Remark.HARNESS_CHANGED)
    assert note.arguments["files"] == ("benchmarks/parse.py",)
    assert check_conclusion([changed]) is CheckConclusion.NEUTRAL
    assert with_changed_files(changed, ["benchmarks/parse.py"], config=Config()) is changed


def test_by_the_heads_benchmarks_there_is_nothing_to_warn_of() -> None:
    runs = tuple(
        structs.replace(run, environment=Environment(components={"harness": "f" * 40})) for run in history(*["a"] * 30)
    )
    report = judge_run(Baseline(runs=runs, source=BaselineSource.FILES), target(10.0, "a"), config=Config())
    assert [note.code for note in report.notes if note.code is Remark.HARNESS_OF_HEAD] == [Remark.HARNESS_OF_HEAD]
    assert with_changed_files(report, ["benchmarks/parse.py"], config=Config()) is report
    assert not report.environment_changes


def test_a_series_is_of_one_version() -> None:
    series = {one.name: one for one in metric_series(history("a", "a", None, "b"), minimum_effect=lambda _: 0.01)}
    assert [value == value for value in series["parse"].values] == [False, False, True, True]  # noqa: PLR0124
    assert [(note.code, note.arguments["count"]) for note in series["parse"].notes] == [(SeriesReason.OTHER_VERSION, 2)]
    assert series["render"].notes == ()


def test_metrics_of_a_benchmark_are_told_apart() -> None:
    run = Run(benchmarks=(bench("parse", 10.0, "a"), bench("parse", 3.0, None, metric="memory")))
    now = Run(benchmarks=(bench("parse", 10.0, "b"), bench("parse", 3.0, None, metric="memory")))
    judgement = judged((run,) * 2, now)
    changed = [one.key for one in judgement.findings if one.is_of_other_benchmark]
    assert changed == [MetricKey("parse", "time")]
