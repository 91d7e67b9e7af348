import numpy as np
import pytest

from perf_culprit.arrays import Floats
from perf_culprit.stats.chart_limits import (
    PERCENTILES,
    THREE_DEVIATIONS,
    ControlLimits,
    Violations,
    chance_of_excess,
    chart,
    control_limits,
    excesses,
    expected_share,
    leave_one_out,
    threshold,
    violations,
)

READINGS = np.arange(3.0, 14.0)


def ordered(*values: float) -> Floats:
    return np.sort(np.array(values, dtype=np.float64))


def left_out(*per_mille: int) -> list[tuple[Violations]]:
    return [(Violations(1000, count, 0),) for count in per_mille]


def test_methods_2_1_limits_of_3_to_13_with_10_90_are_4_8_and_12() -> None:
    assert control_limits(READINGS, kind="10/90") == ControlLimits(lower=4.0, center=8.0, upper=12.0)


def test_methods_2_2_three_of_ten_readings_are_outside() -> None:
    limits = control_limits(READINGS, kind="10/90")
    outside = violations(ordered(4, 2, 6, 2, 7, 9, 11, 13, 8, 6), limits)
    assert outside.ratio == 0.3
    assert (outside.samples_below, outside.samples_above) == (2, 1)


def test_methods_2_3_the_threshold_is_the_largest_ratio_left_out() -> None:
    assert threshold(left_out(25, 42, 14, 42, 125)) == 0.125


@pytest.mark.parametrize("kind", PERCENTILES)
@pytest.mark.parametrize("count", [1, 2, 3, 10, 21, 100])
def test_limits_are_numpys_percentiles(kind: str, count: int) -> None:
    samples = np.sort(np.random.default_rng(count).lognormal(size=count))
    limits = control_limits(samples, kind=kind)
    wanted = np.percentile(samples, [PERCENTILES[kind][0], 50, PERCENTILES[kind][1]])
    assert [limits.lower, limits.center, limits.upper] == pytest.approx(wanted.tolist(), rel=1e-12)


def test_three_standard_deviations_are_about_the_median() -> None:
    limits = control_limits(READINGS, kind="3sd")
    width = 3 * np.std(READINGS, ddof=1)
    assert limits == ControlLimits(lower=8 - width, center=8.0, upper=8 + width)
    assert control_limits(ordered(5.0), kind="3sd") == ControlLimits(lower=5.0, center=5.0, upper=5.0)


def test_a_sample_on_a_limit_is_inside() -> None:
    assert violations(ordered(4, 12), ControlLimits(lower=4.0, center=8.0, upper=12.0)).ratio == 0


@pytest.mark.parametrize("kind", [*PERCENTILES, THREE_DEVIATIONS])
@pytest.mark.parametrize("seed", range(20))
def test_leaving_a_run_out_is_charting_it_against_the_others(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, rng.integers(2, 6))
    # Small integers on every second seed: ties between and within runs.
    runs = [np.sort(rng.integers(0, 9, n).astype(np.float64) if seed % 2 else rng.normal(size=n)) for n in sizes]
    wanted = tuple(
        (violations(run, control_limits(np.sort(np.concatenate(runs[:index] + runs[index + 1 :])), kind=kind)),)
        for index, run in enumerate(runs)
    )
    assert leave_one_out(runs, pooled=np.sort(np.concatenate(runs)), kind=kind) == wanted


@pytest.mark.parametrize("kind", [*PERCENTILES, THREE_DEVIATIONS])
@pytest.mark.parametrize("seed", range(6))
def test_runs_of_one_length_are_charted_at_once_with_the_same_result(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, size = int(rng.integers(2, 9)), int(rng.integers(1, 40))
    values = rng.integers(0, 9, (count, size)).astype(np.float64) if seed % 2 else rng.normal(size=(count, size))
    runs = list(np.sort(values, axis=1))
    wanted = tuple(
        (violations(run, control_limits(np.sort(np.concatenate(runs[:index] + runs[index + 1 :])), kind=kind)),)
        for index, run in enumerate(runs)
    )
    assert leave_one_out(runs, pooled=np.sort(values, axis=None), kind=kind) == wanted


@pytest.mark.parametrize(("kind", "share"), [("5/95", 0.1), ("1/99", 0.02), ("10/90", 0.2), ("3sd", 0.0027)])
def test_the_expected_ratio_is_what_the_baseline_shows_against_itself(kind: str, share: float) -> None:
    samples = np.sort(np.random.default_rng(0).normal(size=200_000))
    assert 2 * expected_share(kind) == pytest.approx(share, rel=1e-3)
    assert violations(samples, control_limits(samples, kind=kind)).ratio == pytest.approx(share, rel=0.1)


def test_a_single_run_is_allowed_the_expected_ratio_and_a_margin() -> None:
    made = chart(READINGS, [READINGS], single_run_margin=0.04)
    assert made.left_out == ()
    assert made.threshold == pytest.approx(0.14)
    assert [made.threshold_above, made.threshold_below] == pytest.approx([0.07, 0.07])


def test_the_thresholds_of_the_sides_are_those_of_the_runs() -> None:
    low, middle, high = np.linspace(0, 10, 50), np.linspace(1, 11, 50), np.linspace(2, 12, 50)
    made = chart(middle, [low, middle, high])
    lowest, _, highest = (run[0] for run in made.left_out)
    assert made.threshold == max(run[0].ratio for run in made.left_out)
    assert made.threshold_above == highest.above > highest.below
    assert made.threshold_below == lowest.below > lowest.above


def test_a_long_run_is_held_against_the_others_in_parts_as_long_as_the_target() -> None:
    rng = np.random.default_rng(2)
    long, short = rng.normal(size=100), np.sort(rng.normal(size=10))
    pieces = [np.sort(piece) for piece in np.split(long, 10)]
    made = chart(short, [np.sort(long), short], parts=[pieces, [short]])
    limits = control_limits(short)
    assert [part.ratio for part in made.left_out[0]] == [violations(piece, limits).ratio for piece in pieces]
    assert made.threshold == max(part.ratio for run in made.left_out for part in run)
    assert len(excesses(made.left_out)) == 11


def test_only_the_run_with_the_largest_ratio_exceeds_the_others() -> None:
    assert excesses(left_out(25, 42, 14, 42, 125)).tolist() == pytest.approx([-0.1, -0.083, -0.111, -0.083, 0.083])
    assert excesses(left_out(50, 50)).tolist() == [0, 0]


def test_the_chance_of_an_excess_counts_the_baselines_own() -> None:
    chances = chance_of_excess(np.array([0.5, 0.2, -1.0]), of_baseline=np.array([0.1, 0.2, 0.3, -0.1]))
    assert chances.tolist() == pytest.approx([1 / 5, 3 / 5, 1.0])
