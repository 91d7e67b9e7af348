"""detect -> report: one judgement, whatever its baseline."""

import ctypes
import sys
from dataclasses import replace
from functools import partial
from typing import Final

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

# From so many benchmarks on columns are of a size that is given back: glibc by itself raises its limit to 32 MiB, keeps
# what is freed below it, and a million's columns then leave holes of 8 MB (mallopt(3)).
MANY: Final = 100_000
M_MMAP_THRESHOLD: Final = -3
GIVEN_BACK_BYTES: Final = 1 << 19


def judge_run(baseline: Baseline, target: Run, *, config: Config) -> Report:
    """Detector, policy and report: the same for every kind of baseline."""
    config = corrected_for_analyses(config, analyses=max(run.analyses for run in (target, *baseline.runs)))
    baseline, target, derived = without_derived(baseline, target, keep=partial(is_named, config))
    if derived:
        target = replace(target, notes=(*target.notes, derived_text(derived)))
    if len(target.benchmarks) >= MANY:
        _give_back_columns()
    doing(f"judging {len(target.benchmarks):,} metrics of benchmarks")
    judgement = judge(
        baseline, target, detector=config.detector, counter_detector=config.counter_detector, settings=config
    )
    return build_report(judgement, baseline=baseline, target=target, settings=report_settings(config, target=target))


def _give_back_columns() -> None:
    # Not every C library has it.
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(M_MMAP_THRESHOLD, GIVEN_BACK_BYTES)
