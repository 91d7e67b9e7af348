"""Did the target's executions move? A permutation test within rounds on learned scores, exact whatever the noise is.

The statistic is the largest of the standardised sums of scores (`location_score`) over the target's executions. Its
null distribution comes from permuting the sides within each round. The scores do not depend on the sides, so the
p-values hold for every shape of the noise, however badly the scores were learned.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.stats.location_score import standard_scores
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.rare_arrangements import rare_p_value
from perf_culprit.stats.side_blocks import Blocks, Singles

# Fewer drawn arrangements as extreme as the observed one tell a p-value too coarsely.
FEW: Final = 40
# Sums of scores in single precision that differ by less are equal.
TIE: Final = 1e-4
# Scores that are in memory at once, so that temporaries stay small.
CHUNK_VALUES: Final = 100000


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockTest:
    """`p_value` (m,) two-sided; `statistic` (m,) the observed largest standardised sum."""

    p_value: Floats
    statistic: Floats


def block_test(values: Floats, blocks: Blocks) -> BlockTest:
    """Test values (m, n), one execution per column, for a shift between the two sides.

    Exact for values that are exchangeable within a round if nothing changed. What drifts steadily through A B B A, or
    resembles its neighbours, makes the test timid, not bold: the arrangement A B B A itself evens it out.
    """
    arrangements = blocks.arrangements
    parts = [_chunk(values[start : start + step], blocks, arrangements) for start, step in _steps(values)]
    return BlockTest(
        p_value=np.concatenate([part.p_value for part in parts]),
        statistic=np.concatenate([part.statistic for part in parts]),
    )


def statistics(values: Floats, blocks: Blocks) -> Floats:
    """(m,): the statistic alone."""
    return np.concatenate(
        [
            np.abs(standard_scores(values[start : start + step], blocks) @ blocks.is_target.astype(np.float32)).max(1)
            for start, step in _steps(values)
        ]
    ).astype(np.float64)


def critical_values(values: Floats, blocks: Blocks, *, alpha: float) -> Floats:
    """(m,): the test at level `alpha` rejects where the statistic is larger; infinite where no arrangement would be."""
    arrangements = blocks.arrangements
    parts = []
    for start, step in _steps(values):
        everywhere = _everywhere(standard_scores(values[start : start + step], blocks), arrangements)
        rejected = int(alpha * len(arrangements))
        # Where the next value is as large, the level is not used up.
        parts.append(np.partition(everywhere, -1 - rejected, axis=1)[:, -1 - rejected] + TIE)
    critical = np.concatenate(parts).astype(np.float64)
    return critical if blocks.least_p_value <= alpha else np.full_like(critical, np.inf)


def _chunk(values: Floats, blocks: Blocks, arrangements: Singles) -> BlockTest:
    scores = standard_scores(values, blocks)
    observed = np.abs(scores @ blocks.is_target.astype(np.float32)).max(axis=1)
    extreme = (_everywhere(scores, arrangements) >= (observed - TIE)[:, None]).sum(axis=1)
    p_value = extreme / len(arrangements)
    if not blocks.enumerates and (patterns := blocks.patterns()) is not None:
        for row in np.flatnonzero(extreme < FEW):
            p_value[row] = rare_p_value(scores[row], blocks, patterns, at_least=float(observed[row]) - TIE)
    return BlockTest(p_value=np.maximum(p_value, blocks.least_p_value), statistic=observed.astype(np.float64))


def _everywhere(scores: Singles, arrangements: Singles) -> Singles:
    """(m, arrangements): the statistic of each arrangement."""
    metrics, ways, number = scores.shape
    sums = scores.reshape(metrics * ways, number) @ arrangements.T
    largest: Singles = np.abs(sums, out=sums).reshape(metrics, ways, -1).max(axis=1)
    return largest


def _steps(values: Floats) -> list[tuple[int, int]]:
    step = max(1, CHUNK_VALUES // (10 * values.shape[1]))
    return [(start, step) for start in range(0, len(values), step)]
