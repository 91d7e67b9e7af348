"""The repository's recorded executions, and the command that records more."""

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks.truth.executions import COUNTS, PAGE, RESULTS, SAMPLE, TITLES, draws, hash_of, written
from benchmarks.truth.peers import PEERS
from benchmarks.truth.recordings import TIME, Suite, halves_of, read_suites, rows_of
from benchmarks.truth.told import by_files, lived, slower

ROOT = Path(__file__).parents[2]
CORPORA = ROOT / "benchmarks" / "truth" / "corpora"
RECORDED = sorted(CORPORA.glob("*.npz"))
LARGEST_BYTES = 10_000_000
MAKE_AGAIN = "python -m benchmarks.truth.executions --write"


def test_the_recordings_are_small() -> None:
    assert [file.stem for file in RECORDED] == ["cpp", "go", "java", "node", "python", "rust"]
    assert sum(file.stat().st_size for file in RECORDED) < LARGEST_BYTES


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recording_is_read_and_judged(file: Path, tmp_path: Path) -> None:
    suite = read_suites([file])[file.stem]
    benchmarks, executions = suite.y.shape
    assert executions >= 30
    assert benchmarks >= 10
    assert not np.isnan(suite.y).any()
    five_a_side = suite._replace(y=suite.y[:, :10], samples=suite.samples[:, :10])
    is_target = np.arange(10) >= 5
    told = by_files(five_a_side, is_target, np.arange(10), tmp_path)
    assert len(told.proven) == len(told.suspected) == benchmarks
    assert told.headline
    for peer in PEERS.values():
        assert len(peer(five_a_side.y, is_target).suspected) == benchmarks


def test_a_planted_change_is_in_what_the_reader_is_told(tmp_path: Path) -> None:
    rng, is_target = np.random.default_rng(3), np.arange(10) >= 5
    samples = np.exp(rng.normal(0, 0.01, (8, 10, 5)))
    names = tuple(f"b{row}" for row in range(8))
    suite = Suite(np.log(np.median(samples, axis=2)), names, (TIME,) * 8, samples)
    second = np.arange(8) == 1
    slow = by_files(slower(suite, second, np.log(2), is_target), is_target, np.arange(10), tmp_path)
    assert slow.is_warned
    assert (slow.conclusion, slow.proven.tolist()) == ("regression", second.tolist())
    calm = by_files(suite, is_target, np.arange(10), tmp_path)
    assert not calm.is_warned
    assert calm.holds_no_change.all()


def test_a_mixed_suite_has_half_of_each_corpus_and_each_stretch_once() -> None:
    def suite(rows: int, units: int, samples: int) -> Suite:
        values = np.arange(rows * units * samples, dtype=float).reshape(rows, units, samples) + 1
        names = tuple(f"b{row}" for row in range(rows))
        return Suite(np.log(np.median(values, axis=2)), names, (TIME,) * rows, values)

    calm, loud = suite(4, 3, 5), suite(2, 7, 2)
    mixed = halves_of({"calm": calm}, {"loud": loud})
    assert list(mixed) == ["calm, loud 0", "calm, loud 3"]
    for start, one in zip((0, 3), mixed.values(), strict=True):
        assert one.names == ("calm-b0", "calm-b1", "loud-b0", "loud-b1")
        np.testing.assert_array_equal(one.y[:2], calm.y[:2])
        np.testing.assert_array_equal(one.y[2:], loud.y[:, start : start + 3])
        np.testing.assert_array_equal(one.samples[2:, :, :2], loud.samples[:, start : start + 3])
        assert np.isnan(one.samples[2:, :, 2:]).all()


def test_a_recorded_suite_lives_run_by_run(tmp_path: Path) -> None:
    suite = rows_of(read_suites([CORPORA / "rust.npz"])["rust"], [0, 1, 2])
    suite = suite._replace(y=suite.y[:, :4], samples=suite.samples[:, :4])
    every = np.ones(3, np.bool_)
    lives = list(lived(suite, [(every, np.log(1e6))], least=3, folder=tmp_path))
    assert [life.stored for life in lives] == [0, 1, 2, 3]
    assert lives[0].told.conclusion == "first_run"
    assert [len(life.planted) for life in lives] == [0, 0, 0, 1]
    assert lives[3].planted[0].is_warned


def test_one_suite_is_large_and_holds_times_and_counts() -> None:
    suite = read_suites([CORPORA / "go.npz"])["go"]
    assert len(set(suite.names)) >= 200
    assert {"time", *COUNTS} <= {metric.name for metric in suite.metrics}


RESULTS_NOW = json.loads(RESULTS.read_text())


@pytest.mark.parametrize("way", TITLES)
def test_the_page_states_what_a_reader_is_told_now(way: str) -> None:
    """Repeat the first draws of each way: if they end differently, the page is stale."""
    stored = RESULTS_NOW["ways"][way]["conclusions"]
    made = draws(read_suites([CORPORA]), way, count=SAMPLE, power=0)
    assert [draw.told.conclusion for draw in islice(made, SAMPLE)] == stored, MAKE_AGAIN


def test_the_page_holds_the_table_of_these_recordings() -> None:
    assert RESULTS_NOW["corpora"] == hash_of([CORPORA]), MAKE_AGAIN
    assert PAGE.read_text() == written(PAGE.read_text(), RESULTS_NOW), MAKE_AGAIN


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
