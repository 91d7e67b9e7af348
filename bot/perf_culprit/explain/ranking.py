"""Rank the methods of one revision by cost, with their share of each service."""

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from msgspec.structs import replace

from perf_culprit.errors import DataError, UsageError, did_you_mean
from perf_culprit.explain.tracer.trace_levels import MINIMUM_SHARE
from perf_culprit.model.call_tree import (
    CallNode,
    CallTree,
    Diagnosis,
    ImpactedService,
    LogReading,
    MethodSuspect,
    Profile,
    ProfileReading,
    ServiceStatistics,
)
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.read.logs.log_chunks import BLOCK_BYTES
from perf_culprit.read.logs.log_pattern import LinePattern
from perf_culprit.read.logs.log_reader import ReadLog, read_log
from perf_culprit.read.logs.merged_tree import RARE, MergedTree
from perf_culprit.read.logs.reading_settings import RankingSettings, ReadingSettings
from perf_culprit.read.logs.service_calls import ResponseTimes, count, merged, statistics


def distance_score(self_shares: Sequence[float], *, fluctuation_weight: float = 1.0) -> float:
    """RMS of the shares minus `fluctuation_weight` times their population standard deviation.

    `self_shares` (k,): the method's self time as a share of the time of each of the k services that run it, k >= 1. The
    root mean square makes few and many services comparable. The deviation reduces the effect of a single service,
    perhaps of a single workload. The score is negative only for a weight above 1. Source: [Z15] section 3.2; a weight
    of 1 is our choice, because the source specifies none.
    """
    mean = math.fsum(self_shares) / len(self_shares)
    mean_square = math.fsum(share**2 for share in self_shares) / len(self_shares)
    variance = math.fsum((share - mean) ** 2 for share in self_shares) / len(self_shares)
    return math.sqrt(mean_square) - fluctuation_weight * math.sqrt(variance)


def minimum_self_ms(trees: Iterable[CallTree], settings: RankingSettings) -> float:
    """Return the given absolute limit, or 1% of the mean response time over all calls."""
    if settings.minimum_self_ms is not None:
        return settings.minimum_self_ms
    counted = [(tree.total_ms, tree.calls) for tree in trees]
    calls = sum(calls for _, calls in counted)
    # A method with a smaller share does not justify a regression test, as none justifies a pass of a trace.
    return MINIMUM_SHARE * sum(total for total, _ in counted) / calls if calls else 0.0


def rank_suspects(trees: Sequence[CallTree], settings: RankingSettings) -> tuple[MethodSuspect, ...]:
    """Rank every method, the highest score first, methods of tiny absolute time after all others.

    A time is tiny if it is below the minimum self time per call in every service. In the source, most false positives
    have a large share of a service that is fast anyway, and their absolute times identify them ([Z15] 4.1.1).
    """
    limit_ms = minimum_self_ms(trees, settings)
    methods: dict[str, list[_Use]] = {}
    for tree in trees:
        for name, use in _uses(tree).items():
            methods.setdefault(name, []).append(use)
    suspects = [_suspect(name, uses, limit_ms=limit_ms, settings=settings) for name, uses in methods.items()]
    return tuple(sorted(suspects, key=lambda suspect: (suspect.tiny, -suspect.score, -suspect.self_ms, suspect.method)))


@dataclass(kw_only=True, slots=True)
class _Use:
    """One method in one tree. `with_callees_ms` counts a recursion once, at its top."""

    tree: CallTree
    total_ms: float
    calls: int = 0
    self_ms: float = 0.0
    with_callees_ms: float = 0.0
    longest_ms: float = 0.0

    @property
    def impact(self) -> ImpactedService:
        return ImpactedService(
            service=self.tree.service,
            self_share=self.self_ms / self.total_ms if self.total_ms else 0.0,
            children_share=max(0.0, self.with_callees_ms - self.self_ms) / self.total_ms if self.total_ms else 0.0,
            self_ms_per_call=self.self_ms / self.tree.calls,
        )


