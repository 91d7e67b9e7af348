"""report -> publish: write the comment and the check run, and read the artifacts of an untrusted job."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from perf_culprit import git
from perf_culprit.commands.judge_requests import Publish
from perf_culprit.config.settings import Config
from perf_culprit.errors import DataError, UsageError
from perf_culprit.flows.compare import reading
from perf_culprit.flows.job_results import CONFIRM_NAME, REPORT_NAME, RUN_NAME, RUN_NAMES, JobResults, results_of
from perf_culprit.flows.render import MOST_REPORT_BYTES, read_report
from perf_culprit.github.host import (
    RESULT_START,
    Annotation,
    Check,
    CheckConclusion,
    CheckResult,
    Host,
    check_conclusion,
    check_name,
    findings_id,
    joint_marker,
    marker,
    suite_id,
)
from perf_culprit.model.report import Conclusion, Report, decode_report
from perf_culprit.model.run import FULL_HASH, Run
from perf_culprit.model.run_file import decode_run, refuse_doubled
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.input_files import read_archive
from perf_culprit.read.results.merge import join_parts
from perf_culprit.read.results.source import Source
from perf_culprit.say.command_answers import ready_lines
from perf_culprit.say.comment import check_texts, render_joint, render_markdown
from perf_culprit.say.comparison import PageOptions
from perf_culprit.say.headlines import Lack, lack_line, unjudged_body, unmeasured_body
from perf_culprit.say.report_parts import remarks

MAX_REPORTS = 20
MOST_ASKED_CHARACTERS = 60_000
# Conclusions that count as "something changed".
CHANGED = frozenset(Conclusion) - {Conclusion.INCONCLUSIVE, Conclusion.NO_CHANGE, Conclusion.FIRST_RUN}


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """The place and the account to write with, never from an artifact. The token stays out of the representation.

    `measured_url`: the run that measured, if it is another one. `is_advice`: a stranger's code measured itself.
    """

    repository: str
    api_url: str
    server_url: str
    token: str = field(repr=False)
    bot_login: str
    run_url: str | None = None
    external_id: str = ""
    measured_url: str | None = None
    is_advice: bool = False

    @property
    def repository_url(self) -> str:
        return f"{self.server_url}/{self.repository}"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredResult:
    """One job's report, and the runs behind it if they were stored."""

    report: Report
    results: JobResults | None


def connect(destination: Destination) -> Host:
    # PyGithub takes longer to load than everything else that a job needs before it contacts GitHub.
    from perf_culprit.github import github_host

    return github_host.connect(
        token=destination.token,
        api_url=destination.api_url,
        repository=destination.repository,
        bot_login=destination.bot_login,
    )


@contextmanager
def open_check(host: Host, destination: Destination, *, name: str, sha: str) -> Iterator[Check]:
    """A check run in progress, completed whatever happens inside."""
    with host.check_run(
        name=name,
        head_sha=sha,
        external_id=destination.external_id,
        details_url=destination.run_url,
    ) as check:
        yield check


def complete_check(check: Check, reports: Sequence[Report], destination: Destination) -> None:
    title, summary = check_texts(reports, options=_options(destination))
    annotations = tuple(
        Annotation(path=one.path, line=one.line, level="warning", message=one.message, title=one.title)
        for report in reports
        for one in remarks(report)
    )
    check.complete(
        CheckResult(conclusion=check_conclusion(reports), title=title, summary=summary, annotations=annotations)
    )


def comment(host: Host, destination: Destination, *, report: Report, number: int, config: Config) -> str | None:
    """Write the sticky comment on pull request `number`. Return its address; None if the configuration wants none."""
    options = _options(destination, mark=marker(report.suite))
    body = render_markdown(report, options=options)
    if config.bisect.run is not None:
        body = f"{body.rstrip()}\n\n{ready_lines(report)}"
    return _upsert(host, options.marker, body, reports=[report], number=number, config=config)


def joint_comment(
    host: Host, destination: Destination, *, reports: Sequence[Report], number: int, config: Config
) -> str | None:
    """Write the one sticky comment for all suites. Return its address; None if the configuration wants none."""
    options = _options(destination, mark=joint_marker())
    body = render_joint(reports, options=options)
    return _upsert(host, options.marker, body, reports=reports, number=number, config=config)


def asked_report(reports: Sequence[Report], destination: Destination) -> str:
    """Render the reports for the answer to a command, with room for the answer's own text."""
    room = MOST_ASKED_CHARACTERS // len(reports)
    return "\n\n".join(render_markdown(report, options=_options(destination), limit=room) for report in reports)


def _options(destination: Destination, *, mark: str = "") -> PageOptions:
    return PageOptions(
        marker=mark,
        run_url=destination.measured_url or destination.run_url,
        repository_url=destination.repository_url,
        is_advice=destination.is_advice,
    )


def _upsert(host: Host, mark: str, body: str, *, reports: Sequence[Report], number: int, config: Config) -> str | None:
    if config.comment.when == "never":
        return None
    if any(report.conclusion is Conclusion.REGRESSION for report in reports) and config.comment.mention:
        body = f"{body.rstrip()}\n\ncc {' '.join(config.comment.mention)}\n"
    create = any(_speaks(report, config) for report in reports)
    return host.upsert_comment(number=number, mark=mark, body=body, create=create, findings=findings_id(reports))


