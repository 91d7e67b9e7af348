import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.git import command
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.processes import becomes, ends

SECRET = "s3cret-token-value"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "repository")


def test_resolve_commit_gives_full_hashes_for_branches_tags_and_abbreviations(repository: Path) -> None:
    commits = import_commits(repository, chain("c", 2))
    run_git(repository, "tag", "-a", "-m", "v1", "v1", commits["c1"])
    assert git.resolve_commit(repository, "c2") == commits["c2"]
    assert git.resolve_commit(repository, "v1") == commits["c1"]
    assert git.resolve_commit(repository, commits["c1"][:10]) == commits["c1"]


@pytest.mark.parametrize("revision", ["nowhere", "--help", "-q", "HEAD:README", "0" * 40, "a b", "@{upstream}"])
def test_resolve_commit_names_an_unknown_revision(repository: Path, revision: str) -> None:
    import_commits(repository, chain("c", 1))
    with pytest.raises(UsageError) as caught:
        git.resolve_commit(repository, revision)
    assert revision in str(caught.value)


def test_merge_bases_of_a_criss_cross_are_both(repository: Path) -> None:
    graph = {"root": [], "a": ["root"], "b": ["root"], "x": ["a", "b"], "y": ["b", "a"], "alone": []}
    commits = import_commits(repository, graph)
    assert git.merge_bases(repository, commits["x"], commits["y"]) == tuple(sorted([commits["a"], commits["b"]]))
    assert git.merge_bases(repository, commits["a"], commits["alone"]) == ()
    assert git.is_ancestor(repository, commits["a"], commits["y"])
    assert git.is_ancestor(repository, commits["a"], commits["a"])
    assert not git.is_ancestor(repository, commits["y"], commits["a"])
    assert git.parents(repository, commits["x"]) == (commits["a"], commits["b"])
    assert git.parents(repository, commits["root"]) == ()


def test_ancestors_are_children_before_parents(repository: Path) -> None:
    graph = {"root": [], "a": ["root"], "b": ["root"], "x": ["a", "b"]}
    commits = import_commits(repository, graph)
    names = {commit: name for name, commit in commits.items()}
    results = [names[commit] for commit in git.ancestors(repository, [commits["x"]])]
    assert results[0] == "x"
    assert results[-1] == "root"
    assert sorted(results) == ["a", "b", "root", "x"]
    first = git.ancestors(repository, [commits["x"]], first_parent=True)
    assert [names[commit] for commit in first] == ["x", "a", "root"]
    assert git.ancestors(repository, []) == ()


@pytest.mark.slow  # the limit is about 50,000 commits, which must first be created
def test_fifty_thousand_ancestors_take_less_than_a_second_of_work(repository: Path) -> None:
    lines = [
        f"commit refs/heads/main\ncommitter A <a@example.org> {second} +0000\ndata 0\n" for second in range(50_000)
    ]
    run_git(repository, "fast-import", "--quiet", stdin="".join(lines))
    before = os.times()
    commits = git.ancestors(repository, [git.resolve_commit(repository, "main")])
    after = os.times()
    assert len(commits) == 50_000
    # The processor time of this process and git, which excludes other jobs on the machine.
    assert sum(after[:4]) - sum(before[:4]) < 1.0


def test_commit_time(repository: Path) -> None:
    commits = import_commits(repository, chain("c", 3))
    assert git.commit_time(repository, commits["c1"]) == datetime.fromtimestamp(1_700_000_060, tz=UTC)


def test_head_is_found_detached_too(repository: Path) -> None:
    commits = import_commits(repository, chain("c", 2))
    run_git(repository, "checkout", "--quiet", "--detach", commits["c1"])
    assert git.head_commit(repository) == commits["c1"]


def test_default_remote_is_origin_or_the_only_one(repository: Path) -> None:
    assert git.default_remote_url(repository) is None
    run_git(repository, "remote", "add", "fork", "https://example.org/fork.git")
    assert git.default_remote_url(repository) == "https://example.org/fork.git"
    run_git(repository, "remote", "add", "other", "https://example.org/other.git")
    assert git.default_remote_url(repository) is None
    run_git(repository, "remote", "add", "origin", "https://example.org/origin.git")
    assert git.default_remote_url(repository) == "https://example.org/origin.git"


def test_a_folder_without_repository_is_said_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(git.GitError) as caught:
        git.is_shallow(tmp_path)
    assert "not a git repository" in caught.value.message
    assert caught.value.next_step is not None
    assert "actions/checkout" in caught.value.next_step


def test_a_caller_s_git_variables_do_not_redirect_calls(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = import_commits(repository, chain("c", 1))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert git.resolve_commit(repository, "c1") == commits["c1"]


def test_a_caller_s_own_configuration_by_environment_stays(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "perf.test")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "kept")
    assert git.run_git(repository, "config", "perf.test") == b"kept\n"


