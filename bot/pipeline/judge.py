"""detect -> report: one judgement, whatever its baseline."""

from dataclasses import replace
from functools import partial

from bot.config import Config
from bot.detect.derived import without_derived
from bot.detect.policy import judge
from bot.model.baseline import Baseline
from bot.model.report import Report
from bot.model.run import Run
from bot.pipeline.settings import corrected_for_analyses, is_named, report_settings
from bot.progress import doing
from bot.report.build import build_report
from bot.report.collected import derived_text


def judge_run(baseline: Baseline, target: Run, *, config: Config) -> Report:
    """Detector, policy and report: the same for every kind of baseline."""
    config = corrected_for_analyses(config, analyses=max(run.analyses for run in (target, *baseline.runs)))
    baseline, target, derived = without_derived(baseline, target, keep=partial(is_named, config))
    if derived:
        target = replace(target, notes=(*target.notes, derived_text(derived)))
    doing(f"judging {len(target.benchmarks):,} metrics of benchmarks")
    judgement = judge(
        baseline, target, detector=config.detector, counter_detector=config.counter_detector, settings=config
    )
    return build_report(judgement, baseline=baseline, target=target, settings=report_settings(config, target=target))
