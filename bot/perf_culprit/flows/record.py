"""history -> history: store, import or accept runs, and copy histories between places."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.history_requests import Accept, HistoryAccepted, HistoryCompact, HistoryCopy, HistoryStats
from perf_culprit.commands.judge_requests import Compare, Import, Record
from perf_culprit.config.reader import with_database
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError, UsageError, did_you_mean, list_names
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.compare_history import compare_with_history, stored_baseline
from perf_culprit.flows.compared_commits import commits_between
from perf_culprit.judge.conclusion import is_flagged
from perf_culprit.model.finding import Acceptance, TradedChange, traded
from perf_culprit.model.maintenance import Compacted, HistorySize, Imported
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Report
from perf_culprit.model.run import MetricKey, Run
from perf_culprit.read.results.collect import collect_history
from perf_culprit.store.branch_files import checked
from perf_culprit.store.compaction import GitBranchCompaction
from perf_culprit.store.opening import HistoryPlace, copy_history, only_suite, open_history, prepare_database
from perf_culprit.store.protocol import NamedRun, Store


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedRun:
    """A stored run's name in the history, and the history's place, for people to read."""

    name: str
    place: str


def record_files(
    request: Record, *, config: Config, stdin: BinaryIO | None = None, warn: Callable[[str], None] | None = None
) -> tuple[RecordedRun, Report]:
    """Judge and store a run. A regression is stored as one, so that it never becomes the new normal."""
    comparison = Compare(
        target=request.files,
        repository=request.repository,
        revision=request.revision,
        history_url=request.history_url,
        tool=request.tool,
    )
    compared = compare_with_history(comparison, config=config, stdin=stdin)
    stored = record_run(
        compared.run,
        report=compared.report,
        config=config,
        place=HistoryPlace(repository=request.repository, url=request.history_url),
        stored_runs=compared.stored_runs,
        warn=warn,
    )
    return stored, compared.report


def record_run(
    run: Run,
    *,
    report: Report,
    config: Config,
    place: HistoryPlace,
    stored_runs: Sequence[str] = (),
    warn: Callable[[str], None] | None = None,
) -> RecordedRun:
    """Store the run with its regressions and categories.

    `warn` is called if stored runs are gone: since `stored_runs` were read, or between two attempts.
    """
    if not run.keys and run.lost:
        raise DataError("only failures were measured", next_step="run what failed; nothing was recorded")
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        history.expect(stored_runs)
        name = history.append(judged_run(run, report))
        if history.lost and warn is not None:
            warn(
                f"{history.place} was rewritten meanwhile: {len(history.lost)} stored runs are gone, "
                f"such as {history.lost[0]}; this run was appended to what is there now"
            )
        return RecordedRun(name=name, place=history.place)


def judged_run(run: Run, report: Report) -> Run:
    """Return the run as the history keeps it: with its assigned categories and the metrics that got or look worse.

    Later runs show whether they stay so: a level that was only ever suspected must not become the baseline.
    """
    regressions = [finding for finding in report.findings if is_flagged(finding)]
    categories = {finding.key: finding.category for finding in report.findings if finding.category}
    return replace(
        run,
        benchmarks=tuple(
            replace(benchmark, category=categories.get(benchmark.key, benchmark.category))
            for benchmark in run.benchmarks
        ),
        regressions=tuple(finding.key for finding in regressions),
        confirmed=tuple(
            finding.key for finding in regressions if any(note.code is Remark.CONFIRMED for note in finding.notes)
        ),
    )


def import_history(request: Import, *, config: Config, token: str | None = None) -> Imported:
    """Store every run that names its commit, all or none.

    Nothing is judged; later runs use them as their baseline. A single suite is stored under the configured name;
    several suites keep their names. The environment stays as in the files, or unknown.
    """
    read = collect_history(request.files, tool=request.tool, directions=config.direction_of)
    runs = [run for run in read if run.commit is not None]
    if not runs:
        raise DataError(
            f"no result names the full hash of its commit (results read: {len(read):,})",
            place=", ".join(request.files),
            next_step="record them one by one: perf-culprit record FILE --commit HASH",
        )
    if len({run.suite for run in runs}) == 1:
        runs = [replace(run, suite=config.suite) for run in runs]
    with open_history(config.history, request.repository, url=request.history_url, token=token) as history:
        for suite in {run.suite for run in runs}:
            history.commits(suite)
        before = set(history.names)
        new = _not_stored(history, runs)
        new_names = () if request.dry_run or not new else history.append_all(new)
    return _import_result(
        runs,
        repository=request.repository,
        without_commit=len(read) - len(runs),
        already_stored=len(runs) - len(new) + len(before.intersection(new_names)),
        dropped=0 if request.dry_run else len(new) - len(new_names),
        stored=not request.dry_run,
    )


def _not_stored(history: Store, runs: Sequence[Run]) -> list[Run]:
    """Return the runs whose numbers are not yet stored for their commit, under any environment and verdict."""
    there = {
        _numbers(stored)
        for suite in dict.fromkeys(run.suite for run in runs)
        for stored in _runs(history.runs(suite, [run.commit for run in runs if run.suite == suite and run.commit]))
    }
    return [run for run in runs if _numbers(run) not in there]


def _numbers(run: Run) -> tuple[object, ...]:
    """The suite, the commit and the measured numbers."""
    benchmarks = frozenset((benchmark.key, benchmark.samples, benchmark.summary) for benchmark in run.benchmarks)
    counters = frozenset((table.name, table.values.tobytes()) for table in run.counters)
    return (run.suite, run.commit, benchmarks, counters)


def _import_result(
    runs: Sequence[Run], *, repository: Path, without_commit: int, already_stored: int, dropped: int, stored: bool
) -> Imported:
    commits = {run.commit for run in runs}
    times = [run.time for run in runs if run.time is not None]
    line = git.ancestors(repository, [git.head_commit(repository)])
    return Imported(
        runs=len(runs),
        suites=tuple(dict.fromkeys(run.suite for run in runs)),
        commits=len(commits),
        on_line=len(commits.intersection(line)),
        first=min(times, default=None),
        last=max(times, default=None),
        without_commit=without_commit,
        without_environment=sum(not run.environment.components for run in runs),
        already_stored=already_stored,
        dropped=dropped,
        stored=stored,
    )


LOOKED_AT_RUNS: Final = 5  # the newest, which know the names of benchmarks if the accepted commit has no run
ORIGIN: Final = "origin"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredAcceptance:
    """An acceptance in the history. Without `benchmarks` it is for all that got worse at its commit.

    `stored` is False if the history had it already, `is_checked` if no stored run shows which benchmarks there are.
    """

    acceptance: Acceptance
    benchmarks: tuple[str, ...]
    stored: bool
    is_checked: bool


def store_acceptance(
    *,
    benchmark: str | None,
    reason: str,
    author: str,
    commit: str,
    config: Config,
    place: HistoryPlace,
    pull_request: int | None = None,
) -> StoredAcceptance:
    """Store that the level of `benchmark` (None: of all) is the new normal from `commit` (a full hash) on.

    `pull_request`: the place of the acceptance, from which it is found again after a squash. Raise UsageError if the
    names or the reason are wrong.
    """
    acceptance = checked(
        Acceptance(
            suite=config.suite,
            benchmark=benchmark,
            commit=commit,
            reason=reason,
            author=author,
            time=datetime.now(UTC).replace(microsecond=0),
            pull_request=pull_request,
        )
    )
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        acceptance = replace(acceptance, suite=only_suite(history, config.suite))
        runs = _runs_to_check(history, acceptance)
        named = tuple(
            replace(entry, changes=changes) if (changes := _both_sides(history, runs, entry, config, place)) else entry
            for entry in _with_names(runs, acceptance)
        )
        stored = history.accept(named)
    benchmarks = tuple(entry.benchmark for entry in named if entry.benchmark is not None)
    return StoredAcceptance(acceptance=acceptance, benchmarks=benchmarks, stored=stored, is_checked=bool(runs))


def _both_sides(
    history: Store, runs: Sequence[Run], acceptance: Acceptance, config: Config, place: HistoryPlace
) -> tuple[TradedChange, ...]:
    """Return both sides of the trade, as the commit's own run shows them; empty if it cannot be judged."""
    run = next((run for run in reversed(runs) if run.commit == acceptance.commit), None)
    if run is None:
        return ()
    try:
        baseline = stored_baseline(history, run, config=config, place=place)
        return traded(judge_run(baseline, run, config=config).findings, benchmark=acceptance.benchmark)
    except BotError:
        return ()


