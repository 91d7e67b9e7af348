"""Planted slow methods are found: the benchmark with a smaller log and few seeds (benchmarks/logs has twenty)."""

from pathlib import Path

import pytest

from benchmarks.logs.ranking import ranks


@pytest.mark.slow  # writes and reads logs of 44,000 lines
@pytest.mark.parametrize("seed", [1, 2])
def test_planted_methods_are_among_the_first(tmp_path: Path, seed: int) -> None:
    by_reason, obvious = ranks(tmp_path / "log", seed=seed, calls=1_000)
    every = sorted(rank for entry in by_reason.values() for rank in entry)
    assert len(every) == 20
    assert every[-1] <= 30
    assert every[15] <= 20
    assert obvious[-1] <= 10
