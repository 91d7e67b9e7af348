"""The bit matrix over strands against plain sets of descendants."""

import numpy as np
import pytest

from perf_culprit.model.bisection import CommitRange
from perf_culprit.search.descendants import Descendants

SIZE = 150


@pytest.mark.parametrize("seed", range(4))
def test_sums_over_whom_a_change_reaches_are_those_of_plain_sets(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The range has merges of any shape, reverts and a reverted revert. The matrix is read in several parts."""
    monkeypatch.setattr("perf_culprit.arrays.CELLS_AT_ONCE", 5 * SIZE)
    rng = np.random.default_rng(seed)
    parents: list[tuple[int, ...]] = [()]
    for place in range(1, SIZE):
        chosen = {place - 1, int(rng.integers(place))} if rng.random() < 0.4 else {max(place - 1 - place % 3 // 2, 0)}
        parents.append(tuple(sorted(chosen)) if rng.random() > 0.05 else ())
    names = tuple(f"c{place}" for place in range(SIZE))
    reverts = ((20, 8), (30, 20), (25, 3))
    whole = Descendants(CommitRange(good="g", bad=names[-1], commits=names, parents=tuple(parents), reverts=reverts))

    descendants = np.eye(SIZE, dtype=bool)  # [ancestor, descendant]
    for place, own in enumerate(parents):
        descendants[:, place] |= descendants[:, list(own)].any(axis=1)
    reached = descendants.copy()
    for reverting, reverted in ((30, 20), (25, 3), (20, 8)):
        reached[reverted] &= ~reached[reverting]
    rows = np.hstack([np.zeros((SIZE, 1), dtype=bool), reached])

    assert [whole.row(candidate).tolist() for candidate in range(SIZE)] == rows.tolist()
    assert [whole.column(commit).tolist() for commit in range(SIZE + 1)] == rows.T.tolist()
    assert whole.ancestor_counts.tolist() == descendants.sum(axis=0).tolist()
    mass = rng.dirichlet(np.ones(SIZE))
    before = mass.copy()
    assert whole.slow_mass(mass) == pytest.approx(mass @ rows, abs=1e-6)
    assert mass.tolist() == before.tolist()
    numbers = rng.integers(1, 2**63, SIZE + 1, dtype=np.uint64)
    expected = [int(sum(int(n) for n in numbers[row]) % 2**64) for row in rows]
    assert whole.descendant_sums(numbers).tolist() == expected
