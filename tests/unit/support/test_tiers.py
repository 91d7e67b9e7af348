"""The table of the two tiers: what it names exists, and what a run leaves out follows from it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.git_repository import init_repository, run_git
from tests.support.tiers import PROJECT, changed_files, entries, left_out, table

IMAGE = PROJECT / "tests/e2e/test_image.py"
SPIES = PROJECT / "tests/integration/test_spies.py"
CONTRACT = "tests/integration/test_history_contract.py"


def item(nodeid: str, *fixtures: str) -> Any:
    return SimpleNamespace(nodeid=nodeid, path=PROJECT / nodeid.partition("::")[0], fixturenames=fixtures)


@pytest.mark.parametrize("entry", entries(table(), "tests"))
def test_what_the_table_names_exists(entry: str) -> None:
    path, _, pattern = entry.partition("::")
    assert pattern.strip("*") in (PROJECT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("fixture", entries(table(), "fixtures"))
def test_a_fixture_of_the_table_is_defined(fixture: str) -> None:
    paths = (PROJECT / "tests").rglob("test_*.py")
    assert any(f"\ndef {fixture}(" in path.read_text(encoding="utf-8") for path in paths)


def test_paths_whose_change_brings_tests_into_the_first_tier_exist() -> None:
    assert [path for path in entries(table(), "changes") if not (PROJECT / path).exists()] == []


@pytest.mark.parametrize(
    ("changed", "is_out"),
    [
        ([], True),
        (["bot/perf_culprit/say/phrases.py", "docs/github.md"], True),
        (["bot/perf_culprit/github/host.py"], False),
        (["bot/perf_culprit/action/modes.py"], False),
        (["README.md", "Dockerfile"], False),
        ([".ci/requirements/runtime.txt"], False),
    ],
)
def test_a_change_of_what_containers_run_brings_their_tests_only(changed: list[str], *, is_out: bool) -> None:
    rest = left_out(changed)
    assert rest.is_file_out(IMAGE) is is_out
    assert rest.is_file_out(SPIES)


def test_a_file_that_is_named_runs_whole() -> None:
    rest = left_out([], named=[SPIES, PROJECT / CONTRACT])
    assert not rest.is_file_out(SPIES)
    assert not rest.is_test_out(item(f"{CONTRACT}::test_a[postgresql]"))
    assert rest.is_file_out(IMAGE)


def test_of_other_files_the_tests_that_match_or_use_a_fixture_are_left_out() -> None:
    rest = left_out([])
    assert rest.is_test_out(item(f"{CONTRACT}::test_a[postgresql]"))
    assert not rest.is_test_out(item(f"{CONTRACT}::test_a[sqlite]"))
    assert rest.is_test_out(item("tests/integration/test_dashboard.py::test_a", "site", "browser"))
    assert not rest.is_test_out(item("tests/integration/test_dashboard.py::test_a", "site"))


def test_changed_files_are_those_since_the_base_committed_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_BASE_REF", raising=False)
    repository = init_repository(tmp_path / "project")

    def commit(name: str) -> None:
        (repository / name).write_text(name)
        run_git(repository, "add", name)
        run_git(repository, "commit", "--quiet", "--message", name)

    commit("a")
    commit("b")
    run_git(repository, "checkout", "--quiet", "-b", "change", "HEAD~1")
    commit("c")
    (repository / "a").write_text("changed")
    (repository / "d").write_text("new")
    assert changed_files(repository) == ["a", "c", "d"]
    monkeypatch.setenv("GITHUB_BASE_REF", "nowhere")
    assert changed_files(repository) == []
