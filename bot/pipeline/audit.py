"""history or collect -> detect -> report: the detectors on the user's own runs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bot.collect import collect_each
from bot.config import Config
from bot.detect import audit as detect_audit
from bot.errors import DataError
from bot.history.baseline import baseline_then
from bot.history.opening import open_history
from bot.history.protocol import StoredRun
from bot.model.audit import Audit
from bot.model.finding import Acceptance
from bot.model.reason import SeriesReason, because
from bot.model.run import Run
from bot.pipeline.settings import reading
from bot.progress import doing

# The newest stored runs; older ones were measured on machines that are gone.
MOST_RUNS = 200


def audit_history(*, repository: Path, config: Config, history_url: str | None = None, seed: int = 0) -> Audit:
    """The newest stored runs of the configured suite, in the order of their times."""
    with open_history(config.history, repository, url=history_url, token=None) as history:
        commits = list(history.commits(config.suite))
        stored = list(history.runs(config.suite, commits))
        accepted = history.accepted(config.suite)
    runs = [entry.run for entry in stored if isinstance(entry, StoredRun)]
    unreadable = len(stored) - len(runs)
    # A run without a time is as old as can be: nothing says that it is newer.
    runs.sort(key=lambda run: run.time.timestamp() if run.time else 0.0)
    if not runs:
        raise DataError(
            f"no stored runs of suite {config.suite!r}",
            place=history.place,
            next_step="record runs first, or audit result files with --files",
        )
    audit = audit_runs(runs[-MOST_RUNS:], config=config, seed=seed, accepted=accepted)
    if unreadable:
        audit = replace(audit, notes=(*audit.notes, because(SeriesReason.NOT_READABLE, count=unreadable)))
    return audit


def audit_files(
    files: Sequence[str], *, config: Config, tool: str = "auto", stdin: BinaryIO | None = None, seed: int = 0
) -> Audit:
    """One run per file, oldest first."""
    runs = collect_each(files, reading(config, tool=tool, stdin=stdin))
    return audit_runs(runs, config=config, seed=seed)


def audit_runs(runs: Sequence[Run], *, config: Config, seed: int = 0, accepted: Sequence[Acceptance] = ()) -> Audit:
    """The same seed and the same runs give the same numbers."""
    doing(f"auditing {len(runs):,} runs")
    return detect_audit.audit(
        runs,
        settings=config,
        rng=np.random.default_rng(seed),
        choose=partial(baseline_then, window=config.history.window, accepted=accepted),
        detector=config.detector,
        counter_detector=config.counter_detector,
    )
