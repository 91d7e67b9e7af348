"""`measure` of commits whose benchmarks differ: recognized by their code, or measured by the head's benchmarks."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from tests.support.git_repository import run_git
from tests.support.measured_repository import Commit, measured_repository, temporary_folders

# pytest-benchmark's format, by the commit's own benchmark (how often) and its own code (how long).
RUN = """n=$(cat "$COUNT" 2>/dev/null || echo 0); echo $((n + 1)) > "$COUNT"; . ./bench/test_parse.py; read -r v < value
awk -v v="$v" -v t="$TIMES" -v n="$n" 'BEGIN { srand(n * 7919 + 17)
  printf "{\\"machine_info\\": {}, \\"benchmarks\\": [{\\"name\\": \\"test_parse\\", \\"fullname\\": \\"%s\\", ", NAME
  printf "\\"stats\\": {\\"data\\": [%.9f, %.9f]}}]}", v * t * (1 + 0.01 * rand()), v * t * (1 + 0.01 * rand()) }' \\
  NAME=x | sed 's|"fullname": "|&bench/test_parse.py::test_parse|' > "$PERF_CULPRIT_OUTPUT"
"""
BENCHMARK = "TIMES={times}\n: '\ndef test_parse(benchmark):\n    benchmark(parse, {times})\n'\n"


def commits(*, times: tuple[int, int], levels: tuple[int, int] = (1000, 1000), extra: str = "") -> dict[str, Commit]:
    texts = (BENCHMARK.format(times=times[0]), extra + BENCHMARK.format(times=times[1]))
    return {
        name: Commit(level=level, files={"bench/test_parse.py": text})
        for name, level, text in zip(("base", "head"), levels, texts, strict=True)
    }


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    with temporary_folders(tmp_path, monkeypatch) as folder:
        yield folder


def measure(folder: Path, made: dict[str, Commit], *options: str) -> dict[str, dict[str, Any]]:
    repository = folder / "repository"
    measured_repository(repository, made)
    out = folder / "out"
    words = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--run", RUN, "--output", str(out)]
    assert main([*words, "--rounds", "4", *options]) == 0
    assert run_git(repository, "worktree", "list").count("\n") == 0
    return {name: json.loads((out / f"{name}.json").read_text()) for name in ("baseline", "target")}


def test_a_benchmark_that_does_more_is_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = measure(tmp_path, commits(times=(1, 3)))
    before, now = (runs[name]["benchmarks"][0]["version"] for name in ("baseline", "target"))
    assert before != now
    output = capsys.readouterr().out
    assert "1 benchmark is not comparable: it changed" in output
    assert "bench/test_parse.py; numbers may differ" in output
    assert "--harness head" in output
    out = tmp_path / "out"
    words = ["compare", "--paired", "--baseline", f"{out}/baseline.json", "--target", f"{out}/target.json"]
    assert main(words) == 0, "the files say it too"
    assert "is not comparable" in capsys.readouterr().out


def test_a_comment_in_its_file_hides_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure(tmp_path, commits(times=(1, 1), levels=(1000, 1500), extra="# see #12\n"))
    output = capsys.readouterr().out
    assert "1 benchmark got slower" in output
    assert "numbers may differ for" in output


def test_the_head_s_benchmarks_on_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The code got 50% slower, while the benchmark does three times the work."""
    runs = measure(tmp_path, commits(times=(1, 3), levels=(1000, 1500)), "--harness", "head")
    repository = tmp_path / "repository"
    head, base = (run_git(repository, "rev-parse", revision) for revision in ("HEAD", "HEAD~1"))
    assert (runs["baseline"]["commit"], runs["baseline"]["environment"]["harness"]) == (base, head)
    assert runs["target"]["commit"] == head
    assert "harness" not in runs["target"]["environment"]
    assert runs["baseline"]["benchmarks"][0]["samples"][0] == pytest.approx(3000, rel=0.02)
    output = capsys.readouterr().out
    assert "1 benchmark got slower" in output
    assert "takes 50" in output or "takes 49" in output
    assert "numbers may differ for" not in output
    assert f"measured by the head's benchmarks ({head[:10]})" in output


def test_where_they_do_not_run_on_the_base_it_is_not_comparable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark uses a function that the base lacks."""
    made = commits(times=(1, 3), extra="test -e new || { echo 'no function new' >&2; exit 1; }\n")
    made["head"] = Commit(level=1000, files={**(made["head"].files or {}), "new": ""})
    runs = measure(tmp_path, made, "--harness", "head")
    assert "harness" not in runs["baseline"]["environment"]
    output = capsys.readouterr().out
    assert "1 benchmark is not comparable: it changed" in output
    assert "the head's benchmarks do not run on" in output
    assert output.count("no function new") == 1


def test_without_a_known_function_the_files_of_both_sides_tell_them_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.integration.test_measure_harness.RUN", ". ./bench/run; echo 5; echo 6")
    made = {
        "base": Commit(files={"bench/run": "true\n"}),
        "head": Commit(files={"bench/run": "test -e new\n", "new": ""}),
    }
    runs = measure(tmp_path, made, "--harness", "head")
    assert {run["benchmarks"][0]["version"] for run in runs.values()} == {
        f"benchmarks of {run['commit'][:12]}" for run in runs.values()
    }
    assert "1 benchmark is not comparable" in capsys.readouterr().out


def test_counts_of_each_named_benchmark_alone(tmp_path: Path) -> None:
    """Each benchmark is measured separately, by its name."""
    repository, out = tmp_path / "repository", tmp_path / "out"
    measured_repository(repository, commits(times=(1, 1)))
    run = "case $PERF_CULPRIT_BENCHMARKS in parse) n=5000 ;; *) n=90 ;; esac; head -c $n /dev/zero > file"
    words = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--run", run, "--output", str(out)]
    assert main([*words, "--metric", "size:file", "--only", "parse", "render"]) == 0
    for name in ("baseline", "target"):
        sizes = {one["name"]: one["samples"] for one in json.loads((out / f"{name}.json").read_text())["benchmarks"]}
        assert sizes == {"parse": [5000.0, 5000.0], "render": [90.0, 90.0]}
