"""Selection of the baseline runs that train the models, their groups by environment, and their models' weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.model.run import OF_ONE_MACHINE, Environment, Run, is_package
from perf_culprit.stats.model_votes import normalised, stacking_weights

# They name one machine or one week's image of it, so no two runs would match.
NO_LIKENESS = OF_ONE_MACHINE | {"runner_image"}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Training:
    """`runs` from oldest to newest, with their models' `weights` (runs,) and `groups`: positions of equal environment.

    `nearest` are the positions of the runs most like the target. `decisive` are those of its own environment if they
    must agree with the majority. `left_out` counts runs judged regressions.
    """

    runs: tuple[Run, ...]
    weights: Floats
    groups: tuple[tuple[int, ...], ...]
    nearest: tuple[int, ...]
    decisive: tuple[int, ...]
    left_out: int


def choose_training(tables: Sequence[TablePair], options: RuleOptions) -> Training:
    """Choose good runs only: runs with a regression in any of these tables' counters are left out completely."""
    target = tables[0].run.environment
    names = {pair.name for pair in tables}
    available = {id(entry.run): entry.run for pair in tables for entry in pair.baseline}
    clean = [
        run for run in _in_order(list(available.values())) if not any(key.benchmark in names for key in run.regressions)
    ]
    likeness = [sum(similarity(run.environment, target)) for run in clean]
    chosen = list(range(len(clean)))
    same: list[int] = []
    if options.ensemble == "stacking" and options.prefer_near_duplicates:
        same = [index for index in chosen if _identity(clean[index].environment) == _identity(target)]
        # One near-duplicate alone is no majority, and does not show how much good runs differ.
        chosen = same if len(same) > 1 else chosen
        chosen = sorted(chosen, key=lambda index: (likeness[index], index))
    chosen = sorted(chosen[-options.most_models :])
    runs = [clean[index] for index in chosen]
    closest = max((likeness[index] for index in chosen), default=0)
    return Training(
        runs=tuple(runs),
        weights=_weights(runs, target, options),
        groups=_groups(runs, options),
        nearest=tuple(at for at, index in enumerate(chosen) if likeness[index] == closest),
        decisive=tuple(at for at, index in enumerate(chosen) if index in same),
        left_out=len(available) - len(clean),
    )


def similarity(environment: Environment, target: Environment) -> tuple[int, ...]:
    """Return 1 for each component of either side that is known and equal on both, else 0 [F11, 6.1.4.2]."""
    one, other = environment.components, target.components
    names = sorted(filter(_is_likeness, one.keys() | other.keys()))
    return tuple(int(one.get(name) == other.get(name)) for name in names)


def _weights(runs: Sequence[Run], target: Environment, options: RuleOptions) -> Floats:
    if options.weights:
        own = options.weights
        return normalised(np.array([max(own.get(run.commit or "", 1.0), 0.0) for run in runs], dtype=np.float64))
    if options.ensemble == "stacking":
        return stacking_weights([similarity(run.environment, target) for run in runs])
    return normalised(np.ones(len(runs)))


def _groups(runs: Sequence[Run], options: RuleOptions) -> tuple[tuple[int, ...], ...]:
    if options.ensemble == "single":
        return (tuple(range(len(runs))),) if runs else ()
    groups: dict[frozenset[tuple[str, str]], list[int]] = {}
    for index, run in enumerate(runs):
        groups.setdefault(_identity(run.environment), []).append(index)
    return tuple(tuple(group) for group in groups.values())


def _identity(environment: Environment) -> frozenset[tuple[str, str]]:
    return frozenset((name, value) for name, value in environment.components.items() if _is_likeness(name))


def _is_likeness(component: str) -> bool:
    """Whether the component counts: packages do not, because they are many and would outweigh the machine."""
    return component not in NO_LIKENESS and not is_package(component)


def _in_order(runs: list[Run]) -> list[Run]:
    """Sort by time. Each table lists its run, so the given order is that of age unless a table is new."""
    times = {id(run): run.time.timestamp() for run in runs if run.time is not None}
    return sorted(runs, key=lambda run: times[id(run)]) if len(times) == len(runs) else runs
