"""The git branch history on real repositories: local paths and git over HTTP, racing writers, kill -9 at every step."""

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace as replace_run

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.errors import ConfigError, InfrastructureError
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.store.git_branch import COMMIT_BYTES, GitBranchHistory
from perf_culprit.store.opening import open_git_branch
from perf_culprit.store.protocol import NamedRun, UnreadableRun
from perf_culprit.store.retention import FILES_SHARE, Patience, Retention, compact
from tests.support.git_http import TOKEN, serve_git
from tests.support.git_repository import init_repository, run_git
from tests.support.killed import dies_at_git_call
from tests.support.stored_runs import make_run

BRANCH = "refs/heads/perf-history"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "served" / "project.git", bare=True)


@pytest.fixture
def url(served: Path) -> Iterator[str]:
    with serve_git(served.parent) as root:
        yield f"{root}/{served.name}"


@pytest.fixture
def history(served: Path, tmp_path: Path) -> GitBranchHistory:
    return GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", random=Random(1))


def files(served: Path, branch: str = BRANCH) -> list[str]:
    return run_git(served, "ls-tree", "-r", "--name-only", branch).splitlines()


def stored(history: GitBranchHistory, *commits: str, suite: str = "default") -> list[Run]:
    return [entry.run for entry in history.runs(suite, commits) if isinstance(entry, NamedRun)]


@pytest.fixture
def sha256(tmp_path: Path) -> Path:
    """Make a clone with a commit, and its remote, whose objects have SHA-256 names."""
    remote, clone = tmp_path / "remote", tmp_path / "clone"
    for options in (["--bare", str(remote)], [str(clone)]):
        run_git(tmp_path, "init", "--quiet", "--object-format=sha256", *options)
    run_git(clone, "remote", "add", "origin", str(remote))
    run_git(clone, "commit", "--quiet", "--allow-empty", "--message", "x")
    return clone


