"""Make counter tables of several runs comparable: all rows stand for equal times, samples or stored medians."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import CounterTable
from perf_culprit.stats.common_rate import FEWEST_ROWS, SAME_ROWS, reduced, row_seconds, span_seconds

# Tests whose lengths differ by more than this factor get a remark.
OTHER_LENGTH: Final = 1.5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CommonRows:
    """`target` and `baseline`, in order, with rows of one length; None for a table whose rows are too long.

    `parts`: number of times that the target's test fits into each baseline table, at least 1.
    """

    target: CounterTable
    baseline: tuple[CounterTable | None, ...]
    parts: tuple[int, ...]
    notes: tuple[Reason, ...] = ()


def common_rows(target: CounterTable, baseline: Sequence[CounterTable]) -> CommonRows:
    """Reduce only tables that are sampled more finely than the longest rows stored on any side.

    The history stores long tables as medians of intervals. They vary less than samples, so samples are reduced in the
    same way before the comparison. If no side is reduced, tables stay as sampled: their rates do not matter.
    """
    target_span = span_seconds(target)
    usable = [_fits(table, target, target_span) for table in baseline]
    usable_tables = [table for table, fits in zip(baseline, usable, strict=True) if fits]
    row_s = max((table.interval_s for table in (target, *usable_tables) if table.interval_s is not None), default=None)
    tables = tuple(_with_rows(table, row_s) if fits else None for table, fits in zip(baseline, usable, strict=True))
    parts = tuple(max(1, int(span_seconds(table) / target_span + 0.1)) if target_span else 1 for table in baseline)
    made = _with_rows(target, row_s)
    return CommonRows(
        target=made,
        baseline=tables,
        parts=parts,
        notes=tuple(_notes(target, made, usable_tables, left_out=len(baseline) - len(usable_tables))),
    )


def _fits(table: CounterTable, target: CounterTable, target_span: float) -> bool:
    own = row_seconds(target)
    if table.interval_s is None or own is None:
        return True
    return table.interval_s <= max(own * SAME_ROWS, target_span / FEWEST_ROWS)


def _with_rows(table: CounterTable, row_s: float | None) -> CounterTable:
    own = row_seconds(table)
    if row_s is None or own is None or own * SAME_ROWS >= row_s:
        return table
    return reduced(table, max(1, round(span_seconds(table) / row_s)))


def _notes(
    target: CounterTable, made: CounterTable, usable_tables: Sequence[CounterTable], *, left_out: int
) -> Iterator[Reason]:
    if made is not target:
        yield because(Remark.ROWS_REDUCED, table=target.name, rows=len(target.times_s), intervals=len(made.times_s))
    if left_out:
        yield because(Remark.ROWS_TOO_LONG, table=target.name, count=left_out)
    spans = sorted(span_seconds(table) for table in usable_tables)
    usual, own = spans[len(spans) // 2] if spans else 0.0, span_seconds(target)
    if usual and own and not 1 / OTHER_LENGTH < own / usual < OTHER_LENGTH:
        yield because(Remark.OTHER_LENGTH, table=target.name, seconds=own, usual=usual)
