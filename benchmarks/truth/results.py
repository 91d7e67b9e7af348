"""The counts of a run of the harness, stored as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.truth.cells import RECORDED, WAYS, Cell
from benchmarks.truth.noise import NOISES, Floats
from benchmarks.truth.oracle import best_power, of_series

COUNTS: Final = ("trials", "runs", "alarmed", "alarmed_trials", "metrics", "judged", "called")


@dataclass(frozen=True, kw_only=True, slots=True)
class Results:
    """The counts. `best`: the share that the best test finds, by row, noise and effect."""

    commit: str
    command: str
    cells: Sequence[Cell]
    best: dict[tuple[str, str, float], float] = field(default_factory=dict)

    def with_cells(self, cells: Sequence[Cell], series: Sequence[Floats]) -> "Results":
        """Return the results with these cells; `series` are the recorded executions that they used."""
        results = {
            (cell.row, cell.noise, effect): share
            for cell in cells
            for effect in cell.hits
            if (share := best(cell, effect, series)) is not None
        }
        return replace(self, cells=[*self.cells, *cells], best={**self.best, **results})

    def cell(self, row: str, noise: str) -> Cell | None:
        return next((cell for cell in self.cells if (cell.row, cell.noise) == (row, noise)), None)


def dump(results: Results) -> str:
    """Write one line per cell, so that a diff shows which changed."""
    head = json.dumps({"commit": results.commit, "command": results.command})[1:-1]
    lines = ",\n".join(json.dumps(_entry(cell, results.best)) for cell in results.cells)
    return f'{{{head}, "cells": [\n{lines}\n]}}\n'


def load(path: Path) -> Results:
    file = json.loads(path.read_bytes())
    rules = {row: (way, rule) for way in WAYS for row, rule in way.rows.items()}
    cells, best = [], {}
    for entry in file["cells"]:
        if entry["row"] not in rules:
            continue
        way, rule = rules[entry["row"]]
        cell = Cell(
            row=entry["row"],
            noise=entry["noise"],
            command=way.command,
            benchmarks=way.benchmarks,
            rule=rule,
            hits={float(effect): tried[:2] for effect, tried in entry["found"].items()},
            **{name: entry[name] for name in COUNTS},
        )
        cells.append(cell)
        for effect, tried in entry["found"].items():
            if tried[2] is not None:
                best[cell.row, cell.noise, float(effect)] = tried[2]
    return Results(commit=file["commit"], command=file["command"], cells=cells, best=best)


def _entry(cell: Cell, best: Mapping[tuple[str, str, float], float]) -> dict[str, Any]:
    return {
        "row": cell.row,
        "noise": cell.noise,
        **{name: getattr(cell, name) for name in COUNTS},
        "found": {
            f"{effect:g}": [*tried, best.get((cell.row, cell.noise, effect))]
            for effect, tried in sorted(cell.hits.items())
        },
    }


def best(cell: Cell, effect: float, series: Sequence[Floats]) -> float | None:
    design = cell.rule.design
    if design is None:
        return None
    if cell.noise == RECORDED:
        return round(of_series(series, design, effect=effect, metrics=cell.benchmarks), 3) if series else None
    return round(best_power(NOISES[cell.noise], design, effect=effect, metrics=cell.benchmarks), 3)