def _suspect(name: str, uses: Sequence[_Use], *, limit_ms: float, settings: RankingSettings) -> MethodSuspect:
    impacts = (use.impact for use in uses)
    services = sorted(impacts, key=lambda one: (-one.self_share, -one.children_share, one.service))
    calls, self_ms = sum(use.calls for use in uses), sum(use.self_ms for use in uses)
    return MethodSuspect(
        method=name,
        score=distance_score([one.self_share for one in services], fluctuation_weight=settings.fluctuation_weight),
        self_ms=self_ms,
        calls=calls,
        longest_ms=max(use.longest_ms for use in uses),
        self_ms_per_execution=self_ms / max(1, calls),
        tiny=all(one.self_ms_per_call < limit_ms for one in services),
        services=tuple(services),
    )


def _uses(tree: CallTree) -> dict[str, _Use]:
    uses: dict[str, _Use] = {}
    total_ms = tree.total_ms
    inside = inside_itself([node.method for node in tree.nodes], [node.parent for node in tree.nodes])
    for node, repeated in zip(tree.nodes, inside, strict=True):
        use = uses.setdefault(node.method, _Use(tree=tree, total_ms=total_ms))
        use.calls += node.calls
        use.self_ms += node.self_ms
        use.longest_ms = max(use.longest_ms, node.longest_ms)
        if not repeated:
            use.with_callees_ms += node.elapsed_ms
    return uses


def inside_itself(methods: Sequence[str], parents: Sequence[int | None]) -> list[bool]:
    """Return whether each node has an ancestor with the same method. Depth-first with a stack, so any depth works."""
    children: list[list[int]] = [[] for _ in methods]
    tops: list[int] = []
    for i, parent in enumerate(parents):
        (tops if parent is None else children[parent]).append(i)
    inside = [False] * len(methods)
    above: dict[str, int] = {}
    # ~i means leaving node i.
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


def rank_profiles(reading: ProfileReading, ranking: RankingSettings) -> Diagnosis:
    """Rank profiles; a repetition is a call of its service. Raises: DataError if profiles count different units.

    Without call counts, each path counts as one execution per repetition. Profiles lack the longest execution of a
    path: its mean replaces it.
    """
    units = sorted({profile.unit for profile in reading.profiles})
    if len(units) > 1:
        raise DataError(
            f"the profiles count {' and '.join(units)}, which cannot be ranked together",
            next_step="give profiles of one tool and one event",
        )
    trees = tuple(map(call_tree, reading.profiles))
    return Diagnosis(
        suspects=rank_suspects(trees, ranking),
        services=tuple(map(_statistics, reading.profiles)),
        reading=LogReading(
            lines=reading.records,
            executions=sum(node.calls for tree in trees for node in tree.nodes),
            unused={},
            examples=(),
            headless_calls=0,
            cut_calls=0,
            truncated_files=reading.truncated_files,
        ),
        fluctuation_weight=ranking.fluctuation_weight,
        minimum_self_ms=minimum_self_ms(trees, ranking),
        unit=units[0] if units else "ms",
        trees=tuple(tree.shown for tree in trees),
    )


def call_tree(profile: Profile) -> CallTree:
    """Add up the calls of one running program; of several runs, take the mean."""
    runs = 1 if profile.are_calls else profile.repetitions
    nodes = []
    for node in profile.nodes:
        calls = max(1, round((1.0 if node.calls is None else node.calls) * profile.repetitions / runs))
        elapsed_ms = math.fsum(node.elapsed_ms) / runs
        nodes.append(
            CallNode(
                method=node.method,
                parent=node.parent,
                calls=calls,
                elapsed_ms=elapsed_ms,
                self_ms=math.fsum(node.self_ms) / runs,
                longest_ms=elapsed_ms / calls,
            )
        )
    return CallTree(service=profile.service, calls=profile.repetitions // runs, variants=1, nodes=tuple(nodes))


def _statistics(profile: Profile) -> ServiceStatistics:
    """Statistics of the repetitions' total times."""
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
        all_calls=len(totals),
        variants=1,
    )


