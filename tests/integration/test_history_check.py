"""Processes record at once, some are killed, and the branch is rewritten and compacted under them: nothing is lost.

A checker that shares no code with the store compares what they were told with what is stored.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from threading import Timer

import pytest

from tests.support import history_check, postgresql
from tests.support.git_repository import run_git
from tests.support.history_check import BRANCH, Numbers, Written
from tests.support.nth_call import ended
from tests.support.nth_call_scenes import BENCHMARK, Database, Place, PostgreSQL, Sqlite

WRITERS, RUNS = 3, 6
# Every third run of a writer is killed, after up to this time.
KILLED, LATEST_S = 3, 0.5
# The exit code of a writer that lost all its races for the branch.
LOST_RACE = 4
# Too few runs keep their samples for all of them.
CONFIG = "history: {raw-runs: 4}\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[], postgresql.Server]]:
    with postgresql.when_needed() as start:
        yield start


def write(place: Place, writer: int, journal: Path) -> None:
    """Record runs, each by a process of its own, and note what it was told."""
    folder = place.folder / f"writer-{writer}"
    folder.mkdir()
    random = Random(writer)
    for number in range(1, RUNS + 1):
        samples = tuple(1000.0 * writer + 10 * number + one for one in range(3))
        commit = place.commits[(writer + number) % len(place.commits)]
        command = place.command("record", str(results(folder, samples)), "--commit", commit)
        delay_s = None if number % KILLED else random.uniform(0, LATEST_S)
        done = ended(folder, command, attach=partial(kill_later, delay_s=delay_s))
        while done.code == LOST_RACE:  # as the message says: doing it twice does no harm
            assert "doing it twice does no harm" in done.output, done.output
            done = ended(folder, command)
        told = {"commit": commit, "samples": samples, "code": done.code, "output": done.output}
        with journal.open("a") as lines:
            lines.write(f"{json.dumps(told)}\n")


def results(folder: Path, samples: Numbers) -> Path:
    file = folder / "results.txt"
    file.write_text("".join(f"{BENCHMARK}-8 100 {one} ns/op\n" for one in samples))
    return file


def kill_later(child: int, *, delay_s: float | None) -> None:
    if delay_s is not None:
        Timer(delay_s, kill, [os.pidfd_open(child)]).start()


def kill(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.close(handle)


def rewrite(repository: Path, *, back: int) -> tuple[str, list[bytes]]:
    """Replace the branch by a root with the files of `back` commits ago; return it, and the contents that are gone."""
    while True:
        tip = run_git(repository, "rev-parse", BRANCH)
        kept = run_git(repository, "rev-list", f"--max-count={back + 1}", tip).splitlines()[-1]
        root = run_git(repository, "commit-tree", "-m", f"Instead of {tip}", f"{kept}^{{tree}}")
        try:
            run_git(repository, "update-ref", BRANCH, root, tip)
        except AssertionError:
            continue  # a push came first
        before, after = (history_check.on_branch(repository, commit) for commit in (tip, root))
        there = set(map(history_check.identity, after))
        return root, [content for path, content in before.items() if history_check.identity(path) not in there]


@pytest.mark.slow  # a process for each run of three writers
@pytest.mark.parametrize("back_end", ["branch", "SQLite", "PostgreSQL"])
def test_nothing_is_lost_doubled_or_changed(
    tmp_path: Path, server: Callable[[], postgresql.Server], back_end: str
) -> None:
    databases: dict[str, Callable[[], Database]] = {
        "SQLite": lambda: Sqlite(tmp_path),
        "PostgreSQL": lambda: PostgreSQL(server()),
    }
    place = Place(folder=tmp_path / "scene", database=databases[back_end]() if back_end in databases else None)
    place.make()
    (place.project / ".github" / "perf-culprit.yml").write_text(CONFIG)
    repository, journal = place.work / "origin.git", tmp_path / "journal.jsonl"
    run_git(repository, "config", "core.logAllRefUpdates", "always")
    first = Written(commit=place.commits[0], samples={BENCHMARK: (1.0, 2.0, 3.0)})
    place.do("record", str(results(tmp_path, first.samples[BENCHMARK])), "--commit", first.commit)
    writers = {os.fork() or _write_and_end(place, writer, journal) for writer in range(1, WRITERS + 1)}
    rewrites: list[str] = []
    cut: list[bytes] = []
    turn = 0
    while writers:
        if not place.database:
            turn += 1
            if turn % 2:
                compacted = ended(tmp_path, place.command("history", "compact"))
                assert compacted.code in (0, 4), compacted.output
            else:
                # Once older files are put back, as from a copy; else the same files get a new root.
                root, gone = rewrite(repository, back=2 if turn == 4 else 0)
                rewrites.append(root)
                cut += gone
        child, status = os.waitpid(-1, os.WNOHANG if not place.database else 0)
        if child in writers:
            assert status == 0
            writers.discard(child)
    told = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(told) == WRITERS * RUNS
    assert {one["code"] for one in told} <= {0, None}, [one["output"] for one in told if one["code"]]
    removed = [json.loads(content) for content in cut if b"benchmarks" in content]
    written = [first]
    for one in told:
        run = Written(commit=one["commit"], samples={BENCHMARK: tuple(one["samples"])})
        is_certain = one["code"] == 0 and not any(history_check.holds(content, run) for content in removed)
        written.append(Written(commit=run.commit, samples=run.samples, is_certain=is_certain))
    assert sum(one.is_certain for one in written) > len(written) // 2
    assert list(history_check.faults(place.files(), written)) == []
    if not place.database:
        assert list(history_check.forgetful_pushes(repository, rewrites)) == []


def _write_and_end(place: Place, writer: int, journal: Path) -> int:
    code = 1
    try:
        write(place, writer, journal)
        code = 0
    finally:
        os._exit(code)
