"""The samples after removal of two modes, commit by commit."""

import numpy as np
import pytest

from perf_culprit.model.bisection import CommitRange
from perf_culprit.search import pattern_evidence
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.machine_modes import fit_modes, log_bayes_factor
from perf_culprit.search.noise import MachineNoise, cleaned
from perf_culprit.search.round_samples import Samples
from perf_culprit.search.two_mode_noise import Modes

CHAIN = Descendants(CommitRange(good="g", bad="c3", commits=("c1", "c2", "c3"), parents=((), (0,), (1,))))


def noise_of(commits: list[int], blocks: list[int], y: list[float] | None = None, **more: bool) -> MachineNoise:
    values = np.zeros(len(commits)) if y is None else np.array(y)
    samples = Samples(y=values, commit=np.array(commits), block=np.array(blocks), weight=np.ones(len(commits)))
    return MachineNoise(reach=CHAIN, samples=samples, **more)


@pytest.mark.parametrize(
    ("commits", "blocks", "several"),
    [
        ([0, 3, 0, 1, 3, 3, 2, 0], [0, 0, 1, 1, 2, 3, 3, 3], [0, 1, 5, 7]),
        ([0, 0, 3, 2, 3], [0, 0, 1, 1, 1], [0, 1, 2, 4]),  # no round has both ends
    ],
)
def test_of_several_machines_the_ends_are_those_of_rounds_with_both(
    commits: list[int], blocks: list[int], several: list[int]
) -> None:
    one = [place for place, commit in enumerate(commits) if commit in {0, 3}]
    assert np.flatnonzero(noise_of(commits, blocks).ends).tolist() == one
    assert np.flatnonzero(noise_of(commits, blocks, one_machine=False).ends).tolist() == several


def test_one_end_alone_reproduces_nothing() -> None:
    for end in (0, 3):
        assert noise_of([end, 1, 2, end], [0, 0, 1, 1], [0.0, 0.5, 1.0, 0.1]).log_reproduced == 0.0


@pytest.mark.parametrize(
    ("between", "quiet"),
    [
        ([165.0, 165.1, 165.2, 165.1, 165.0, 165.1], True),
        ([134.0, 250.0, 250.1, 134.1, 134.0, 250.2], False),
        ([135.0, 200.0, 200.1, 135.1, 135.0, 200.2], False),  # each value is near that of an end
    ],
)
def test_a_machine_whose_slow_spells_the_ends_missed_is_not_quiet(between: list[float], quiet: bool) -> None:
    y = np.log([135.0, 200.0, 200.2, 135.1, *between]).tolist()
    noise = noise_of([0, 3, 3, 0, *([2] * len(between))], [0, 0, 1, 1, *range(2, 2 + len(between))], y)
    assert noise.is_quiet is quiet


@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_that_the_ends_differ_is_the_mean_of_the_plain_form_and_that_of_the_shape(gap: float) -> None:
    """Check this for the samples of both ends, with and without two learned modes."""
    rng = np.random.default_rng(3)
    commits = np.tile([0, 2, 3, 3, 1, 0], 12)
    y = rng.normal(0, 0.02, len(commits)) + 0.1 * (commits == 3) + gap * (rng.random(len(commits)) < 0.4)
    block = np.repeat(np.arange(12), 6)
    noise = noise_of(commits.tolist(), block.tolist(), y.tolist())
    ends = noise.samples.select(np.isin(commits, (0, 3)))
    bad = (ends.commit == 3).astype(np.float64)
    expected = pattern_evidence.log_difference(ends, bad)
    assert (noise.modes is None) is (gap == 0)
    if gap:
        shaped = log_bayes_factor(ends.y, bad, ends.block)
        assert shaped > expected + 3
        expected = float(np.logaddexp(expected, shaped)) - np.log(2)
    assert noise.log_reproduced == pytest.approx(expected)
    assert noise.log_reproduced > 3


def test_each_commit_keeps_its_level_when_its_mode_is_taken_out() -> None:
    modes = Modes(gap=0.5, slow_share=0.5, slow_sd=0.02, fast_sd=0.0125)
    noise, is_fast = np.tile([0.0, 0.0, 0.01, -0.01], 2), np.tile([False, True], 4)
    level = np.repeat([0.0, 0.1], 4)
    samples = Samples(
        y=level + noise - 0.5 * is_fast,
        commit=np.repeat([0, 3], 4),
        block=np.zeros(8, dtype=np.intp),
        weight=np.ones(8),
    )
    clean_samples = cleaned(samples, modes)
    assert clean_samples.y == pytest.approx(level + noise, abs=1e-3)
    # The fast mode is narrower, so its samples have more weight.
    assert clean_samples.weight == pytest.approx(np.where(is_fast, (0.02 / 0.0125) ** 2, 1.0), rel=1e-2)


def test_two_modes_the_step_and_the_rounds_offsets_are_recovered() -> None:
    rng = np.random.default_rng(8)
    rounds, slow_share = 120, 0.3
    block = np.repeat(np.arange(rounds), 4)
    x = np.tile([0.0, 1.0, 1.0, 0.0], rounds)
    slow = rng.random(len(x)) < slow_share
    noise = np.where(slow, rng.normal(0.4, 0.03, len(x)), rng.normal(0, 0.015, len(x)))
    y = noise + 0.1 * x + rng.normal(0, 0.05, rounds)[block]
    modes = fit_modes(y, x, block)
    assert modes is not None
    assert (modes.gap, modes.step) == pytest.approx((0.4, 0.1), abs=0.01)
    assert modes.slow_share == pytest.approx(slow_share, abs=0.05)
    assert (modes.slow_sd, modes.fast_sd, modes.offset_sd) == pytest.approx((0.03, 0.015, 0.05), rel=0.2)
    assert modes.level == pytest.approx(0.4, abs=0.02)
    one = fit_modes(np.where(slow, noise - 0.4, noise) + 0.1 * x, x, block)
    assert one is None or one.gap < 0.05
