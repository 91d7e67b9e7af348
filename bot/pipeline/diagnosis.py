"""Execution logs or profiles of one revision -> suspects and impacted services."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.diagnose import RankingSettings, ReadingSettings, diagnose_log, load_pattern
from bot.diagnose.blocks import STDIN_NAME
from bot.diagnose.cluster import CLUSTER_BLOCK_BYTES, open_cluster
from bot.diagnose.profiles import diagnosis, read_profiles
from bot.model.call_tree import Diagnosis
from bot.progress import doing
from bot.report.diagnosis import RECORD_FAULTS
from bot.report.inert import plain
from bot.report.reasons import sentence


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagnosisPlan:
    """`pattern`: a preset's name or a file. `minimum_self_ms`: None for a share of the mean response time.

    `cluster`: the address of a Dask scheduler whose workers share the work instead of `workers` processes here.
    """

    logs: Sequence[str]
    pattern: str
    fluctuation_weight: float = 1.0
    minimum_self_ms: float | None = None
    window_s: float = 60.0
    workers: int = 2
    cluster: str | None = None


def diagnose(plan: DiagnosisPlan) -> Diagnosis:
    pattern = load_pattern(plan.pattern)
    doing("reading logs")
    reading = ReadingSettings(window_s=plan.window_s)
    ranking = RankingSettings(fluctuation_weight=plan.fluctuation_weight, minimum_self_ms=plan.minimum_self_ms)
    if plan.cluster is None:
        return diagnose_log(plan.logs, pattern=pattern, reading=reading, ranking=ranking, workers=plan.workers)
    # Workers have folders of their own.
    names = [name if name == STDIN_NAME else str(Path(name).absolute()) for name in plan.logs]
    with open_cluster(plan.cluster, names) as cluster:
        return diagnose_log(
            names,
            pattern=pattern,
            reading=reading,
            ranking=ranking,
            workers=cluster.workers,
            executor=cluster.executor,
            block_bytes=CLUSTER_BLOCK_BYTES,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfilePlan:
    """`format`: an id of PROFILE_READERS or `auto`. `trusted`: the files come from no stranger."""

    profiles: Sequence[str]
    format: str = "auto"
    trusted: bool = False
    fluctuation_weight: float = 1.0
    minimum_self_ms: float | None = None


def diagnose_profiles(plan: ProfilePlan) -> tuple[Diagnosis, tuple[str, ...]]:
    """The diagnosis, and remarks for the user: what the numbers mean, what was not used and why."""
    reading = read_profiles(plan.profiles, format=plan.format, trusted=plan.trusted)
    ranking = RankingSettings(fluctuation_weight=plan.fluctuation_weight, minimum_self_ms=plan.minimum_self_ms)
    unused = [f"{count:,} not used: {RECORD_FAULTS[fault]}" for fault, count in reading.unused]
    examples = [f"{example.place}: {example.text}" for example in reading.examples]
    remarks = [plain(text, limit=300) for text in (*map(sentence, reading.notes), *unused, *examples)]
    return diagnosis.diagnose_profiles(reading, ranking), tuple(remarks)
