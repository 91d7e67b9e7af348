"""Measuring the history branch's size, and compacting it into a single commit as far as retention allows."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.errors import DataError, InfrastructureError
from perf_culprit.model.bisection_files import decode_stored
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.maintenance import Compacted, HistorySize, StoredMonth, StoredSuite
from perf_culprit.store.git_branch import GitBranchHistory, Tip
from perf_culprit.store.protocol import decodable
from perf_culprit.store.run_names import BISECTION_PATH, RunFile, read_names

# git's own depth for all commits. Unlike an omitted depth, it also accepts the commits of a shallow clone.
WHOLE_PAST: Final = 2**31 - 1
# In git's refusal of a push that would replace the branch.
NO_REPLACEMENT: Final = "non-fast-forward"


@dataclass(frozen=True, slots=True)
class _Plan:
    """The `changes` of compaction to the branch's files. `runs` stay, `compacted` of them smaller, and `dropped` go."""

    changes: tuple[git.TreeChange, ...]
    runs: int
    compacted: int
    dropped: int


class GitBranchCompaction(GitBranchHistory):
    """The history branch with all its past commits. Only the push compacts it; before that nothing has changed."""

    def compact(self) -> Compacted:
        return self._patiently(self._try_compact, failure="the history was not compacted")

    def size(self) -> HistorySize:
        """Fetch everything on the branch, and pack what compaction would leave. Nothing is pushed."""
        # Use a separate repository, so that only what the remote sends is packed.
        self._repository = git.init_private(Path(tempfile.mkdtemp(dir=self._folder)))
        whole = partial(self._fetch, depth=WHOLE_PAST, object_filter=None)
        tip = self._tip = self._patiently(whole, failure="the history could not be read", writes=False)
        commit = self._present(tip)
        objects = git.packed_objects(self._repository, commit)
        plan = self._plan(tip)
        root = self._commit(tip, plan.changes, message="Compacted\n", is_root=True).name
        past = [line.split() for line in git.parents_text(self._repository, [commit]).splitlines()]
        oldest = [commit for commit, *parents in past if not parents]
        ever = read_names(git.TreeEntry(path=entry.path, blob=entry.name) for entry in objects)
        sizes = {entry.name: entry.size for entry in objects}
        return HistorySize(
            place=self.place,
            packed_bytes=sum(sizes.values()),
            compacted_bytes=git.packed_size(self._repository, root, folder=self._folder),
            limit_bytes=self._retention.branch_bytes,
            largest_file_bytes=max((file.size for file in tip.files), default=0),
            commits=len(past),
            since=min(git.commit_time(self._repository, commit) for commit in oldest).date(),
            is_cut=any(git.recorded_parents(self._repository, commit) for commit in oldest),
            to_compact=plan.compacted,
            to_drop=plan.dropped,
            suites=_stored_suites(tip.files),
            months=_months(ever, sizes, self._bisections()),
        )

    def _present(self, tip: Tip) -> str:
        if tip.commit is None:
            raise DataError(
                "there is no history yet",
                place=self.place,
                next_step="record a run first: perf-culprit record bench.json",
            )
        return tip.commit

    def _try_compact(self) -> Compacted:
        tip = self._tip = self._now()
        commit = self._present(tip)
        plan = self._plan(tip)
        is_needed = bool(plan.compacted or plan.dropped or git.recorded_parents(self._repository, commit))
        if is_needed:
            try:
                self._push(tip, plan.changes, message=f"Compact {plan.runs:,} runs\n", past_bytes=None)
            except git.PushRejectedError as error:
                if NO_REPLACEMENT in error.output and self._fetch().commit == commit:
                    raise InfrastructureError(
                        "the branch may not be replaced: a rule forbids it",
                        place=self.place,
                        next_step="let this account push by force to this branch alone, or delete the rule while it is "
                        "compacted",
                    ) from None
                raise
        return Compacted(
            place=self.place, runs=plan.runs, compacted=plan.compacted, dropped=plan.dropped, done=is_needed
        )

    def _plan(self, tip: Tip) -> _Plan:
        files, removed = self._retained(tip.files)
        changes = (
            *(git.TreeChange(file.path, None) for file in removed),
            *(git.TreeChange(file.path, file.blob) for file in set(files) - set(tip.files)),
        )
        by_identity = {file.identity: file for file in files}
        compacted = sum(file.identity in by_identity for file in removed)
        return _Plan(changes=changes, runs=len(files), compacted=compacted, dropped=len(removed) - compacted)

    def _bisections(self) -> Iterator[Bisection]:
        blobs = {path: blob for path, blob in self._seen().blobs.items() if BISECTION_PATH.fullmatch(path)}
        contents = git.read_blobs(self._repository, list(blobs.values()))
        # An unreadable bisection is reported when it is loaded.
        return decodable(zip(blobs, contents, strict=True), decode_stored)


def _stored_suites(files: Sequence[RunFile]) -> tuple[StoredSuite, ...]:
    by_suite: dict[str, list[RunFile]] = {}
    for file in files:
        by_suite.setdefault(file.suite_slug, []).append(file)
    return tuple(
        StoredSuite(
            name=name,
            runs=len(of_suite),
            uncompacted=sum(not file.compacted for file in of_suite),
            first=min(file.time for file in of_suite)[:8],
            last=max(file.time for file in of_suite)[:8],
        )
        for name, of_suite in sorted(by_suite.items())
    )


def _months(
    files: Sequence[RunFile], sizes: dict[str, int], bisections: Iterator[Bisection]
) -> tuple[StoredMonth, ...]:
    months: dict[str, StoredMonth] = {}
    counted = set()
    for file in files:
        month = months.setdefault(file.time[:6], StoredMonth(month=file.time[:6]))
        size = sizes.get(file.blob or "", 0)
        months[month.month] = replace(
            month, runs=month.runs + (file.identity not in counted), packed_bytes=month.packed_bytes + size
        )
        counted.add(file.identity)
    for bisection in bisections:
        month = months.setdefault(name := f"{bisection.started_at:%Y%m}", StoredMonth(month=name))
        executions = sum(len(result.values) + len(result.failures) for result in bisection.search.results)
        months[name] = replace(
            month,
            searches=month.searches + 1,
            executions=month.executions + executions,
            runner_seconds=month.runner_seconds + bisection.runner_seconds,
        )
    return tuple(months[name] for name in sorted(months))
