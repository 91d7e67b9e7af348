"""`perf-culprit measure` on real repositories: what it writes, `compare` reads; it stops early only when it may."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.cli import main
from tests.support.counting_valgrind import counting_valgrind
from tests.support.git_repository import run_git
from tests.support.measured_repository import COUNTER, RUN, line, measured_repository, temporary_folders
from tests.support.processes import becomes


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_folders(tmp_path, monkeypatch) as folder:
        yield folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    measured_repository(tmp_path / "repository", line(4, step_at=3))
    return tmp_path / "repository"


def measure(repository: Path, *options: str, commits: tuple[str, ...] = ("HEAD~1", "HEAD"), run: str = RUN) -> int:
    out = str(repository.parent / "out")
    return main(["measure", "--repo", str(repository), "--commits", *commits, "--run", run, "--output", out, *options])


def written(repository: Path, name: str) -> dict[str, Any]:
    run: dict[str, Any] = json.loads((repository.parent / "out" / f"{name}.json").read_text())
    return run


def worktrees(repository: Path) -> int:
    return run_git(repository, "worktree", "list").count("\n") + 1


def test_both_sides_are_runs_of_one_job(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(repository, "--rounds", "3", "--warmup", "2", run=f"{RUN}; echo 1001000") == 0
    output = capsys.readouterr().out
    baseline, target = written(repository, "baseline"), written(repository, "target")
    assert baseline["commit"] == run_git(repository, "rev-parse", "HEAD~1")
    assert target["commit"] == run_git(repository, "rev-parse", "HEAD")
    assert baseline["job"] == target["job"]
    assert baseline["environment"]["os"] == "Linux"
    for run in (baseline, target):
        (benchmark,) = run["benchmarks"]
        assert len(benchmark["samples"]) == 12
        assert benchmark["group_sizes"] == [2] * 6
        assert "looks" not in run
        assert run["cost"]["executions"] == 8
        assert 0 < run["cost"]["seconds"] < 60
    assert (repository.parent / "counter").read_text() == "16\n"  # 2 warm-ups and 6 executions per side
    assert worktrees(repository) == 1
    assert "compare --paired --baseline" in output
    out = repository.parent / "out"
    assert "execution" not in (out / "log.txt").read_text()


def test_compare_reads_what_measure_wrote(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = repository.parent / "out"
    assert measure(repository, "--rounds", "7", "--dry-run") == 0
    assert "would take at most 30 executions, without" in capsys.readouterr().out
    assert not out.exists()
    assert measure(repository, "--rounds", "7") == 0
    assert measure(repository, "--rounds", "7", "--dry-run") == 0
    foreseen = capsys.readouterr().out
    assert "would take at most 30 executions in 1 runner minute, without" in foreseen
    assert "by the noise of the earlier measurement, 7 rounds would show a change of " in foreseen
    pair = ["--paired", "--baseline", str(out / "baseline.json"), "--target", str(out / "target.json")]
    assert main(["compare", *pair, "--markdown", str(out / "comment.md")]) == 1
    # Both sides, with a warm-up each.
    assert "30 executions in 1 runner minute" in capsys.readouterr().out
    assert "30 executions in 1 runner minute" in (out / "comment.md").read_text()


def test_counts_stand_beside_times(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", f"{counting_valgrind(tmp_path / 'bin')}:{os.environ['PATH']}")
    assert measure(repository, "--rounds", "6", "--also", "instructions") == 0
    files = [str(repository.parent / "out" / f"{name}.json") for name in ("baseline", "target")]
    assert main(["compare", "--paired", "--baseline", files[0], "--target", files[1]]) == 1
    assert "Both metrics got worse" in capsys.readouterr().out
    keys = [
        (entry["name"], entry["metric"], len(entry["samples"])) for entry in written(repository, "target")["benchmarks"]
    ]
    assert keys == [("result", "value", 12), ("command", "instructions", 2)]


def test_a_count_alone_is_judged_and_one_that_cannot_be_taken_is_said(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", f"{counting_valgrind(tmp_path / 'bin')}:{os.environ['PATH']}")
    files = [str(repository.parent / "out" / f"{name}.json") for name in ("baseline", "target")]
    for commits, code in ((("HEAD~2", "HEAD~1"), 0), (("HEAD~1", "HEAD"), 1)):
        assert measure(repository, "--metric", "instructions", commits=commits) == 0
        assert main(["compare", "--paired", "--baseline", files[0], "--target", files[1]]) == code
        assert "minimum effect 0.5" in capsys.readouterr().out
    monkeypatch.setattr("bot.measure.counts.shutil.which", lambda _: None)
    assert measure(repository, "--rounds", "6", "--also", "instructions") == 0
    assert main(["compare", "--paired", "--baseline", files[0], "--target", files[1]]) == 1
    assert "instructions cannot be counted: valgrind is not installed" in capsys.readouterr().out


def test_build_time_sizes_and_memory_are_metrics_of_one_option(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build = "mkdir dist && cp value dist/a.txt && cp number dist/b.py"
    also = "build-time,size:dist/*.txt,peak-memory,size:dist/*.whl"
    assert measure(repository, "--rounds", "3", "--build", build, "--also", also) == 0
    weight = len((repository / "value").read_bytes())
    benchmarks = {entry["metric"]: entry for entry in written(repository, "target")["benchmarks"]}
    assert list(benchmarks) == ["value", "size:dist/*.txt", "peak-memory", "build-time"]
    assert benchmarks["size:dist/*.txt"]["samples"] == [weight] * 6
    for metric in ("peak-memory", "build-time"):
        assert benchmarks[metric]["rounds"] == [1, 1, 2, 2, 3, 3]
        assert len(set(benchmarks[metric]["samples"])) > 1
    files = [str(repository.parent / "out" / f"{name}.json") for name in ("baseline", "target")]
    main(["compare", "--paired", "--baseline", files[0], "--target", files[1]])
    assert "size:dist/*.whl could not be measured: no file is called dist/*.whl" in capsys.readouterr().out
    assert worktrees(repository) == 1


def test_the_configuration_names_what_is_measured_besides(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = repository.parent / "perf-culprit.yml"
    file.write_text("also: [build-time, 'size:value']\n")
    assert measure(repository, "--rounds", "1", "--config", str(file)) == 0
    benchmarks = written(repository, "target")["benchmarks"]
    assert [entry["metric"] for entry in benchmarks] == ["value", "size:value"]
    assert "there is no build command to time" in "".join(capsys.readouterr())
    file.write_text("also: [peak-memry, 'size:/etc']\n")
    assert measure(repository, "--config", str(file)) == 2
    errors = capsys.readouterr().err
    assert "did you mean peak-memory?" in errors
    assert "files lie in the checkout" in errors


def test_a_build_alone_is_timed_or_weighed_without_a_command_that_measures(repository: Path) -> None:
    ends = ["--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--output", str(repository.parent / "out")]
    build = ["--build", "cp value weight"]
    for metric, executions in (("build-time", 14), ("size:weight", 2)):
        assert main(["measure", *ends, *build, "--metric", metric]) == 0
        (benchmark,) = written(repository, "target")["benchmarks"]
        assert (benchmark["name"], benchmark["metric"], len(benchmark["samples"])) == ("command", metric, executions)
    assert main(["measure", *ends, "--metric", "build-time"]) == 2
    assert main(["measure", *ends, *build, "--metric", "size:nothing"]) == 3
    assert main(["measure", *ends, *build, "--metric", "size:../outside"]) == 2


def test_the_order_is_a_b_b_a(repository: Path, tmp_path: Path) -> None:
    order = tmp_path / "order"
    assert measure(repository, "--rounds", "2", "--warmup", "0", run=f"cat number >> {order}; echo 1") == 0
    assert order.read_text().split() == ["c2", "c3", "c3", "c2"] * 2


def test_more_than_two_commits(repository: Path) -> None:
    assert measure(repository, "--rounds", "1", commits=("HEAD~2", "HEAD~1", "HEAD")) == 0
    names = sorted(path.name for path in (repository.parent / "out").iterdir())
    assert names == ["baseline.json", "log.txt", "target-1.json", "target-2.json"]


def test_a_clear_change_is_decided_at_the_first_look_at_a_stricter_level(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(repository, "--until-decided", "--rounds", "16") == 0
    output = capsys.readouterr().out
    assert "measured 4 of 16 rounds" in output
    assert "got worse" in output
    assert written(repository, "target")["looks"] == 4
    out = repository.parent / "out"
    pair = ["--paired", "--baseline", str(out / "baseline.json"), "--target", str(out / "target.json")]
    assert main(["compare", *pair, "--json", str(out / "report.json")]) == 1
    settings = json.loads((out / "report.json").read_text())["settings"]
    assert (settings["alpha"], settings["false_discovery_rate"]) == (0.0025, 0.0025)


def test_what_stays_undecided_takes_the_whole_budget(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = f'n=$(cat "${COUNTER}" || echo 0); echo $((n + 1)) > "${COUNTER}"; echo $((1000 + n * 7919 % 401))'
    assert measure(repository, "--until-decided", "--rounds", "4", run=noisy) == 0
    written_lines = capsys.readouterr()
    assert "measured 4 of 4 rounds" in written_lines.out
    assert written_lines.err.count("interim analysis after round") == 4


@pytest.mark.parametrize(
    ("options", "commits", "run", "code", "text"),
    [
        pytest.param([], ("HEAD",), RUN, 2, "one commit is no pair", id="one commit"),
        pytest.param(["--until-decided"], ("HEAD~2", "HEAD~1", "HEAD"), RUN, 2, "exactly two", id="three to decide"),
        pytest.param([], ("nowhere", "HEAD"), RUN, 2, "git knows no commit 'nowhere'", id="unknown commit"),
        pytest.param(["--build", "exit 3"], ("HEAD~1", "HEAD"), RUN, 3, "build ended with exit code 3", id="build"),
        pytest.param([], ("HEAD~1", "HEAD"), "true", 3, "printed no samples", id="no samples"),
        pytest.param([], ("HEAD~1", "HEAD"), "kill -KILL $$", 3, "out of memory?", id="killed"),
        pytest.param(["--timeout", "0.2"], ("HEAD~1", "HEAD"), "sleep 9", 3, "took longer than 0.2 s", id="timeout"),
        pytest.param(["--tool", "jmh"], ("HEAD~1", "HEAD"), RUN, 3, "cannot be read", id="other format"),
    ],
)
def test_bad_input(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    options: list[str],
    commits: tuple[str, ...],
    run: str,
    code: int,
    text: str,
) -> None:
    assert measure(repository, *options, commits=commits, run=run) == code
    message = capsys.readouterr().err
    assert text in message
    assert "\nNext: " in message
    assert worktrees(repository) == 1
    assert not (repository.parent / "out" / "baseline.json").exists()


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--rounds", "x"], ["--timeout", "-1"], ["--warmup", "-1"]])
def test_numbers_that_are_none(repository: Path, arguments: list[str]) -> None:
    assert measure(repository, *arguments) == 2


def test_a_cache_saves_the_second_build(repository: Path, tmp_path: Path) -> None:
    build = f'echo x >> "{tmp_path / "builds"}"; echo built > built'
    for _ in range(2):
        run = f"cat built > /dev/null; {RUN}"
        assert measure(repository, "--rounds", "1", "--build", build, "--cache", str(tmp_path / "cache"), run=run) == 0
    assert (tmp_path / "builds").read_text() == "x\nx\n"


@pytest.mark.slow  # a process of its own, ended while it measures
def test_an_interrupt_leaves_nothing(repository: Path, temporary: Path, tmp_path: Path) -> None:
    started = tmp_path / "started"
    argv = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--output", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", *argv, "--run", f"echo $$ > {started}; sleep 60"], stderr=subprocess.PIPE
    )
    assert becomes(lambda: started.exists() and started.read_text().strip())
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"interrupted" in errors
    assert not Path(f"/proc/{started.read_text().strip()}").exists()
    assert worktrees(repository) == 1
    assert os.listdir(temporary) == []  # noqa: PTH208 - names only
    assert not (tmp_path / "out" / "baseline.json").exists()
