"""collect or history -> detect -> report: where a series really changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from bot.collect.table import read_table
from bot.config import Config
from bot.detect.run_values import metric_series
from bot.detect.series_changes import judge_series
from bot.errors import UsageError, did_you_mean
from bot.model.change import SeriesChanges, SeriesTable
from bot.model.metric import MetricKey
from bot.pipeline.line import stored_line
from bot.pipeline.settings import minimum_effects
from bot.progress import doing


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """The series that were looked at, and what was found in each."""

    table: SeriesTable
    series: tuple[SeriesChanges, ...]


def changes_in_file(
    path: str,
    *,
    config: Config,
    columns: Sequence[str] = (),
    label: str | None = None,
    online: bool = False,
    seed: int = 0,
    stdin: BinaryIO | None = None,
) -> Changes:
    """Of a table with one row per commit or build."""
    table = read_table(path, columns=columns, label=label, stdin=stdin)
    effect = minimum_effects(config)
    series = tuple(replace(one, minimum_effect=effect(MetricKey(one.name, ""))) for one in table.series)
    return _judged(replace(table, series=series), online=online, seed=seed)


def changes_in_history(
    repository: Path,
    *,
    config: Config,
    history_url: str | None = None,
    pattern: str = "*",
    online: bool = False,
    seed: int = 0,
) -> Changes:
    """Of the runs stored for the commits of HEAD's own line."""
    line, place = stored_line(repository, config=config, history_url=history_url)
    series = metric_series(line.runs, minimum_effect=minimum_effects(config), pattern=pattern)
    if not series:
        names = sorted({benchmark.name for run in line.runs for benchmark in run.benchmarks})
        raise UsageError(
            f"no stored benchmark matches {pattern!r}",
            place="--benchmark",
            next_step=f"{did_you_mean(pattern, names)} use a name or shell pattern of: {', '.join(names[:20])}".strip(),
        )
    table = SeriesTable(
        place=place,
        series=series,
        labels=tuple(run.commit or "" for run in line.runs),
        label_name="commit",
        notes=line.notes,
    )
    return _judged(table, online=online, seed=seed)


def _judged(table: SeriesTable, *, online: bool, seed: int) -> Changes:
    doing(f"looking for changes in {len(table.series):,} series of {len(table.labels):,} rows")
    return Changes(table=table, series=judge_series(table, seed=seed, online=online))
