"""The stated sizes of culprits, and the stated chance of further culprits, against the planted ones.

    python benchmarks/bisect/sizes.py [--runs N] [--processes N] [--cell PART]

A chain of 64 commits has one to three steps at least six apart, budget 400. "Others 1%": every commit also changes by
1% (standard deviation). `covered`: the stated 95% intervals of named commits that include their planted size, and how
many of the confirming rounds alone do. `width`: their mean half widths, in logarithms. `open`: answers that state that
a further culprit is likely (`Outcome.is_open`), if all planted ones are named and if some are not.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect import machine, scales
from benchmarks.bisect.machine import Machine, chain, levels_of, offsets, play, stream
from perf_culprit.model.bisection import SearchSettings
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.level_sizes import step_size
from perf_culprit.search.search import Search
from perf_culprit.search.search_view import SearchView

COMMITS: Final = 64
APART: Final = 6
BUDGET: Final = 400
EDGE: Final = 1e-9
NOISES: Final = {**scales.NOISES, **machine.NOISES}
# Noise, steps, standard deviation of a round's offset, and of every commit's further change.
CELLS: Final[Sequence[tuple[str, tuple[float, ...], float, float]]] = (
    ("1%", (0.03,), 0.0, 0.0),
    ("3%", (0.1,), 0.0, 0.0),
    ("3%", (0.1,), 0.06, 0.0),
    ("3%", (1.0,), 0.0, 0.0),
    ("10%", (0.2,), 0.0, 0.0),
    ("30%", (1.0,), 0.0, 0.0),
    ("heavy", (0.1,), 0.0, 0.0),
    ("bimodal", (0.1,), 0.0, 0.0),
    ("bimodal", (0.4,), 0.0, 0.0),
    ("modes 2.2/6%, gap 25%", (0.4,), 0.0, 0.0),
    ("modes 2.2/6%, gap 25%", (0.2,), 0.03, 0.0),
    ("3%", (0.1, 0.1), 0.0, 0.0),
    ("3%", (-0.1, 0.2), 0.0, 0.0),
    ("3%", (0.08, 0.08, 0.08), 0.0, 0.0),
    ("3%", (0.05, 0.15), 0.0, 0.0),
    ("3%", (0.05, 0.15), 0.06, 0.0),
    ("1%", (0.03, 0.1), 0.0, 0.0),
    ("bimodal", (0.1, 0.3), 0.0, 0.0),
    ("3%", (0.1,), 0.0, 0.003),
    ("1%", (0.1,), 0.0, 0.003),
    ("3%", (0.1,), 0.0, 0.01),
    ("3%", (0.1,), 0.06, 0.01),
    ("1%", (0.1,), 0.0, 0.01),
    ("10%", (0.2,), 0.0, 0.02),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One search. `is_open` is None if nothing was named; pairs have the answer's value and the confirming rounds'."""

    covered: tuple[tuple[bool, bool], ...]
    widths: tuple[tuple[float, float], ...]
    is_open: bool | None
    is_complete: bool


def trial(noise: str, steps: Sequence[float], offset: float, others: float, seed: int) -> Trial:
    generator = np.random.default_rng([seed, 2026, len(steps)])
    commit_range = chain(COMMITS)
    planted = {place: float(np.log1p(step)) for place, step in planted_steps(steps, generator).items()}
    effects = dict(planted)
    if others:
        small = enumerate(generator.normal(0, others, COMMITS).tolist())
        effects = {place: change + planted.get(place, 0.0) for place, change in small}
    searched = Search.start(commit_range, settings=SearchSettings(budget_executions=BUDGET, seed=seed))
    outcome = play(
        searched,
        Machine(
            levels=levels_of(commit_range, effects),
            noise=stream(NOISES[noise], generator),
            offset=offsets(generator, offset),
        ),
    )
    standing = SearchView(searched.state, Descendants(commit_range))
    covered, widths = [], []
    for culprit in outcome.culprits:
        place = commit_range.commits.index(culprit.commit)
        interval, own = culprit.confidence_interval, step_size(standing, place)
        if own is None or place not in effects:
            continue
        low, high = sorted(standing.sign * np.log1p([interval.low, interval.high]))
        change = standing.sign * effects[place]
        widths.append((float(high - low) / 2, own.half))
        covered.append((_is_within(change, low, high), abs(change - own.center) <= own.half + EDGE))
    named = {commit_range.commits.index(culprit.commit) for culprit in outcome.culprits}
    return Trial(
        covered=tuple(covered),
        widths=tuple(widths),
        is_open=outcome.is_open if outcome.culprits else None,
        is_complete=named == set(planted),
    )


def _is_within(change: float, low: float, high: float) -> bool:
    return low - EDGE <= change <= high + EDGE


def planted_steps(steps: Sequence[float], generator: np.random.Generator) -> Mapping[int, float]:
    while True:
        places = np.sort(generator.choice(COMMITS, len(steps), replace=False))
        if not (np.diff(places) < APART).any():
            return dict(zip(places.tolist(), generator.permutation(steps).tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cell", default="", help="part of a name")
    arguments = parser.parse_args()
    print(
        "| noise, steps | covered, by the pair alone | width, of the pair alone | open, all named | open, one missing |"
    )
    print("|:--|--:|--:|--:|--:|")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for noise, steps, offset, others in CELLS:
            name = f"{noise}, {' and '.join(f'{step:+.0%}' for step in steps)}"
            name += f", offsets {offset:.0%}" if offset else ""
            name += f", others {others:.1%}" if others else ""
            if arguments.cell not in name:
                continue
            trials = list(pool.map(partial(trial, noise, steps, offset, others), range(arguments.runs), chunksize=4))
            covered = np.array([pair for one in trials for pair in one.covered])
            widths = np.array([pair for one in trials for pair in one.widths])
            by_completeness = (
                [one.is_open for one in trials if one.is_open is not None and one.is_complete is complete]
                for complete in (True, False)
            )
            shares = " | ".join(f"{sum(part)} of {len(part)}" for part in by_completeness)
            stated, pair = covered.mean(axis=0)
            width, pair_width = widths.mean(axis=0)
            print(
                f"| {name} | {stated:.1%}, {pair:.1%} of {len(covered)} | {width:.3f}, {pair_width:.3f} | {shares} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
