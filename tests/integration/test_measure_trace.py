"""`perf-culprit measure --trace` on a real repository with a real Python benchmark."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.flows import measurement
from perf_culprit.measure import worktree_executor
from perf_culprit.model.call_tree import Profile, decode_profile
from perf_culprit.model.report import decode_tree_comparison
from tests.support.interpreters import newer_interpreter
from tests.support.measured_repository import COUNTER, RUN, Commit, measured_repository

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
    assert f"traces: {out}/*-trace*" in output
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
    assert measure(repository, tmp_path / "out", "echo 1 || python") == 3
    assert "left a trace" in capsys.readouterr().err


# `--trace auto`: only after something got or looks worse, and without an influence on the verdict.

TRACED = f"{RUN}; {{python}} bench.py > /dev/null"


def measure_auto(
    levels: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *more: str, run: str = TRACED
) -> int:
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    files = [{"bench.py": BENCHMARK, "lib.py": LIBRARY.format(extra=extra)} for extra in ("pass", "slow()")]
    commits = {f"c{i}": Commit(level=level, files=files[i]) for i, level in enumerate(levels)}
    measured_repository(tmp_path / "repository", commits)
    where = ["--repo", str(tmp_path / "repository"), "--output", str(tmp_path / "out"), "--commits", "HEAD~1", "HEAD"]
    command = ["--run", run.format(python=newer_interpreter()), "--environment", COUNTER, "--warmup", "0"]
    return main(["measure", *where, *command, "--trace", "auto", "--trace-repetitions", "2", *more])


def test_what_got_slower_is_traced_and_the_commit_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure_auto((1000, 1500), tmp_path, monkeypatch, "--trace-full") == 0
    comparison = decode_tree_comparison((tmp_path / "out" / "diagnosis.json").read_bytes(), place="it")
    assert (comparison.subject, comparison.author) == ("commit c1", "Ada")
    assert comparison.commit == comparison.head
    output = capsys.readouterr().out
    assert "1 benchmark got worse" in output
    assert "Most likely through" in output
    assert "commit c1 by Ada." in output
    assert "lib.slow" in output


@pytest.mark.parametrize(("levels", "word"), [((1000, 1000), "unchanged"), ((1500, 1000), "better")])
def test_nothing_is_traced_without_a_change_for_the_worse(
    levels: tuple[int, int],
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "diagnosis.json").write_text("of an earlier measurement")
    assert measure_auto(levels, tmp_path, monkeypatch) == 0
    output = capsys.readouterr()
    assert word in output.out.lower()
    assert "\ntracing " not in f"{output.out}{output.err}"
    assert not (tmp_path / "out" / "diagnosis.json").exists()


@pytest.mark.parametrize(
    "case",
    [
        ((), f"{RUN} || python", "no Python process"),
        (("--minutes", "0.001"), TRACED, "s of the minutes were left; raise --minutes"),
    ],
)
def test_a_trace_that_fails_says_why_and_leaves_the_verdict(
    case: tuple[tuple[str, ...], str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more, run, why = case
    assert measure_auto((1000, 9000), tmp_path, monkeypatch, *more, run=run) == 0
    output = capsys.readouterr().out
    assert "1 benchmark" in output
    assert " worse" in output
    assert "The function is not known:" in output
    assert why in output
    report = decode_tree_comparison((tmp_path / "out" / "diagnosis.json").read_bytes(), place="it")
    assert not report.services
    assert report.subject == "commit c1"


# "loud" is low and high in turn on each side, in opposite order: undecided after any number of rounds.
UNDECIDED = (
    f'read -r v < value; n=0; test ! -e "${COUNTER}.$v" || read -r n < "${COUNTER}.$v"; '
    f'echo $((n + 1)) > "${COUNTER}.$v"; '
    """{python} -c 'import lib; [lib.parse() for _ in range(100)]'; """
    """printf '[{{"name": "steady", "unit": "ms", "value": %s}}, {{"name": "loud", "unit": "ms", "value": %s}}]' """
    "$((v * (1000 + (n * 11) % 21))) $((1000 + 1000 * ((n + v / 9000) % 2)))"
)


@dataclass(frozen=True)
class ExecutionClock:
    """A clock by which each execution of UNDECIDED takes 100 seconds."""

    folder: Path

    def monotonic(self) -> float:
        return 100.0 * sum(int(file.read_text()) for file in self.folder.glob("counter.*"))


def test_minutes_are_kept_for_a_trace_while_another_benchmark_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace takes ten executions, more than a tenth of these 40, each of 100 seconds."""
    for module in (measurement, worktree_executor):
        monkeypatch.setattr(module, "time", ExecutionClock(tmp_path))
    more = ("--until-decided", "--minutes", "67")
    assert measure_auto((1000, 9000), tmp_path, monkeypatch, *more, run=UNDECIDED) == 0
    output = capsys.readouterr()
    assert "of the minutes were left" not in output.out
    assert "tracing 1 benchmark" in f"{output.out}{output.err}"
    assert "lib.slow" in output.out, output
