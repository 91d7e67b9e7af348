"""Counts, periods and times in collapsed stacks: only counts are tested as counts."""

from pathlib import Path

import numpy as np
import pytest

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import ProfileReading
from perf_culprit.model.reason import Doubt, ProfileNote, because
from perf_culprit.model.report import Answer, Basis
from perf_culprit.read.profiles.profile_reading import read_profiles


def reading(path: Path, counts: dict[str, float]) -> ProfileReading:
    path.write_text("".join(f"{stack} {count:.0f}\n" for stack, count in counts.items()))
    return read_profiles([str(path)])


def stacks(seed: int, samples: int = 400) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {f"main;m{i}": float(1 + rng.poisson(samples / (i + 2))) for i in range(20)}


def test_a_period_is_divided(tmp_path: Path) -> None:
    counts = stacks(1)
    plain = reading(tmp_path / "a", counts).profiles[0]
    with_period = reading(tmp_path / "b", {stack: 10_101_010 * count for stack, count in counts.items()})
    assert with_period.profiles[0].unit == plain.unit == "samples"
    assert with_period.profiles[0].nodes[3].self_ms == pytest.approx(plain.nodes[3].self_ms)
    assert with_period.notes == (because(ProfileNote.PERIOD_DIVIDED, period=10_101_010.0),)


@pytest.mark.parametrize(
    "counts",
    [
        {"main;a": 500, "main;b": 500, "main;c": 10},
        {"main;a": 3, "main;b": 9},
        # A multiple of itself, which was "a period" of one side only: 10 -> 13,000 samples.
        {"main;a": 1000, "main;b": 1000},
        {"main;a": 5000},
    ],
)
def test_a_handful_of_counts_with_a_small_divisor_are_counts(tmp_path: Path, counts: dict[str, float]) -> None:
    (profile,) = reading(tmp_path / "a", counts).profiles
    assert profile.unit == "samples"
    assert sum(node.self_ms[0] for node in profile.nodes) == sum(counts.values())


def times(seed: int) -> dict[str, float]:
    """Nanoseconds per sample, which no period divides: inferno's counts of perf's samples with their weights."""
    rng = np.random.default_rng(seed)
    return {stack: float(round(count * rng.lognormal(14, 0.3))) for stack, count in stacks(seed).items()}


def test_times_are_never_tested_as_counts(tmp_path: Path) -> None:
    for seed in range(20):
        before, after = (reading(tmp_path / "a", times(2 * seed + side)) for side in range(2))
        comparison = compare_profiles(before.profiles, after.profiles)
        (service,) = comparison.services
        assert (service.answer, service.basis) == (Answer.UNDECIDED, Basis.TOTALS)
        assert service.doubts[0].code is Doubt.UNKNOWN_WEIGHTS
        assert all(node.p_value is None for node in service.nodes)


def test_repetitions_of_times_are_tested_as_shares(tmp_path: Path) -> None:
    sides = []
    for side in range(2):
        names = []
        for i in range(6):
            slow = {stack: 3 * time if side and stack == "main;m4" else time for stack, time in times(7).items()}
            rng = np.random.default_rng(10 * side + i)
            names.append(str(tmp_path / f"{side}-{i}"))
            reading(Path(names[-1]), {stack: time * rng.lognormal(0, 0.03) for stack, time in slow.items()})
        sides.append(read_profiles(names).profiles)
    comparison = compare_profiles(*sides)
    assert comparison.answer is Answer.SLOWER
    assert comparison.suspects[0].method == "m4"


def test_austins_processes_threads_and_lines_are_no_methods(tmp_path: Path) -> None:
    path = tmp_path / "austin"
    path.write_text(
        "P4711;T0:1;/src/shop/dao.py:find:12;/src/shop/dao.py:scan:40 3\nP4711;T0:1;/src/shop/dao.py:find:13 2\n"
    )
    (profile,) = read_profiles([str(path)]).profiles
    assert [(node.method, node.line, node.self_ms[0]) for node in profile.nodes] == [
        ("dao.py:find", 12, 2),
        ("dao.py:scan", 40, 3),
    ]