def list_acceptances(request: HistoryAccepted, *, config: Config) -> tuple[Acceptance, ...]:
    """List acceptances, newest first. One that was stored again when its pull request was merged is listed once."""
    with open_history(config.history, request.repository, url=request.history_url) as history:
        entries = history.accepted(only_suite(history, config.suite))
    if request.since is not None:
        base, head = (git.resolve_commit(request.repository, end) for end in (request.since, "HEAD"))
        commits = commits_between(request.repository, base=base, head=head)
        entries = tuple(entry for entry in entries if entry.commit in commits)

    def identity(entry: Acceptance) -> tuple[datetime, str, str]:
        return entry.time, entry.author, entry.reason

    merged = {identity(entry) for entry in entries if entry.pull_request is None}
    return tuple(entry for entry in reversed(entries) if entry.pull_request is None or identity(entry) not in merged)


def accept_here(request: Accept, *, config: Config) -> StoredAcceptance:
    """Accept from the command line. The author defaults to git's; the commit is any revision of this repository."""
    if (request.benchmark is None) != request.all:
        raise UsageError(
            "give the name of one benchmark, or --all",
            next_step="copy the name from the report; --all takes every benchmark that got worse at the commit",
        )
    return store_acceptance(
        benchmark=request.benchmark,
        reason=request.reason,
        author=request.author or _git_author(request.repository),
        commit=git.resolve_commit(request.repository, request.revision),
        config=config,
        place=HistoryPlace(repository=request.repository, url=request.history_url),
    )


