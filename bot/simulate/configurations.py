"""Every combination of a sweep's values, beside each other."""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product

from bot.config.design import Design
from bot.model.simulation import Configuration
from bot.simulate.replication import Tell, replicate, simulation
from bot.simulate.score import configuration


def combinations(design: Design) -> Iterator[Mapping[str, str]]:
    """Of the values that the model lists under sweep, the last parameter changing fastest."""
    for values in product(*design.sweep.values()):
        yield {name: str(value) for name, value in zip(design.sweep, values, strict=True)}


def sweep(
    designs: Sequence[Design], scenario: str, *, seed: int, replications: int, tell: Tell
) -> tuple[Configuration, ...]:
    """The designs in the order given, one per combination."""
    tasks = [(design, scenario, seed, number) for design in designs for number in range(replications)]
    done = []
    with ProcessPoolExecutor(max_workers=min(os.cpu_count() or 1, len(tasks))) as pool:
        for result in pool.map(replicate, *zip(*tasks, strict=True)):
            done.append(result)
            tell(f"{designs[0].name} {scenario}: {len(done)} of {len(tasks)} simulations")
    parts = [done[start : start + replications] for start in range(0, len(done), replications)]
    return tuple(
        configuration(design.score, simulation(design, scenario, part, seed=seed))
        for design, part in zip(designs, parts, strict=True)
    )
