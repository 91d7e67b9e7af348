"""`measure --affected`: unaffected packages are not built, and the written files give the reason."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.flows import measure_plan
from tests.support.git_repository import init_repository, run_git
from tests.support.measured_repository import temporary_folders

# It prints a benchmark for each given package, and records its arguments. It asks the real one for packages.
GO = r"""#!/bin/sh
if [ "$1" = list ]; then PATH=${PATH#*:} exec go "$@"; fi
echo "$*" >> "$HOME/asked"
for word; do case $word in ./*)
  n=$(wc -l < "$HOME/asked"); echo "pkg: example.com/m/${word#./}"; echo "BenchmarkX 100 5.$n ns/op" ;;
esac; done
"""
RUN = "go test -bench . ${PERF_CULPRIT_AFFECTED:-./a ./b}"
TEST = "package {0}\nfunc BenchmarkX(b *testing.B) {{}}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make a repository of three commits: the first, one of documentation, one of package a."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go").write_text(GO)
    (tools / "go").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = init_repository(tmp_path / "repository")
    files = {"go.mod": "module example.com/m\n", "a/a_test.go": TEST.format("a"), "b/b_test.go": TEST.format("b")}
    for change in (files, {"README.md": "read\n"}, {"a/a.go": "package a\n"}):
        for name, text in change.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        run_git(folder, "add", "--all")
        run_git(folder, "commit", "--quiet", "-m", "change")
    with temporary_folders(tmp_path, monkeypatch):
        yield folder


pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")


def measure(repository: Path, *options: str, commits: tuple[str, ...]) -> int:
    out = repository.parent / "out"
    given = ("--repo", str(repository), "--run", RUN, "--output", str(out), "--rounds", "2")
    return main(["measure", *given, "--commits", *commits, *options])


def asked(repository: Path) -> set[str]:
    path = repository.parent / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    return {line for line in lines if line != "version"}


def compared(repository: Path, *options: str) -> dict[str, Any]:
    out = repository.parent / "out"
    sides = ("--baseline", str(out / "baseline.json"), "--target", str(out / "target.json"))
    assert main(["compare", "--paired", *sides, "--json", str(out / "report.json"), *options]) == 0
    report: dict[str, Any] = json.loads((out / "report.json").read_text())
    return report


def test_a_suite_that_nothing_reaches(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--affected", "suites", "--build", "go build ./...")
    assert measure(repository, *options, commits=("HEAD~2", "HEAD~1")) == 0
    printed = capsys.readouterr()
    assert "Not measured: nothing that changed reaches the benchmarks" in printed.out
    assert "not measured: the benchmarks use 2 packages by `go list`" in printed.out + printed.err
    assert not asked(repository)
    report = compared(repository)
    assert (report["conclusion"], report["missing"], report["findings"]) == ("not_affected", [], [])
    assert report["notes"][0]["arguments"] == {"documents": 1}


def test_some_packages_of_a_suite(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(repository, "--affected", "benchmarks", commits=("HEAD~1", "HEAD")) == 0
    assert "measured, since a/a.go reaches ./a" in capsys.readouterr().out
    assert asked(repository) == {"test -bench . ./a"}
    report = compared(repository)
    assert report["missing"] == []
    assert (report["notes"][0]["code"], report["notes"][0]["arguments"]) == ("partly_affected", {"packages": ["./b"]})


def test_what_the_graph_leaves_out_is_measured_where_the_index_knows_better(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It only adds: an index that knows of nothing leaves the graph's answer."""
    indexes = iter([{"BenchmarkX": ("other.go:example.com/m/b.F",)}, {"BenchmarkX": ("a.go:example.com/m/a.F",)}])
    monkeypatch.setattr(measure_plan, "stored_index", lambda *_, **__: next(indexes))
    for ran in ({"test -bench . ./a"}, {"test -bench . ./a", "test -bench . ./a ./b"}):
        assert measure(repository, "--affected", "benchmarks", commits=("HEAD~1", "HEAD")) == 0
        assert asked(repository) == ran
    told = "measured whole, since BenchmarkX runs a.go:example.com/m/a.F, which is in a/a.go"
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "event"), [((), None), (("--affected", "off"), None), (("--affected", "suites"), "push")]
)
def test_all_is_measured(
    repository: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], event: str | None
) -> None:
    """All is measured by default, on request, and at a push, whose run is stored."""
    if event:
        monkeypatch.setenv("GITHUB_EVENT_NAME", event)
    assert measure(repository, *options, commits=("HEAD~2", "HEAD~1")) == 0
    assert asked(repository) == {"test -bench . ./a ./b"}


def test_one_commit_is_compared_with_its_base(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`screen` measures a pull request's head this way."""
    head, base = (run_git(repository, "rev-parse", one) for one in ("HEAD~1", "HEAD~2"))
    run_git(repository, "checkout", "--quiet", head)
    event = repository.parent / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"sha": head}, "base": {"sha": base}}}))
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    assert measure(repository, "--affected", "suites", commits=("HEAD",)) == 0
    assert not asked(repository)


def test_sizes_are_measured_whatever_changed(repository: Path) -> None:
    """Documentation is part of a package's size."""
    options = ("--affected", "suites", "--also", "size:a/*")
    assert measure(repository, *options, commits=("HEAD~2", "HEAD~1")) == 0
    assert asked(repository)