def _git_author(repository: Path) -> str:
    try:
        name = git.run_git(repository, "config", "--get", "user.name").decode(errors="replace").strip()
    except git.GitError:
        name = ""
    if not name:
        raise UsageError("git knows no user.name here", next_step="name who accepts with --author")
    return name


def _runs_to_check(history: Store, acceptance: Acceptance) -> list[Run]:
    """The commit's stored runs. Without any, the newest runs, which may have a named benchmark."""
    at_commit = _runs(history.runs(acceptance.suite, [acceptance.commit]))
    if at_commit or acceptance.benchmark is None:
        return at_commit
    return _runs(history.newest_runs(acceptance.suite, LOOKED_AT_RUNS))


def _with_names(runs: Sequence[Run], acceptance: Acceptance) -> tuple[Acceptance, ...]:
    """Add the names if the history has them: a named benchmark can be checked, and survives other changes."""
    if acceptance.benchmark is None:
        regressed = dict.fromkeys(_accepted_name(key, run) for run in runs for key in run.regressions)
        return tuple(replace(acceptance, benchmark=name) for name in regressed) or (acceptance,)
    names = dict.fromkeys(name for run in runs for key in run.keys for name in (key.benchmark, key.full_name))
    if names and acceptance.benchmark not in names:
        raise UsageError(
            f"the stored runs of suite {acceptance.suite!r} have no benchmark {acceptance.benchmark[:120]!r}",
            next_step=did_you_mean(acceptance.benchmark, names, otherwise=f"they have {list_names([*names], most=10)}"),
        )
    return (acceptance,)


def _accepted_name(key: MetricKey, run: Run) -> str:
    """A benchmark is accepted with all its metrics, but of a table of counters only the one that got worse."""
    return key.full_name if any(key in table.keys for table in run.counters) else key.benchmark


def _runs(stored: Iterable[object]) -> list[Run]:
    return [entry.run for entry in stored if isinstance(entry, NamedRun)]


def copy_between(request: HistoryCopy, *, config: Config, environ: Mapping[str, str]) -> tuple[Mapping[str, int], int]:
    """Copy a history. Count the files copied, by kind, and those already there. Places are `origin`, paths or URLs."""

    def opened(name: str) -> AbstractContextManager[Store]:
        place = with_database(config, environ=environ, option=name).history
        return open_history(place, request.repository, url=None if name == ORIGIN else name)

    with opened(request.source) as source, opened(request.target) as target:
        return copy_history(source, target)


def migrate_database(config: Config) -> tuple[str, bool]:
    """Create the tables of the configured database. Return its address, and False if the tables existed."""
    url = config.history.url
    if url is None:
        raise UsageError(
            "the history is not in a database, so there are no tables",
            next_step="name the database: --history postgresql://USER@HOST/NAME",
        )
    return url.shown, prepare_database(url)


def history_size(request: HistoryStats, *, config: Config) -> HistorySize:
    with _branch(request, config) as branch:
        return branch.size()


def compact_history(request: HistoryCompact, *, config: Config) -> Compacted:
    """Replace all commits by one, provided that nobody else writes in between; all or nothing."""
    with _branch(request, config) as branch:
        return branch.compact()


@contextmanager
def _branch(request: HistoryStats | HistoryCompact, config: Config) -> Iterator[GitBranchCompaction]:
    with open_history(config.history, request.repository, url=request.history_url) as store:
        if not isinstance(store, GitBranchCompaction):
            raise UsageError(
                "stats and compact are for a history on a git branch: a database keeps no past",
                place=store.place,
                next_step="leave it as it is",
            )
        yield store
