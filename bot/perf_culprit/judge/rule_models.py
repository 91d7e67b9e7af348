"""One rule model per baseline run, checked against its peers and then the target (METHODS 4.2 to 4.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import ABSENT, Booleans, Floats, Integers, row_blocks
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.stats.association_rules import Rules, lowest_plausible_share, mine_rules, relative_entropy
from perf_culprit.stats.discretise import LevelScale, LevelTable, equal_width_scale, three_level_scale, to_levels
from perf_culprit.stats.items import Bits, HeldBits, Items, shares_change
from perf_culprit.stats.next_run import prediction_limits
from perf_culprit.stats.rule_change import (
    NEVER,
    RuleCounts,
    apply_rules,
    conditional_moments,
    confidence_change,
    mismatches,
    premise_bits,
    rounds_of_blame,
)

# Cosine distance of a counter's level shares from before if it moved by itself; differences by chance are smaller. It
# only decides which of several counters is blamed for broken rules between them.
MOVED_BY_ITSELF = 0.2

# The spread of two runs is very uncertain: limits of one degree of freedom at one percent would find nothing.
ALPHA_OF_TWO_RUNS = 0.1


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Violated:
    """The rules of one model that the target breaks, with their new confidence and its change, strongest first.

    Items are numbers of `items`, whose counters are the merged ones of `kept`.
    """

    rules: Rules
    new_confidence: Floats
    change: Floats


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RuleModel:
    """One model's result for m counters: shapes (m,) over all counters, duplicates included.

    `measured`: in its run and in the target. `ruled`: it has a rule that good runs keep. `flagged`: the target breaks
    one. `beyond`: 1 or -1 if it is above or below all good runs for a quarter of the time, else 0. `wrong` (m, words):
    the instants at which a broken rule's premise holds, but not its consequent. `merged` (m,) is each counter's number
    among those that were mined, `kept` (k,) the counter of each such number.
    """

    scale: LevelScale
    items: Items
    violated: Violated
    measured: Booleans
    ruled: Booleans
    flagged: Booleans
    beyond: Integers
    wrong: Bits
    merged: Integers
    kept: Integers


def build_models(
    runs: Sequence[Floats], target: Floats, groups: Sequence[Sequence[int]], options: RuleOptions
) -> list[RuleModel]:
    """Build the models in the order of `runs` (n, m each); only one for all runs if the options request a single model.

    Three levels are relative to a model's own environment, equal widths to the whole repository.
    """
    everything = equal_width_scale(np.vstack(runs)) if options.discretisation == "equal_width" else None
    models: dict[int, RuleModel] = {}
    for group in groups:
        values = [runs[index] for index in group]
        scale = everything or three_level_scale(np.vstack(values))
        prepared = _Group.of(scale, values, target)
        if options.ensemble == "single":
            return [prepared.model(np.vstack(prepared.levels), options)]
        models.update({index: prepared.model(own, options) for index, own in zip(group, prepared.levels, strict=True)})
    return [models[index] for index in sorted(models)]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Group:
    """Runs of one environment as levels. Duplicates are merged: counters at the same level at all instants of all runs.

    They have the same rules, and rules between them are never broken. Only one of them is mined.
    """

    scale: LevelScale
    items: Items
    levels: tuple[LevelTable, ...]
    bits: tuple[HeldBits, ...]
    values: tuple[Floats, ...]
    target: LevelTable
    target_values: Floats
    target_bits: HeldBits
    merged: Integers
    kept: Integers

    @classmethod
    def of(cls, scale: LevelScale, runs: Sequence[Floats], target: Floats) -> "_Group":
        own, others = to_levels(target, scale), [to_levels(run, scale) for run in runs]
        merged, columns = _duplicates(np.vstack([*others, own]), scale.sizes)
        items = Items(scale.sizes[columns])
        levels = tuple(entry[:, columns] for entry in others)
        return cls(
            scale=scale,
            items=items,
            levels=levels,
            bits=tuple(HeldBits.of(entry, items) for entry in levels),
            values=tuple(run[:, columns] for run in runs),
            target=own[:, columns],
            target_values=target[:, columns],
            target_bits=HeldBits.of(own[:, columns], items),
            merged=merged,
            kept=columns,
        )

    def model(self, own: LevelTable, options: RuleOptions) -> RuleModel:
        mined = mine_rules(own, self.items, options.mining)
        with_premise = mined.take((mined.premises != ABSENT).any(axis=1))
        rules, lowest = (
            (with_premise, with_premise.confidence) if options.is_published else self._signatures(mined, options)
        )
        of_counter = self.items.counters[rules.consequents]
        outcome = apply_rules(rules, self.target_bits, self.items)
        change = confidence_change(rules.confidence, outcome.confidence)
        # NaN, for a premise that never holds, is not above the threshold.
        accusing = np.flatnonzero(change > options.confidence_change)
        beyond = np.zeros(len(self.kept), dtype=np.intp)
        if not options.is_published:
            if len(self.bits) > 2:
                beyond = self._beyond_all(options.confidence_change**2)
            tried = np.bincount(of_counter, minlength=len(self.kept))[of_counter]
            rare = _beyond_chance(outcome, lowest, options.alpha / np.maximum(tried, 1))
            large = (rules.premises == ABSENT).all(axis=1) & (beyond[of_counter] != 0)
            large &= outcome.confidence < rules.confidence
            accusing = np.union1d(accusing[rare[accusing]], np.flatnonzero(large))
            accusing = self._guarded(rules, accusing, outcome, own, options.alpha)
        strongest = accusing[np.argsort(-change[accusing], kind="stable")]
        violated = Violated(
            rules=rules.take(strongest), new_confidence=outcome.confidence[strongest], change=change[strongest]
        )
        wrong = np.zeros((len(self.kept), self.target_bits.held.shape[1]), dtype=np.uint64)
        np.bitwise_or.at(wrong, of_counter[strongest], mismatches(violated.rules, self.target_bits, self.items))
        has_level = (own != ABSENT).any(axis=0) & (self.target != ABSENT).any(axis=0)
        ruled, flagged = (np.isin(np.arange(len(self.kept)), which) for which in (of_counter, of_counter[strongest]))
        return RuleModel(
            scale=self.scale,
            items=self.items,
            violated=violated,
            measured=has_level[self.merged],
            ruled=ruled[self.merged],
            flagged=flagged[self.merged],
            beyond=beyond[self.merged],
            wrong=wrong[self.merged],
            merged=self.merged,
            kept=self.kept,
        )

    def _beyond_all(self, least: float) -> Integers:
        """The side on which each target counter often is beyond every value of the good runs, or 0 (k,).

        It is a rule of confidence 1 that no value is there, and it must change by more than `least`. A change of 0.0625
        is 27% of the time. Other rules hardly notice a third of the time: a medium level of 68% falls only to 45%.
        """
        high, low = np.fmax.reduce(np.vstack(self.values)), np.fmin.reduce(np.vstack(self.values))
        count = np.maximum(np.isfinite(self.target_values).sum(axis=0), 1)
        above, below = (
            confidence_change(np.ones(len(count)), 1 - sides.sum(axis=0) / count) > least
            for sides in (self.target_values > high, self.target_values < low)
        )
        return above.astype(np.intp) - below

    def _guarded(self, rules: Rules, broken: Integers, outcome: RuleCounts, own: LevelTable, alpha: float) -> Integers:
        """The broken rules that no good run would break, and that are evidence against their own counter."""
        broken = broken[self._beyond_runs(rules.take(broken), alpha)]
        moved = shares_change(self.items, own, self.target) > MOVED_BY_ITSELF
        return broken[self._accuse(rules, broken, np.flatnonzero(outcome.premises), moved)]

    def _signatures(self, rules: Rules, options: RuleOptions) -> tuple[Rules, Floats]:
        """The rules that every run of the environment keeps, and the lowest confidence expected of each.

        A rule that good runs break is dropped. Otherwise most models would flag a counter whose level differs from run
        to run, in any run.
        """
        peers = np.array([apply_rules(rules, bits, self.items).confidence for bits in self.bits])
        broken: Booleans = confidence_change(rules.confidence, peers) > options.confidence_change
        holds: Booleans = ~np.any(broken, axis=0)
        if len(self.bits) == 1:
            # The best of many premises looks better than it is, and no other run shows by how much.
            counts = len(self.levels[0]) * rules.support / rules.confidence
            alpha = options.mining.alpha / max(self.items.total, 1)
            return rules, lowest_plausible_share(rules.confidence, counts, alpha=alpha)
        return rules.take(holds), np.fmin.reduce(peers, axis=0)[holds]

    def _accuse(self, rules: Rules, broken: Integers, satisfied: Integers, moved: Booleans) -> Booleans:
        """Whether each broken rule is evidence against its consequent: no premise of it is blamed earlier."""
        of_item = np.append(self.items.counters, ABSENT)
        premises, consequents = of_item[rules.premises], of_item[rules.consequents]
        rounds = rounds_of_blame(premises[satisfied], consequents[satisfied], np.isin(satisfied, broken), moved=moved)
        of_counter = np.append(rounds, NEVER)
        own = of_counter[consequents[broken]]
        accusing: Booleans = (own != NEVER) & (of_counter[premises[broken]] >= own[:, None]).all(axis=1)
        return accusing

    def _beyond_runs(self, rules: Rules, alpha: float) -> Booleans:
        """Whether each rule's counter, under the premise, is beyond the range of one more good run in level or spread.

        The share of instants is no measure for that: as a run drifts away, it hardly falls and then drops at once.
        """
        if len(self.bits) == 2:
            alpha = max(alpha, ALPHA_OF_TWO_RUNS)
        beyond = np.zeros(len(rules), dtype=bool)
        for part in row_blocks(len(rules), cells=len(self.target_values)):
            rules_of_part = rules.take(np.arange(part.start, part.stop))
            moments = [self._moments(rules_of_part, *run) for run in zip(self.bits, self.values, strict=True)]
            mean, deviation = self._moments(rules_of_part, self.target_bits, self.target_values)
            low, high = prediction_limits(np.array([run[0] for run in moments]), alpha=alpha / 2)
            # Only more spread is a change for the worse, so the whole probability is on this side.
            _, most = prediction_limits(np.array([run[1] for run in moments]), alpha=alpha)
            unknown = ~np.isfinite(high)
            beyond[part] = unknown | (mean < low) | (mean > high) | (deviation > most)
        return beyond

    def _moments(self, rules: Rules, bits: HeldBits, values: Floats) -> tuple[Floats, Floats]:
        of_counter = self.items.counters[rules.consequents]
        return conditional_moments(premise_bits(rules, bits, self.items), values[:, of_counter])


def _beyond_chance(outcome: RuleCounts, expected: Floats, alpha: Floats) -> Booleans:
    """Whether this number of matches is rarer than `alpha` if each premise is matched with the `expected` share."""
    confidence = np.nan_to_num(outcome.confidence, nan=1.0)
    # A premise that never holds adds no evidence.
    surprise = np.where(outcome.premises > 0, relative_entropy(confidence, expected), 0.0) * outcome.premises
    rare: Booleans = (surprise >= -np.log(alpha)) & (confidence < expected)
    return rare


def _duplicates(levels: LevelTable, sizes: Integers) -> tuple[Integers, Integers]:
    numbers: dict[tuple[int, bytes], int] = {}
    columns: list[int] = []
    merged = np.empty(levels.shape[1], dtype=np.intp)
    for index, column in enumerate(np.ascontiguousarray(levels.T)):
        key = (int(sizes[index]), column.tobytes())
        if key not in numbers:
            numbers[key] = len(columns)
            columns.append(index)
        merged[index] = numbers[key]
    return merged, np.array(columns, dtype=np.intp)