def test_wanted_half_an_hour_by_a_repository_of_sha256_names_got_a_refusal(
    sha256: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its code is measured and searched, and a database holds its history; only a branch is refused."""
    file, commit = sha256 / "run.json", run_git(sha256, "rev-parse", "HEAD").strip()
    file.write_bytes(encode_run(replace_run(make_run(1), commit=commit)))
    record = ["record", str(file), "--repo", str(sha256)]
    assert main(record) == 2
    message = capsys.readouterr().err
    assert "its commits have SHA-256 names" in message
    assert "keep it in a database (--history sqlite:///FILE)" in message
    assert main([*record, "--history", f"sqlite:///{sha256}/history.db"]) == 0


def test_a_remote_of_sha256_names_is_not_tried_again(sha256: Path, tmp_path: Path) -> None:
    waits: list[float] = []
    history = GitBranchHistory(git.Remote(url=str(sha256.parent / "remote")), tmp_path / "private", sleep=waits.append)
    with pytest.raises(InfrastructureError) as error:
        history.append(make_run(1))
    assert error.value.next_step == git.IN_A_DATABASE
    assert waits == []


def test_a_run_comes_back_as_it_was(history: GitBranchHistory, served: Path) -> None:
    run = make_run(1)
    name = history.append(run)
    assert files(served) == ["perf-culprit.json", name]
    with open_git_branch(git.Remote(url=str(served))) as fresh:
        assert fresh.commits("default") == {run.commit: 1}
        assert stored(fresh, f"{1:040x}") == [run]
    who = run_git(served, "log", "-1", "--format=%an|%ae|%cn", BRANCH)
    assert who == "github-actions[bot]|41898282+github-actions[bot]@users.noreply.github.com|github-actions[bot]"
    assert run_git(served, "fsck", "--strict") == ""


def test_the_very_same_run_is_stored_once(history: GitBranchHistory, served: Path) -> None:
    run = make_run(1)
    name = history.append(run)
    before = run_git(served, "rev-parse", BRANCH)
    with open_git_branch(git.Remote(url=str(served))) as other:
        assert other.append(run) == name
    assert run_git(served, "rev-parse", BRANCH) == before


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        (None, "not a history of ours"),
        ("{}", "not a history of ours"),
        ("[" * 4000, "not a history of ours"),
        ('{"format":"perf-culprit-history","version":2}', "has version 2; this program knows 1"),
    ],
)
def test_a_branch_that_is_not_ours_is_left_alone(
    history: GitBranchHistory, served: Path, marker: str | None, message: str
) -> None:
    name = "README" if marker is None else "perf-culprit.json"
    blob = run_git(served, "hash-object", "-w", "--stdin", stdin=marker or "hello")
    tree = run_git(served, "mktree", stdin=f"100644 blob {blob}\t{name}\n")
    commit = run_git(served, "commit-tree", tree, "-m", "theirs")
    run_git(served, "update-ref", BRANCH, commit)
    with pytest.raises(ConfigError, match=message) as caught:
        history.append(make_run(1))
    assert caught.value.place is not None
    assert "perf-history" in caught.value.place
    with pytest.raises(ConfigError):
        history.commits("default")
    assert run_git(served, "rev-parse", BRANCH) == commit


def test_a_broken_file_is_named_and_skipped_and_foreign_files_stay(history: GitBranchHistory, served: Path) -> None:
    good = history.append(make_run(1))
    commit = run_git(served, "rev-parse", BRANCH)
    broken = good.replace(f"{1:040x}", f"{2:040x}")
    swapped = good.replace(f"{1:040x}", f"{3:040x}")
    index = {"broken": "{not json", "note": "by hand", "swapped": encode_run(make_run(1)).decode()}
    changes = {broken: "broken", "notes/mine.txt": "note", swapped: "swapped"}
    work = served.parent / "work"
    run_git(served.parent, "clone", "--quiet", "--branch=perf-history", str(served), str(work))
    for path, key in changes.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(index[key])
    run_git(work, "add", "--all")
    run_git(work, "commit", "--quiet", "-m", "by hand")
    run_git(work, "push", "--quiet", "origin", "perf-history")
    assert run_git(served, "rev-parse", BRANCH) != commit
    history.append(make_run(4))
    results = list(history.runs("default", [f"{n:040x}" for n in (1, 2, 3, 4)]))
    problems = [entry for entry in results if isinstance(entry, UnreadableRun)]
    assert [problem.id for problem in problems] == [broken, swapped]
    assert "not a valid run-v1" in problems[0].problem
    assert "another commit" in problems[1].problem
    assert [entry.run for entry in results if isinstance(entry, NamedRun)] == [make_run(1), make_run(4)]
    assert "notes/mine.txt" in files(served)


@pytest.mark.parametrize("mode", ["160000", "120000"], ids=["submodule", "link"])
def test_a_run_of_the_wrong_kind_is_one_unreadable_run(history: GitBranchHistory, served: Path, mode: str) -> None:
    good, bad = make_run(1), make_run(2)
    history.append(good)
    name = history.append(bad)
    instead = {"160000": "1" * 40, "120000": run_git(served, "hash-object", "-w", "--stdin", stdin="/etc/passwd")}
    listed = run_git(served, "ls-tree", "-r", BRANCH).splitlines()
    kept = [line for line in listed if not line.endswith(name)]
    entries = "\n".join([*kept, f"{mode} {'commit' if mode == '160000' else 'blob'} {instead[mode]}\t{name}"])
    index = {"GIT_INDEX_FILE": str(served / "index.tmp")}
    git.run_git(served, "update-index", "--index-info", stdin=f"{entries}\n".encode(), environment=index)
    tree = git.run_git(served, "write-tree", environment=index).decode().strip()
    run_git(served, "update-ref", BRANCH, run_git(served, "commit-tree", tree, "-p", BRANCH, "-m", "x"))
    history = GitBranchHistory(git.Remote(url=str(served)), served.parent / "reader", random=Random(1))
    assert good.commit is not None
    assert bad.commit is not None
    read = list(history.runs("default", [good.commit, bad.commit]))
    assert [type(entry) for entry in read] == [NamedRun, UnreadableRun]
    assert history.append(make_run(3)) in files(served)


def test_the_user_s_repository_is_not_touched(tmp_path: Path) -> None:
    work = init_repository(tmp_path / "work")
    (work / "file").write_text("changed")
    run_git(work, "add", "file")
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    with open_git_branch(git.Remote(url=str(work))) as history:
        history.append(make_run(1))
        history.commits("default")
    after = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before
    new = {path.relative_to(work).parts[:2] for path in set(after) - set(before)}
    assert new == {(".git", "refs"), (".git", "logs"), (".git", "objects")}
    assert run_git(work, "for-each-ref", "--format=%(refname)") == BRANCH


@pytest.mark.slow  # five writers race for one branch over real HTTP, each attempt is several git processes
@pytest.mark.parametrize("commits_at_most", [10, 4])
def test_five_writers_lose_nothing(served: Path, url: str, tmp_path: Path, commits_at_most: int) -> None:
    """Nothing is lost even if a writer lets the branch start over after every fourth commit."""
    retention = Retention(branch_bytes=4 * COMMIT_BYTES * commits_at_most, raw_runs=24)
    lost: list[str] = []

    def write(writer: int) -> list[str]:
        remote = git.Remote(url=url, token=TOKEN)
        history = GitBranchHistory(remote, tmp_path / f"writer{writer}", random=Random(writer), retention=retention)
        names = [history.append(make_run(writer * 10 + i)) for i in range(2)]
        lost.extend(history.lost)
        return names

    with ThreadPoolExecutor(5) as pool:
        names = [name for written in pool.map(write, range(1, 6)) for name in written]
    assert len(set(names)) == 10
    assert sorted(files(served)) == sorted([*names, "perf-culprit.json"])
    assert lost == []
    assert int(run_git(served, "rev-list", "--count", BRANCH)) <= commits_at_most + 1
    assert run_git(served, "rev-list", "--merges", BRANCH) == ""
    with open_git_branch(git.Remote(url=url, token=TOKEN)) as history:
        assert sum(history.commits("default").values()) == 10


def test_contents_are_fetched_only_when_read(url: str, tmp_path: Path) -> None:
    remote = git.Remote(url=url, token=TOKEN)
    writer = GitBranchHistory(remote, tmp_path / "writer")
    for number in range(1, 6):
        writer.append(make_run(number))
    reader = GitBranchHistory(remote, tmp_path / "reader")
    assert len(reader.commits("default")) == 5
    private = tmp_path / "reader" / "history.git"

    def missing() -> int:
        return run_git(private, "rev-list", "--objects", "--missing=print", "refs/perf-culprit/history").count("?")

    # Five runs, and the marker, whose content is fixed.
    assert missing() == 6
    assert stored(reader, f"{2:040x}", f"{3:040x}") == [make_run(2), make_run(3)]
    assert missing() == 4


def test_a_wrong_token_is_said_and_never_shown(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "wrong-token-0815"
    history = GitBranchHistory(git.Remote(url=url, token=secret), tmp_path / "private")
    with pytest.raises(InfrastructureError) as caught:
        history.append(make_run(1))
    assert "token" in str(caught.value)
    captured = capfd.readouterr()
    private = [path.read_text(errors="replace") for path in (tmp_path / "private").rglob("*") if path.is_file()]
    for text in [str(caught.value), repr(caught.value), caplog.text, captured.out, captured.err, *private]:
        assert secret not in text


def test_the_checkout_s_own_header_does_not_double_ours(served: Path, url: str, tmp_path: Path) -> None:
    work = init_repository(tmp_path / "work")
    run_git(work, "config", f"http.{url.rsplit('/', 1)[0]}/.extraheader", "AUTHORIZATION: basic Zm9v")
    run_git(served, "update-ref", BRANCH, run_git(served, "commit-tree", "-m", "x", run_git(served, "mktree")))
    assert git.fetch(work, git.Remote(url=url, token=TOKEN), [BRANCH])


def test_giving_up_says_that_nothing_was_recorded(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise git.PushRejectedError("push", "! [rejected] (stale info)")

    monkeypatch.setattr(git, "push", lose)
    pauses: list[float] = []
    history = GitBranchHistory(
        git.Remote(url=str(served)),
        tmp_path / "private",
        patience=Patience(attempts=4),
        random=Random(7),
        sleep=pauses.append,
    )
    with pytest.raises(InfrastructureError, match="no run was recorded after 4 attempts") as caught:
        history.append(make_run(1))
    assert caught.value.next_step is not None
    assert caught.value.next_step.endswith("then run again; doing it twice does no harm")
    assert len(pauses) == 3
    assert all(0 <= pause <= 0.1 * 2**attempt for attempt, pause in enumerate(pauses, start=1))
    assert len(set(pauses)) == 3
    assert run_git(served, "for-each-ref") == ""


def test_time_bounds_the_attempts_too(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object, **__: object) -> None:
        raise git.GitError("push", "error: RPC failed; HTTP 502")

    monkeypatch.setattr(git, "push", lose)
    patience = Patience(attempts=1000, seconds=0)
    history = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", patience=patience)
    with pytest.raises(InfrastructureError, match=r"after one attempt: .*RPC failed"):
        history.append(make_run(1))


def test_who_saw_the_branch_pushes_at_once_and_covers_nobody(
    history: GitBranchHistory, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    call = git.run_git

    def counted(repository: Path, *arguments: str, **options: Any) -> bytes:
        calls.append(arguments[0])
        return call(repository, *arguments, **options)

    monkeypatch.setattr("perf_culprit.git.objects.run_git", counted)
    history.append(make_run(1))
    first = run_git(served, "rev-parse", BRANCH)
    calls.clear()
    history.append(make_run(2))
    assert calls == ["fast-import", "push"]
    with open_git_branch(git.Remote(url=str(served))) as other:
        calls.clear()
        other.append(make_run(3))
        assert calls == ["fetch", "cat-file", "ls-tree", "fast-import", "push"]
    with open_git_branch(git.Remote(url=str(served))) as again:
        calls.clear()
        assert stored(again, f"{3:040x}") == [make_run(3)]
        assert calls == ["ls-remote", "cat-file"]  # this process need not fetch its own writes
    name = history.append(make_run(4))
    assert len(files(served)) == 5
    run_git(served, "update-ref", BRANCH, first)
    assert history.append(make_run(4)) == name  # seen there before, and now missing
    assert name in files(served)
    assert len(history.lost) == 3


def test_a_lost_answer_is_no_second_run(served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    push = git.push
    calls = []

    def push_and_lose(*arguments: object, **options: object) -> None:
        calls.append(options)
        push(*arguments, **options)  # type: ignore[arg-type]  # passed on as they came
        raise git.GitError("push", "fatal: the remote end hung up unexpectedly")

    monkeypatch.setattr(git, "push", push_and_lose)
    history = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", sleep=lambda _: None)
    name = history.append(make_run(1))
    assert len(calls) == 1
    assert files(served) == ["perf-culprit.json", name]


def test_a_refusing_hook_is_not_retried(served: Path, tmp_path: Path) -> None:
    hook = served / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)

    def never(_: float) -> None:
        raise AssertionError

    history = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", sleep=never)
    with pytest.raises(git.GitError) as caught:
        history.append(make_run(1))
    assert caught.value.next_step is not None
    assert "allow this workflow to push" in caught.value.next_step


def test_retention_compacts_and_drops_in_the_same_commit(served: Path, tmp_path: Path) -> None:
    # Two runs with their samples and one without.
    large = len(encode_run(make_run(6, samples=20)))
    small = len(encode_run(compact(make_run(4, samples=20))))
    packed = 2 * (large * 2 // 5) + small // 5
    retention = Retention(raw_runs=2, branch_bytes=int(packed / FILES_SHARE) + 1, keeps_past=True)
    history = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", retention=retention)
    for number in range(1, 7):
        history.append(make_run(number, samples=20))
    assert run_git(served, "rev-list", "--count", BRANCH) == "6"
    sizes = [int(line.split()[3]) for line in run_git(served, "ls-tree", "-r", "-l", BRANCH, "runs").splitlines()]
    assert sorted(sizes) == sorted([large, large, small])
    kept = stored(history, *(f"{number:040x}" for number in range(6, 0, -1)))
    assert [run.commit for run in kept] == [f"{number:040x}" for number in (6, 5, 4)]
    assert [run.benchmarks[0].summary is None for run in kept] == [True, True, False]
    summary = kept[2].benchmarks[0].summary
    assert summary is not None
    assert (summary.count, summary.value, summary.minimum, summary.maximum) == (20, 409.5, 400.0, 419.0)
    assert history.append(make_run(4, samples=20)).endswith(".summary.json")
    assert run_git(served, "rev-list", "--count", BRANCH) == "6"


def test_a_run_that_is_too_large_for_one_file_loses_its_samples_with_a_note(served: Path, tmp_path: Path) -> None:
    retention = Retention(file_bytes=600)
    history = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", retention=retention)
    history.append(make_run(1, samples=500))
    (run,) = stored(history, f"{1:040x}")
    assert run.benchmarks[0].summary is not None
    assert any("samples were not stored" in note for note in run.notes)


@pytest.mark.slow  # one append, with a check of the whole repository, for every git call that an append makes
@pytest.mark.parametrize("starts_over", [False, True])
def test_kill_at_any_step_loses_nothing(served: Path, tmp_path: Path, starts_over: bool) -> None:
    remote, retention = git.Remote(url=str(served)), Retention(raw_runs=1)
    if starts_over:
        retention = replace(retention, branch_bytes=4 * COMMIT_BYTES - 1)
    GitBranchHistory(remote, tmp_path / "first", retention=retention).append(make_run(1))
    before = run_git(served, "rev-parse", BRANCH)
    for step in range(1, 100):
        history = GitBranchHistory(remote, tmp_path / f"private{step}", retention=retention)
        if not dies_at_git_call(step, partial(history.append, make_run(2))):
            break
        assert run_git(served, "rev-parse", BRANCH) == before
        assert run_git(served, "fsck", "--strict") == ""
    else:
        pytest.fail("an append makes fewer than 100 git calls")
    assert step > 7
    with open_git_branch(remote) as history:
        assert history.commits("default") == {f"{1:040x}": 1, f"{2:040x}": 1}
        assert stored(history, f"{2:040x}") == [make_run(2)]
    assert run_git(served, "rev-list", "--count", BRANCH) == ("1" if starts_over else "2")


def test_the_marker_says_what_the_branch_is(history: GitBranchHistory, served: Path) -> None:
    history.append(make_run(1))
    marker = json.loads(run_git(served, "cat-file", "blob", f"{BRANCH}:perf-culprit.json"))
    assert marker == {"format": "perf-culprit-history", "version": 1}