def functions_as_run(profiles: Sequence[Profile]) -> Run:
    """Return each function's own time over all of its paths: own times exclude changes in its callees [B17]."""
    benchmarks = []
    for profile in profiles:
        metric = Metric(name="own time", unit=profile.unit, direction=Direction.LOWER_IS_BETTER)
        times: dict[str, list[float]] = {}
        for node in profile.nodes:
            own = times.setdefault(node.method, [0.0] * profile.repetitions)
            for i, time in enumerate(node.self_ms):
                own[i] += time
        of = f"{profile.service}: " if len(profiles) > 1 else ""
        benchmarks += [Benchmark.of(metric=metric, name=of + name, samples=tuple(own)) for name, own in times.items()]
    return Run(benchmarks=tuple(benchmarks))


def diagnose_log(
    names: Sequence[str],
    *,
    pattern: LinePattern,
    reading: ReadingSettings,
    ranking: RankingSettings,
    workers: int = 2,
    executor: Executor | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> Diagnosis:
    """Diagnose log files; errors as in `read_log`."""
    log = read_log(
        names, pattern=pattern, settings=reading, workers=workers, executor=executor, block_bytes=block_bytes
    )
    trees = call_trees(log)
    suspects = rank_suspects(trees, ranking)
    return Diagnosis(
        suspects=suspects,
        services=tuple(
            statistics(
                service.decode("utf-8", "replace"),
                part.times,
                all_calls=part.calls,
                variants=count(part.variants),
                settings=reading,
            )
            for service, part in sorted(log.part.services.items())
        ),
        reading=_reading(log),
        fluctuation_weight=ranking.fluctuation_weight,
        minimum_self_ms=minimum_self_ms(trees, ranking),
        trees=tuple(tree.shown for tree in trees),
        method=None if reading.method is None else _executions(log, reading, [one.method for one in suspects]),
    )


def _executions(log: ReadLog, reading: ReadingSettings, methods: Sequence[str]) -> ServiceStatistics:
    """Statistics of the one method whose executions were timed, summed over the services."""
    name, times = reading.method or "", ResponseTimes()
    for part in log.part.services.values():
        times = merged(times, part.method_times, settings=reading)
    if not times.calls:
        raise UsageError(
            f"no execution of {name!r} in the log",
            place="--method",
            next_step=did_you_mean(name, methods, otherwise="give a method as the suspects name it"),
        )
    return statistics(name, times, all_calls=times.calls, variants=0, settings=reading)


def call_trees(log: ReadLog) -> tuple[CallTree, ...]:
    """Return one merged tree per service, by name."""
    return tuple(
        CallTree(
            service=service.decode("utf-8", "replace"),
            calls=part.calls,
            variants=count(part.variants),
            nodes=_nodes(part.tree),
        )
        for service, part in sorted(log.part.services.items())
    )


def _nodes(tree: MergedTree) -> tuple[CallNode, ...]:
    """Add the methods of rare paths as nodes with their own time; the placeholder of these paths then has none."""
    nodes = tree.nodes()
    if not tree.rare:
        return nodes
    rare = RARE.decode()
    return (
        *(replace(node, self_ms=0.0) if node.method == rare else node for node in nodes),
        *tree.rare_methods(len(nodes)),
    )


def _reading(log: ReadLog) -> LogReading:
    part = log.part
    return LogReading(
        lines=part.lines,
        executions=sum(sum(service.tree.calls) for service in part.services.values()),
        unused=dict(sorted(part.unused.items())),
        examples=part.examples,
        headless_calls=sum(service.headless_calls for service in part.services.values()),
        cut_calls=part.cut_calls,
        rare_paths=sum(service.tree.pruned for service in part.services.values()),
        truncated_files=log.truncated_files,
    )
