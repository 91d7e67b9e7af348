"""A judgement with everything around it that a reader needs: the report."""

from bot.model.baseline import Baseline, BaselineSource
from bot.model.reason import remark
from bot.model.report import Judgement, Report, Settings
from bot.model.run import Run


def build_report(judgement: Judgement, *, baseline: Baseline, target: Run, settings: Settings) -> Report:
    is_paired = baseline.source is BaselineSource.PAIRED
    return Report(
        conclusion=judgement.conclusion,
        findings=judgement.findings,
        settings=settings,
        suite=target.suite,
        target_commit=target.commit,
        base_commit=baseline.base_commit,
        baseline_source=baseline.source,
        baseline_runs=len(baseline.runs),
        choices=baseline.choices,
        environment=target.environment,
        environment_changes=baseline.runs[-1].environment.changes_to(target.environment) if baseline.runs else (),
        missing=judgement.missing,
        new=judgement.new,
        detectable_effect=judgement.detectable_effect,
        notes=(*judgement.notes, *baseline.notes, *map(remark, target.notes)),
        failed=judgement.failed,
        cost=sum((run.cost for run in baseline.runs), target.cost) if is_paired else target.cost,
    )
