"""`perf-culprit measure --trace` on a real repository with a real Python benchmark."""

import json
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.model.call_tree import Profile, decode_profile
from tests.support.interpreters import newer_interpreter
from tests.support.measured_repository import Commit, measured_repository

LIBRARY = """
def tiny(number):
    return number + 1

def parse():
    {extra}
    for number in range(2000):
        tiny(number)

def rest():
    for number in range(100000):
        number * number

def slow():
    for number in range(20000):
        number * number
"""
BENCHMARK = "import json, lib\nlib.parse()\nlib.rest()\nprint(1)\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = [{"bench.py": BENCHMARK, "lib.py": LIBRARY.format(extra=extra)} for extra in ("pass", "slow()")]
    measured_repository(tmp_path / "repository", {f"c{i}": Commit(files=some) for i, some in enumerate(files)})
    return tmp_path / "repository"


def measure(repository: Path, out: Path, python: str) -> int:
    where = ["--repo", str(repository), "--output", str(out), "--commits", "HEAD~1", "HEAD"]
    options = ["--rounds", "1", "--warmup", "0", "--trace", "--trace-repetitions", "2", "--trace-full"]
    return main(["measure", *where, "--run", f"{python} bench.py", *options])


def profile(out: Path, name: str) -> Profile:
    return decode_profile((out / f"{name}-trace.json").read_bytes(), place=name)


@pytest.mark.slow  # a process for each repetition of each level, on two commits
def test_each_commit_gets_a_trace_with_its_own_calls(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert measure(repository, out, newer_interpreter()) == 0
    output = capsys.readouterr().out
    assert f"trace: {out / 'target-trace.json'}" in output
    assert f"--target {out / 'target.json'} --diagnosis {out / 'diagnosis.json'}" in output
    diagnosis = json.loads((out / "diagnosis.json").read_bytes())
    commits = [json.loads((out / f"{name}.json").read_bytes())["commit"] for name in ("baseline", "target")]
    assert [diagnosis["base"], diagnosis["head"], diagnosis["commit"]] == [*commits, commits[1]]
    calls = [{node.method: node.calls for node in profile(out, name).nodes} for name in ("baseline", "target")]
    assert "lib.slow" not in calls[0]
    assert calls[1]["lib.slow"] == 1
    assert [entry["lib.tiny"] for entry in calls] == [2000, 2000]
    assert json.loads((out / "baseline.json").read_text())["commit"]


def test_a_command_without_python_ends_with_no_data(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(repository, tmp_path / "out", "echo 1 ||") == 3
    assert "left a trace" in capsys.readouterr().err
