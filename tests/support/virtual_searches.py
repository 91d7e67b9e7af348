"""Searches of virtual commits for tests, seeded, on the simulator that the benchmarks use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from benchmarks.bisect.machine import NOISES, Machine, chain, levels_of, offsets, play, stream
from perf_culprit.model.bisection import CommitRange, Outcome, Phase, SearchSettings
from perf_culprit.search.search import Search

NOTHING = "nothing"  # the noise of a perfect oracle


@dataclass(frozen=True, kw_only=True, slots=True)
class Virtual:
    """A range with log `effects` by candidate index (0..N-1), measured with `noise`; rounds differ by `offset_sd`.

    `levels` by commit name replaces `effects` if the changes do not reach exactly a commit and its descendants.
    """

    commit_range: CommitRange
    effects: Mapping[int, float] = field(default_factory=dict)
    noise: str = "3%"
    offset_sd: float = 0.0
    broken: frozenset[str] = frozenset()
    levels: Mapping[str, float] | None = None

    def machine(self, seed: int) -> Machine:
        generator = np.random.default_rng([seed, 5])
        noise: Iterator[float] = repeat(0.0) if self.noise == NOTHING else stream(NOISES[self.noise], generator)
        return Machine(
            levels=self.levels or levels_of(self.commit_range, self.effects),
            noise=noise,
            offset=offsets(generator, self.offset_sd),
            broken=self.broken,
        )

    def start(
        self,
        seed: int,
        *,
        prior: Mapping[str, float] | None = None,
        stored: Sequence[Mapping[str, Sequence[float]]] = (),
        **settings: Any,
    ) -> Search:
        chosen = SearchSettings(seed=seed, **settings)
        return Search.start(self.commit_range, settings=chosen, prior=prior, stored=stored)

    def search(self, seed: int, *, jobs: int = 1, **options: Any) -> Outcome:
        """Return the outcome of one whole search; `options` are settings, prior and stored rounds."""
        return play(self.start(seed, **options), self.machine(seed), k=jobs)

    def culprits(self) -> list[str]:
        return [self.commit_range.commits[place] for place in sorted(self.effects)]


def names(outcome: Outcome) -> list[str]:
    return [culprit.commit for culprit in outcome.culprits]


def planted(size: int, *, effect: float, seed: int, **more: Any) -> Virtual:
    """Return a chain with one step, at a position drawn from the seed."""
    culprit = int(np.random.default_rng([seed, 9]).integers(0, size))
    return Virtual(commit_range=chain(size), effects={culprit: float(np.log1p(effect))}, **more)


def steps(commit_range: CommitRange, changes: Mapping[int, float], **more: Any) -> Virtual:
    """Return a range with relative changes by candidate index."""
    effects = {place: float(np.log1p(change)) for place, change in changes.items()}
    return Virtual(commit_range=commit_range, effects=effects, **more)


def reproduced(virtual: Virtual, seed: int, **settings: Any) -> Search:
    """Return a search that has reproduced the change at the ends and measured nothing in between."""
    search, machine = virtual.start(seed, **settings), virtual.machine(seed)
    # Several rounds at once: after one round of the ends a search may begin on the presumption that all is quiet.
    for job in search.propose(2):
        search.record(job.id, *machine.run(job.commits))
    while search.state.phase is Phase.REPRODUCE:
        for job in search.propose():
            search.record(job.id, *machine.run(job.commits))
    return search


def suspects_of(search: Search, commits: Sequence[str]) -> list[str]:
    """Return the commits that a round measures in addition to the ends."""
    commit_range = search.state.commit_range
    return [commit for commit in commits if commit not in {commit_range.good, commit_range.bad}]
