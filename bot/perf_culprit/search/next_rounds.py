"""Choice of the next measurements: suspects by greedy conditional information, in rounds with both ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from scipy.special import ndtr

from perf_culprit.arrays import Floats, Integers
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search.search_view import SearchView

WORTH_A_ROUND: Final = 0.3  # share of the first round's information that each further round of a batch must add
ACTIVE: Final = 1e-5  # hypotheses below this mass are ignored


def binary_entropy(p: Floats | float) -> Floats:
    clipped = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-(clipped * np.log2(clipped) + (1 - clipped) * np.log2(1 - clipped)))


def information_bits(d_prime: float) -> float:
    """C: bits that one execution gives about an even fast/slow question, at a step of `d_prime` noise widths."""
    if d_prime <= 1e-3:
        return float(max(d_prime, 1e-9) ** 2 / (8 * np.log(2)))
    nodes, weights = _quadrature()
    posterior = 1 / (1 + np.exp(-np.clip(d_prime * (nodes - d_prime / 2), -500, 500)))
    return float(1 - weights @ binary_entropy(posterior) / weights.sum())


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Gauss-Hermite nodes and weights: the mean over a standard normal, unscaled."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    return nodes, weights


@dataclass
class _Joint:
    """The joint outcome distribution of the picks made so far: weights [2^j, active hypotheses]."""

    weights: Floats
    error: float
    picks: int = 0

    def entropies(self, columns: Floats) -> Floats:
        """H of the outcomes with one more pick, for each of `columns` [candidates, active]."""
        slow = columns * (1 - self.error) + (1 - columns) * self.error
        one = self.weights @ slow.T
        both = np.stack([one, self.weights.sum(axis=1, keepdims=True) - one])
        safe = np.maximum(both, 1e-300)
        return np.asarray(-(both * np.log2(safe)).sum(axis=(0, 1)))

    def entropy(self) -> float:
        masses = np.maximum(self.weights.sum(axis=1), 1e-300)
        return float(-(masses * np.log2(masses)).sum())

    def add(self, column: Floats) -> None:
        slow = column * (1 - self.error) + (1 - column) * self.error
        self.weights = np.concatenate([self.weights * slow, self.weights * (1 - slow)])
        self.picks += 1


class Picker:
    """Chooses commits one after the other, each given those chosen before (pending ones first)."""

    def __init__(self, standing: SearchView, masses: Sequence[Floats]) -> None:
        """`masses`: one distribution over hypotheses [N] per step that is searched."""
        self._standing = standing
        self._error = float(np.clip(ndtr(-standing.model.d_prime / 2), 1e-3, 0.45))
        self._masses = [mass / mass.sum() for mass in masses if mass.sum() > 0]
        slow = [standing.reach.slow_mass(mass) for mass in self._masses]
        self.commits = _thin(standing, slow)
        self._active = [np.flatnonzero(mass > ACTIVE) for mass in self._masses]
        self._columns = [
            np.stack([standing.reach.column(int(commit))[active] for commit in self.commits]).astype(np.float64)
            if len(self.commits)
            else np.zeros((0, len(active)))
            for active in self._active
        ]
        self._joints = self._new_joints()

    def _new_joints(self) -> list[_Joint]:
        return [
            _Joint(mass[active][None] / mass[active].sum(), self._error)
            for mass, active in zip(self._masses, self._active, strict=True)
        ]

    def gains(self) -> Floats:
        """Return the bits that one execution of each of `commits` would add."""
        noise = float(binary_entropy(self._error))
        pairs = zip(self._joints, self._columns, strict=True)
        gains = [joint.entropies(columns) - joint.entropy() - noise for joint, columns in pairs]
        return np.asarray(np.sum(gains, axis=0))

    def choose(self, commit: int) -> None:
        """Assume that a commit is measured: its outcome will be known."""
        if self._joints and self._joints[0].picks >= WORK_LIMITS.joint_picks:
            self._joints = self._new_joints()
        for joint, active in zip(self._joints, self._active, strict=True):
            joint.add(self._standing.reach.column(commit)[active].astype(np.float64))

    def best(self, without: Sequence[int]) -> tuple[int, float] | None:
        """Return the commit that adds most and its gain; None if no commit adds anything."""
        if not len(self.commits):
            return None
        gains = np.where(np.isin(self.commits, without), 0.0, self.gains()) * self._standing.works[self.commits]
        best = int(np.argmax(np.round(gains, 7)))
        return (int(self.commits[best]), float(gains[best])) if gains[best] > 1e-7 else None


def _thin(standing: SearchView, slow: Sequence[Floats]) -> Integers:
    """Select measurable commits between the ends, a limited number, even in p, most useful first."""
    usable = standing.usable.copy()
    usable[[0, -1]] = False
    usefulness = np.round(np.sum([np.minimum(p, 1 - p) for p in slow], axis=0), 6)
    commits = np.flatnonzero(usable & (usefulness > 1e-6))
    counts = standing.samples.counts(len(usable))
    commits = commits[np.lexsort((commits, counts[commits], -usefulness[commits]))]
    if len(commits) <= WORK_LIMITS.compared_commits:
        return commits
    by_p = commits[np.argsort(slow[0][commits], kind="stable")]
    spread = by_p[np.linspace(0, len(by_p) - 1, WORK_LIMITS.compared_commits - 4).astype(np.intp)]
    chosen = set(spread.tolist()) | set(commits[:4].tolist())
    return np.array([commit for commit in commits if int(commit) in chosen], dtype=np.intp)


def choose_suspects(standing: SearchView, jobs: int) -> list[tuple[int, ...]]:
    """Choose the suspects of `jobs` rounds. A round's second and third suspect must be worth their cost."""
    picker = Picker(standing, standing.model.step_masses)
    ends = {0, standing.reach.size}
    for job in standing.pending:
        for name in job.commits:
            if standing.positions[name] not in ends:
                picker.choose(standing.positions[name])
    chosen: list[tuple[int, ...]] = []
    # A second suspect per round saves executions of the ends. Rounds without ends have one, and wait for its result.
    alone = standing.model.is_quiet or standing.skips_ends
    per_round = 1 if alone else standing.state.settings.suspects_per_round
    gains: list[float] = []
    for _ in range(jobs):
        suspects: list[int] = []
        total = 0.0
        while len(suspects) < per_round:
            best = picker.best(suspects)
            if best is None or (suspects and best[1] < 0.7 * total / (2 + len(suspects))):
                break
            suspects.append(best[0])
            total += best[1]
            picker.choose(best[0])
        # The information left by the earlier rounds of this batch must be worth a round.
        if not suspects or (gains and total < WORTH_A_ROUND * gains[0]):
            break
        chosen.append(tuple(suspects))
        gains.append(total)
    return chosen
