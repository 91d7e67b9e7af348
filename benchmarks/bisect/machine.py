"""Simulated machines and histories for the benchmarks of the search, and a driver that plays a search to its end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from perf_culprit.model.bisection import CommitRange, Failure, FailureKind, Outcome
from perf_culprit.search.search import Search

Floats = npt.NDArray[np.float64]
Sampler = Callable[[np.random.Generator, int], Floats]
ZERO = 16 * "0"


def lognormal(cv: float) -> Sampler:
    return lambda generator, count: generator.normal(0, np.sqrt(np.log1p(cv**2)), count)


def bimodal(generator: np.random.Generator, count: int) -> Floats:
    """2% around either mode; a quarter of the samples is 15% slower."""
    return np.asarray(generator.normal(0, 0.02, count) + np.log(1.15) * (generator.random(count) < 0.25))


def heavy(generator: np.random.Generator, count: int) -> Floats:
    """3%, and 5% of the samples up to several times slower."""
    return generator.normal(0, 0.03, count) + np.where(
        generator.random(count) < 0.05, generator.exponential(0.3, count), 0
    )


def bursts(generator: np.random.Generator, count: int) -> Floats:
    """0.5%, and slow spells: after 11 executions in the mean the next 6 or so are 90% slower."""
    spells = generator.geometric([1 / 11, 1 / 6], (count, 2))
    is_slow = np.repeat(np.tile([False, True], count), spells.ravel())[:count]
    return np.asarray(generator.normal(0, 0.005, count) + np.log(1.9) * is_slow)


NOISES: Mapping[str, Sampler] = {
    "1%": lognormal(0.01),
    "3%": lognormal(0.03),
    "10%": lognormal(0.10),
    "bimodal": bimodal,
    "heavy": heavy,
    "bursts": bursts,
}


def chain(size: int) -> CommitRange:
    """A linear range of `size` candidates; commit i is called c<i>, the good end c0."""
    return commit_range_of([[place - 1] if place else [] for place in range(size)])


def merge_dag(size: int, seed: int) -> CommitRange:
    """Side branches of a few commits that are merged again, in a third of the history."""
    generator = np.random.default_rng(seed)
    parents: list[list[int]] = []
    head = -1
    while len(parents) < size - 1:
        length = int(generator.integers(1, 6))
        if generator.random() < 0.35 and len(parents) + 2 * length + 1 < size and head >= 0:
            heads = []
            for _ in range(2):
                tip = head
                for _ in range(length):
                    parents.append([tip])
                    tip = len(parents) - 1
                heads.append(tip)
            parents.append(heads)
        else:
            parents.append([head] if head >= 0 else [])
        head = len(parents) - 1
    parents.append([head] if head >= 0 else [])
    return commit_range_of(parents)


def commit_range_of(parents: Sequence[Sequence[int]]) -> CommitRange:
    names = tuple(f"c{place + 1}" for place in range(len(parents)))
    return CommitRange(good="c0", bad=names[-1], commits=names, parents=tuple(tuple(own) for own in parents))


@dataclass
class Machine:
    """Measures virtual commits: `levels` are logarithms; each round has its own `offset` and `scale` of the noise."""

    levels: Mapping[str, float]
    noise: Iterator[float]
    offset: Callable[[], float] = lambda: 0.0
    scale: Callable[[], float] = lambda: 1.0
    broken: frozenset[str] = frozenset()
    breaks: FailureKind = FailureKind.BUILD
    executions: int = field(default=0)

    def run(self, commits: Sequence[str]) -> tuple[dict[str, list[float]], dict[str, Failure]]:
        offset, scale = self.offset(), self.scale()
        samples: dict[str, list[float]] = {}
        failures: dict[str, Failure] = {}
        for commit in commits:
            self.executions += 1
            if commit in self.broken:
                failures[commit] = Failure(kind=self.breaks, message="does not run")
            else:
                samples[commit] = [float(np.exp(self.levels[commit] + offset + scale * next(self.noise)))]
        return samples, failures


def offsets(generator: np.random.Generator, sd: float) -> Callable[[], float]:
    """Levels of machines, in logarithms; without a standard deviation nothing is drawn."""
    return lambda: float(generator.normal(0, sd)) if sd else 0.0


def scales(generator: np.random.Generator, sd: float) -> Callable[[], float]:
    """Factors of machines' noise, `sd` in logarithms; as `offsets`."""
    return lambda: float(generator.lognormal(0, sd)) if sd else 1.0


def stream(sampler: Sampler, generator: np.random.Generator) -> Iterator[float]:
    while True:
        yield from sampler(generator, 256).tolist()


def levels_of(commit_range: CommitRange, effects: Mapping[int, float]) -> dict[str, float]:
    """Log levels: `effects` by candidate index (0..N-1) hold for the candidate and its descendants."""
    reached: list[set[int]] = []
    for place, parents in enumerate(commit_range.parents):
        own = {place} & set(effects)
        reached.append(own.union(*(reached[parent] for parent in parents)))
    levels = {name: sum(effects[c] for c in held) for name, held in zip(commit_range.commits, reached, strict=True)}
    return {commit_range.good: 0.0, **levels}


def play(search: Search, machine: Machine, *, k: int = 1, most_rounds: int = 5000) -> Outcome:
    """Propose, measure and record until there is an outcome."""
    for _ in range(most_rounds):
        outcome = search.outcome()
        if outcome is not None:
            return outcome
        for job in search.propose(k):
            search.record(job.id, *machine.run(job.commits))
    raise RuntimeError("the search does not end")
