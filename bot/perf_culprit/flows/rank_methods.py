"""read -> explain: logs, profiles or traces of one revision -> suspects and impacted services.

Separate from the comparison of two revisions, whose imports take as long as half a million lines of a log.
"""

from pathlib import Path

from perf_culprit.commands.analysis_requests import Diagnose
from perf_culprit.explain.ranking import diagnose_log, rank_profiles
from perf_culprit.model.call_tree import Diagnosis
from perf_culprit.progress import doing
from perf_culprit.read.logs.log_chunks import STDIN_NAME
from perf_culprit.read.logs.log_pattern import load_pattern
from perf_culprit.read.logs.log_reader import CLUSTER_BLOCK_BYTES, open_cluster
from perf_culprit.read.logs.reading_settings import RankingSettings, ReadingSettings
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.say.diagnosis_text import RECORD_FAULTS
from perf_culprit.say.inert import plain
from perf_culprit.say.reason_text import sentence


def diagnose_logs(options: Diagnose) -> Diagnosis:
    """Diagnose execution logs of one revision."""
    pattern = load_pattern(options.pattern or "")
    doing("reading logs")
    reading = ReadingSettings(window_s=options.window_s, method=options.method)
    ranking = RankingSettings(fluctuation_weight=options.fluctuation_weight, minimum_self_ms=options.minimum_self_ms)
    if options.cluster is None:
        return diagnose_log(options.log, pattern=pattern, reading=reading, ranking=ranking, workers=options.workers)
    # Workers run in folders of their own.
    names = [name if name == STDIN_NAME else str(Path(name).absolute()) for name in options.log]
    with open_cluster(options.cluster, names) as cluster:
        return diagnose_log(
            names,
            pattern=pattern,
            reading=reading,
            ranking=ranking,
            workers=cluster.workers,
            executor=cluster.executor,
            block_bytes=CLUSTER_BLOCK_BYTES,
        )


def diagnose_profiles(options: Diagnose) -> tuple[Diagnosis, tuple[str, ...]]:
    """Return the diagnosis and remarks for the user: the meaning of the numbers, and unused records with the cause."""
    reading = read_profiles(options.profile, format=options.format, trusted=options.trusted)
    ranking = RankingSettings(fluctuation_weight=options.fluctuation_weight, minimum_self_ms=options.minimum_self_ms)
    unused = [f"{count:,} not used: {RECORD_FAULTS[fault]}" for fault, count in reading.unused]
    examples = [f"{example.place}: {example.text}" for example in reading.examples]
    remarks = [plain(text, limit=300) for text in (*map(sentence, reading.notes), *unused, *examples)]
    return rank_profiles(reading, ranking), tuple(remarks)
