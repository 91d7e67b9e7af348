from dataclasses import fields, replace

import numpy as np
import pytest

from bot.detect import evidence as of_columns
from bot.detect.benchmark_findings import EvidenceOnDemand
from bot.detect.policy import PolicySettings, judge
from bot.detect.rows import BLOCK, Rows
from bot.model.baseline import Baseline, BaselineSource
from bot.model.finding import Evidence, Finding, Verdict
from bot.model.order import ordered
from bot.model.run import Run
from tests.support.measurements import measured

LEVELS = {f"bench_{number:02}": 0.001 * (1 + number) for number in range(12)}


def test_rows_are_read_as_a_list_is() -> None:
    count = BLOCK + 5
    rows = Rows(count, lambda start, end: list(range(start, end)))
    assert list(rows) == list(range(count))
    assert (rows[0], rows[-1], rows[BLOCK], len(rows)) == (0, count - 1, BLOCK, count)
    assert (rows[3:6], rows[6:3], rows[-2:], rows[0:6:2]) == ([3, 4, 5], [], [count - 2, count - 1], [0, 2, 4])
    with pytest.raises(IndexError):
        rows[count]


@pytest.mark.parametrize("detector", ["anova", "median_interval", "auto"])
@pytest.mark.parametrize("runs", [1, 6])
def test_what_is_kept_of_very_many_metrics_says_the_same(
    detector: str, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = Baseline(
        runs=tuple(measured(LEVELS, seed=seed, count=12) for seed in range(runs)), source=BaselineSource.FILES
    )
    target = measured({**LEVELS, "bench_07": 0.05}, seed=77, count=12)

    def findings(baseline: Baseline, target: Run) -> tuple[Finding, ...]:
        return judge(baseline, target, detector=detector, settings=PolicySettings()).findings

    usual = findings(baseline, target)
    monkeypatch.setattr(of_columns, "MOST_DETAILED", len(LEVELS) - 1)
    many = findings(baseline, target)
    unchanged = [finding.evidence for finding in many if finding.verdict is not Verdict.REGRESSION]
    assert {type(evidence).__name__ for evidence in unchanged} == {EvidenceOnDemand.__name__}
    assert [_plain(finding) for finding in many] == [_plain(finding) for finding in usual]


def _plain(finding: Finding) -> list[object]:
    """All that is known of a metric but its details and what is drawn."""
    evidence = finding.evidence
    numbers = [getattr(evidence, one.name) for one in fields(Evidence) if one.name != "details"]
    undrawn = replace(finding, evidence=None, series=(), baseline_samples=(), target_samples=())  # type: ignore[arg-type]
    return [undrawn, *numbers]


def test_order_is_that_of_sorting() -> None:
    values = np.random.default_rng(3).integers(0, 3, (200, 3)).tolist()
    assert ordered(values, lambda row: (row[1], -row[0], row[2]), parts=3) == tuple(
        sorted(values, key=lambda row: (row[1], -row[0], row[2]))
    )
