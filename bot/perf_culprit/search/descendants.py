"""The commits that a change reaches: the sets S_c of docs/evidence/bisection.md, over strands instead of commits.

A strand is a maximal run of commits without branch or merge. Ancestor sets are unions of whole strands and the
beginning of the commit's own strand. A bit matrix over strands therefore handles ranges of 50,000 commits.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perf_culprit.arrays import Booleans, Floats, Integers, row_blocks
from perf_culprit.model.bisection import CommitRange


class Descendants:
    """The relation "commit i has the change of candidate c". Commit 0 is the good end, 1..N are the candidates.

    Hypothesis c (0..N-1) predicts S_c = {c and its descendants} to be slow, except where a revert of c removed it.
    """

    def __init__(self, commit_range: CommitRange) -> None:
        self.size = len(commit_range.commits)
        self._parents = commit_range.parents
        # Later reverts first: if a revert was itself reverted, the change is back.
        self._reverts = sorted(commit_range.reverts, reverse=True)

    @cached_property
    def _strand(self) -> Integers:
        """The strand of every candidate; strands are numbered so that ancestors come first."""
        children = np.zeros(self.size, dtype=np.intp)
        for parents in self._parents:
            for parent in parents:
                children[parent] += 1
        strand: list[int] = []
        count = 0
        for parents in self._parents:
            if len(parents) == 1 and children[parents[0]] == 1:
                strand.append(strand[parents[0]])
            else:
                strand.append(count)
                count += 1
        return np.array(strand, dtype=np.intp)

    @cached_property
    def _bits(self) -> npt.NDArray[np.uint8]:
        """Packed bits [strand, strand]: the strands with ancestors of a strand's first commit, including itself."""
        strand = self._strand
        count = int(strand.max()) + 1
        bits = np.zeros((count, (count + 7) // 8), dtype=np.uint8)
        _, first = np.unique(strand, return_index=True)
        for row, commit in enumerate(first):
            for parent in self._parents[commit]:
                bits[row] |= bits[strand[parent]]
            bits[row, row >> 3] |= 128 >> (row & 7)
        return bits

    def _unpacked(self) -> Iterator[tuple[slice, npt.NDArray[np.uint8]]]:
        count = len(self._bits)
        for rows in row_blocks(count, cells=count):
            yield rows, np.unpackbits(self._bits[rows], axis=1, count=count)

    def _plain_column(self, candidate: int) -> Booleans:
        """Whether each candidate is `candidate` or one of its ancestors."""
        row = self._strand[candidate]
        mask = np.unpackbits(self._bits[row]).astype(np.bool_)[self._strand]
        mask[candidate + 1 :] &= self._strand[candidate + 1 :] != row
        return np.asarray(mask)

    def _plain_row(self, candidate: int) -> Booleans:
        """Whether each candidate is `candidate` or one of its descendants."""
        own = self._strand[candidate]
        mask = ((self._bits[:, own >> 3] & (128 >> (own & 7))) != 0)[self._strand]
        mask[:candidate] = False
        return np.asarray(mask)

    def column(self, commit: int) -> Booleans:
        """x_c(commit) for all hypotheses c [N]: whether each predicts this commit (0 = good end) to be slow."""
        if commit == 0:
            return np.zeros(self.size, dtype=np.bool_)
        mask = self._plain_column(commit - 1)
        for reverting, reverted in self._reverts:
            mask[reverted] &= ~mask[reverting]
        return mask

    @cached_property
    def _reverted_rows(self) -> dict[int, Booleans]:
        rows: dict[int, Booleans] = {}
        for reverting, reverted in self._reverts:
            own = rows.get(reverted)
            back = rows.get(reverting)
            own = self._plain_row(reverted) if own is None else own
            rows[reverted] = own & ~(self._plain_row(reverting) if back is None else back)
        return rows

    def row(self, candidate: int) -> Booleans:
        """Return S_c over commits [N + 1], the good end first."""
        own = self._reverted_rows.get(candidate)
        return np.concatenate(([False], self._plain_row(candidate) if own is None else own))

    def slow_mass(self, mass: Floats) -> Floats:
        """p_i [N + 1]: the sum of `mass` [N] over the hypotheses that predict commit i to be slow."""
        plain = mass.copy()
        plain[list(self._reverted_rows)] = 0.0
        total = np.bincount(self._strand, weights=plain)
        with_own = np.empty(len(self._bits))
        for rows, bits in self._unpacked():
            with_own[rows] = bits.astype(np.float32) @ total.astype(np.float32)
        result = (with_own - total)[self._strand] + self._running(plain)
        for reverted, row in self._reverted_rows.items():
            result += mass[reverted] * row
        return np.concatenate(([0.0], result))

    def _running(self, mass: Floats) -> Floats:
        """Sum over the strand of each candidate, up to and including itself."""
        order = np.argsort(self._strand, kind="stable")
        running = np.cumsum(mass[order])
        starts = np.flatnonzero(np.diff(self._strand[order], prepend=-1))
        before = np.repeat(running[starts] - mass[order][starts], np.diff(starts, append=self.size))
        result = np.empty(self.size)
        result[order] = running - before
        return result

    def descendant_sums(self, values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """Sum `values` [N + 1] over S_c for each hypothesis [N], modulo 2^64: a fingerprint of S_c."""
        own = values[1:]
        total = np.zeros(len(self._bits), dtype=np.uint64)
        np.add.at(total, self._strand, own)
        below = np.zeros(len(self._bits), dtype=np.uint64)
        for rows, bits in self._unpacked():
            below += total[rows] @ bits
        order = np.argsort(self._strand, kind="stable")
        running = np.cumsum(own[order])
        last = np.flatnonzero(np.diff(self._strand[order], append=-1))
        end = np.repeat(running[last], np.diff(last, prepend=-1))
        result = (below - total)[self._strand]
        result[order] += end - running + own[order]
        for reverted, row in self._reverted_rows.items():
            result[reverted] = own[row].sum()
        return result

    @cached_property
    def ancestor_counts(self) -> Integers:
        """a_i + 1 of each candidate [N]: itself and its ancestors among the candidates, ignoring reverts."""
        lengths = np.bincount(self._strand)
        with_own = np.empty(len(self._bits), dtype=np.intp)
        for rows, bits in self._unpacked():
            with_own[rows] = np.rint(bits.astype(np.float32) @ lengths.astype(np.float32))
        return (with_own - lengths)[self._strand] + np.rint(self._running(np.ones(self.size))).astype(np.intp)
