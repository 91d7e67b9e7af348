from perf_culprit.model.finding import Baseline, BaselineSource, RunChoice
from perf_culprit.model.reason import BaselineReason, Remark, because, remark
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import Benchmark, Environment, Run
from perf_culprit.say.report_parts import build_report
from tests.support.reports import SETTINGS, SLOWER, TIME_MS


def test_a_report_holds_the_judgement_and_where_it_comes_from() -> None:
    run = Run(
        benchmarks=(Benchmark.of(name="x", metric=TIME_MS, samples=(1.0,)),),
        environment=Environment(components={"cpu": "c"}),
        commit="h",
        suite="s",
        notes=("from the reader",),
    )
    choice = RunChoice(commit="b", time=None, chosen=True, reason=because(BaselineReason.AT_MERGE_BASE))
    of_history, of_policy = because(BaselineReason.OLDER_RUNS, count=3), because(Remark.LONE_BASELINE)
    baseline = Baseline(
        runs=(run, run), source=BaselineSource.HISTORY, base_commit="b", choices=(choice,), notes=(of_history,)
    )
    judgement = Judgement(
        conclusion=Conclusion.REGRESSION,
        findings=SLOWER,
        notes=(of_policy,),
        failed=True,
        detectable_effect=0.1,
    )
    report = build_report(judgement, baseline=baseline, target=run, settings=SETTINGS)
    assert (report.suite, report.target_commit, report.base_commit, report.baseline_runs) == ("s", "h", "b", 2)
    assert report.notes == (of_policy, of_history, remark("from the reader"))
    assert (report.findings, report.failed, report.detectable_effect) == (SLOWER, True, 0.1)
    assert (report.environment, report.choices, report.settings) == (run.environment, (choice,), SETTINGS)
