import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.traced import ROOT

TESTS = """
import pytest

def work():
    return sum(number * number for number in range(3000))

def lists(items):
    items.append(work())
    return items

@pytest.fixture
def items():
    return []

def test_plain(items):
    assert lists(items)

def test_benchmark(benchmark):
    assert benchmark(lists, []) is not None

def test_pedantic(benchmark):
    assert benchmark.pedantic(lists, setup=lambda: (([],), {}), rounds=3) is not None

@pytest.fixture
def benchmark():
    return None
"""


def run(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "perf_culprit.explain.tracer.plugin",
        "-p",
        "no:cacheprovider",
        *options,
    ]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)}
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_each_test_and_each_benchmark_is_traced(project: Path) -> None:
    ended = run(project, "--perf-culprit-trace", "out/trace.json", "--perf-culprit-trace-repetitions", "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 traces in out/trace.json" in ended.stdout
    profiles: list[dict[str, Any]] = [
        json.loads(line) for line in (project / "out" / "trace.json").read_text().splitlines()
    ]
    assert {profile["service"] for profile in profiles} == {
        "test_it.py::test_plain",
        "test_it.py::test_benchmark",
        "test_it.py::test_pedantic",
    }
    roots = {profile["service"]: profile["nodes"][0]["method"] for profile in profiles}
    assert roots["test_it.py::test_plain"] == "test_it.test_plain"
    assert roots["test_it.py::test_benchmark"] == "test_it.lists"
    assert all(profile["repetitions"] == 2 for profile in profiles)


def test_without_the_option_nothing_changes(project: Path) -> None:
    ended = run(project, "-k", "plain")
    assert ended.returncode == 0
    assert "perf-culprit" not in ended.stdout


def test_no_repetitions_are_refused(project: Path) -> None:
    ended = run(project, "--perf-culprit-trace", "out.json", "--perf-culprit-trace-repetitions", "0")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
