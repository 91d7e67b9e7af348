"""Candidates for a baseline on real repositories: merges, criss-crosses, random graphs, shallow checkouts."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_culprit import git
from perf_culprit.errors import BotError, InfrastructureError, UsageError
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.store.ancestry import Ancestry, find_ancestry
from perf_culprit.store.baseline import choose_baseline
from perf_culprit.store.opening import open_git_branch
from perf_culprit.store.protocol import NamedRun
from tests.support.fake_history import FakeHistory
from tests.support.git_http import TOKEN, serve_git
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.reasons import words_of

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
Graph = dict[str, Sequence[str]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "served" / "project.git", bare=True)


@pytest.fixture
def url(repository: Path) -> Iterator[str]:
    with serve_git(repository.parent) as root:
        yield f"{root}/{repository.name}"


def named(ancestry: Ancestry, commits: Mapping[str, str]) -> list[str]:
    names = {commit: name for name, commit in commits.items()}
    return [names[commit] for commit in ancestry.commits]


def make_run(commit: str, *, day: int = 1) -> Run:
    benchmarks = (Benchmark.of(name="sort", metric=TIME, samples=(1.0, 2.0)),)
    return Run(benchmarks=benchmarks, commit=commit, time=datetime(2026, 1, day, tzinfo=UTC))


def checkout_shallow(url: str, folder: Path, commit: str) -> Path:
    """Check out as actions/checkout does: depth 1, detached, its token in the configuration."""
    init_repository(folder)
    run_git(folder, "remote", "add", "origin", url)
    *_, (_, value) = git.Remote(url=url, token=TOKEN).config()
    run_git(folder, "config", f"http.{url.rsplit('/', 1)[0]}/.extraheader", value)
    run_git(folder, "fetch", "--quiet", "--depth=1", "origin", commit)
    run_git(folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    return folder


def test_a_pull_request_is_judged_from_its_merge_base(repository: Path) -> None:
    graph: Graph = {**chain("m", 5), "f1": ["m3"], "f2": ["f1"]}
    commits = import_commits(repository, graph)
    ancestry = find_ancestry(repository, head="f2", base="m5")
    assert named(ancestry, commits) == ["m3", "m2", "m1"]
    assert ancestry.base_commit == commits["m3"]


def test_a_push_is_judged_from_its_parents(repository: Path) -> None:
    graph: Graph = {**chain("m", 3), "f1": ["m2"], "merge": ["m3", "f1"]}
    commits = import_commits(repository, graph)
    ancestry = find_ancestry(repository, head="merge", base=None)
    assert sorted(named(ancestry, commits)) == ["f1", "m1", "m2", "m3"]
    assert ancestry.base_commit == commits["m3"]
    root = find_ancestry(repository, head="m1", base=None)
    assert (root.commits, root.base_commit) == ((), None)


def test_a_merge_of_head_and_base_is_judged_from_the_base(repository: Path) -> None:
    commits = import_commits(repository, {**chain("m", 3), "f1": ["m1"], "pr": ["m3", "f1"]})
    ancestry = find_ancestry(repository, head="pr", base="m3")
    assert named(ancestry, commits) == ["m3", "m2", "m1"]


def test_a_merged_branch_contains_its_own_base(repository: Path) -> None:
    commits = import_commits(repository, {**chain("m", 2), "f1": ["m1"], "merged": ["m2", "f1"]})
    ancestry = find_ancestry(repository, head="f1", base="merged")
    assert named(ancestry, commits) == ["f1", "m1"]


def test_a_criss_cross_counts_all_merge_bases_and_says_so(repository: Path) -> None:
    graph: Graph = {"root": [], "a": ["root"], "b": ["root"], "x": ["a", "b"], "y": ["b", "a"]}
    commits = import_commits(repository, graph)
    ancestry = find_ancestry(repository, head="x", base="y")
    assert sorted(named(ancestry, commits)) == ["a", "b", "root"]
    assert named(ancestry, commits)[-1] == "root"
    assert "2 merge bases" in words_of(ancestry.notes)[0]


def test_unrelated_histories_have_no_candidates_and_say_so(repository: Path) -> None:
    import_commits(repository, {"a": [], "b": []})
    ancestry = find_ancestry(repository, head="a", base="b")
    assert ancestry.commits == ()
    assert "no common ancestor" in words_of(ancestry.notes)[0]


def test_the_base_is_found_as_a_remote_s_branch(repository: Path, tmp_path: Path) -> None:
    commits = import_commits(repository, {"main": [], "f1": ["main"]})
    work = tmp_path / "work"
    run_git(tmp_path, "clone", "--quiet", "--branch=f1", str(repository), str(work))
    assert named(find_ancestry(work, head="HEAD", base="main"), commits) == ["main"]
    with pytest.raises(UsageError, match="nowhere"):
        find_ancestry(work, head="HEAD", base="nowhere")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(2, 14))
    graph: Graph = {"c0": []}
    for number in range(1, size):
        earlier = st.integers(max(0, number - 5), number - 1)
        parents = draw(st.lists(earlier, min_size=0 if number < 3 else 1, max_size=3, unique=True))
        graph[f"c{number}"] = [f"c{parent}" for parent in parents]
    return graph


def closure(graph: Graph, name: str) -> set[str]:
    """Return the commit and all its ancestors, by walking the graph."""
    result, todo = set(), [name]
    while todo:
        if (commit := todo.pop()) not in result:
            result.add(commit)
            todo.extend(graph[commit])
    return result


@pytest.mark.slow  # every example is a separate git repository
@settings(derandomize=True, deadline=None, max_examples=40)
@given(graph=graphs(), data=st.data())
def test_chosen_runs_are_ancestors_newest_first_and_within_the_window(graph: Graph, data: st.DataObject) -> None:
    names = sorted(graph)
    head, base = data.draw(st.sampled_from(names)), data.draw(st.one_of(st.none(), st.sampled_from(names)))
    measured = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=5, unique=True))
    window = data.draw(st.integers(1, 4))
    common = closure(graph, head) & closure(graph, base) if base else closure(graph, head)
    with tempfile.TemporaryDirectory() as folder:
        repository = init_repository(Path(folder) / "repository", bare=True)
        commits = import_commits(repository, graph)
        history = FakeHistory(
            [NamedRun(id=name, commit=commits[name], run=make_run(commits[name])) for name in measured]
        )
        target = make_run(commits[head], day=2)
        baseline = choose_baseline(history, repository, target=target, base=base, window=window)
    of = {commit: name for name, commit in commits.items()}
    chosen = [of[run.commit] for run in reversed(baseline.runs) if run.commit]
    possible = (common - {head}) & set(measured)
    assert set(chosen) <= possible
    assert len(chosen) == min(window, len(possible))
    for newer, older in pairwise(chosen):
        assert newer not in closure(graph, older)
    # The newest are chosen: a possible run that contains a chosen one is chosen too.
    assert all(child in chosen for child in possible for name in chosen if name in closure(graph, child))
    if base and common:
        maximal = {name for name in common if not any(name in closure(graph, other) for other in common - {name})}
        assert of[str(baseline.base_commit)] in maximal


def test_a_shallow_checkout_is_completed_in_private(repository: Path, url: str, tmp_path: Path) -> None:
    graph: Graph = {**chain("m", 8), "main": ["m8"], "f1": ["m6"], "f2": ["f1"]}
    commits = import_commits(repository, graph)
    work = checkout_shallow(url, tmp_path / "work", commits["f2"])
    before = {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()}
    remote = git.Remote(url=url, token=TOKEN)
    for base in ("main", "origin/main", "refs/heads/main", commits["main"]):
        ancestry = find_ancestry(work, head="HEAD", base=base, remote=remote)
        assert named(ancestry, commits) == ["m6", "m5", "m4", "m3", "m2", "m1"]
    pushed = find_ancestry(work, head=commits["m4"], base=None, remote=remote)
    assert named(pushed, commits) == ["m3", "m2", "m1"]
    assert git.is_shallow(work)
    assert {path: path.read_bytes() for path in (work / ".git").rglob("*") if path.is_file()} == before


@pytest.fixture
def depths(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Set small steps of depth, and return the list of depths that are fetched."""
    fetched: list[int | None] = []
    fetch = git.fetch

    def spy(*arguments: object, **options: object) -> bool:
        fetched.append(options["depth"])  # type: ignore[arg-type]  # an int or None, as git.fetch takes it
        return fetch(*arguments, **options)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr("perf_culprit.store.ancestry.DEPTHS", (2, 5, None))
    monkeypatch.setattr(git, "fetch", spy)
    return fetched


