"""Units reduced to blocks: what shares a machine and a stretch of time counts once."""

from dataclasses import dataclass, replace

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.stats.suite_prior import suite_prior
from perf_culprit.stats.unit_table import UnitTable


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BlockMeans:
    """K blocks of one side each, in order of time.

    `location` (B, K): mean of the block's units, NaN where missing. `scatter` (B, K): squared error of that mean by the
    block's units, or by their samples if no block `has_units`. It is 0 or NaN for a single number. `stated`: the error
    that tools state.
    """

    location: Floats
    scatter: Floats
    stated: Floats
    has_units: bool
    is_target: Booleans
    kind: Integers
    orientation: Floats

    @classmethod
    def of(cls, table: UnitTable) -> "BlockMeans":
        """Reduce a table in which no block has units of both sides."""
        names, first = np.unique(table.block, return_index=True)
        of_block = (table.block[:, None] == names[np.argsort(first, kind="stable")]).astype(float)
        present = np.isfinite(table.location)
        y, count = np.where(present, table.location, 0.0), present @ of_block
        mean = (y @ of_block) / np.maximum(count, 1)
        squares = np.maximum((y**2) @ of_block - count * mean**2, 0.0)
        pooled = _pool(squares, np.maximum(count - 1, 0), table.kind)

        def of_mean(variance: Floats | None) -> Floats:
            of_units = np.zeros_like(y) if variance is None else np.where(present, variance, 0.0)
            return np.where(count > 0, (of_units @ of_block) / np.maximum(count, 1) ** 2, np.nan)

        return cls(
            location=np.where(count > 0, mean, np.nan),
            scatter=np.where(np.isnan(pooled)[:, None], of_mean(table.scatter), pooled[:, None] / np.maximum(count, 1)),
            stated=of_mean(table.sampling_variance),
            has_units=bool((count > 1).any()),
            is_target=(table.is_target @ of_block) > 0,
            kind=table.kind,
            orientation=table.orientation,
        )

    @property
    def sign(self) -> Floats:
        """(B,): -1 where a slow machine lowers the value."""
        return np.where(self.orientation < 0, -1.0, 1.0)

    @property
    def sides(self) -> tuple[int, int]:
        """The number of blocks of the baseline, and of the target."""
        targets = int(self.is_target.sum())
        return len(self.is_target) - targets, targets

    @property
    def with_target_last(self) -> "BlockMeans":
        """The blocks with the target's after the baseline's; each side keeps its order."""
        order = np.argsort(self.is_target, kind="stable")
        return replace(
            self,
            location=self.location[:, order],
            scatter=self.scatter[:, order],
            stated=self.stated[:, order],
            is_target=self.is_target[order],
        )


def _pool(squares: Floats, freedom: Floats, kind: Integers) -> Floats:
    """(B,): each benchmark's variance of a unit within blocks, moderated over its kind; NaN if no block tells it."""
    squares, freedom = squares.sum(axis=1), freedom.sum(axis=1)
    variance = np.full(len(squares), np.nan)
    for rows in (kind == one for one in np.unique(kind)):
        has_freedom = rows & (freedom > 0)
        if has_freedom.any():
            prior = suite_prior(squares[has_freedom] / freedom[has_freedom], float(np.median(freedom[has_freedom])))
            variance[has_freedom] = prior.moderated(squares[has_freedom], freedom[has_freedom])
    return variance
