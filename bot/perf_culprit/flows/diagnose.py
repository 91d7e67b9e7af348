"""read -> explain: logs, profiles or traces of two revisions -> compared call trees, suspects and impacted services."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.analysis_requests import Diagnose
from perf_culprit.config.units import parse_change
from perf_culprit.errors import UsageError
from perf_culprit.explain.changed_code import touched_by_commit, touched_code
from perf_culprit.explain.compare_trees import compare_logs, compare_profiles
from perf_culprit.files import replace_file
from perf_culprit.flows.compared_commits import commits_between
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.call_tree import Diagnosis, ProfileReading, Touched, decode_costs
from perf_culprit.model.json_files import format_of
from perf_culprit.model.reason import Caveat, Reason, because
from perf_culprit.model.report import Report, TreeComparison, decode_tree_comparison, encode_tree_comparison
from perf_culprit.progress import doing
from perf_culprit.read.logs.log_pattern import load_pattern
from perf_culprit.read.logs.log_reader import ReadLog, read_log
from perf_culprit.read.logs.reading_settings import ComparisonSettings, ReadingSettings
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.results.source import read_file
from perf_culprit.say.call_tree_pictures import collapsed_difference
from perf_culprit.say.report_page import flame_page


def diagnose_revisions(options: Diagnose) -> TreeComparison:
    touched = _touched_functions(options)
    doing("comparing the call trees of two revisions")
    settings = ComparisonSettings(same_work=options.same_work)
    if options.minimum_effect is not None:
        effect = parse_change(options.minimum_effect, name="--minimum-effect")
        settings = dataclasses.replace(settings, minimum_effect=effect)
    comparison = (
        _of_profiles(options, settings, touched) if options.pattern is None else _of_logs(options, settings, touched)
    )
    if touched is None or options.commit is None:
        return replace(comparison, commit=None)
    return _with_commit(comparison, options.repository, touched.head)


def _with_commit(comparison: TreeComparison, repository: Path, commit: str) -> TreeComparison:
    author, *_ = git.authorship(repository, commit)
    ((_, subject),) = git.headlines(repository, [commit]).values()
    return replace(
        comparison,
        commit=commit,
        subject=subject[: ARTIFACT_LIMITS.subject_characters],
        author=author[: ARTIFACT_LIMITS.subject_characters],
    )


def flame_graph(comparison: TreeComparison, *, is_page: bool) -> bytes:
    return flame_page(comparison).encode() if is_page else collapsed_difference(comparison)


def with_diagnosis(report: Report, name: str) -> Report:
    """Return the report with the diagnosis in a file of `diagnose … --json`, of two revisions or of one."""
    data = read_file(Path(name)).data
    if format_of(Diagnosis)[0].encode() in data[:_FORMAT_BYTES]:
        return replace(report, costs=decode_costs(data, place=name))
    return replace(report, diagnosis=decode_tree_comparison(data, place=name))


# Our files begin with the member `format`.
_FORMAT_BYTES: Final = 200


def _of_logs(options: Diagnose, settings: "ComparisonSettings", touched: Touched | None) -> TreeComparison:
    pattern = load_pattern(options.pattern or "")
    reading = ReadingSettings(squares=True)
    baseline, target = (
        read_log(names, pattern=pattern, settings=reading, workers=options.workers)
        for names in (options.baseline, options.target)
    )
    comparison = compare_logs(baseline, target, settings=settings, touched=touched)
    return replace(
        comparison, notes=(*comparison.notes, *_log_notes("baseline", baseline), *_log_notes("target", target))
    )


def _log_notes(side: str, log: ReadLog) -> Iterator[Reason]:
    if unused := sum(log.part.unused.values()):
        yield because(Caveat.LINES_UNUSED, side=side, unused=unused, count=log.part.lines)
    yield from _damage_notes(side, log.truncated_files)


def _of_profiles(options: Diagnose, settings: "ComparisonSettings", touched: Touched | None) -> TreeComparison:
    baseline, target = (
        read_profiles(names, format=options.format, trusted=options.trusted)
        for names in (options.baseline, options.target)
    )
    comparison = compare_profiles(baseline.profiles, target.profiles, settings=settings, touched=touched)
    return replace(comparison, notes=(*comparison.notes, *_notes("baseline", baseline), *_notes("target", target)))


def _notes(side: str, reading: ProfileReading) -> Iterator[Reason]:
    yield from (because(note.code, side=side, **note.arguments) for note in reading.notes)
    if unused := sum(count for _, count in reading.unused):
        yield because(Caveat.RECORDS_UNUSED, side=side, unused=unused, count=reading.records)
    yield from _damage_notes(side, reading.truncated_files)


def _damage_notes(side: str, names: Sequence[str]) -> Iterator[Reason]:
    return (because(Caveat.FILE_DAMAGED, side=side, name=name) for name in names)


def _touched_functions(options: Diagnose) -> Touched | None:
    if options.commit is None and options.head is None and options.base is None:
        return None
    if (options.commit is None) == (options.base is None) or (options.base is None) != (options.head is None):
        raise UsageError(
            "the changed code is that of one commit or of one range",
            place="diagnose",
            next_step="give --commit, or --base and --head",
        )
    repository = options.repository
    if options.commit is not None:
        return touched_by_commit(repository, git.resolve_commit(repository, options.commit))
    ends = [git.resolve_commit(repository, end) for end in (options.base, options.head) if end is not None]
    return touched_code(repository, base=ends[0], head=ends[1], callers=True)


DIAGNOSIS_NAME: Final = "diagnosis"
DIAGNOSIS_FILE: Final = f"{DIAGNOSIS_NAME}.json"


def diagnose_traces(
    repository: Path, commits: Mapping[str, str], *, traces: Mapping[str, Sequence[Path]], by: str, output: Path
) -> tuple[Path, ...]:
    """Compare each target's traces with the baseline's, and add the code changed in between. Write a file per target.

    If one commit alone lies in between, it introduced the change. `by` is the means of the traces.
    """
    (baseline, base), *targets = commits.items()
    files = []
    for name, head in targets:
        commit = _only_commit(repository, base, head)
        comparison = diagnose_revisions(
            Diagnose(
                baseline=tuple(map(str, traces[baseline])),
                target=tuple(map(str, traces[name])),
                repository=repository,
                commit=commit,
                base=None if commit else base,
                head=None if commit else head,
            )
        )
        comparison = replace(comparison, notes=(because(Caveat.TRACED_BY, means=by), *comparison.notes))
        files.append(output / f"{name.replace('target', DIAGNOSIS_NAME)}.json")
        replace_file(files[-1], encode_tree_comparison(comparison))
    return tuple(files)


def write_untraced(repository: Path, *, base: str, head: str, why: Reason, output: Path) -> Path:
    """Write a comparison of nothing, which says why there are no call trees, and names the commit if it is known."""
    settings = ComparisonSettings()
    comparison = TreeComparison(
        services=(),
        suspects=(),
        base=base,
        head=head,
        alpha=settings.alpha,
        minimum_effect=settings.minimum_effect,
        notes=(why,),
    )
    if commit := _only_commit(repository, base, head):
        comparison = _with_commit(comparison, repository, commit)
    file = output / DIAGNOSIS_FILE
    replace_file(file, encode_tree_comparison(comparison))
    return file


def _only_commit(repository: Path, base: str, head: str) -> str | None:
    """Return the only commit that `head` adds to `base`, apart from merges."""
    added = [one for one in commits_between(repository, base=base, head=head) if len(git.parents(repository, one)) < 2]
    return added[0] if len(added) == 1 else None
