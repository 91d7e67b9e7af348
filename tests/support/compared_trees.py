"""Profiles to compare: trees in words, with drawn or given times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perf_culprit.model.call_tree import Profile, ProfileNode
from perf_culprit.model.report import ComparedNode, NodeState, SuspectReason, TreeComparison

REPETITIONS = 20


@dataclass(kw_only=True)
class Tree:
    """`own`: path ("foo>doo>fem") -> own time of one call; `calls`: path -> calls per repetition, 1 where not given.

    Every repetition varies all own times by the noise, independently.
    """

    own: Mapping[str, float]
    calls: Mapping[str, float] = field(default_factory=dict)
    service: str = "test"
    unit: str = "ms"
    noise: float = 0.02
    counted: bool = True

    def profile(self, rng: np.random.Generator, repetitions: int = REPETITIONS) -> Profile:
        paths = list(self.own)
        parents = [None if ">" not in path else paths.index(path.rpartition(">")[0]) for path in paths]
        own = [
            self.own[path] * self.calls.get(path, 1) * (1 + self.noise * rng.standard_normal(repetitions))
            for path in paths
        ]
        elapsed = [times.copy() for times in own]
        for i in range(len(paths) - 1, -1, -1):
            parent = parents[i]
            if parent is not None:
                elapsed[parent] += elapsed[i]
        return Profile(
            service=self.service,
            unit=self.unit,
            repetitions=repetitions,
            nodes=tuple(
                ProfileNode(
                    method=path.rpartition(">")[2],
                    parent=parent,
                    elapsed_ms=tuple(elapsed[i].tolist()),
                    self_ms=tuple(own[i].tolist()),
                    calls=self.calls.get(path, 1) if self.counted else None,
                )
                for i, (path, parent) in enumerate(zip(paths, parents, strict=True))
            ),
        )


def sampled(counts: Mapping[str, int], *, service: str = "app") -> Profile:
    """Return the profile of a sampling profiler: own samples per path."""
    return Tree(
        own={path: float(count) for path, count in counts.items()},
        service=service,
        unit="samples",
        noise=0.0,
        counted=False,
    ).profile(np.random.default_rng(0), 1)


def by_path(comparison: TreeComparison, service: int = 0) -> dict[str, ComparedNode]:
    named: list[str] = []
    nodes = comparison.services[service].nodes
    for node in nodes:
        named.append(node.method if node.parent is None else f"{named[node.parent]}>{node.method}")
    return dict(zip(named, nodes, strict=True))


def slower(comparison: TreeComparison) -> list[str]:
    return [path for path, node in by_path(comparison).items() if node.state is NodeState.SLOWER]


def reasons(comparison: TreeComparison) -> dict[str, Sequence[SuspectReason]]:
    return {one.method: one.reasons for one in comparison.suspects}
