"""Eight jobs append during forced rewrites of the branch: the loss is reported, and later runs are kept."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.flows.record import record_run
from perf_culprit.model.report import Conclusion
from perf_culprit.store.git_branch import GitBranchHistory
from perf_culprit.store.opening import HistoryPlace
from perf_culprit.store.retention import Patience, Retention
from tests.support import reports
from tests.support.git_http import TOKEN, serve_git
from tests.support.git_repository import init_repository, run_git
from tests.support.stored_runs import make_run

BRANCH = "refs/heads/perf-history"
WRITERS = 6
APPENDS = 2


@pytest.fixture
def served(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "served" / "project.git", bare=True)


def files(served: Path) -> set[str]:
    return set(run_git(served, "ls-tree", "-r", "--name-only", BRANCH).splitlines()) - {"perf-culprit.json"}


def rewrite(served: Path, *, keep: int) -> tuple[set[str], set[str]]:
    """Force-push an older state as a new root commit, in one step; return the files kept and those removed.

    The update is atomic against the commit that was read, so the removed files are known exactly.
    """
    while True:
        tip = run_git(served, "rev-parse", BRANCH)
        before = set(run_git(served, "ls-tree", "-r", "--name-only", tip).splitlines()) - {"perf-culprit.json"}
        commits = run_git(served, "rev-list", "--reverse", tip).splitlines()
        old = commits[min(keep, len(commits)) - 1]
        root = run_git(served, "commit-tree", "-m", "Start over", f"{old}^{{tree}}")
        try:
            run_git(served, "update-ref", BRANCH, root, tip)
        except AssertionError:
            continue  # a push came first: read again
        after = set(run_git(served, "ls-tree", "-r", "--name-only", root).splitlines()) - {"perf-culprit.json"}
        return after, before - after


@dataclass(kw_only=True, slots=True)
class Clock:
    """The appends that had returned, and the files that each rewrite cut off."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    returned: list[str] = field(default_factory=list)
    cut: list[set[str]] = field(default_factory=list)


@pytest.mark.slow  # six writers race for one branch over real HTTP, which is rewritten under their hands
def test_six_writers_and_a_forced_rewrite(served: Path, tmp_path: Path) -> None:
    clock = Clock()
    histories: dict[int, GitBranchHistory] = {}
    patience = Patience(attempts=200)

    def write(writer: int) -> None:
        remote = git.Remote(url=url, token=TOKEN)
        history = GitBranchHistory(remote, tmp_path / f"writer{writer}", random=Random(writer), patience=patience)
        histories[writer] = history
        for number in range(APPENDS):
            name = history.append(make_run(writer * 10 + number))
            with clock.lock:
                clock.returned.append(name)

    def force() -> None:
        for threshold in (4, 10):
            while True:
                with clock.lock:
                    if len(clock.returned) >= threshold:
                        break
                threading.Event().wait(0.01)
            clock.cut.append(rewrite(served, keep=2)[1])

    with serve_git(served.parent) as root:
        url = f"{root}/{served.name}"
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            forced = pool.submit(force)
            for future in [pool.submit(write, writer) for writer in range(1, WRITERS + 1)]:
                future.result()
            forced.result()
        for writer, history in histories.items():  # the rewrite may have come after all last reads
            clock.returned.append(history.append(make_run(writer * 10 + APPENDS)))

    there, cut = files(served), set().union(*clock.cut)
    assert len(clock.returned) == WRITERS * (APPENDS + 1)
    assert len(cut) >= 4
    # All appended runs exist except exactly those that the rewrites cut off: no later run is lost.
    assert there == set(clock.returned) - cut
    assert run_git(served, "rev-list", "--merges", BRANCH) == ""
    assert run_git(served, "fsck", "--strict", "--no-dangling") == ""
    # No job reports a run that still exists; a job that read before and after a rewrite reports the removed runs.
    lost = {name for history in histories.values() for name in history.lost}
    assert lost <= cut
    assert lost


@pytest.mark.parametrize("how", ["put back", "new root", "deleted"])
def test_a_rewrite_between_judging_and_recording_is_said(served: Path, tmp_path: Path, how: str) -> None:
    config = Config()
    report = reports.report(Conclusion.NO_CHANGE)
    messages: list[str] = []

    def record(number: int, stored_runs: tuple[str, ...] = ()) -> str:
        return record_run(
            make_run(number),
            report=report,
            config=config,
            place=HistoryPlace(url=str(served)),
            stored_runs=stored_runs,
            warn=messages.append,
        ).name

    names = [record(number) for number in (1, 2, 3)]
    assert messages == []
    seen = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "seen")
    seen.commits("default")
    assert sorted(seen.names) == sorted(names)
    if how == "put back":
        run_git(served, "update-ref", BRANCH, f"{BRANCH}~2")
    elif how == "new root":
        rewrite(served, keep=1)
    else:
        run_git(served, "update-ref", "-d", BRANCH)
    last = record(4, seen.names)
    (warning,) = messages
    gone = 3 if how == "deleted" else 2
    assert re.match(
        rf"branch perf-history of \S+ was rewritten meanwhile: {gone} stored runs are gone, such as runs/", warning
    )
    assert files(served) == {last} | (set() if how == "deleted" else {names[0]})


def test_what_retention_drops_is_no_rewrite(served: Path, tmp_path: Path) -> None:
    remote = git.Remote(url=str(served))
    one = GitBranchHistory(remote, tmp_path / "one")
    names = [one.append(make_run(number)) for number in range(1, 6)]
    size = sum(int(name.rsplit("-", 1)[1].partition(".")[0]) for name in names)
    small = Retention(branch_bytes=size * 8 // 25, raw_runs=2)
    writers = [GitBranchHistory(remote, tmp_path / f"small{number}", retention=small) for number in (1, 2)]
    for writer in writers:
        writer.expect(names)
    for number, writer in enumerate([*writers, *writers], start=6):
        writer.append(make_run(number))
    assert len(files(served)) < 5
    assert [writer.lost for writer in writers] == [(), ()]
