"""collect -> history -> detect -> report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from bot import git
from bot.collect import PARSERS, collect, collect_each, collect_executions, collect_separate, named_alike, surroundings
from bot.config import Config
from bot.errors import UsageError
from bot.history import choose_baseline
from bot.history.opening import HistoryPlace, code_remote, open_history
from bot.model.baseline import Baseline, BaselineSource
from bot.model.finding import Acceptance
from bot.model.report import Report
from bot.model.run import Run
from bot.pipeline.confirm import confirm_report
from bot.pipeline.event import Merge
from bot.pipeline.judge import judge_run
from bot.pipeline.settings import reading
from bot.report.collected import collected_text, formats_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A target and what was said about it. `stored_runs` names all runs that the history held then."""

    run: Run
    report: Report
    stored_runs: tuple[str, ...] = ()


def collect_run(
    files: Sequence[str],
    *,
    config: Config,
    tool: str = "auto",
    stdin: BinaryIO | None = None,
    commit: str | None = None,
    paired: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Run:
    """The run in these files; of files that were measured here, just now, with this machine's environment.

    `paired`: each file is an execution, measured in turn with one of the other side. `tell` hears what was read.
    """
    heard = None if tell is None else (lambda reads: tell(collected_text(reads)))
    measured_here = replace(reading(config, tool=tool, stdin=stdin), environment=surroundings(Path()))
    return (collect_executions if paired else partial(collect, tell=heard))(files, measured_here, commit=commit)


def formats_list() -> str:
    """Every format that can be read, and how its files are written."""
    return formats_text((name, parser.DESCRIPTION, parser.EXAMPLE) for name, parser in PARSERS.items())


@dataclass(frozen=True, kw_only=True, slots=True)
class FilesComparison:
    """Results against results, without git. Each file of either side is a run of its own, or a `paired` execution.

    `confirm` are results of a second measurement of what was flagged, `confirm_baseline` those of its baseline; without
    these it is judged against the same baseline, which makes the two less independent.
    """

    baseline: Sequence[str]
    target: Sequence[str]
    paired: bool = False
    tool: str = "auto"
    stdin: BinaryIO | None = None
    base_commit: str | None = None
    target_commit: str | None = None
    confirm: Sequence[str] = ()
    confirm_baseline: Sequence[str] = ()


def compare_files(request: FilesComparison, *, config: Config) -> Report:
    as_configured = reading(config, tool=request.tool, stdin=request.stdin)
    side = collect_executions if request.paired else collect_separate

    def runs(files: Sequence[str]) -> tuple[Run, ...]:
        """Of a paired measurement the files of one side are executions of one run; else each is a run."""
        return (side(files, as_configured),) if request.paired else collect_each(files, as_configured)

    return compare_runs(
        side(request.target, as_configured, commit=request.target_commit),
        baseline=runs(request.baseline),
        source=BaselineSource.PAIRED if request.paired else BaselineSource.FILES,
        config=config,
        base_commit=request.base_commit,
        confirm=side(request.confirm, as_configured) if request.confirm else None,
        confirm_baseline=runs(request.confirm_baseline) if request.confirm_baseline else (),
    )


def compare_runs(
    run: Run,
    *,
    baseline: Sequence[Run],
    source: BaselineSource,
    config: Config,
    base_commit: str | None = None,
    accepted: Sequence[Acceptance] = (),
    confirm: Run | None = None,
    confirm_baseline: Sequence[Run] = (),
    merge: Merge | None = None,
) -> Report:
    """`accepted` are changes between the baseline and this run that somebody accepted.

    `merge`: the run is of GitHub's merge of a pull request.
    """
    runs, run = named_alike(baseline, run)
    commits = {each.commit for each in runs}
    stated = commits.pop() if len(commits) == 1 else None
    base_commit = base_commit or stated or (merge.base if merge else None)
    against = Baseline(runs=runs, source=source, base_commit=base_commit, accepted=tuple(accepted))
    report = judge_run(against, run, config=config)
    if confirm is not None:
        again, confirm = named_alike(confirm_baseline or baseline, confirm)
        report = confirm_report(report, baseline=replace(against, runs=again), again=confirm, config=config)
    return of_head(report, merge)


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryComparison:
    """Results of `revision` against the stored runs before it, or before where it left the branch `base`.

    `confirm` are results of a second measurement of what was flagged. Without a `revision` the results name it, or
    they are of HEAD.
    """

    target: Sequence[str]
    repository: Path
    revision: str | None = None
    base: str | None = None
    history_url: str | None = None
    tool: str = "auto"
    stdin: BinaryIO | None = None
    confirm: Sequence[str] = ()

    @property
    def place(self) -> HistoryPlace:
        return HistoryPlace(repository=self.repository, url=self.history_url)


def compare_with_history(request: HistoryComparison, *, config: Config) -> Compared:
    repository, revision = request.repository, request.revision
    collected = partial(collect_run, config=config, tool=request.tool)
    given = None if revision is None else git.resolve_commit(repository, revision)
    run = collected(request.target, stdin=request.stdin, commit=given)
    commit = given or _named_commit(repository, run, place=", ".join(request.target))
    return compare_run_with_history(
        replace(run, commit=commit),
        config=config,
        base=request.base,
        place=request.place,
        confirm=collected(request.confirm, commit=commit) if request.confirm else None,
    )


def _named_commit(repository: Path, run: Run, *, place: str) -> str:
    if run.commit is None:
        return git.head_commit(repository)
    if git.find_commit(repository, run.commit) is None:
        raise UsageError(
            f"names commit {run.commit[:12]}, which is not in {repository}",
            place=place,
            next_step="say with --commit which commit was measured",
        )
    return run.commit


def compare_run_with_history(
    run: Run,
    *,
    config: Config,
    base: str | None,
    place: HistoryPlace,
    accepted: Sequence[Acceptance] = (),
    confirm: Run | None = None,
    merge: Merge | None = None,
) -> Compared:
    """`accepted` counts in addition to what the history says was accepted.

    `confirm` is a second measurement of what `run` flags. It judges and is not stored. `merge`: the run is of GitHub's
    merge of a pull request, so it is judged against what it was merged into, not against where its head left that.
    """
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        baseline = choose_baseline(
            history,
            place.repository,
            target=run,
            base=merge.base if merge else base,
            head=merge.head if merge else None,
            window=config.history.window,
            remote=code_remote(place),
            accepted=(*history.accepted(run.suite), *accepted),
        )
        stored_runs = history.names
    report = judge_run(baseline, run, config=config)
    if confirm is not None:
        report = confirm_report(report, baseline=baseline, again=confirm, config=config)
    if not report.blames_target:
        report = replace(report, failed=False)
    return Compared(run=run, report=of_head(report, merge), stored_runs=stored_runs)


def of_head(report: Report, merge: Merge | None) -> Report:
    """The report about the pull request's head, which says that its merge was measured."""
    if merge is None or report.target_commit != merge.commit:
        return report
    return replace(report, target_commit=merge.head, merge_commit=merge.commit)
