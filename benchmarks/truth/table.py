"""The counts as tables: plain for the terminal, and those of docs/evidence/simulated.md."""

from itertools import groupby
from pathlib import Path
from typing import Final

from tabulate import tabulate

from benchmarks.truth.cells import EFFECTS, Cell
from benchmarks.truth.results import Results, joined

DOCS: Final = Path(__file__).parents[2] / "docs" / "evidence" / "simulated.md"
BEGIN, END = "<!-- written by benchmarks/truth: begin -->", "<!-- written by benchmarks/truth: end -->"


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


def write_docs(before: Results, after: Results) -> None:
    text = DOCS.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    DOCS.write_text(f"{head}{BEGIN}\n\n{markdown(before, after)}\n\n{END}{tail}", encoding="utf-8")


def markdown(before: Results, after: Results) -> str:
    parts = [
        f"Before: `{before.commit}`, `{before.command}`. After: `{after.commit}`, `{after.command}`.",
        summary(before, after),
    ]
    everything = joined([before, after]).cells
    for (row, command), group in groupby(everything, key=lambda cell: (cell.row, cell.command)):
        cells = [cell for cell in group if cell.trials]
        if cells:
            parts += [f"### {row[0].upper()}{row[1:]}\n\n`{command}`", _rates(before, after, cells)]
    return "\n\n".join(parts)


def summary(before: Results, after: Results) -> str:
    broken = [cell for cell in after.cells if cell.is_broken]
    earlier = sum(cell.is_broken for cell in before.cells)
    text = (
        f"Before, {earlier} of {len(before.cells)} cells were broken; of those measured again, {len(broken)} of "
        f"{len(after.cells)} are"
    )
    return text + (":\n\n" + "\n".join(f"- {cell.row}, {cell.noise}" for cell in broken) if broken else ".")


def _rates(before: Results, after: Results, cells: list[Cell]) -> str:
    headers = ["noise", "false alarms before", "after", "95% range", "stated", "metrics called before", "after"]
    effects = EFFECTS if any(cell.hits for cell in cells) else ()
    headers += [f"+{percent(effect)}" for effect in effects]
    rows = [_row(before, after, cell)[: len(headers)] for cell in cells]
    align = ["left", *["right"] * (len(headers) - 1)]
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True, colalign=align)


def _row(before: Results, after: Results, cell: Cell) -> list[str]:
    """Return a row of both results; `cell` is the newer one."""
    old, new = (results.cell(cell.row, cell.noise) for results in (before, after))
    best = {**before.best, **after.best}
    return [
        f"**{cell.noise}**" if cell.is_broken else cell.noise,
        counted(old) if old else "-",
        counted(new) if new else "-",
        bounds(cell),
        stated(cell),
        called(old) if old else "-",
        called(new) if new else "-",
        *(_power(old, new, best.get((cell.row, cell.noise, effect)), effect) for effect in EFFECTS),
    ]


def _power(old: Cell | None, new: Cell | None, best: float | None, effect: float) -> str:
    found_before, found_after = (hit_rate(cell, effect) if cell else "-" for cell in (old, new))
    return f"{found_before} → {found_after}" + ("" if best is None else f" ({100 * best:.0f})")


def alarms(cell: Cell) -> str:
    """Return the share that the stated rate limits; for lives, the share of their runs."""
    if cell.rule.of == "metrics":
        return called(cell)
    return share(cell.alarmed, cell.runs)


def counted(cell: Cell) -> str:
    number = cell.metrics if cell.rule.of == "metrics" else cell.runs
    return f"{alarms(cell)} of {number:,}"


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
