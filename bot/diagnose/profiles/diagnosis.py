"""Profiles of one revision to ranked suspects, by the ranking that logs have."""

import math

from bot.diagnose.ranking import minimum_self_ms, rank_suspects
from bot.diagnose.settings import RankingSettings
from bot.errors import DataError
from bot.model.call_tree import CallNode, CallTree, Diagnosis, LogReading, ServiceStatistics
from bot.model.profile import Profile, ProfileReading


def diagnose_profiles(reading: ProfileReading, ranking: RankingSettings) -> Diagnosis:
    """A repetition is a call of its service. Raises: DataError where profiles count different things.

    Where the source does not count calls, each path is taken as executed once per repetition. A profile does not know
    the longest execution of a path: its mean stands there.
    """
    units = sorted({profile.unit for profile in reading.profiles})
    if len(units) > 1:
        raise DataError(
            f"the profiles count {' and '.join(units)}, which no one order has",
            next_step="give profiles of one tool and one event",
        )
    trees = tuple(map(call_tree, reading.profiles))
    return Diagnosis(
        suspects=rank_suspects(trees, ranking),
        services=tuple(map(_statistics, reading.profiles)),
        trees=trees,
        reading=LogReading(
            lines=reading.records,
            executions=sum(node.calls for tree in trees for node in tree.nodes),
            unused=(),
            examples=(),
            headless_calls=0,
            cut_calls=0,
            truncated_files=reading.truncated_files,
        ),
        fluctuation_weight=ranking.fluctuation_weight,
        minimum_self_ms=minimum_self_ms(trees, ranking),
        unit=units[0] if units else "ms",
    )


def call_tree(profile: Profile) -> CallTree:
    """All repetitions added up."""
    nodes = []
    for node in profile.nodes:
        per_repetition = 1.0 if node.calls is None else node.calls
        calls = max(1, round(per_repetition * profile.repetitions))
        elapsed_ms = math.fsum(node.elapsed_ms)
        nodes.append(
            CallNode(
                method=node.method,
                parent=node.parent,
                calls=calls,
                elapsed_ms=elapsed_ms,
                self_ms=math.fsum(node.self_ms),
                longest_ms=elapsed_ms / calls,
            )
        )
    return CallTree(service=profile.service, calls=profile.repetitions, variants=1, nodes=tuple(nodes))


def _statistics(profile: Profile) -> ServiceStatistics:
    """Of the repetitions' total times."""
    totals = [
        math.fsum(node.elapsed_ms[i] for node in profile.nodes if node.parent is None)
        for i in range(profile.repetitions)
    ]
    mean = math.fsum(totals) / len(totals)
    return ServiceStatistics(
        service=profile.service,
        calls=len(totals),
        min_ms=min(totals),
        max_ms=max(totals),
        mean_ms=mean,
        standard_deviation_ms=math.sqrt(math.fsum((total - mean) ** 2 for total in totals) / len(totals)),
        slowest=(),
        windows=(),
    )
