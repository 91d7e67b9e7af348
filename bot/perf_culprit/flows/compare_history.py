"""collect -> history -> judge: one comparison with the stored runs. Result files alone need no git and no history."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows.compare import (
    Comparison,
    collect_run,
    confirm_report,
    judge_run,
    of_ends,
    reading,
    second_measurement,
)
from perf_culprit.flows.compared_commits import Merge, ReferenceCommit, commits_between, find_reference
from perf_culprit.flows.seen_in_turn import seen_in_turn
from perf_culprit.model.finding import Acceptance, Baseline
from perf_culprit.model.run import Run
from perf_culprit.store.baseline import choose_baseline
from perf_culprit.store.opening import HistoryPlace, code_remote, open_history
from perf_culprit.store.protocol import Store


def compare_with_history(request: Compare, *, config: Config, stdin: BinaryIO | None = None) -> Comparison:
    """Compare results of a revision with the stored runs before it, or before it left the branch `base`.

    Without a revision, the results name their commit; otherwise it is HEAD.
    """
    repository, revision = request.repository or Path(), request.revision
    if request.reference and request.base:
        raise UsageError(
            "both say what to judge against", place="--base and --reference", next_step="leave out one or the other"
        )
    collected = partial(collect_run, config=config, tool=request.tool)
    commit_option = None if revision is None else git.resolve_commit(repository, revision)
    run = collected(request.target, stdin=stdin, commit=commit_option)
    commit = commit_option or _named_commit(repository, run, place=", ".join(request.target))
    reference = request.reference and find_reference(repository, request.reference, target=commit)
    return compare_run_with_history(
        replace(run, commit=commit),
        config=config,
        base=request.base,
        place=HistoryPlace(repository=repository, url=request.history_url),
        reference=reference or None,
        **second_measurement(request, reading(config, tool=request.tool)),
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


def stored_baseline(
    history: Store,
    run: Run,
    *,
    config: Config,
    place: HistoryPlace,
    base: str | None = None,
    head: str | None = None,
    accepted: Sequence[Acceptance] = (),
) -> Baseline:
    """Return the stored runs that `run` is judged against. `accepted` adds to the acceptances in the history."""
    return choose_baseline(
        history,
        place.repository,
        target=run,
        base=base,
        head=head,
        window=config.history.window,
        remote=code_remote(place),
        accepted=(*history.accepted(run.suite), *accepted),
    )


def compare_run_with_history(
    run: Run,
    *,
    config: Config,
    base: str | None,
    place: HistoryPlace,
    accepted: Sequence[Acceptance] = (),
    confirm: Run | None = None,
    confirm_baseline: Sequence[Run] = (),
    merge: Merge | None = None,
    reference: ReferenceCommit | None = None,
) -> Comparison:
    """Compare a run with the stored runs. `accepted` adds to the acceptances in the history.

    `confirm` is a second measurement of what `run` flags; `confirm_baseline` was executed in turn with it. Both serve
    to judge and are not stored. `merge`: the run measures GitHub's merge of a pull request. It is then judged against
    the commit merged into, not against the point where the head left that branch. With a `reference`, it is judged
    against the runs of that commit and of those before it.
    """
    start = merge.base if merge else reference.commit if reference else None
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        baseline = stored_baseline(
            history,
            run,
            config=config,
            place=place,
            base=start or base,
            head=merge.head if merge else run.commit if reference else None,
            accepted=accepted,
        )
        stored_runs = history.names
        if reference is not None and place.repository is not None and run.commit is not None:
            since = commits_between(place.repository, base=reference.commit, head=run.commit)
            passed = tuple(entry for entry in history.accepted(run.suite) if entry.commit in since)
            baseline = dataclasses.replace(baseline, accepted=(*baseline.accepted, *passed))
    report = judge_run(baseline, run, config=config)
    if confirm is not None:
        report = confirm_report(report, baseline=baseline, again=confirm, own_baseline=confirm_baseline, config=config)
    report = replace(report, failed=report.fails, notes=(*report.notes, *seen_in_turn(baseline, run, config=config)))
    return Comparison(run=run, report=of_ends(report, merge, reference), stored_runs=stored_runs)