def fail_check(check: Check, *, reason: str, run_url: str) -> None:
    check.complete(
        CheckResult(
            conclusion=CheckConclusion.FAILURE,
            title=Lack.NOT_MEASURED,
            summary=unmeasured_body(reason, run_url=run_url),
        )
    )


def leave_check_open(check: Check, *, reason: str, next_step: str | None) -> None:
    """Complete the check as neither passed nor failed, because the rules are not known."""
    summary = unjudged_body(reason, next_step=next_step)
    check.complete(CheckResult(conclusion=CheckConclusion.NEUTRAL, title=Lack.NOT_JUDGED, summary=summary))


def mark_outdated(host: Host, destination: Destination, *, lack: Lack, number: int, sha: str, reason: str) -> None:
    """Put a line above each result in the pull request that marks it as being about an older head."""
    line = lack_line(lack, reason, sha=sha, run_url=destination.measured_url or destination.run_url or "")
    host.prefix_comments(number=number, start=RESULT_START, line=str(line))


def _speaks(report: Report, config: Config) -> bool:
    """Whether to create a comment. A failing report is silent only if the configuration says never."""
    return {
        "always": True,
        "change": report.conclusion in CHANGED or report.failed,
        "regression": report.conclusion is Conclusion.REGRESSION or report.failed,
        "never": False,
    }[config.comment.when]


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
                result = _checked(_whole(member), beside, place=place, sha=sha)
                if result.report.merge_commit is not None and not is_pull_request:
                    raise _another_commit(place)
                results[place] = result
    if not results or len(results) > MAX_REPORTS:
        raise DataError(
            f"holds {len(results)} files named {REPORT_NAME}, between 1 and {MAX_REPORTS} are expected",
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
    return joined | {parts[0][0]: _joined(parts) for parts in suites.values()}


def _joined(parts: Sequence[tuple[str, Report, JobResults]]) -> StoredResult:
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
        for shown in (suite_id(suite), check_name(suite)):
            if places.setdefault(shown, place) != place:
                raise DataError(
                    f"has the suite {suite[:120]!r}, as {places[shown]} has",
                    place=place,
                    next_step="give each measurement a suite of its own (input `name`), or measure it once",
                )


def _whole(member: Source) -> bytes:
    return member.content(max_bytes=MOST_REPORT_BYTES)


def _checked(report_data: bytes, beside: Mapping[str, bytes | None], *, place: str, sha: str) -> StoredResult:
    report = decode_report(report_data, place=place)
    runs = {
        name: decode_run(data, place=f"{place}, {name} next to it") for name, data in beside.items() if data is not None
    }
    for name, run in runs.items():
        refuse_doubled(run.benchmarks, place=f"{place}, {name} next to it")
    measured = report.merge_commit or sha
    commits = [(report.target_commit, sha)]
    commits += [(runs[name].commit, measured) for name in (RUN_NAME, CONFIRM_NAME) if name in runs]
    if any(actual != expected for actual, expected in commits) or not FULL_HASH.fullmatch(measured):
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


def published_results(repository: Path, *, number: int, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the bot's results in a pull request: Markdown, one entry per comment."""
    address = (git.web_address(repository) or "").split("/")[-2:]
    name = environ.get("GITHUB_REPOSITORY") or "/".join(address)
    if not name:
        raise UsageError(
            "its remote is on no known host", place=str(repository), next_step="set GITHUB_REPOSITORY to OWNER/NAME"
        )
    return connect(_destination(name, environ)).results(number=number, start=RESULT_START)


def _destination(repository: str, environ: Mapping[str, str]) -> Destination:
    return Destination(
        repository=repository,
        api_url=environ.get("GITHUB_API_URL", "https://api.github.com"),
        server_url=environ.get("GITHUB_SERVER_URL", "https://github.com"),
        token=environ.get("GITHUB_TOKEN", ""),
        bot_login=environ.get("PERF_CULPRIT_BOT_LOGIN", "github-actions[bot]"),
    )


def publish_file(asked: Publish, *, config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Publish a report.json from disk to a pull request and a commit. Return a line for each."""
    report, sha, pull_request = read_report(asked.report), asked.sha, asked.pull_request
    name = asked.repository or environ.get("GITHUB_REPOSITORY")
    if not name or (pull_request is None and sha is None):
        raise UsageError(
            "nowhere to publish to",
            next_step="give --repository OWNER/NAME and --pull-request N or --sha HASH, and GITHUB_TOKEN",
        )
    destination = _destination(name, environ)
    host = connect(destination)
    lines: list[str] = []
    if sha is not None:
        with open_check(host, destination, name=check_name(report.suite), sha=sha) as check:
            complete_check(check, [report], destination)
        lines.append(f"check run: {check.url}")
    if pull_request is not None:
        url = comment(host, destination, report=report, number=pull_request, config=config)
        lines.append(f"comment: {url or 'none, as configured'}")
    return tuple(lines)
