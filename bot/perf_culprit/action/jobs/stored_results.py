"""Results of the job that measured, from its artifacts: untrusted files, each checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perf_culprit.action.jobs.job_results import CONFIRM_NAME, REPORT_NAME, RUN_NAME, RUN_NAMES, JobResults, results_of
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError
from perf_culprit.flows.compare import reading
from perf_culprit.github.bot_texts import check_name, suite_id
from perf_culprit.github.host import Host
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.report import Report, decode_report
from perf_culprit.model.run import FULL_HASH, Run
from perf_culprit.model.run_file import decode_run, refuse_doubled
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.input_files import read_archive
from perf_culprit.read.results.merge import join_parts
from perf_culprit.read.results.source import Source


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """One job's report, and the runs behind it if they were stored."""

    report: Report
    results: JobResults | None


def fetch_results(
    host: Host, *, run_id: int, run_sha: str, sha: str, artifact: str, is_pull_request: bool
) -> tuple[StoredResult, ...]:
    """Return the reports that the measuring run left, checked: they are untrusted data and must name commit `sha`.

    `run_sha` is the commit of the run itself.

    For a pull request, GitHub's merge of it may have been measured; only its head is known to us.
    """
    results: dict[str, StoredResult] = {}
    for file in host.fetch_artifacts(run_id=run_id, head_sha=run_sha, name=artifact):
        members = {member.name: member for member in read_archive(file.zip_bytes, name=file.name)}
        for name, member in sorted(members.items()):
            folder, _, base = name.rpartition("/")
            if base == REPORT_NAME:
                paths = {key: f"{folder}/{key}".lstrip("/") for key in RUN_NAMES}
                beside = {key: _whole(members[path]) if path in members else None for key, path in paths.items()}
                place = f"artifact {file.name!r}: {name}"
                result = _checked_result(_whole(member), beside, place=place, sha=sha)
                if result.report.merge_commit is not None and not is_pull_request:
                    raise _another_commit(place)
                results[place] = result
    if not results or len(results) > ARTIFACT_LIMITS.reports:
        raise DataError(
            f"holds {len(results)} files named {REPORT_NAME}, between 1 and {ARTIFACT_LIMITS.reports} are expected",
            place=f"artifact {artifact!r}",
            next_step="upload the action's report-directory in the workflow that measures",
        )
    results = _with_parts_joined(results)
    _refuse_covered(results)
    return tuple(results.values())


def _with_parts_joined(results: Mapping[str, StoredResult]) -> dict[str, StoredResult]:
    """Return the results by place, with the parts of each suite joined into one."""
    joined: dict[str, StoredResult] = {}
    suites: dict[str, list[tuple[str, Report, JobResults]]] = {}
    for place, result in results.items():
        if result.results is None or result.results.run.part is None:
            joined[place] = result
        else:
            suites.setdefault(result.report.suite, []).append((place, result.report, result.results))
    return joined | {parts[0][0]: _join_parts(parts) for parts in suites.values()}


def _join_parts(parts: Sequence[tuple[str, Report, JobResults]]) -> StoredResult:
    """Join the parts of a suite. All must name the same ends: judging again takes them from the first report only."""
    first, report, _ = parts[0]
    runs: dict[str, Run] = {}
    for place, other, _ in parts:
        if any(getattr(other, end) != getattr(report, end) for end in ("base_commit", "merge_commit", "reference")):
            step = "measure all parts of one workflow run again"
            raise DataError(f"compares with another base than {first}", place=place, next_step=step)
    for side in ("run", "baseline", "confirm", "confirm_baseline"):
        own = [(f"{place}, {side}", run) for place, _, part in parts if (run := getattr(part, side)) is not None]
        runs.update((side, run) for _, run in join_parts(own))
    return StoredResult(report=report, results=JobResults(run=runs.pop("run"), **runs, is_joined=len(parts) > 1))


def _refuse_covered(results: Mapping[str, StoredResult]) -> None:
    """Raise a DataError if two results share a suite: the later report would overwrite the earlier one."""
    places: dict[str, str] = {}
    for place, result in results.items():
        suite = result.report.suite
        for identity in (suite_id(suite), check_name(suite)):
            if places.setdefault(identity, place) != place:
                raise DataError(
                    f"has the suite {suite[:120]!r}, as {places[identity]} has",
                    place=place,
                    next_step="give each measurement a suite of its own (input `name`), or measure it once",
                )


def _whole(member: Source) -> bytes:
    return member.content(max_bytes=FILE_LIMITS.report_bytes)


def _checked_result(report_data: bytes, beside: Mapping[str, bytes | None], *, place: str, sha: str) -> StoredResult:
    report = decode_report(report_data, place=place)
    runs = {
        name: decode_run(data, place=f"{place}, {name} next to it") for name, data in beside.items() if data is not None
    }
    for name, run in runs.items():
        refuse_doubled(run.benchmarks, place=f"{place}, {name} next to it")
    commit = report.merge_commit or sha
    commits = [(report.target_commit, sha)]
    commits += [(runs[name].commit, commit) for name in (RUN_NAME, CONFIRM_NAME) if name in runs]
    if any(actual != expected for actual, expected in commits) or not FULL_HASH.fullmatch(commit):
        raise _another_commit(place)
    part = runs[RUN_NAME].part if RUN_NAME in runs else None
    if any((run.suite, run.part) != (report.suite, part) for run in runs.values()):
        message = "run and report are of different suites or parts"
        raise DataError(message, place=place, next_step="upload what the action wrote")
    if not report.is_consistent:
        raise DataError(
            "says something else in its findings than in its verdict",
            place=place,
            next_step="nothing is published; run the benchmarks again if this is not an attack",
        )
    return StoredResult(report=report, results=results_of(runs))


def _another_commit(place: str) -> DataError:
    return DataError(
        "speaks of another commit than the workflow run that uploaded it",
        place=place,
        next_step="nothing is published; run the benchmarks again if this is not an attack",
    )


def fetch_run(
    host: Host, *, run_id: int, sha: str, artifact: str | None, tool: str, config: Config, commit: str
) -> Run:
    """Read benchmark results of any known format, with their environment, from the artifacts of a workflow run."""
    files = host.fetch_artifacts(run_id=run_id, head_sha=sha, name=artifact or None)
    sources = [
        replace(source, name=f"{file.name}/{source.name}")
        for file in files
        for source in read_archive(file.zip_bytes, name=file.name)
    ]
    return collect_sources(sources, reading(config, tool=tool), commit=commit)
