"""The counts as a table for the terminal."""

from tabulate import tabulate

from benchmarks.truth.cells import EFFECTS, Cell
from benchmarks.truth.results import Results


def plain_table(results: Results) -> str:
    rows = [
        [cell.row, cell.noise, str(cell.trials), alarms(cell), bounds(cell), stated(cell), called(cell), judged(cell)]
        + [hit_rate(cell, effect) for effect in EFFECTS]
        + ["BROKEN" if cell.is_broken else ""]
        for cell in results.cells
        if cell.trials
    ]
    headers = [
        "way",
        "noise",
        "trials",
        "alarms",
        "95% range",
        "stated",
        "metrics called",
        "judged",
        *map(percent, EFFECTS),
        "",
    ]
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)


def alarms(cell: Cell) -> str:
    """Return the share that the stated rate limits; for lives, the share of their runs."""
    if cell.rule.of == "metrics":
        return called(cell)
    return share(cell.alarmed, cell.runs)


def bounds(cell: Cell) -> str:
    """Return the 95% range of that share; for lives, the number of lives with an alarm."""
    low, high = cell.bounds
    if cell.rule.of == "lives":
        return f"{cell.alarmed_trials} of {cell.trials} lives"
    return f"{100 * low:.1f} to {100 * high:.1f}"


def stated(cell: Cell) -> str:
    return percent(cell.rule.stated)


def called(cell: Cell) -> str:
    return share(cell.called, cell.metrics)


def judged(cell: Cell) -> str:
    return share(cell.judged, cell.metrics)


def hit_rate(cell: Cell, effect: float) -> str:
    tried, hits = cell.hits.get(effect, (0, 0))
    return f"{100 * hits / tried:.0f}" if tried else "-"


def share(count: int, number: int) -> str:
    return f"{100 * count / number:.1f}%" if number else "-"


def percent(fraction: float) -> str:
    return f"{100 * fraction:.3g}%"
