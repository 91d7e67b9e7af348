"""From methods to the services that run them: what to test again when a suspect changes [Z15]."""

from collections.abc import Collection, Sequence

from bot.diagnose.comparison.observed import Observed
from bot.diagnose.ranking import rank_suspects
from bot.diagnose.settings import RankingSettings
from bot.model.call_tree import CallNode, CallTree, ImpactedService
from bot.model.tree_comparison import SuspectShare


def inverted_index(services: Sequence[Observed]) -> dict[str, tuple[ImpactedService, ...]]:
    """Per method the services that run it, with the share of its own time and of what it calls, largest first."""
    ranked = rank_suspects([_call_tree(one) for one in services if one.nodes], RankingSettings(minimum_self_ms=0.0))
    return {suspect.method: suspect.services for suspect in ranked}


def shares_in(methods: Collection[str], services: Sequence[Observed]) -> tuple[SuspectShare, ...]:
    """Per service the share of its time inside any of `methods`, callees included, counted once; largest first."""
    shares = [SuspectShare(service=one.service, share=_share(one, methods)) for one in services]
    return tuple(sorted((one for one in shares if one.share > 0), key=lambda one: (-one.share, one.service)))


def _share(observed: Observed, methods: Collection[str]) -> float:
    inside: list[bool] = []
    time = 0.0
    for node in observed.nodes:
        above = node.parent is not None and inside[node.parent]
        hit = node.method in methods
        inside.append(above or hit)
        if hit and not above:
            time += node.elapsed.mean
    return min(1.0, time / observed.total) if observed.total > 0 else 0.0


def _call_tree(observed: Observed) -> CallTree:
    return CallTree(
        service=observed.service,
        calls=max(1, observed.repetitions),
        variants=1,
        nodes=tuple(
            CallNode(
                method=node.method,
                parent=node.parent,
                calls=round(node.calls or 0),
                elapsed_ms=node.elapsed.mean * observed.repetitions,
                self_ms=max(0.0, node.own.mean) * observed.repetitions,
                longest_ms=0.0,
            )
            for node in observed.nodes
        ),
    )
