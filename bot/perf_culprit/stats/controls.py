"""Benchmarks that a change cannot reach: where these moved, the machine did, and so it may have moved the others."""

from dataclasses import replace

import numpy as np

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.stats.engine import BENCHMARK_FIELDS, judge_units
from perf_culprit.stats.machine_shift import middle
from perf_culprit.stats.unit_table import Tiers, UnitJudgement, UnitTable


def exonerate(
    judgement: UnitJudgement, table: UnitTable, is_control: Booleans, *, least_change: Floats, tiers: Tiers
) -> tuple[UnitJudgement, Floats]:
    """Judge again without what the controls (B,) share, and return the milder result of each benchmark.

    A kind counts if one of its controls moved: judged among the controls alone, it is suspected or differs. Their
    common shift is removed unit by unit, so its noise counts. A result changes only if it moved like the controls. So
    none gets more certain.

    Also returns (B,) how far each control moved by which another benchmark's call became milder, as a logarithm.
    """
    moved = _control_moves(table, is_control, least_change, tiers)
    result, witnesses = judgement, np.zeros(len(moved))
    if moved.any():
        shift = _shift(table, is_control, table.kind[moved != 0])
        again = judge_units(replace(table, location=table.location - shift), least_change=least_change, tiers=tiers)
        toward = shift[:, table.is_target].mean(axis=1) - shift[:, ~table.is_target].mean(axis=1)
        is_milder = ~is_control & (again.rate >= judgement.rate) & (judgement.change * toward > 0)
        result = _milder_rows(judgement, again, is_milder)
        freed = is_milder & (judgement.is_suspected | judgement.differs)
        kinds = table.kind if judgement.suite.is_suspected and not result.suite.is_suspected else table.kind[freed]
        witnesses = np.where(np.isin(table.kind, kinds) & (moved * toward > 0), moved, 0.0)
    return result, witnesses


def _control_moves(table: UnitTable, is_control: Booleans, least_change: Floats, tiers: Tiers) -> Floats:
    """(B,): how far each control moved, 0 for one that seems unmoved and for the others."""
    here = np.isfinite(table.location)
    rows = is_control & (table.orientation != 0) & ~table.is_exact
    rows &= here[:, table.is_target].any(axis=1) & here[:, ~table.is_target].any(axis=1)
    moved = np.zeros(len(rows))
    if rows.any():
        alone = judge_units(table.part(rows), least_change=least_change[rows], tiers=tiers)
        moved[rows] = np.where(alone.is_suspected | alone.differs, alone.change, 0.0)
    return moved


def _shift(table: UnitTable, is_control: Booleans, kinds: Floats) -> Floats:
    """(B, U): the median of the controls of each of these kinds in each unit, without their own level."""
    shift, sign = np.zeros_like(table.location), table.orientation[:, None]
    follows = (table.orientation != 0) & ~table.is_exact
    for kind in np.unique(kinds):
        rows = follows & (table.kind == kind)
        x = (table.location * sign)[rows & is_control]
        base = np.where(np.isfinite(x) & ~table.is_target, x, 0.0).sum(axis=1)
        level = base / np.maximum((np.isfinite(x) & ~table.is_target).sum(axis=1), 1)
        shift[rows] = sign[rows] * middle(x - level[:, None], axis=0)
    return shift


def _milder_rows(before: UnitJudgement, again: UnitJudgement, is_milder: Booleans) -> UnitJudgement:
    rows = {name: np.where(is_milder, getattr(again, name), getattr(before, name)) for name in BENCHMARK_FIELDS}
    rows["differs"] &= before.is_suspected | before.differs
    return replace(before, **rows, suite=again.suite if again.suite.rate > before.suite.rate else before.suite)