def test_fetching_goes_only_as_deep_as_needed(
    repository: Path, url: str, tmp_path: Path, depths: list[int | None]
) -> None:
    graph: Graph = {**chain("m", 20), "f1": ["m19"]}
    commits = import_commits(repository, graph)
    work = checkout_shallow(url, tmp_path / "work", commits["f1"])
    remote = git.Remote(url=url, token=TOKEN)

    def find(wanted: str) -> list[str]:
        depths.clear()
        ancestry = find_ancestry(
            work, head="HEAD", base="m20", remote=remote, enough=lambda result: commits[wanted] in result
        )
        return named(ancestry, commits)

    assert find("m19")[0] == "m19"
    assert depths == [2]
    assert find("m16")[:4] == ["m19", "m18", "m17", "m16"]
    assert depths == [2, 5]
    assert find("m1")[-1] == "m1"
    assert depths == [2, 5, None]


def test_a_merge_base_is_taken_only_when_no_better_one_can_be_hidden(
    repository: Path, url: str, tmp_path: Path, depths: list[int | None]
) -> None:
    # Head and base both merged `old` just now, while their real merge base m9 lies beyond the first depth of both.
    graph: Graph = {**chain("m", 9), "old": ["m1"], **chain("a", 6, start=["m9"]), **chain("b", 6, start=["m9"])}
    graph |= {"head": ["a6", "old"], "base": ["b6", "old"]}
    commits = import_commits(repository, graph)
    work = checkout_shallow(url, tmp_path / "work", commits["head"])
    remote = git.Remote(url=url, token=TOKEN)
    ancestry = find_ancestry(work, head="HEAD", base="base", remote=remote, enough=lambda _: True)
    assert set(named(ancestry, commits)) == {"old", *(f"m{i}" for i in range(1, 10))}
    assert depths == [2, 5, None]


