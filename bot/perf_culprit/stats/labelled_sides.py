"""Sides of several units that may be exchanged, blocks or rounds: their other labellings tell the noise."""

from typing import Final

import numpy as np

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.block_means import BlockMeans
from perf_culprit.stats.compared_sides import ComparedSides, any_kind, of_benchmarks
from perf_culprit.stats.conventions import ALPHA
from perf_culprit.stats.heavy_tail import CORPUS, TO_PROVE, TO_SUSPECT, SuiteTail
from perf_culprit.stats.machine_shift import (
    FEWEST_WITNESSES,
    correlation_of_neighbours,
    middle,
    shared_shift,
    shift_between,
    shift_in_rounds,
    without_block_means,
)
from perf_culprit.stats.mode_scores import has_many_units, median_difference, quantile, shift_loudness
from perf_culprit.stats.relabelling import Labellings, largest_loudness, relabelled, relabelled_rates
from perf_culprit.stats.unit_noise import CentredValues, noise_of
from perf_culprit.stats.unit_table import Tiers, UnitTable

# With many units the interval is that of the median difference, whose standard error is larger than the mean's.
MEDIAN_INTERVAL: Final = 1.05
FEWEST_FREEDOM: Final = 3  # per benchmark: three files and one show of 100 benchmarks proved .04 of runs falsely


HEAVY: Final = 0.75  # of the freedom, where no labelling checks the tail: noise is not Gaussian
LOUD: Final = 3.0  # a proof by labellings alone may be this many times likelier by the model
TO_DRAW: Final = WORK_LIMITS.relabelled_values // 4
# Degrees of freedom of a suite that tell its noise. With fewer, .15 to .37 of unchanged runs were suspected on a shared
# machine, whose few units were in one of its modes.
FEWEST_TOLD: Final = 4


def compare_sides(blocks: BlockMeans, *, least_change: Floats, tiers: Tiers, rng: np.random.Generator) -> ComparedSides:
    """Judge sides of blocks, at least one of several, for which `compare_newest` has too few or too many."""
    x = blocks.location * blocks.sign[:, None]
    x = x - middle(x, axis=1)[:, None]
    shared, present = shared_shift(x, blocks.kind, blocks.orientation != 0), np.isfinite(x)
    together = np.zeros(x.shape[1], np.intp)
    own = x - shared.of_others
    values = CentredValues(
        centred=without_block_means(own, present, together),
        present=present,
        block=together,
        kind=blocks.kind,
        correlation=correlation_of_neighbours(own, blocks.is_target),
        variance=np.nan_to_num(blocks.stated),
    )
    labellings = relabelled(blocks.is_target, together, benchmarks=len(x), rng=rng)
    suspected = tiers.suspected * of_benchmarks(is_shift_told=shared.is_told)
    checked = labellings.least_rate <= suspected and int(blocks.is_target.sum()) > 1
    noise = noise_of(values, labellings, heavy=1.0 if checked else HEAVY)
    size, observed = len(x), noise.observed()
    change, tails = noise.change[:, 0], noise.tails(jumps=TO_SUSPECT)
    is_large, freedom = np.abs(change) >= least_change, max(x.shape[1] - 2, 0)
    by_model = size * observed.of(np.abs(change))
    suite_tail = _suite_tail(tails, labellings, size * freedom / 2)
    rate = suite_tail.corrected(tails[:, 0]) * size
    by_jumps = size * observed.of(np.abs(change), TO_PROVE)
    by_labels = np.zeros(size)
    if checked:
        loudness = _loudness(noise.tails(least_change, jumps=TO_SUSPECT))
        by_labels = relabelled_rates(loudness, largest_loudness(loudness))
        rate = np.maximum(rate, by_labels)
    else:
        rate = np.maximum(rate, by_model)
    if checked and labellings.least_rate <= tiers.proven:
        proof = np.where(rate <= LOUD * tiers.proven, by_labels, 1.0)
    else:
        proof = np.maximum(np.maximum(rate, by_model), by_jumps)
    rate = np.where(is_large, np.minimum(rate * (tiers.suspected / suspected), 1.0), 1.0)
    is_told, level = size * freedom >= FEWEST_TOLD, suspected / size
    # A change that is suspected adds to the suite's own noise, of which a benchmark of three is a third.
    limit = observed.distance(min(level, suite_tail.critical(level))) * size / max(size - 1, 1)
    can_prove = min(blocks.sides) > 1 and (size * freedom >= CORPUS or labellings.least_rate <= tiers.proven)
    return ComparedSides(
        change=change,
        raw_change=change + _difference(shared.of_others, blocks.is_target, present),
        tail=observed,
        rate=rate if is_told else np.ones(size),
        proof=np.where(is_large, proof, 1.0) if can_prove else np.ones(size),
        limit=limit if is_told else np.full(size, np.inf),
        shift=any_kind([shift_between(common, blocks.is_target) for common in shared.common]),
        half_width=noise.half_width,
        differs=(rate <= tiers.suspected) & (not is_told),
    )


