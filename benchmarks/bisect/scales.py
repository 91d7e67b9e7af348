"""The search at every scale: noise from none to 50%, steps from 0.1% to a factor of 1,000, both signs, and nothing.

    python benchmarks/bisect/scales.py [--runs N] [--processes N] [--noise PART] [--size N]

A chain of commits has one step at a random commit. `right`: exactly it is named; `wrong`: any other commit is.
`denied`: "not reproduced", although the stated detectable effect is smaller than the step. `none`: no name.
`covered`: the stated interval of the right name includes the planted size.
"""

import argparse
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.bisect.machine import Floats, Machine, Sampler, chain, levels_of, lognormal, play, stream
from perf_culprit.model.bisection import OutcomeKind, SearchSettings
from perf_culprit.search.search import Search

BUDGET: Final = 400


def two_modes(*, slow: float, fast: float, gap: float, share: float = 0.5) -> Sampler:
    """Return noise in which `share` of the executions is slower by `gap`; each mode has its own width."""

    def sample(generator: np.random.Generator, count: int) -> Floats:
        is_slow = generator.random(count) < share
        own = np.where(is_slow, generator.normal(0, slow, count), generator.normal(0, fast, count))
        return np.asarray(own + is_slow * np.log1p(gap))

    return sample


NOISES: Final[Mapping[str, Sampler]] = {
    "none": lambda _, count: np.zeros(count),
    **{f"{100 * cv:g}%": lognormal(cv) for cv in (0.001, 0.01, 0.03, 0.10, 0.30, 0.50)},
    "modes 0.4/1%, gap 5%": two_modes(slow=0.01, fast=0.004, gap=0.05),
    "modes 2.2/6%, gap 25%": two_modes(slow=0.06, fast=0.022, gap=0.25),
}
EFFECTS: Final = (0.0, 0.001, 0.01, 0.03, 0.10, 0.20, 0.50, 1.0, 4.0, 8.0, 99.0, 999.0, -0.168, -0.9)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    verdict: str
    executions: int
    covered: bool | None


def trial(noise: str, effect: float, seed: int, *, size: int) -> Trial:
    generator = np.random.default_rng([seed, round(1000 * effect) + 1000, list(NOISES).index(noise)])
    commit_range = chain(size)
    culprit = int(generator.integers(0, size))
    planted = float(np.log1p(effect))
    machine = Machine(
        levels=levels_of(commit_range, {culprit: planted} if effect else {}), noise=stream(NOISES[noise], generator)
    )
    search = Search.start(commit_range, settings=SearchSettings(budget_executions=BUDGET, seed=seed))
    outcome = play(search, machine)
    named = [step.commit for step in outcome.culprits]
    verdict, covered = "none", None
    if effect and named == [commit_range.commits[culprit]]:
        interval = outcome.culprits[0].confidence_interval
        verdict, covered = "right", interval.low - 1e-9 <= effect <= interval.high + 1e-9
    elif named:
        verdict = "wrong"
    elif outcome.kind is OutcomeKind.NOT_REPRODUCED and abs(planted) > np.log1p(outcome.visible_effect or 0.0):
        verdict = "denied"
    return Trial(verdict=verdict, executions=machine.executions, covered=covered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--noise", default="", help="part of a name")
    parser.add_argument("--effects", type=float, nargs="+", default=EFFECTS)
    parser.add_argument("--size", type=int, default=64)
    arguments = parser.parse_args()
    print(f"{arguments.runs} searches per row, {arguments.size} commits, at most {BUDGET} executions\n")
    print("| noise | effect | right | wrong | denied | none | covered | executions: mean, median |")
    print("|:--|--:|--:|--:|--:|--:|--:|--:|")
    with ProcessPoolExecutor(arguments.processes) as pool:
        for noise in (name for name in NOISES if arguments.noise in name):
            for effect in arguments.effects:
                play_one = partial(trial, noise, effect, size=arguments.size)
                trials = list(pool.map(play_one, range(arguments.runs)))
                shares = " | ".join(
                    f"{sum(one.verdict == verdict for one in trials) / len(trials):.2f}" for verdict in VERDICTS
                )
                held = [one.covered for one in trials if one.covered is not None]
                covered = f"{np.mean(held):.2f}" if held else ""
                counts = [one.executions for one in trials]
                name = "nothing" if not effect else f"x{1 + effect:g}" if effect >= 8 else f"{100 * effect:+g}%"
                cost = f"{np.mean(counts):.0f}, {np.median(counts):.0f}"
                print(f"| {noise} | {name} | {shares} | {covered} | {cost} |", flush=True)


VERDICTS: Final = ("right", "wrong", "denied", "none")

if __name__ == "__main__":
    main()
