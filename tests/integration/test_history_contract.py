"""The contract of every back end that stores runs; a new one is added to BACK_ENDS and must pass."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.config.database_url import parse_database
from perf_culprit.errors import NewerVersionError, UsageError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import Part, Run
from perf_culprit.store.branch_files import BisectionConflictError
from perf_culprit.store.opening import copy_history, open_git_branch, open_sql, stored_bisections, suite_names
from perf_culprit.store.protocol import NamedRun, Store
from tests.support import postgresql
from tests.support.git_repository import init_repository
from tests.support.runner_pool import NAME, new_bisection
from tests.support.stored_runs import START, make_run

# Each call gives another view of the same store, as another job has it.
Opener: TypeAlias = Callable[[], AbstractContextManager[Store]]
BISECTION = new_bisection(size=4)
LATER = replace(BISECTION, fruitless=1)
ACCEPTANCE = Acceptance(
    suite="a/b",
    benchmark="söt \u202e'; --",
    commit="a" * 40,
    reason="x\ty",
    author="Ada",
    time=datetime(2026, 1, 2, tzinfo=UTC),
)


def on_branch(folder: Path, _: object) -> Opener:
    remote = git.Remote(url=str(init_repository(folder / "project.git", bare=True)))
    return lambda: open_git_branch(remote)


def in_sqlite(folder: Path, _: object) -> Opener:
    url = parse_database(f"sqlite:///{folder / 'history of ours.db'}")
    return lambda: open_sql(url)


def in_postgresql(_: Path, server: Callable[[], postgresql.Server]) -> Opener:
    url = parse_database(server().fresh(), with_secret=True)
    return lambda: open_sql(url)


BACK_ENDS = {"git branch": on_branch, "sqlite": in_sqlite, "postgresql": in_postgresql}


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[], postgresql.Server]]:
    with postgresql.when_needed() as start:
        yield start


@pytest.fixture(params=list(BACK_ENDS))
def opener(request: pytest.FixtureRequest, tmp_path: Path, server: Callable[[], postgresql.Server]) -> Opener:
    return BACK_ENDS[request.param](tmp_path, server)


@pytest.fixture
def history(opener: Opener) -> Iterator[Store]:
    with opener() as opened:
        yield opened


@pytest.fixture
def other(opener: Opener) -> Iterator[Store]:
    with opener() as opened:
        yield opened


def stored(history: Store, *commits: str, suite: str = "default") -> list[Run]:
    return [entry.run for entry in history.runs(suite, commits) if isinstance(entry, NamedRun)]


def test_nothing_recorded_is_an_empty_history(history: Store) -> None:
    assert history.commits("default") == {}
    assert list(history.runs("default", ["1" * 40])) == []


def test_runs_follow_the_commits_order_and_are_newest_first_within_one(history: Store) -> None:
    first, second = "a" * 40, "b" * 40
    for number, commit in [(1, first), (2, second), (3, first), (4, second)]:
        history.append(make_run(number, commit=commit))
    assert history.commits("default") == {first: 2, second: 2}
    expected = [make_run(4, commit=second), make_run(2, commit=second), make_run(3, commit=first)]
    assert stored(history, second, "c" * 40, first)[:3] == expected


def test_suites_are_apart_whatever_their_names(history: Store) -> None:
    suites = ["default", "Default", "a/b", "a b", "..", ".git", "\u65e5\u672c", "x" * 200]
    for number, suite in enumerate(suites, start=1):
        history.append(make_run(number, suite=suite))
    for number, suite in enumerate(suites, start=1):
        assert stored(history, f"{number:040x}", suite=suite) == [make_run(number, suite=suite)]
        assert len(history.commits(suite)) == 1


@pytest.mark.parametrize("commit", [None, "abc1234", "main", "../" + "a" * 37])
def test_a_run_without_a_full_commit_is_refused(history: Store, commit: str | None) -> None:
    run = Run(benchmarks=make_run(1).benchmarks, commit=commit)
    with pytest.raises(UsageError, match="full hash of its commit"):
        history.append(run)
    assert history.commits("default") == {}


def test_a_run_comes_back_as_it_was(history: Store) -> None:
    run = make_run(1)
    name = history.append(run)
    (entry,) = history.runs("default", [f"{1:040x}"])
    assert entry == NamedRun(id=name, commit=f"{1:040x}", run=run)


def test_parts_and_versions_of_benchmarks_come_back(history: Store) -> None:
    run = make_run(1)
    benchmarks = tuple(replace(one, version="4f2a") for one in run.benchmarks)
    part = replace(run, benchmarks=benchmarks, part=Part(indices=(2,), count=3))
    history.append(part)
    assert stored(history, f"{1:040x}") == [part]


def test_what_a_later_version_stored_is_refused_and_stays(history: Store, tmp_path: Path) -> None:
    with open_sql(parse_database(f"sqlite:///{tmp_path / 'source.db'}")) as source:
        source.append(make_run(1))
        source.accept([ACCEPTANCE])
        source.store(BISECTION, expected=None)
        paths = source.paths()
        files = [json.loads(content) | {"version": 9} for content in source.contents(paths)]
    history.adopt([(path, json.dumps(file).encode()) for path, file in zip(paths, files, strict=True)])
    reads: dict[str, Callable[[], object]] = {
        "run": lambda: list(history.runs("default", [f"{1:040x}"])),
        "suite": lambda: suite_names(history),
        "acceptance": lambda: history.accepted("a/b"),
        "bisection": lambda: history.load(NAME),
        "bisections": lambda: stored_bisections(history),
    }
    for read in reads.values():
        with pytest.raises(NewerVersionError, match="written by a newer perf-culprit"):
            read()
    history.append(make_run(2))
    assert set(paths) < set(history.paths())


def test_the_very_same_run_is_counted_once(history: Store) -> None:
    assert history.append(make_run(1)) == history.append(make_run(1))
    assert history.commits("default") == {f"{1:040x}": 1}


def test_a_run_without_time_is_stored_once_too(history: Store) -> None:
    run = replace(make_run(1), time=None)
    assert history.append(run) == history.append(run)
    assert stored(history, f"{1:040x}") == [run]


def test_what_others_store_is_seen_by_who_looks_later(history: Store, other: Store, opener: Opener) -> None:
    history.append(make_run(1))
    assert other.commits("default") == {f"{1:040x}": 1}
    history.append(make_run(2))
    assert other.commits("default") == {f"{1:040x}": 1}  # one snapshot
    other.append(make_run(3))
    assert len(other.commits("default")) == 3
    with opener() as later:
        assert later.suites() == {"default"}
        assert [
            run.commit
            for run in (entry.run for entry in later.newest_runs("default", 2) if isinstance(entry, NamedRun))
        ] == [f"{3:040x}", f"{2:040x}"]


def test_runs_that_were_seen_and_are_gone_are_named(history: Store, other: Store) -> None:
    name = history.append(make_run(1))
    gone = name.replace(f"{1:040x}", "f" * 40)
    other.expect([name, gone])
    other.append(make_run(2))
    assert other.lost == (gone,)


def test_what_was_accepted_comes_back_once(history: Store, other: Store) -> None:
    assert history.accepted("a/b") == ()
    earlier = replace(ACCEPTANCE, time=START, benchmark=None)
    assert history.accept([ACCEPTANCE, earlier])
    assert not other.accept([earlier])
    assert other.accepted("a/b") == (earlier, ACCEPTANCE)
    assert other.accepted("a b") == ()


def test_a_bisection_comes_back_and_only_what_was_read_is_replaced(history: Store, other: Store) -> None:
    assert other.load(NAME) is None
    version = history.store(BISECTION, expected=None)
    with pytest.raises(BisectionConflictError, match="meanwhile"):
        other.store(LATER, expected=None)
    later = other.store(LATER, expected=version)
    with pytest.raises(BisectionConflictError, match="meanwhile"):
        history.store(replace(BISECTION, fruitless=2), expected=version)
    # An answer was lost: the same state is stored again.
    assert other.store(LATER, expected=version) == later
    loaded = history.load(NAME)
    assert loaded is not None
    assert (loaded.bisection, loaded.version) == (LATER, later)
    with pytest.raises(BisectionConflictError, match="is gone"):
        history.store(replace(BISECTION, id="8"), expected=version)


def test_old_bisections_make_room(history: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ARTIFACT_LIMITS), "bisections", 3)
    for name in ("proof-1", "8", "9", "10", "11", "proof-2"):
        history.store(replace(BISECTION, id=name), expected=None)
    kept = ["10", "11", "9", "proof-1", "proof-2"]
    assert sorted(history.paths()) == [f"bisections/{name}.json" for name in kept]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "x" * 65, "-x", "a b", "a\n", "'; DROP TABLE x; --"])
def test_a_name_that_is_no_id_is_refused(history: Store, name: str) -> None:
    with pytest.raises(UsageError, match="not an id of a bisection"):
        history.load(name)


def test_everything_is_copied_as_it_is_and_once(opener: Opener, tmp_path: Path) -> None:
    with opener() as source, open_sql(parse_database(f"sqlite:///{tmp_path / 'copy.db'}")) as between:
        names = source.append_all([make_run(number, suite="日本") for number in (1, 2, 3)])
        source.accept([ACCEPTANCE])
        source.store(BISECTION, expected=None)
        copied, before = copy_history(source, between)
        assert (dict(copied), before) == ({"runs": 3, "accepted": 1, "bisections": 1}, 0)
        assert copy_history(source, between) == ({}, 5)
        assert set(between.paths()) == set(source.paths()) > set(names)
        assert between.contents(names) == source.contents(names)
    with open_git_branch(git.Remote(url=str(init_repository(tmp_path / "end.git", bare=True)))) as end:
        with open_sql(parse_database(f"sqlite:///{tmp_path / 'copy.db'}")) as between:
            copy_history(between, end)
            assert set(end.paths()) == set(between.paths())
        assert end.accepted("a/b") == (ACCEPTANCE,)
        assert end.load(NAME) is not None
        assert stored(end, f"{2:040x}", suite="日本") == [make_run(2, suite="日本")]
