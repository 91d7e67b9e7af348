"""`changes --online`: a table with one row per commit, in which nothing changed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.truth.files import benchmark_names
from benchmarks.truth.noise import Floats, World
from benchmarks.truth.verbs import Outcome, perf_culprit
from benchmarks.truth.way import Judged, Row, Way

ROWS: Final = 120
STEP_AT: Final = 70
# Alarms per unchanged row [docs/detectors/change-point.md], and the first row that can have one.
RATE, FIRST_ROW = 0.001, 31
NAME: Final = "changes --online, 120 rows"


def series(world: World, folder: Path, effects: Sequence[float]) -> Iterator[Judged]:
    """Count as called the columns with any alarm, and as found an alarm after the step in the first column."""
    values = np.stack([world.job().execute(1)[:, 0] for _ in range(ROWS)])
    for effect in effects:
        changed = values.copy()
        changed[STEP_AT:, 0] *= 1 + effect
        alarms = online_alarms(folder, changed)
        called = sum(bool(rows) for index, rows in enumerate(alarms) if index or not effect)
        yield (
            NAME,
            effect,
            Outcome(
                metrics=values.shape[1],
                judged=values.shape[1],
                called=called,
                alarmed=int(called > 0),
                is_hit=any(row >= STEP_AT for row in alarms[0]),
            ),
        )


def online_alarms(folder: Path, values: Floats) -> list[list[int]]:
    """Rows with an alarm per column."""
    names = benchmark_names(values.shape[1])
    lines = [",".join(["commit", *names])]
    lines += [",".join([f"c{index}", *(f"{value:.8g}" for value in row)]) for index, row in enumerate(values)]
    (folder / "nightly.csv").write_text("\n".join(lines) + "\n")
    perf_culprit(
        "changes", str(folder / "nightly.csv"), "--index", "commit", "--online", "--json", str(folder / "changes.json")
    )
    entries = json.loads((folder / "changes.json").read_bytes())["columns"]
    return [[alarm["index"] for alarm in entry["alarms"]] for entry in entries]


WAYS: Final = (
    Way(
        command="changes nightly.csv --online",
        rows={NAME: Row(stated=1 - (1 - RATE) ** (ROWS - FIRST_ROW), of="metrics")},
        noises=("lognormal", "heavy tails", "AR 0.3", "modes per benchmark and run", "own 5%"),
        trial=series,
        benchmarks=10,
        weight=10,
    ),
)
