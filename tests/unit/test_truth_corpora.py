"""The repository's recorded executions, and the command that records more."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.truth.executions import PEERS, Suite, by_product, read_suites

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "benchmarks" / "truth" / "corpora"
RECORDED = sorted(CORPORA.glob("*.npz"))
LARGEST_BYTES = 10_000_000
COUNTS = {"B/op", "allocs/op"}


def test_the_recordings_are_small() -> None:
    assert [file.stem for file in RECORDED] == ["cpp", "go", "java", "node", "python", "rust"]
    assert sum(file.stat().st_size for file in RECORDED) < LARGEST_BYTES


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recording_is_read_and_judged(file: Path) -> None:
    suite = read_suites([file])[file.stem]
    benchmarks, executions = suite.y.shape
    assert executions >= 30
    assert benchmarks >= 10
    assert not np.isnan(suite.y).any()
    five_a_side = suite._replace(y=suite.y[:, :10])
    is_target = np.arange(10) % 2 == 1
    called = by_product(five_a_side, is_target)
    assert len(called.proven) == len(called.suspected) == benchmarks
    assert called.visible is not None
    assert np.isfinite(called.visible).any()
    for peer in PEERS.values():
        assert len(peer(five_a_side, is_target).suspected) == benchmarks


def test_one_suite_is_large_and_holds_times_and_counts() -> None:
    suite = read_suites([CORPORA / "go.npz"])["go"]
    assert len(set(suite.names)) >= 200
    assert {"time", *COUNTS} <= {metric.name for metric in suite.metrics}


def recorded(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    options = ["--run", command, "--executions", "3", "--output", str(folder / "own.npz")]
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.truth.record", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_was_recorded_is_read_as_it_was_printed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = (
        "echo 'BenchmarkLasting 100 20.5 ns/op 0 B/op 3 allocs/op'; "
        f"[ -e {mark} ] || echo 'BenchmarkPassing 100 7 ns/op'; touch {mark}"
    )
    assert recorded(tmp_path, command).returncode == 0
    suite: Suite = read_suites([tmp_path / "own.npz"])["own"]
    assert suite.names == ("BenchmarkLasting",) * 3
    assert [metric.name for metric in suite.metrics] == ["time", "B/op", "allocs/op"]
    assert np.exp(suite.y) == pytest.approx(np.array([[20.5] * 3, [0] * 3, [3] * 3]))


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    ended = recorded(tmp_path, "exit 7")
    assert ended.returncode == 1
    assert "exit 7: ended with 7" in ended.stderr
    assert not (tmp_path / "own.npz").exists()
