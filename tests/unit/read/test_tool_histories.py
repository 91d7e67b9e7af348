"""Histories of git-perf and of Sandmark: a run per commit, with what their files leave open."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from perf_culprit.model.run import Direction, MetricKey
from perf_culprit.read.results.collect import Reading, collect, collect_history
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.git_repository import run_git
from tests.support.goldens import golden

SANDMARK = "20260105_003000/1111111111111111111111111111111111111111/5.3.0+trunk+sequential_1.orun.summary.bench"
FOLDER = Path(__file__).parents[2] / "golden" / "collect"


def note(epoch: int, name: str, time: float, value: float, *pairs: str) -> str:
    """A line as git-perf writes it: Rust's debug form of numbers, separated by FS."""
    return "\x1c".join((str(epoch), name, str(time), str(value), *pairs))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three commits, of which two have notes; the second one in a new epoch."""
    run_git(tmp_path, "init", "--quiet")
    for number in range(3):
        run_git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", f"commit {number}")
    twice = [note(0, "run", 1.7e9, value, "os=linux") for value in (12.0, 13.0)]
    first = [note(0, "build", 1.7e9, 40.5), *twice]
    newest = [note(0, "build", 1.8e9, 41.0), note(1, "build", 1.8e9 + 5, 20.25), "broken"]
    for revision, lines in (("HEAD~2", first), ("HEAD", newest)):
        run_git(tmp_path, "notes", "--ref=refs/notes/perf-v3", "add", "-m", "\n".join(lines), revision)
    return tmp_path


def lower(_: MetricKey) -> Direction:
    """Answer as a configuration does."""
    return Direction.LOWER_IS_BETTER


def test_notes_of_git_perf_are_runs_of_their_commits(repository: Path) -> None:
    printed = run_git(repository, "log", "--notes=refs/notes/perf-v3", "--format=%H%n%N")
    file = repository / "notes.txt"
    file.write_text(printed, encoding="utf-8")
    runs = collect_history([str(file)], directions=lower)
    assert [run.commit for run in runs] == [run_git(repository, "rev-parse", one) for one in ("HEAD~2", "HEAD")]
    assert [run.time for run in runs] == [datetime.fromtimestamp(one, UTC) for one in (1.7e9, 1.8e9 + 5)]
    read = [[(one.name, one.samples, one.version) for one in run.benchmarks] for run in runs]
    assert read == [[("build", (40.5,), "0"), ("run os=linux", (12.0, 13.0), "0")], [("build", (20.25,), "1")]]
    assert runs[1].notes == ("left out: lines that are not measurements: 1",)
    assert collect([str(file)], Reading(directions=lower)).commit == runs[1].commit


def test_sandmark_names_commit_time_and_variant_by_its_folders() -> None:
    run = collect([str(FOLDER / "sandmark" / SANDMARK)])
    assert run.commit == "1" * 40
    assert run.time == datetime(2026, 1, 5, 0, 30, tzinfo=UTC)
    assert run.environment.components["ocaml"] == "5.3.0+trunk+sequential"
    assert [(one.name, one.metric.name, one.metric.unit, one.value) for one in run.benchmarks] == [
        ("fft.", "time", "s", 4.25),
        ("fft.", "cpu_time", "s", 4.1875),
        ("fft.", "peak_memory", "kB", 156640.0),
        ("quicksort.4000000", "time", "s", 2.5),
        ("quicksort.4000000", "cpu_time", "s", 2.5),
        ("quicksort.4000000", "peak_memory", "kB", 34212.0),
    ]


def test_sandmark_outside_its_folders_has_no_commit() -> None:
    parsed = READERS["sandmark"].read(Source("x.bench", golden(f"sandmark/{SANDMARK}")))
    assert (parsed.commit, parsed.time, parsed.environment.components) == (None, None, {})
