"""Which methods cost most over the services that run them, and what that means to each service."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.settings import RankingSettings
from bot.model.call_tree import CallTree, ImpactedService, MethodSuspect

# A method that takes less of the mean response time is no reason for a regression test.
MINIMUM_SHARE_OF_RESPONSE: Final = 0.01


def distance_score(self_shares: Sequence[float], *, fluctuation_weight: float = 1.0) -> float:
    """RMS of the shares less `fluctuation_weight` times their population standard deviation.

    `self_shares` (k,): the method's self time as a share of the time of each of the k services that run it, k >= 1.
    The root mean square makes few and many services comparable; the deviation takes back what one service alone,
    maybe one workload alone, adds. Negative only for a weight above 1. Source: [Z15] section 3.2; a weight of 1 is
    our choice, as the source names none.
    """
    mean = math.fsum(self_shares) / len(self_shares)
    mean_square = math.fsum(share**2 for share in self_shares) / len(self_shares)
    variance = math.fsum((share - mean) ** 2 for share in self_shares) / len(self_shares)
    return math.sqrt(mean_square) - fluctuation_weight * math.sqrt(variance)


def minimum_self_ms(trees: Iterable[CallTree], settings: RankingSettings) -> float:
    """The given absolute limit, or 1% of the mean response time over all calls."""
    if settings.minimum_self_ms is not None:
        return settings.minimum_self_ms
    counted = [(tree.total_ms, tree.calls) for tree in trees]
    calls = sum(calls for _, calls in counted)
    return MINIMUM_SHARE_OF_RESPONSE * sum(total for total, _ in counted) / calls if calls else 0.0


def rank_suspects(trees: Sequence[CallTree], settings: RankingSettings) -> tuple[MethodSuspect, ...]:
    """Every method, the highest score first, methods of tiny absolute time after all others.

    Tiny: below the minimum self time per call in every service; there many short executions add up. The source found
    that most of its false positives hold a large share of a service that is quick anyway, and that their absolute
    times tell them apart ([Z15] 4.1.1).
    """
    limit_ms = minimum_self_ms(trees, settings)
    methods: dict[str, _Method] = {}
    for tree in trees:
        total_ms = tree.total_ms
        for name, use in _uses(tree).items():
            methods.setdefault(name, _Method()).add(tree, use, total_ms=total_ms)
    suspects = [method.suspect(name, limit_ms=limit_ms, settings=settings) for name, method in methods.items()]
    return tuple(sorted(suspects, key=lambda suspect: (suspect.tiny, -suspect.score, -suspect.self_ms, suspect.method)))


@dataclass(kw_only=True, slots=True)
class _Use:
    """One method in one tree. `with_callees_ms` counts a recursion once, at its top."""

    calls: int = 0
    self_ms: float = 0.0
    with_callees_ms: float = 0.0
    longest_ms: float = 0.0


@dataclass(kw_only=True, slots=True)
class _Method:
    calls: int = 0
    self_ms: float = 0.0
    longest_ms: float = 0.0
    services: list[ImpactedService] = field(default_factory=list)

    def add(self, tree: CallTree, use: _Use, *, total_ms: float) -> None:
        self.calls += use.calls
        self.self_ms += use.self_ms
        self.longest_ms = max(self.longest_ms, use.longest_ms)
        self.services.append(
            ImpactedService(
                service=tree.service,
                self_share=use.self_ms / total_ms if total_ms else 0.0,
                children_share=max(0.0, use.with_callees_ms - use.self_ms) / total_ms if total_ms else 0.0,
                self_ms_per_call=use.self_ms / tree.calls,
            )
        )

    def suspect(self, name: str, *, limit_ms: float, settings: RankingSettings) -> MethodSuspect:
        services = sorted(self.services, key=lambda one: (-one.self_share, -one.children_share, one.service))
        return MethodSuspect(
            method=name,
            score=distance_score([one.self_share for one in services], fluctuation_weight=settings.fluctuation_weight),
            self_ms=self.self_ms,
            calls=self.calls,
            longest_ms=self.longest_ms,
            tiny=all(one.self_ms_per_call < limit_ms for one in services),
            services=tuple(services),
        )


def _uses(tree: CallTree) -> dict[str, _Use]:
    uses: dict[str, _Use] = {}
    inside = inside_itself([node.method for node in tree.nodes], [node.parent for node in tree.nodes])
    for node, repeated in zip(tree.nodes, inside, strict=True):
        use = uses.setdefault(node.method, _Use())
        use.calls += node.calls
        use.self_ms += node.self_ms
        use.longest_ms = max(use.longest_ms, node.longest_ms)
        if not repeated:
            use.with_callees_ms += node.elapsed_ms
    return uses


def inside_itself(methods: Sequence[str], parents: Sequence[int | None]) -> list[bool]:
    """Per node: whether a node above it has the same method. Depth first with a stack: no depth is too deep."""
    children: list[list[int]] = [[] for _ in methods]
    tops: list[int] = []
    for i, parent in enumerate(parents):
        (tops if parent is None else children[parent]).append(i)
    inside = [False] * len(methods)
    above: dict[str, int] = {}
    # ~i leaves node i.
    stack = [*reversed(tops)]
    while stack:
        i = stack.pop()
        if i < 0:
            above[methods[~i]] -= 1
            continue
        inside[i] = above.get(methods[i], 0) > 0
        above[methods[i]] = above.get(methods[i], 0) + 1
        stack += [~i, *children[i]]
    return inside
