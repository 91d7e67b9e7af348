"""`perf-culprit measure` on real repositories: what it writes, `compare` reads; it stops early only when it may."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.measure.processor_time import Meter
from perf_culprit.measure.worktree_executor import balanced_round
from perf_culprit.model.run import Execution
from perf_culprit.model.run_file import decode_run
from tests.support.counting_valgrind import counting_valgrind
from tests.support.git_repository import run_git
from tests.support.measured_repository import COUNTER, RUN, line, measured_repository, temporary_folders
from tests.support.processes import LateClock, becomes


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


def test_the_command_that_compare_advises_needs_no_other_option(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    assert main(["measure", "--commits", "HEAD~1", "HEAD", "--run", RUN, "--until-decided", "--rounds", "1"]) == 0
    assert sorted(file.name for file in Path("measured").glob("*.json")) == ["baseline.json", "target.json"]


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


def test_uncommitted_changes_are_measured_as_they_are(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "own").write_text("7000000")
    assert measure(repository, "--rounds", "3", commits=("HEAD", "."), run="cat own 2>/dev/null || echo 1000000") == 0
    assert "variant (as committed → with uncommitted changes)" in capsys.readouterr().out
    sides = [written(repository, name) for name in ("baseline", "target")]
    assert [set(one["benchmarks"][0]["samples"]) for one in sides] == [{1000000}, {7000000}]
    assert run_git(repository, "status", "--porcelain") == "?? own"


@pytest.mark.parametrize("run", [None, 'cat built; test "$PERF_CULPRIT_VARIANT"'])
def test_variants_of_one_commit_have_builds_of_their_own(
    repository: Path, capsys: pytest.CaptureFixture[str], run: str | None
) -> None:
    variants = [f"--variant={name}={text}" for name, text in (("a.1", "echo 1000000"), ("b", "echo  3000000"))]
    out = str(repository.parent / "out")
    options = ["--repo", str(repository), "--rounds", "3", "--output", out, "--build", "$PERF_CULPRIT_VARIANT > built"]
    assert main(["measure", *variants, *options, *(["--run", run] if run else [])]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "variant (a.1=echo 1000000 → b=echo 3000000)" in shown
    sides = [written(repository, name) for name in ("baseline", "target")]
    assert [set(one["benchmarks"][0]["samples"]) for one in sides] == [{1000000}, {3000000}]
    assert main(["measure", *variants[::-1], *options, *(["--run", run] if run else []), "--resume"]) == 2


@pytest.mark.parametrize("options", [["--variant", "a=true"], ["--variant", "true"], ["--variant", "a="]])
def test_one_variant_or_none_is_refused(
    repository: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(repository, *options, commits=("HEAD",)) == 2
    assert "--variant" in capsys.readouterr().err


def test_what_prints_no_results_can_be_timed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(repository, "--output", str(repository.parent / "out"), run="echo hello") != 0
    assert "--run \"bash -c '(time COMMAND) 2>&1'\"" in capsys.readouterr().err
    timed = "bash -c '(time echo hello) 2>&1'"
    assert measure(repository, "--rounds", "1", "--output", str(repository.parent / "out"), run=timed) in (0, 1)


@pytest.mark.parametrize(("delay", "is_said"), [(0.04, False), (0.3, True)])
def test_a_busy_machine_is_told_after_the_first_round(
    delay: float,
    is_said: bool,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def end(meter: Meter) -> None:
        meter.execution = Execution(seconds=1.0, cpu_seconds=0.6, delay_seconds=delay)

    monkeypatch.setattr(Meter, "end", end)
    assert measure(repository, "--rounds", "2", "--warmup", "0") == 0
    lines = capsys.readouterr().err.splitlines()
    told = [number for number, text in enumerate(lines) if "wait 30% of their time for a processor" in text]
    second = next(number for number, text in enumerate(lines) if text.startswith("round 2"))
    assert told == [second - 1] * is_said


def test_compare_reads_what_measure_wrote(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = repository.parent / "out"
    assert measure(repository, "--rounds", "7", "--dry-run") == 0
    assert re.search(r"would take at most 30 executions in \d+ runner seconds?, without", capsys.readouterr().out)
    assert (repository.parent / "counter").read_text() == "2\n"
    assert [path.name for path in out.iterdir()] == ["log.txt"]
    assert measure(repository, "--rounds", "7") == 0
    assert measure(repository, "--rounds", "7", "--dry-run") == 0
    foreseen = capsys.readouterr().out
    assert re.search(r"would take at most 30 executions in \d+ runner seconds?, without", foreseen)
    assert "by the noise of the earlier measurement, 7 rounds would show a change of " in foreseen
    pair = ["--paired", "--baseline", str(out / "baseline.json"), "--target", str(out / "target.json")]
    assert main(["compare", *pair, "--markdown", str(out / "comment.md")]) == 1
    # Both sides, with a warm-up each.
    assert re.search(r"30 executions in \d+ runner seconds?", capsys.readouterr().out)
    assert re.search(r"30 executions in \d+ runner seconds?", (out / "comment.md").read_text())


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
    monkeypatch.setattr("perf_culprit.measure.quantities_of_commands.shutil.which", lambda _: None)
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


def test_the_order_is_drawn_and_both_sides_have_the_same_environments(repository: Path, tmp_path: Path) -> None:
    order = tmp_path / "order"
    run = f'echo "$(cat number) ${{#PERF_CULPRIT_FILLER}}" >> {order}; echo 1'
    assert measure(repository, "--rounds", "6", "--warmup", "0", run=run) == 0
    executions = [line.split() for line in order.read_text().splitlines()]
    rounds = [executions[start : start + 4] for start in range(0, 24, 4)]
    seed = written(repository, "target")["seed"]
    assert written(repository, "baseline")["seed"] == seed
    for number, of_round in enumerate(rounds, start=1):
        drawn = list(balanced_round(("c2", "c3"), seed=seed, number=number))
        assert of_round == [[side, str(length)] for side, length in drawn]
        (first, one), (second, other), (third, two), (fourth, last) = drawn
        assert (first, second, one, two) == (fourth, third, other, last)
    assert len({length for _, length in executions}) > 6


def test_the_times_of_a_command_that_prints_nothing(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = "read -r n < value; i=0; while [ $i -lt $((n * 40)) ]; do i=$((i + 1)); done"
    assert measure(repository, "--rounds", "4", "--metric", "cpu-time", run=count) == 0
    run = written(repository, "target")
    assert [(entry["name"], entry["metric"]) for entry in run["benchmarks"]] == [
        ("command", "cpu-time"),
        ("command", "time"),
    ]
    cpu, wall = (entry["samples"] for entry in run["benchmarks"])
    assert [[one["cpu_seconds"], one["seconds"]] for one in run["executions"]] == [
        list(one) for one in zip(cpu, wall, strict=True)
    ]
    files = [repository.parent / "out" / f"{name}.json" for name in ("baseline", "target")]
    for path, level in zip(files, (1.0, 1.4), strict=True):  # a loaded machine may not prove what was measured
        side = json.loads(path.read_bytes())
        for number, execution in enumerate(side["executions"]):
            execution["cpu_seconds"] = execution["seconds"] = level * (1 + number % 3 / 1000)
        for entry in side["benchmarks"]:
            entry["samples"] = [execution["cpu_seconds"] for execution in side["executions"]]
        path.write_text(json.dumps(side))
    assert main(["compare", "--paired", "--baseline", str(files[0]), "--target", str(files[1])]) == 1
    assert "command · cpu-time takes 40" in capsys.readouterr().out


def test_a_sleep_is_judged_by_the_clock(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = "sleep 0.$(($(cat value) * 3 / 10)); echo 1"
    assert measure(repository, "--rounds", "4", "--also", "cpu-time", run=run) == 0
    files = [str(repository.parent / "out" / f"{name}.json") for name in ("baseline", "target")]
    assert main(["compare", "--paired", "--baseline", files[0], "--target", files[1]]) == 1
    output = capsys.readouterr().out
    assert "command" in output
    assert "judged by the clock, because they wait or use several processors: 1 benchmark" in output


@pytest.mark.parametrize("option", ["--metric", "--also"])
def test_a_tool_that_repeats_by_the_clock_is_judged_by_its_own_times(repository: Path, option: str) -> None:
    run = "echo 'BenchmarkParse-2  1000  '$(cat value)' ns/op'"
    assert measure(repository, "--rounds", "1", option, "cpu-time", run=run) == 0
    run_file = written(repository, "target")
    assert [(entry["name"], entry["metric"]) for entry in run_file["benchmarks"]] == [("BenchmarkParse", "time")]
    assert any("repeats its work by the clock" in note for note in run_file["notes"])


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
    assert (settings["proven"], settings["suspected"]) == (0.01, 0.1)  # of all looks together


def test_what_stays_undecided_takes_the_whole_budget(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noisy = f'n=$(cat "${COUNTER}" || echo 0); echo $((n + 1)) > "${COUNTER}"; echo $((1000 + n * 7919 % 401))'
    assert measure(repository, "--until-decided", "--rounds", "4", run=noisy) == 0
    written_lines = capsys.readouterr()
    assert "measured 4 of 4 rounds" in written_lines.out
    assert written_lines.err.count("interim analysis after round") == 1  # earlier, nothing can be proven


def test_no_change_on_a_calm_machine_is_decided_in_two_rounds(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calm = f'n=$(cat "${COUNTER}" || echo 0); echo $((n + 1)) > "${COUNTER}"; echo $((100000 + n * 7919 % 401))'
    assert measure(repository, "--until-decided", "--rounds", "16", run=calm) == 0
    assert "measured 2 of 16 rounds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "commits", "run", "code", "text"),
    [
        pytest.param(["--until-decided"], ("HEAD",), RUN, 2, "exactly two", id="one to decide"),
        pytest.param(["--until-decided"], ("HEAD~2", "HEAD~1", "HEAD"), RUN, 2, "exactly two", id="three to decide"),
        pytest.param([], ("nowhere", "HEAD"), RUN, 2, "git knows no commit 'nowhere'", id="unknown commit"),
        pytest.param(["--build", "exit 3"], ("HEAD~1", "HEAD"), RUN, 3, "build ended with exit code 3", id="build"),
        pytest.param([], ("HEAD~1", "HEAD"), "true", 3, "printed no samples", id="no samples"),
        pytest.param([], ("HEAD~1", "HEAD"), "kill -KILL $$", 3, "out of memory?", id="killed"),
        pytest.param(
            ["--timeout", "0.2"], ("HEAD~1", "HEAD"), "sleep 9", 3, "--timeout gives it more time", id="timeout"
        ),
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


ENDED = "ended"


def ending(signal_name: str, executions: int) -> str:
    """Return RUN, which after `executions` executions sends the signal to the measuring process, once."""
    after = f'[ "$(cat "${COUNTER}")" = {executions} ] && [ ! -e "${COUNTER}-{ENDED}" ]'
    return f'if {after}; then touch "${COUNTER}-{ENDED}"; kill -{signal_name} $PPID; sleep 60; fi; {RUN}'


def rounds_kept(repository: Path) -> list[list[int]]:
    return [written(repository, name)["benchmarks"][0]["rounds"] for name in ("baseline", "target")]


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_an_interrupt_keeps_whole_rounds_and_their_verdict_and_another_call_adds_the_rest(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    run = ending(name, 2 + 3 * 4 + 1)  # a warm-up of each side, three rounds and the first execution of the fourth
    assert measure(repository, "--rounds", "6", run=run) == 130
    shown = capsys.readouterr()
    assert "got slower" in shown.out or "got worse" in shown.out
    assert "\ninterrupted: measured 3 of 6 rounds\n" in shown.out
    assert shown.out.splitlines()[-1] == "to continue: repeat the command with --resume"
    assert "round 2 of 6, less than a minute to go" in shown.err
    assert rounds_kept(repository) == [[1, 1, 2, 2, 3, 3]] * 2
    first = written(repository, "target")
    assert worktrees(repository) == 1

    assert measure(repository, "--rounds", "6", "--resume", run=run) == 0
    shown = capsys.readouterr()
    assert "\nmeasured 6 of 6 rounds\n" in shown.out
    assert "--resume" not in shown.out
    assert "round 3" not in shown.err
    assert rounds_kept(repository) == [[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]] * 2
    whole = written(repository, "target")
    assert whole["job"] == first["job"] == written(repository, "baseline")["job"]
    assert whole["benchmarks"][0]["samples"][:6] == first["benchmarks"][0]["samples"]
    assert whole["cost"]["executions"] == first["cost"]["executions"] + 1 + 6
    assert whole["looks"] == 2, "its verdict was shown before"
    files = [str(repository.parent / "out" / f"{name}.json") for name in ("baseline", "target")]
    assert main(["compare", "--paired", "--baseline", files[0], "--target", files[1]]) == 1


@pytest.mark.slow  # processes of their own
def test_a_killed_measurement_keeps_whole_rounds(repository: Path, tmp_path: Path) -> None:
    out = ["--output", str(tmp_path / "out")]
    argv = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", *out, "--rounds", "5"]
    run = ["--run", ending("KILL", 2 + 2 * 4 + 3)]
    environment = {name: value for name, value in os.environ.items() if name != "GITHUB_ACTIONS"}
    killed = subprocess.run([sys.executable, "-m", "perf_culprit", *argv, *run], check=False, env=environment)
    assert killed.returncode == -signal.SIGKILL
    # On a busy machine writing waits for a later round than the second.
    assert rounds_kept(repository) in ([[1, 1]] * 2, [[1, 1, 2, 2]] * 2)
    assert main([*argv, *run, "--resume"]) == 0
    assert rounds_kept(repository) == [[1, 1, 2, 2, 3, 3, 4, 4, 5, 5]] * 2
    assert worktrees(repository) == 1


def test_an_execution_that_fails_costs_its_round_only(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    run = f'if [ -e "{broken}" ]; then echo no space left >&2; exit 3; fi; {RUN}'
    assert measure(repository, "--rounds", "2", run=run) == 0
    broken.touch()
    assert measure(repository, "--rounds", "3", "--resume", run=run) == 3
    shown = capsys.readouterr()
    assert "ended with exit code 3; its output ends with: no space left" in shown.err
    assert "measured 2 of 3 rounds" in shown.out
    assert "repeat the command with --resume" in shown.out
    assert rounds_kept(repository) == [[1, 1, 2, 2]] * 2
    broken.unlink()
    assert measure(repository, "--rounds", "3", "--resume", run=run) == 0
    assert rounds_kept(repository) == [[1, 1, 2, 2, 3, 3]] * 2


def test_no_round_begins_that_would_end_after_the_limit(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limited = ["--rounds", "16", "--until-decided", "--minutes", "0.0001"]
    assert measure(repository, *limited) == 0
    shown = capsys.readouterr()
    assert "\ntime limit reached: measured 1 of 16 rounds\n" in shown.out
    assert shown.out.splitlines()[-1] == "to continue: repeat the command with --resume"
    assert "round 1 of at most 16, less than a minute to go" in shown.err
    assert measure(repository, *limited, "--resume") == 0
    assert "measured 2 of 16 rounds" in capsys.readouterr().out
    assert measure(repository, *limited[:-2], "--resume") == 0
    assert "\nmeasured 4 of 16 rounds\n" in capsys.readouterr().out
    assert written(repository, "target")["looks"] == 6, "four were planned, two ended earlier calls"


def test_what_is_measured_besides_is_there_once_after_a_resumption(repository: Path) -> None:
    build = ["--build", "true", "--also", "build-time,size:value"]
    assert measure(repository, "--rounds", "1", *build) == 0
    assert measure(repository, "--rounds", "2", *build, "--resume") == 0
    benchmarks = written(repository, "target")["benchmarks"]
    assert [(entry["metric"], len(entry["samples"])) for entry in benchmarks] == [
        ("value", 4),
        ("size:value", 4),
        ("build-time", 2),
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param({"run": f"true; {RUN}"}, "different: --run\n", id="another command"),
        pytest.param({"options": ["--build", "true"]}, "different: --build\n", id="another build"),
        pytest.param({"options": ["--also", "peak-memory"]}, "different: --also\n", id="more quantities"),
        pytest.param({"options": ["--suite", "other"]}, "different: --suite\n", id="another suite"),
        pytest.param({"commits": ("HEAD~2", "HEAD")}, "different: --commits (baseline was ", id="another commit"),
        pytest.param({"commits": ("HEAD~2", "HEAD~1", "HEAD")}, "target-1.json: cannot be read", id="more commits"),
    ],
)
def test_another_measurement_is_not_resumed(
    repository: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], text: str
) -> None:
    assert measure(repository, "--rounds", "1") == 0
    before = written(repository, "baseline")
    assert measure(repository, *options.pop("options", ()), "--resume", **options) == 2
    message = capsys.readouterr().err
    assert text in message
    assert "without --resume" in message
    assert written(repository, "baseline") == before


def test_what_is_no_measurement_is_not_resumed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = repository.parent / "out"
    assert measure(repository, "--resume") == 2
    assert "baseline.json: cannot be read: No such file" in capsys.readouterr().err
    assert measure(repository, "--rounds", "1") == 0
    first = (out / "baseline.json").read_bytes()
    (out / "target.json").write_bytes(first[:-20])
    assert measure(repository, "--resume") == 3
    message = capsys.readouterr().err
    assert "target.json: not a valid run-v1" in message
    assert "Next: start a measurement without --resume" in message
    (out / "target.json").write_text('{"format": "perf-culprit-run", "version": 1, "benchmarks": []}')
    assert measure(repository, "--resume") == 2
    assert "target.json: has no rounds to resume" in capsys.readouterr().err
    assert measure(repository, "--rounds", "1") == 0
    (out / "baseline.json").write_bytes(first)
    assert measure(repository, "--resume") == 2
    assert "different: the job of its files" in capsys.readouterr().err


def test_quiet_is_the_verdict_without_the_progress(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measure(repository, "--rounds", "3", "--quiet") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "measured 3 of 3 rounds" in shown.out
    assert measure(repository, "--quiet", run="exit 4") == 3
    assert "ended with exit code 4" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--metric", "instructions"], ["--warmup", "0"], ["--dry-run"]])
def test_what_fails_on_both_sides_ends_it_at_once(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
) -> None:
    monkeypatch.setenv("PATH", f"{counting_valgrind(tmp_path / 'bin')}:{os.environ['PATH']}")
    run = f'cat number >> "{tmp_path / "executed"}"; echo no such table >&2; exit 9'
    assert measure(repository, *options, run=run) == 3
    assert "exit code 9; its output ends with: no such table" in capsys.readouterr().err
    executed = (tmp_path / "executed").read_text().split()
    assert len(executed) == len(set(executed))


@pytest.mark.parametrize(
    "case",
    [
        ("echo no such table >&2; exit 9", "command ended with exit code 9: no such table", 0, 1),
        ('touch "$LATE"; sleep 600', "command took longer than 60 s", 0, 1),
        (f"{RUN}; exit 9", "command ended with exit code 9", 2, 1),
    ],
)
def test_that_one_side_fails_is_an_answer(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, str, int, int],
) -> None:
    fails, told, rounds, code = case
    LateClock(tmp_path / "late", monkeypatch)
    fails = fails.replace("$LATE", str(tmp_path / "late"))
    run = f'if [ "$(cat number)" = c3 ]; then {fails}; fi; {RUN}'
    assert measure(repository, "--rounds", "2", "--timeout", "60", run=run) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("The target failed; ")
    assert f"Not tested: the target's {told}" in shown.out
    assert f"measured {rounds} of 2 rounds" in shown.out
    files = [str(repository.parent / "out" / f"{name}.json") for name in ("baseline", "target")]
    compare = ["compare", "--paired", "--baseline", files[0], "--target", files[1]]
    assert main(compare) == code
    assert f"Not tested: the target's {told}" in capsys.readouterr().out


@pytest.mark.slow  # a process of its own, ended while it measures
def test_an_interrupt_before_the_first_whole_round_leaves_nothing(
    repository: Path, temporary: Path, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    argv = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--output", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "perf_culprit", *argv, "--run", f"echo $$ > {started}; sleep 60"], stderr=subprocess.PIPE
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


@pytest.mark.slow  # a process of its own, ended while it measures
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_round_keeps_the_executions_that_ended(
    repository: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """The fourth execution waits; the three before are judged, and the next call adds rounds to them."""
    count, out = tmp_path / "count", tmp_path / "out"
    run = f"echo x >> {count}; [ $(wc -l < {count}) -ne 4 ] || sleep 60; {RUN}"
    argv = ["measure", "--repo", str(repository), "--commits", "HEAD~1", "HEAD", "--warmup", "0", "--rounds", "2"]
    command = [sys.executable, "-m", "perf_culprit", *argv, "--output", str(out), "--run", run]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert becomes(lambda: count.exists() and count.read_text().count("x") == 4)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"interrupted in round 1: kept 3 of its 4 executions" in printed
    assert b"measured 1 of 2 rounds" in printed

    def rounds() -> list[int]:
        sides = [decode_run((out / f"{name}.json").read_bytes(), place=name) for name in ("baseline", "target")]
        return sorted(number for side in sides for number in side.benchmarks[0].rounds)

    assert rounds() == [1, 1, 1]
    again = subprocess.run([*command, "--resume"], check=True, capture_output=True)
    assert b"measured 2 of 2 rounds" in again.stdout
    assert rounds() == [1, 1, 1, 2, 2, 2, 2]


def test_it_says_that_uncommitted_changes_are_not_measured(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warning = "not measured: uncommitted changes (value); --commits HEAD . compares them"
    (repository / "value").write_text("a different one\n")
    assert measure(repository, "--rounds", "1") == 0
    assert warning in capsys.readouterr().err
    for commits in (("HEAD~2", "HEAD~1"), ("HEAD", ".")):
        assert measure(repository, "--rounds", "1", commits=commits) in {0, 3}
        assert warning not in capsys.readouterr().err


def test_benchmarks_of_another_folder_measure_both_commits(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither commit has the benchmark (docs/how-to/benchmarks-elsewhere.md)."""
    benchmarks = repository.parent / "benchmarks"
    benchmarks.mkdir()
    (benchmarks / "run.py").write_text("from pathlib import Path\nprint(int(Path('value').read_text()) * 1000)\n")
    monkeypatch.setenv("BENCHMARKS", str(benchmarks))
    run = f'PYTHONPATH=. {sys.executable} "$BENCHMARKS/run.py"'
    assert measure(repository, "--rounds", "2", "--environment", "BENCHMARKS", run=run) == 0
    samples = [set(written(repository, name)["benchmarks"][0]["samples"]) for name in ("baseline", "target")]
    assert samples == [{1_000_000.0}, {1_600_000.0}]