def compare_rounds(table: UnitTable, *, least_change: Floats, tiers: Tiers, rng: np.random.Generator) -> ComparedSides:
    """Judge sides that took turns: what the units of a round share is no difference between the sides."""
    present, size = np.isfinite(table.location), len(table.location)
    y = np.where(present, table.location * np.where(table.orientation < 0, -1.0, 1.0)[:, None], 0.0)
    y = np.where(present, y - quantile(y, present)[:, None], 0.0)
    values = CentredValues(
        centred=without_block_means(y, present, table.block),
        present=present,
        block=table.block,
        kind=table.kind,
        variance=table.sampling_variance,
    )
    labellings = relabelled(table.is_target, table.block, benchmarks=size, rng=rng)
    has_many = has_many_units(table.is_target, labellings)
    # With many units the labellings decide; the model is only reported.
    first = labellings.first(TO_DRAW // size + 2) if has_many else labellings
    noise = noise_of(values, first)
    tails, change, half = noise.tails(least_change), noise.change[:, 0], noise.half_width
    suite_tail = _suite_tail(tails, first, size * max(len(table.block) - int(table.block.max()) - 2, 0))
    loudness = shift_loudness(y, labellings, present=present) if has_many else _loudness(tails)
    loudest = largest_loudness(loudness)
    by_labels, by_model = relabelled_rates(loudness, loudest), np.minimum(size * suite_tail.corrected(tails[:, 0]), 1.0)
    observed, critical = noise.observed(), suite_tail.critical(tiers.suspected / size)
    checked = labellings.least_rate <= tiers.suspected and int(table.is_target.sum()) > 1
    if has_many:
        change = median_difference(values.centred, table.is_target, table.block, present=present)
        half = MEDIAN_INTERVAL * np.maximum(half, observed.distance(ALPHA, TO_PROVE))
        rate, proof = by_labels, by_labels
    else:
        rate = np.maximum(by_model, by_labels) if checked else by_model
        is_the_suites_own = suite_tail.worth >= max(CORPUS, FEWEST_FREEDOM * size)
        proof = by_model if is_the_suites_own else by_labels
        critical = (
            min(critical, float(np.exp(-loudest[-max(int(tiers.suspected * len(loudest)), 1)])))
            if checked
            else critical
        )
    is_small = np.abs(change) < least_change
    kinds = (np.flatnonzero(table.kind == one) for one in np.unique(table.kind))
    shifts = [
        shift_in_rounds(quantile(values.centred[rows].T, present[rows].T), table.is_target, table.block)
        for rows in kinds
        if len(rows) >= FEWEST_WITNESSES
    ]
    return ComparedSides(
        change=change,
        raw_change=change,
        tail=observed,
        rate=np.where(is_small, 1.0, rate),
        proof=np.where(is_small, 1.0, proof),
        limit=observed.distance(critical, TO_PROVE),
        shift=any_kind(shifts),
        half_width=half,
    )


def _suite_tail(tails: Floats, labellings: Labellings, worth: float) -> SuiteTail:
    """The suite's tail by the other labellings of `tails` (B, n)."""
    return SuiteTail.of(tails[:, ~labellings.is_observed[: tails.shape[1]]].ravel(), worth)


def _loudness(tails: Floats) -> Floats:
    loudness: Floats = -np.log(np.maximum(tails, 1e-300))
    return loudness


def _difference(x: Floats, is_target: Booleans, present: Booleans) -> Floats:
    """(B,): the mean of the target's units without that of the baseline's."""
    means = [
        np.where(present[:, side], x[:, side], 0.0).sum(axis=1) / np.maximum(present[:, side].sum(axis=1), 1)
        for side in (is_target, ~is_target)
    ]
    difference: Floats = means[0] - means[1]
    return difference
