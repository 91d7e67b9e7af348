"""The stage: log files of one revision in, suspects and impacted services out."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace

from bot.diagnose.blocks import BLOCK_BYTES
from bot.diagnose.log import ReadLog, read_log
from bot.diagnose.merged_tree import RARE, MergedTree
from bot.diagnose.pattern import LinePattern
from bot.diagnose.ranking import minimum_self_ms, rank_suspects
from bot.diagnose.response_times import statistics
from bot.diagnose.settings import RankingSettings, ReadingSettings
from bot.diagnose.variants import count
from bot.model.call_tree import CallNode, CallTree, Diagnosis, LogReading


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
    """Errors as in `read_log`."""
    log = read_log(
        names, pattern=pattern, settings=reading, workers=workers, executor=executor, block_bytes=block_bytes
    )
    trees = call_trees(log)
    return Diagnosis(
        suspects=rank_suspects(trees, ranking),
        services=tuple(
            statistics(service.decode("utf-8", "replace"), part.times, settings=reading)
            for service, part in sorted(log.part.services.items())
        ),
        trees=trees,
        reading=_reading(log),
        fluctuation_weight=ranking.fluctuation_weight,
        minimum_self_ms=minimum_self_ms(trees, ranking),
    )


def call_trees(log: ReadLog) -> tuple[CallTree, ...]:
    """One merged tree per service, by name."""
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
    """With the methods of rare paths: their time is theirs there, not that of the paths that stand for them."""
    nodes = tree.nodes()
    if not tree.rare:
        return nodes
    shown = RARE.decode()
    return (
        *(replace(node, self_ms=0.0) if node.method == shown else node for node in nodes),
        *tree.rare_methods(len(nodes)),
    )


def _reading(log: ReadLog) -> LogReading:
    part = log.part
    return LogReading(
        lines=part.lines,
        executions=sum(sum(service.tree.calls) for service in part.services.values()),
        unused=tuple(sorted(part.unused.items())),
        examples=part.examples,
        headless_calls=sum(service.headless_calls for service in part.services.values()),
        cut_calls=part.cut_calls,
        rare_paths=sum(service.tree.pruned for service in part.services.values()),
        truncated_files=log.truncated_files,
    )
