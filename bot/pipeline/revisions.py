"""Logs or profiles of two revisions -> compared call trees, with what the commit between them touched."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bot import git
from bot.codec.diagnosis import DIAGNOSIS_FORMAT, decode_costs
from bot.codec.tree_comparison import decode_tree_comparison
from bot.collect import read_file
from bot.diagnose import ReadingSettings, load_pattern, read_log
from bot.diagnose.changed import touched_by_commit, touched_code
from bot.diagnose.comparison import ComparisonSettings, compare_logs, compare_profiles
from bot.diagnose.log import ReadLog
from bot.diagnose.profiles import read_profiles
from bot.errors import UsageError
from bot.model.profile import ProfileReading
from bot.model.reason import Caveat, Reason, because
from bot.model.report import Report
from bot.model.touched import Touched
from bot.model.tree_comparison import TreeComparison
from bot.progress import doing
from bot.report.flame import collapsed_difference
from bot.report.html import flame_page


@dataclass(frozen=True, kw_only=True, slots=True)
class RevisionsPlan:
    """`pattern`: how to read execution logs; None where the files are profiles of `format`.

    `commit`: the one that introduced the change; or `base` and `head`, of a range. All need a repository.
    """

    baseline: Sequence[str]
    target: Sequence[str]
    pattern: str | None = None
    format: str = "auto"
    trusted: bool = False
    same_work: bool = False
    alpha: float = 0.01
    minimum_effect: float = 0.01
    repository: Path | None = None
    commit: str | None = None
    base: str | None = None
    head: str | None = None
    workers: int = 2


def diagnose_revisions(plan: RevisionsPlan) -> TreeComparison:
    touched = _touched(plan)
    doing("comparing the call trees of two revisions")
    settings = ComparisonSettings(alpha=plan.alpha, minimum_effect=plan.minimum_effect, same_work=plan.same_work)
    comparison = _of_profiles(plan, settings, touched) if plan.pattern is None else _of_logs(plan, settings, touched)
    return replace(comparison, commit=touched.head if touched is not None and plan.commit is not None else None)


def flame_graph(comparison: TreeComparison, *, is_page: bool) -> bytes:
    return flame_page(comparison).encode() if is_page else collapsed_difference(comparison)


def with_diagnosis(report: Report, name: str) -> Report:
    """The report with what `diagnose … --json` wrote into the file, of two revisions or of one."""
    data = read_file(Path(name)).data
    if DIAGNOSIS_FORMAT.encode() in data[:_FORMAT_BYTES]:
        return replace(report, costs=decode_costs(data, place=name))
    return replace(report, diagnosis=decode_tree_comparison(data, place=name))


# `format` is the first member of what we write.
_FORMAT_BYTES: Final = 200


def _of_logs(plan: RevisionsPlan, settings: "ComparisonSettings", touched: Touched | None) -> TreeComparison:
    pattern = load_pattern(plan.pattern or "")
    reading = ReadingSettings(squares=True)
    baseline, target = (
        read_log(names, pattern=pattern, settings=reading, workers=plan.workers)
        for names in (plan.baseline, plan.target)
    )
    comparison = compare_logs(baseline, target, settings=settings, touched=touched)
    return replace(
        comparison, notes=(*comparison.notes, *_log_notes("baseline", baseline), *_log_notes("target", target))
    )


def _log_notes(side: str, log: ReadLog) -> Iterator[Reason]:
    if unused := sum(log.part.unused.values()):
        yield because(Caveat.LINES_UNUSED, side=side, unused=unused, count=log.part.lines)
    yield from _damaged(side, log.truncated_files)


def _of_profiles(plan: RevisionsPlan, settings: "ComparisonSettings", touched: Touched | None) -> TreeComparison:
    baseline, target = (
        read_profiles(names, format=plan.format, trusted=plan.trusted) for names in (plan.baseline, plan.target)
    )
    comparison = compare_profiles(baseline.profiles, target.profiles, settings=settings, touched=touched)
    return replace(comparison, notes=(*comparison.notes, *_notes("baseline", baseline), *_notes("target", target)))


def _notes(side: str, reading: ProfileReading) -> Iterator[Reason]:
    yield from (because(note.code, side=side, **note.arguments) for note in reading.notes)
    if unused := sum(count for _, count in reading.unused):
        yield because(Caveat.RECORDS_UNUSED, side=side, unused=unused, count=reading.records)
    yield from _damaged(side, reading.truncated_files)


def _damaged(side: str, names: Sequence[str]) -> Iterator[Reason]:
    return (because(Caveat.FILE_DAMAGED, side=side, name=name) for name in names)


def _touched(plan: RevisionsPlan) -> Touched | None:
    if plan.commit is None and plan.head is None and plan.base is None:
        return None
    if (plan.commit is None) == (plan.base is None) or (plan.base is None) != (plan.head is None):
        raise UsageError(
            "the changed code is that of one commit or of one range",
            place="diagnose",
            next_step="give --commit, or --base and --head",
        )
    repository = plan.repository or Path()
    if plan.commit is not None:
        return touched_by_commit(repository, git.resolve_commit(repository, plan.commit))
    ends = [git.resolve_commit(repository, end) for end in (plan.base, plan.head) if end is not None]
    return touched_code(repository, base=ends[0], head=ends[1], callers=True)
