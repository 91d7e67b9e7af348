"""Other assignments of the units to the two sides: if nothing changed, none of them is special."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.model.work_limits import WORK_LIMITS

FEWEST_LABELLINGS: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Labellings:
    """`is_target` (n, U), the observed labelling first; `is_observed` (n,): it or its equivalent mirror.

    `ways`: number of labellings that are not equivalent; more than n if only some were drawn.
    """

    is_target: Booleans
    is_observed: Booleans
    ways: int

    def first(self, count: int) -> "Labellings":
        return replace(self, is_target=self.is_target[:count], is_observed=self.is_observed[:count])

    @property
    def least_rate(self) -> float:
        return 1 / min(self.ways, len(self.is_target))


def relabelled(is_target: Booleans, blocks: Integers, *, benchmarks: int, rng: np.random.Generator) -> Labellings:
    """Return all labellings with the same number of target units per block, or a random sample if too many."""
    most = int(np.clip(WORK_LIMITS.relabelled_values / benchmarks, FEWEST_LABELLINGS, WORK_LIMITS.labellings))
    members = [np.flatnonzero(blocks == block) for block in range(blocks.max() + 1)]
    chosen = [int(is_target[units].sum()) for units in members]
    ways = math.prod(math.comb(len(units), count) for units, count in zip(members, chosen, strict=True))
    halves = all(2 * count == len(units) for units, count in zip(members, chosen, strict=True))
    if ways // (1 + halves) <= most:
        labels = _all_labellings(is_target, members, chosen)
        labels = labels[labels[:, 0] == is_target[0]] if halves else labels
    else:
        labels = _drawn_labellings(is_target, members, chosen, most, rng)
    is_observed = (labels == is_target).all(axis=1) | (labels == ~is_target).all(axis=1)
    return Labellings(is_target=labels, is_observed=is_observed, ways=ways // (1 + halves))


def _all_labellings(is_target: Booleans, members: list[Integers], chosen: list[int]) -> Booleans:
    picks = [itertools.combinations(units, count) for units, count in zip(members, chosen, strict=True)]
    rows = [list(itertools.chain(*pick)) for pick in itertools.product(*picks)]
    labels = np.zeros((len(rows), len(is_target)), np.bool_)
    np.put_along_axis(labels, np.array(rows), values=True, axis=1)
    return labels[np.argsort((labels != is_target).any(axis=1), kind="stable")]


def _drawn_labellings(
    is_target: Booleans, members: list[Integers], chosen: list[int], most: int, rng: np.random.Generator
) -> Booleans:
    labels = np.zeros((most, len(is_target)), np.bool_)
    for units, count in zip(members, chosen, strict=True):
        orders = units[rng.random((most, len(units))).argsort(axis=1)[:, :count]]
        np.put_along_axis(labels, orders, values=True, axis=1)
    labels[0] = is_target
    return labels


def largest_loudness(loudness: Floats) -> Floats:
    """(n,): the largest loudness of any benchmark under each labelling, sorted. `loudness` (B, n)."""
    return np.sort(loudness.max(axis=0))


def relabelled_rates(loudness: Floats, loudest: Floats) -> Floats:
    """(B,): the share of labellings under which some benchmark is as loud as this one is in the observed labelling.

    Westfall & Young, Resampling-Based Multiple Testing (1993), 2.3: valid if units are exchangeable, for any dependence
    between benchmarks.
    """
    rank = np.searchsorted(loudest, loudness[:, 0] * (1 - 1e-6) - 1e-12)
    rates: Floats = (len(loudest) - rank) / len(loudest)
    return rates
