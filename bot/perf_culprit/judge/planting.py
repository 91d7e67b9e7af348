"""Trials of a paired measurement with real rounds of one commit: sides drawn by lot, and a planted change."""

from collections.abc import Callable, Collection, Sequence
from statistics import median

import numpy as np
from msgspec.structs import replace

from perf_culprit.judge.trials import DRAWS, with_planted
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.accuracy import PLANTED_CHANGES, USUAL_CHANGE, Seen, UnchangedTrials
from perf_culprit.model.run import Benchmark, MetricKey, Run
from perf_culprit.stats.conventions import POWER

RunPair = tuple[Run, Run]
# Returns the names of the benchmarks that a comparison of baseline and target suspects or proves to be worse.
Flagged = Callable[[Run, Run], Collection[str]]


class Planting:
    """Trials with the rounds of `sides`, two measurements of one commit in turn.

    Both sides are the same commit. So each trial draws some rounds, and in each round which side is the target. A
    planted change multiplies the real numbers of one benchmark.
    """

    def __init__(self, sides: RunPair, flagged: Flagged, *, seed: int = 0) -> None:
        self._sides = sides
        self._flagged = flagged
        self._seed = seed
        first, second = ({one.key: one for one in run.benchmarks if one.rounds} for run in sides)
        self._pairs = [(first[key], second[key]) for key in first if key in second]
        self.rounds = sorted({number for pair in self._pairs for one in pair for number in one.rounds})

    @property
    def keys(self) -> list[MetricKey]:
        """The metrics to plant into: those that noise can hide, so no counts unless there is nothing else."""
        directed = [one for one, _ in self._pairs if one.direction.worse_sign]
        noisy = [one.key for one in directed if depends_on_machine(one.unit)]
        return noisy or [one.key for one in directed]

    def noises(self) -> dict[MetricKey, float]:
        """Return the standard deviation of the logarithms of the executions' medians, by metric."""
        keys = set(self.keys)

        def log_medians(benchmark: Benchmark) -> list[float]:
            return [float(np.log(median(group))) for groups in _groups(benchmark).values() for group in groups]

        return {
            first.key: float(np.std(log_medians(first) + log_medians(second), ddof=1))
            for first, second in self._pairs
            if first.key in keys and min(*first.samples, *second.samples) > 0
        }

    def seen(self, rounds: int, *, minutes: float) -> Seen:
        """Return the smallest planted changes found in nine of ten trials of this number of rounds."""
        by_noise = sorted(noises := self.noises(), key=lambda key: noises[key])
        typical, noisiest = by_noise[(len(by_noise) - 1) // 2], by_noise[-1]
        return Seen(
            rounds=rounds,
            minutes=minutes,
            typical=self.smallest_found(rounds, [typical] * DRAWS),
            noisiest=self.smallest_found(rounds, [noisiest] * DRAWS),
        )

    def unchanged(self, rounds: int) -> UnchangedTrials:
        """Count the trials that warn without a change, and those that find the usual planted one."""
        keys = self.keys
        chosen = np.random.default_rng(self._seed).integers(len(keys), size=DRAWS).tolist()
        warned = sum(bool(self._judged(rounds, number, None, 0.0)) for number in range(DRAWS))
        return UnchangedTrials(
            trials=DRAWS,
            warned=warned,
            planted=USUAL_CHANGE,
            detected=self.count_found(rounds, [keys[place] for place in chosen], USUAL_CHANGE),
        )

    def smallest_found(self, rounds: int, keys: Sequence[MetricKey]) -> float | None:
        """Search by halves: a larger change is found at least as often."""
        low, high = 0, len(PLANTED_CHANGES)
        while low < high:
            middle = (low + high) // 2
            if self.count_found(rounds, keys, PLANTED_CHANGES[middle]) >= POWER * DRAWS:
                high = middle
            else:
                low = middle + 1
        return PLANTED_CHANGES[low] if low < len(PLANTED_CHANGES) else None

    def count_found(self, rounds: int, keys: Sequence[MetricKey], effect: float) -> int:
        return sum(key.benchmark in self._judged(rounds, number, key, effect) for number, key in enumerate(keys))

    def _judged(self, rounds: int, number: int, key: MetricKey | None, effect: float) -> Collection[str]:
        """Judge the trial of this number: the same rounds and sides for every effect."""
        rng = np.random.default_rng((self._seed, number))
        chosen = rng.permutation(self.rounds)[:rounds].tolist()
        flips = rng.integers(2, size=rounds).astype(bool).tolist()
        made: tuple[list[Benchmark], list[Benchmark]] = ([], [])
        for pair in self._pairs:
            parts = [_groups(one) for one in pair]
            if any(place not in part for part in parts for place in chosen):
                continue
            for side, benchmarks in enumerate(made):
                own = [parts[side ^ flip][place] for place, flip in zip(chosen, flips, strict=True)]
                benchmarks.append(with_rounds(pair[side], own))
        baseline, target = (
            replace(run, benchmarks=tuple(benchmarks)) for run, benchmarks in zip(self._sides, made, strict=True)
        )
        return self._flagged(baseline, target if key is None else with_planted(target, key, effect))


def _groups(benchmark: Benchmark) -> dict[int, list[tuple[float, ...]]]:
    """The executions' samples by round."""
    by_round: dict[int, list[tuple[float, ...]]] = {}
    begin = 0
    for place, size in zip(benchmark.rounds, benchmark.group_sizes, strict=True):
        by_round.setdefault(place, []).append(benchmark.samples[begin : begin + size])
        begin += size
    return by_round


def with_rounds(benchmark: Benchmark, rounds: Sequence[Sequence[tuple[float, ...]]]) -> Benchmark:
    """Return the benchmark with these executions of each round instead of its own."""
    groups = [(number, group) for number, some in enumerate(rounds, start=1) for group in some]
    return replace(
        benchmark,
        samples=tuple(sample for _, group in groups for sample in group),
        group_sizes=tuple(len(group) for _, group in groups),
        rounds=tuple(number for number, _ in groups),
    )