def test_hooks_and_fsmonitor_of_a_repository_never_run(repository: Path, tmp_path: Path) -> None:
    import_commits(repository, chain("c", 1))
    witness = tmp_path / "ran"
    hook = repository / "evil"
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    run_git(repository, "config", "core.fsmonitor", str(hook))
    for name in ("reference-transaction", "pre-push", "post-index-change"):
        (repository / ".git" / "hooks" / name).write_bytes(hook.read_bytes())
        (repository / ".git" / "hooks" / name).chmod(0o755)
    git.run_git(repository, "read-tree", "c1")
    git.run_git(repository, "status", "--short")
    git.run_git(repository, "update-ref", "refs/x", "c1")
    assert not witness.exists()


def test_the_folder_is_trusted_by_environment_and_nothing_is_written(repository: Path) -> None:
    before = (repository / ".git" / "config").read_bytes()
    value = git.run_git(repository, "config", "--get-all", "safe.directory").decode().split()
    assert value == [str(repository.resolve())]
    assert (repository / ".git" / "config").read_bytes() == before


def test_a_call_that_takes_too_long_is_stopped(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid, kill = repository / "pid", command._kill

    def kill_once_begun(process: subprocess.Popen[bytes]) -> None:
        assert becomes(lambda: pid.exists() and pid.read_text().endswith("\n"))
        kill(process)

    monkeypatch.setattr(command, "_kill", kill_once_begun)
    (repository / "wait").write_text("#!/bin/sh\necho $$ > pid\nexec sleep 100000\n")
    (repository / "wait").chmod(0o755)
    run_git(repository, "config", "alias.wait", "!./wait")
    with pytest.raises(git.GitError, match=r"git wait failed: no answer within 0\.3 s"):
        git.run_git(repository, "wait", timeout_seconds=0.3)
    assert ends(int(pid.read_text()))


@pytest.mark.parametrize(
    ("question", "ask"),
    [
        ("rev-parse", git.resolve_commit),
        ("merge-base", lambda repository, commit: git.is_ancestor(repository, commit, commit)),
        ("merge-base", lambda repository, commit: git.merge_bases(repository, commit, commit)),
        ("grep", lambda repository, commit: git.files_with_words(repository, commit, ["word"], pattern="*")),
        ("config", lambda repository, commit: git.add_worktree(repository, repository.parent / "worktree", commit)),
    ],
)
def test_a_git_that_dies_has_not_answered_no(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str, ask: Callable[[Path, str], object]
) -> None:
    run_git(repository, "commit", "-qm", "x", "--allow-empty")
    commit = run_git(repository, "rev-parse", "HEAD")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "git"
    program.write_text(
        f'#!/bin/sh\ncase " $* " in *" {question} "*) kill -9 $$ ;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(InfrastructureError, match=f"git {question} failed"):
        ask(repository, commit)


def test_git_missing_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InfrastructureError, match="git is not installed"):
        git.is_shallow(repository)


def test_a_token_is_in_no_argument_no_file_no_message_and_no_repr(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = git.Remote(url="http://user:passw0rd@127.0.0.1:9/x.git", token=SECRET)
    seen: list[list[str]] = []
    popen = subprocess.Popen

    def spy(command: list[str], **options: object) -> object:
        seen.append(command)
        return popen(command, **options)  # type: ignore[call-overload]  # passed on as they came

    monkeypatch.setattr(subprocess, "Popen", spy)
    with pytest.raises(git.GitError) as caught:
        git.fetch(repository, remote, ["main"])
    texts = [str(caught.value), caught.value.output, repr(remote), remote.shown, repr(seen)]
    texts += [path.read_text(errors="replace") for path in (repository / ".git").rglob("*") if path.is_file()]
    encoded = remote.config()[-1][1].split()[-1]
    assert len(encoded) > 20
    for text in texts:
        assert SECRET not in text
        assert encoded not in text
        assert "passw0rd" not in text


def test_a_token_that_git_repeats_is_blotted_out() -> None:
    remote = git.Remote(url="https://example.org/x.git", token=SECRET)
    encoded = remote.config()[-1][1].split()[-1]
    script = f"echo 'fatal: {SECRET} {encoded} https://u:p4ss@example.org/x' >&2; exit 1"
    with pytest.raises(git.GitError) as caught:
        git.run_git(Path(), "-c", f"alias.tell=!{script}", "tell", remote=remote)
    assert "***" in caught.value.output
    assert SECRET not in caught.value.output
    assert encoded not in caught.value.output
    assert "p4ss" not in str(caught.value)


def test_a_token_goes_to_http_only_and_to_this_url_only() -> None:
    assert len(git.Remote(url="ssh://git@example.org/x.git", token=SECRET).config()) == 1
    keys = [key for key, _ in git.Remote(url="https://example.org/x.git", token=SECRET).config()]
    assert [key for key in keys if "extraHeader" in key] == ["http.https://example.org/x.git.extraHeader"] * 2


@pytest.mark.parametrize("url", ["", "--upload-pack=touch x", "-x"])
def test_a_url_that_git_would_read_as_an_option_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        git.Remote(url=url)


@pytest.mark.parametrize(
    ("answer", "race"),
    [
        ("! [rejected] x -> perf-history (fetch first)", True),
        ("! [rejected] x -> perf-history (non-fast-forward)", True),
        ("! [rejected] x -> perf-history (stale info)", True),
        ("! [remote rejected] x -> y (cannot lock ref 'refs/heads/y': is at 1 but expected 2)", True),
        ("! [remote rejected] x -> y (failed to update ref)", True),
        ("! [remote rejected] x -> y (incorrect old value provided)", True),
        ("! [remote rejected] x -> y (reference already exists)", True),
        ("! [remote rejected] x -> y (shallow update not allowed)", True),
        ("! [remote rejected] x -> y (protected branch hook declined)", False),
        ("! [remote rejected] x -> y (pre-receive hook declined); cannot lock ref", False),
        ("fatal: unable to access: The requested URL returned error: 403", False),
    ],
)
def test_rejections_by_a_race_are_told_from_others(
    repository: Path, monkeypatch: pytest.MonkeyPatch, answer: str, race: bool
) -> None:
    def refuse(*_: object, **__: object) -> bytes:
        raise git.GitError("push", answer)

    monkeypatch.setattr("perf_culprit.git.objects.run_git", refuse)
    with pytest.raises(git.GitError) as caught:
        git.push(repository, git.Remote(url="/x"), commit="1" * 40, branch="y", expected=None)
    assert isinstance(caught.value, git.PushRejectedError) is race
    if not race:
        assert caught.value.next_step is not None
        assert "push" in caught.value.next_step


def test_plumbing_makes_a_commit_without_checkout_or_index(repository: Path) -> None:
    identity = git.Identity(name="bot", email="bot@example.org")
    content = b"one\n\0two"
    blob = git.blob_name(content)
    path = 'd/\u00e9 "quoted"\\\n.bin'
    write = partial(git.write_commit, repository, identity=identity, message="second\n")
    root = write([git.TreeChange(path, blob)], contents=[content], tree=None, parent=None)
    changes = [git.TreeChange(path, None), git.TreeChange("x y", blob)]
    commit = write(changes, contents=[], tree=root.tree, parent=root.name)
    alone = write([], contents=[], tree=commit.tree, parent=None)
    first, second = root.name, commit.name
    assert git.list_tree(repository, first) == (git.TreeEntry(path, blob),)
    assert git.list_tree(repository, second) == (git.TreeEntry("x y", blob),)
    assert git.read_blobs(repository, [blob, blob]) == (b"one\n\0two", b"one\n\0two")
    assert git.read_blobs(repository, []) == ()
    assert run_git(repository, "log", "-1", "--format=%an %ae %cn %s", second) == "bot bot@example.org bot second"
    assert [git.read_commit(repository, name) for name in (second, alone.name)] == [commit, alone]
    assert (git.parents(repository, second), git.parents(repository, alone.name)) == ((first,), ())
    assert alone.tree == commit.tree
    assert not (repository / ".git" / "index").exists()
    assert run_git(repository, "fsck", "--strict", "--no-dangling") == ""
    with pytest.raises(git.GitError, match="not a file"):
        git.read_blobs(repository, ["1" * 40])


@pytest.mark.parametrize("ask", [git.head_commit, git.is_shallow, git.shallow_commits])
def test_questions_outside_a_repository_fail_by_name(
    tmp_path: Path, ask: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(git.GitError, match="not a git repository"):
        ask(tmp_path)
    with pytest.raises(git.GitError, match="cannot change to"):
        ask(tmp_path / "nowhere")


def test_what_is_missing_of_many_commits_is_what_no_single_question_finds(repository: Path) -> None:
    commits = import_commits(repository, chain("c", 2))
    run_git(repository, "tag", "-a", "-m", "tagged", "tagged", commits["c1"])
    names = ("tagged", "c1^{tree}")
    asked = [commits["c2"], "1" * 40, *(run_git(repository, "rev-parse", name) for name in names), "2" * 40]
    missing = git.missing_commits(repository, asked)
    assert missing == tuple(name for name in asked if git.find_commit(repository, name) is None)
    assert missing == (asked[1], *asked[3:])
    assert git.missing_commits(repository, ()) == ()


def test_unknown_commits_are_no_answer_about_ancestry(repository: Path) -> None:
    commits = import_commits(repository, chain("c", 1))
    with pytest.raises(git.GitError, match="git merge-base failed"):
        git.merge_bases(repository, commits["c1"], "1" * 40)
    with pytest.raises(git.GitError, match="git merge-base failed"):
        git.is_ancestor(repository, "1" * 40, commits["c1"])
