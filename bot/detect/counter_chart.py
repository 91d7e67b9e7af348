"""What a report draws of a counter out of control: both sides' samples, and the target over time [F11, figure 5-1]."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from bot.detect.control_chart import ID as CONTROL_CHART
from bot.detect.counter_samples import at_one_load
from bot.detect.counters import TablePair
from bot.detect.pairs import some_of
from bot.detect.rules.ensemble import spans
from bot.model.counter import TimeSeries
from bot.model.finding import Evidence, Finding
from bot.stats.common_rate import interval_medians
from bot.stats.ragged import Floats

MOST_INTERVALS: Final = 160


def with_chart(finding: Finding, pair: TablePair, index: int) -> Finding:
    """Of the counter at `index` of the pair, with the limits or levels that its evidence names."""
    one = slice(index, index + 1)
    target, runs = pair.target_values(one)[:, 0], [run.values(one)[:, 0] for run in pair.baseline]
    is_scaled = False
    if finding.evidence.test == CONTROL_CHART:
        (target, scaled), is_scaled = at_one_load(pair, index)
        runs = list(scaled)
    return replace(
        finding,
        baseline_samples=_some(runs),
        target_samples=_some([target]),
        time_series=_time_series(finding.evidence, pair.target.times_s, target, is_scaled=is_scaled),
    )


def _some(sides: Sequence[Floats]) -> tuple[float, ...]:
    pooled = np.concatenate(sides)
    return some_of(np.sort(pooled[np.isfinite(pooled)]).tolist())


def _time_series(evidence: Evidence, times_s: Floats, values: Floats, *, is_scaled: bool) -> TimeSeries | None:
    if len(times_s) < 2:
        return None
    count = min(len(times_s), MOST_INTERVALS)
    step_s = float(times_s[-1] - times_s[0]) / (len(times_s) - 1)
    edges_s = np.linspace(times_s[0], times_s[-1] + step_s, count + 1)
    medians = interval_medians(times_s, values[:, None], edges_s=edges_s)[:, 0]
    # An instant that came a little late leaves an interval empty, which is no gap.
    alone = np.isnan(medians[1:-1]) & np.isfinite(medians[:-2]) & np.isfinite(medians[2:])
    medians[1:-1][alone] = (medians[:-2] / 2 + medians[2:] / 2)[alone]
    start_s, interval_s = float(edges_s[0]), float(edges_s[1] - edges_s[0])
    if evidence.rules is not None:
        lower, upper = evidence.rules.lower_boundary, evidence.rules.upper_boundary
        violations = evidence.rules.violations
    else:
        lower, upper = (evidence.details.get(f"{side}_control_limit", np.nan) for side in ("lower", "upper"))
        # The lowest of the values were dropped as idle, and violate nothing.
        idle = np.nanquantile(values, evidence.details.get("idle_share", 0.0))
        below = (medians < lower) & (medians >= idle)
        violations = tuple(
            (start_s + first * interval_s, start_s + last * interval_s)
            for first, last in spans(below | (medians > upper))
        )
    return TimeSeries(
        values=tuple(medians.tolist()),
        start_s=start_s,
        interval_s=interval_s,
        lower=lower,
        upper=upper,
        violations=violations,
        is_scaled=is_scaled,
    )
