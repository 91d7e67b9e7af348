"""How many stored runs can prove a change: the engine's answer for runs that vary as these do."""

import math
from bisect import bisect_left
from typing import Final

import numpy as np

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import Run
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.conventions import FEW_RUNS
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.unit_table import Tiers, UnitTable

CHANGE: Final = 0.3
USUAL_NOISE: Final = 0.02  # variation of runs on a quiet machine


def runs_note(baseline: Baseline, target: Run, *, settings: PolicySettings, window: int) -> tuple[Reason, ...]:
    """State how many of at most `window` stored runs prove CHANGE; empty if these do, or if no time was measured."""
    stored = len(baseline.runs)
    if baseline.source is not BaselineSource.HISTORY or not 0 < stored < window:
        return ()
    pairs = (one for one in pair_metrics(baseline, target).pairs if one.obstacle is None)
    values = ([run.value for run in one.baseline] for one in pairs if depends_on_machine(one.metric.unit))
    logs = [[math.log(value) for value in row] for row in values if min(row) > 0]
    noises = [float(np.std(row, ddof=1)) for row in logs if len(row) >= FEW_RUNS]
    noise, benchmarks = float(np.median(noises)) if noises else None, min(len(logs), WORK_LIMITS.foreseen_benchmarks)
    tiers = Tiers(proven=settings.proven, suspected=settings.suspected)

    def proves(runs: int) -> bool:
        location = (noise or USUAL_NOISE) * np.random.default_rng(0).standard_normal((benchmarks, runs + 1))
        location[0, -1] += math.log1p(CHANGE)
        return bool(judge_units(UnitTable.of(location, np.arange(runs + 1) == runs), tiers=tiers).is_proven[0])

    if not logs or proves(stored):
        return ()
    more = range(stored + 1, window + 1)
    place = bisect_left(more, True, key=proves)
    code = Remark.RUNS_NEEDED if place < len(more) else Remark.RUNS_PROVE_NOTHING
    runs, usual = [*more, window][place], None if noise else USUAL_NOISE
    return (because(code, count=stored, runs=runs, change=CHANGE, noise=noise, usual=usual),)