def test_a_baseline_from_a_shallow_checkout_end_to_end(repository: Path, url: str, tmp_path: Path) -> None:
    commits = import_commits(repository, {**chain("m", 5), "f1": ["m4"]})
    work = checkout_shallow(url, tmp_path / "work", commits["f1"])
    remote = git.Remote(url=url, token=TOKEN)
    with open_git_branch(remote) as history:
        for name in ("m2", "m4", "m5"):
            history.append(make_run(commits[name]))
        baseline = choose_baseline(history, work, target=make_run(commits["f1"]), base="m5", remote=remote)
    assert [run.commit for run in baseline.runs] == [commits["m2"], commits["m4"]]
    assert baseline.base_commit == commits["m4"]


@pytest.mark.parametrize("case", ["no remote", "wrong token", "unknown base", "unpushed commit"])
def test_what_cannot_be_fetched_says_fetch_depth_0(repository: Path, url: str, tmp_path: Path, case: str) -> None:
    commits = import_commits(repository, {**chain("m", 5), "f1": ["m4"]})
    work = checkout_shallow(url, tmp_path / "work", commits["f1"])
    run_git(work, "remote", "remove", "origin")
    secret = "wrong-token-0815"
    remote = None if case == "no remote" else git.Remote(url=url, token=secret if case == "wrong token" else TOKEN)
    if case == "unpushed commit":
        run_git(work, "commit", "--quiet", "--allow-empty", "-m", "mine")
    with pytest.raises(BotError) as caught:
        find_ancestry(work, head="HEAD", base="nowhere" if case == "unknown base" else "m5", remote=remote)
    assert "fetch-depth: 0" in str(caught.value)
    assert "filter: blob:none" in str(caught.value)
    assert secret not in str(caught.value)
    assert isinstance(caught.value, UsageError if case in {"no remote", "unknown base"} else InfrastructureError)
