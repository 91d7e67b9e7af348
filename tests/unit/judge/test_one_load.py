"""When a line through the baseline's loads scales the target, and when it does not apply."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.judge import control_chart
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.limit_verdict import exceeds_threshold
from perf_culprit.model.finding import Evidence
from perf_culprit.model.reason import Remark
from perf_culprit.model.run import Direction, Metric, Run
from tests.support.noisy_counters import counter_run, stored

SECONDS = 60
CLIENTS = 5


def closed_loop(seed: int, *, elapsed_ms: float) -> Run:
    """Clients that wait for each answer, by second. The first and last second are partial, as in k6's files."""
    rng = np.random.default_rng(seed)
    times = elapsed_ms * rng.normal(1, 0.04, SECONDS)
    load = np.floor(1000 * CLIENTS / times)
    load[[0, -1]] = np.floor(load[[0, -1]] * rng.random(2))
    run = counter_run({"response_time": times}, load=load)
    time = Metric(name="response_time", unit="ms", direction=Direction.LOWER_IS_BETTER)
    return structs.replace(run, counters=(replace(run.counters[0], metrics=(time,)),))


def busy(seed: int, *, load: float) -> Run:
    """A processor that saturates: its use is linear near the baseline's loads, but not far from them."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(load, 0.06 * load, SECONDS)
    return counter_run({"cpu": 100 * loads / (loads + 4_000) * rng.normal(1, 0.005, SECONDS)}, load=loads)


def evidence_of(target: Run, *baseline: Run) -> Evidence:
    (evidence,) = control_chart.DETECTOR.detect_counters(
        pair_counters(stored(*baseline), target).tables, DetectorOptions()
    )
    return evidence


def codes(evidence: Evidence) -> list[str]:
    return [note.code for note in evidence.notes]


@pytest.mark.parametrize("factor", [1.25, 160])
def test_a_time_that_decides_the_load_is_shown_as_it_was_measured(factor: float) -> None:
    """Slow answers cause fewer requests per second, not the reverse."""
    target = closed_loop(9, elapsed_ms=6.3 * factor)
    evidence = evidence_of(target, *(closed_loop(seed, elapsed_ms=6.3) for seed in range(5)))
    assert evidence.target is not None
    assert evidence.target.value == np.median(target.counters[0].values)
    assert evidence.relative_change == pytest.approx(factor - 1, rel=0.1)
    assert codes(evidence) == [Remark.UNSCALED_CLOSED_LOOP, Remark.LOAD_DIFFERS]
    assert evidence.details["load_spearman"] > 0.5


@pytest.mark.parametrize(
    ("load", "scaled"), [(4_560, True), (5_200, True), (6_500, False), (40_000, False), (1, False)]
)
def test_a_line_is_extended_by_its_own_length_and_no_further(load: float, scaled: bool) -> None:
    """The baseline's load was 3,600 to 4,400 requests."""
    evidence = evidence_of(busy(9, load=load), *(busy(seed, load=4_000) for seed in range(5)))
    assert ("load_slope" in evidence.details) is scaled
    assert codes(evidence) == ([] if scaled else [Remark.UNSCALED_UNSEEN_LOAD, Remark.LOAD_DIFFERS])


def test_the_loads_that_were_seen_are_named() -> None:
    (note, _) = evidence_of(busy(9, load=40_000), *(busy(seed, load=4_000) for seed in range(5))).notes
    assert note.arguments["load"] == pytest.approx(40_000, rel=0.05)
    assert note.arguments["lowest"] == pytest.approx(3_600, rel=0.02)
    assert note.arguments["highest"] == pytest.approx(4_400, rel=0.02)


def follows(seed: int, *, load: float, factor: float = 1.0, power: float = 1.0) -> Run:
    """A counter that grows with the load's power, at loads that vary by 1%; 0.2% of noise."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(load, 0.01 * load, SECONDS)
    return counter_run({"cpu": factor * 50 * (loads / 4_000) ** power * rng.normal(1, 0.002, SECONDS)}, load=loads)


@pytest.mark.parametrize(("load", "factor"), [(4_400, 1), (3_600, 1), (4_400, 1.1)])
def test_limits_are_wider_a_little_beyond_narrow_loads(load: float, factor: float) -> None:
    good = [follows(seed, load=4_000) for seed in range(5)]
    targets = [evidence_of(follows(seed, load=load, factor=factor), *good) for seed in range(10, 20)]
    for evidence in targets:
        assert codes(evidence) == [Remark.LOAD_BEYOND]
        assert 0 < evidence.details["load_doubt"] < 0.02
        assert evidence.relative_change == pytest.approx(factor - 1, abs=0.02)
    outside = sum(map(exceeds_threshold, targets))
    assert outside == 10 if factor > 1 else outside <= 4


@pytest.mark.parametrize(("load", "power", "runs"), [(4_900, 1, 5), (4_400, 1, 2), (4_400, 2, 5)])
def test_a_line_is_not_extended_far_or_from_two_runs_or_for_what_grows_faster(
    load: float, power: float, runs: int
) -> None:
    good = [follows(seed, load=4_000, power=power) for seed in range(runs)]
    evidence = evidence_of(follows(9, load=load, power=power), *good)
    assert codes(evidence) == [Remark.UNSCALED_UNSEEN_LOAD, Remark.LOAD_DIFFERS]
