"""`perf-culprit bisect` on real repositories: it names culprits, survives being killed, and leaves nothing behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.flows.bisect_here import FEW_EXECUTIONS
from tests.support.counting_valgrind import counting_valgrind
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measured_repository import RUN, Commit, line, measured_repository, temporary_folders
from tests.support.processes import becomes
from tests.support.served import served_program

# Whole searches of real worktrees and processes.
pytestmark = pytest.mark.slow

CULPRIT = 5


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with temporary_folders(tmp_path, monkeypatch) as folder:
        yield folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return tmp_path / "repository"


def bisect(repository: Path, *options: str, good: str, bad: str, run: str = RUN) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON answer."""
    out = repository.parent / "answer.json"
    out.unlink(missing_ok=True)
    argv = ["bisect", "--repo", str(repository), "--good", good, "--bad", bad, "--run", run, "--json", str(out)]
    code = main([*argv, *options])
    return code, json.loads(out.read_text()) if out.exists() else {}


def worktrees(repository: Path) -> int:
    return run_git(repository, "worktree", "list").count("\n") + 1


def test_the_culprit_is_named_with_its_evidence(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = measured_repository(repository, line(12, step_at=CULPRIT))
    (repository / "value").write_text("changed by hand")
    code, answer = bisect(repository, "--markdown", str(tmp_path / "a.md"), good=hashes["c0"], bad=hashes["c11"])
    assert code == 0
    assert answer["outcome"] == "culprit"
    assert answer["definite"] is True
    (culprit,) = answer["culprits"]
    assert (culprit["commit"], culprit["subject"]) == (hashes["c5"], "commit c5")
    assert culprit["posterior"] > 0.98
    assert culprit["confidence_interval"]["low"] < 0.6 < culprit["confidence_interval"]["high"]
    assert answer["executions"] < 20  # log2 of 11 candidates, both ends, and the confirmation
    measured = {entry["commit"]: entry for entry in answer["measured"]}
    assert abs(measured[hashes["c4"]]["relative_change"]) < 0.02
    assert abs(measured[hashes["c5"]]["relative_change"] - 0.6) < 0.02
    output = capsys.readouterr().out
    assert " introduced the regression" in output
    assert hashes["c5"][:7] in output
    assert "●" in output
    assert " of measuring and building; " in output
    assert "perf-culprit bisect --good" in output
    markdown = (tmp_path / "a.md").read_text()
    assert f"`{hashes['c5'][:7]}`" in markdown
    assert "`commit c5`" in markdown
    assert worktrees(repository) == 1
    assert (repository / "value").read_text() == "changed by hand"


def test_a_culprit_on_a_merged_branch(repository: Path) -> None:
    commits = {
        "base": Commit(),
        "left1": Commit(),
        "left2": Commit(),
        "right1": Commit(parents=["base"]),
        "right2": Commit(level=1600),
        "right3": Commit(level=1600),
        "merge": Commit(level=1600, parents=["left2", "right3"]),
        "tip": Commit(level=1600),
    }
    hashes = measured_repository(repository, commits)
    code, answer = bisect(repository, good=hashes["base"], bad=hashes["tip"])
    assert code == 0
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["right2"]]


def test_a_good_commit_on_another_branch_is_judged_by_the_merge_base(repository: Path) -> None:
    commits = {
        "base": Commit(),
        "release": Commit(),
        "main1": Commit(parents=["base"]),
        "main2": Commit(level=1600),
        "main3": Commit(level=1600),
    }
    hashes = measured_repository(repository, commits)
    code, answer = bisect(repository, good=hashes["release"], bad=hashes["main3"])
    assert code == 0
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["main2"]]
    assert hashes["base"] in {entry["commit"] for entry in answer["measured"]}


def test_what_was_fixed_on_the_good_side_is_nobodys_fault(repository: Path) -> None:
    commits = {
        "base": Commit(level=1600),
        "release": Commit(level=1000),
        "main1": Commit(level=1600, parents=["base"]),
        "main2": Commit(level=1600),
    }
    hashes = measured_repository(repository, commits)
    code, answer = bisect(repository, good=hashes["release"], bad=hashes["main2"])
    assert (code, answer["outcome"], answer["culprits"]) == (0, "fixed_on_good_side", [])


def test_the_weighted_engine_takes_what_it_planned(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(repository, line(9, step_at=CULPRIT))
    ends = {"good": hashes["c0"], "bad": hashes["c8"]}
    options = ("--engine", "weighted", "--repeat", "4", "--threshold", "2%")
    assert bisect(repository, *options, "--dry-run", **ends) == (0, {})
    plan = capsys.readouterr().out
    assert (
        "Expected: 40 executions, whatever the noise: the bad end and at most 3 commits before it, 4 times, next to"
        in plan
    )
    assert "%" not in plan  # of a prior
    code, answer = bisect(repository, *options, **ends)
    assert code == 0
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["c5"]]
    assert (answer["engine"], answer["executions"]) == ("weighted", 40)
    assert "--engine weighted --repeat 4 --threshold 2%" in capsys.readouterr().out
    assert bisect(repository, "--repeat", "2", **ends)[0] == 2
    assert "--repeat: Input should be greater than or equal to 3" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["bare", "subfolder"])
def test_bare_repositories_and_subfolders(repository: Path, tmp_path: Path, place: str) -> None:
    commits = {name: Commit(level=entry.level) for name, entry in line(5, step_at=3).items()}
    hashes = measured_repository(repository, commits)
    if place == "bare":
        run_git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(tmp_path / "bare"))
    else:
        (repository / place).mkdir()
    folder = tmp_path / "bare" if place == "bare" else repository / place
    out = tmp_path / "out"
    argv = ["measure", "--repo", str(folder), "--commits", hashes["c2"], hashes["c3"], "--run", RUN]
    assert main([*argv, "--rounds", "1", "--output", str(out)]) == 0
    assert (out / "target.json").exists()


def test_no_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert bisect(tmp_path / "empty", good="a", bad="b")[0] == 4
    assert "not a git repository" in capsys.readouterr().err


def test_higher_is_better(repository: Path) -> None:
    hashes = measured_repository(repository, line(6, step_at=3, low=1600, high=1000))
    script = f'printf \'[{{"name": "rate", "unit": "op/s", "value": %s}}]\' $({RUN}) > $PERF_CULPRIT_OUTPUT'
    code, answer = bisect(repository, good=hashes["c0"], bad=hashes["c5"], run=script)
    assert code == 0
    assert (answer["benchmark"], answer["direction"]) == ("rate", "higher_is_better")
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["c3"]]
    assert answer["culprits"][0]["relative_change"] == pytest.approx(-0.375, abs=0.02)


def test_no_change_is_an_answer(repository: Path) -> None:
    hashes = measured_repository(repository, line(6, step_at=99))
    code, answer = bisect(repository, good=hashes["c0"], bad=hashes["c5"])
    assert code == 0
    assert answer["outcome"] == "not_reproduced"
    assert answer["culprits"] == []


def test_commits_that_do_not_build_become_suspects(repository: Path) -> None:
    commits = line(6, step_at=3)
    commits["c2"] = Commit(files={"broken": ""})
    commits["c3"] = Commit(level=1600, files={"broken": ""})
    hashes = measured_repository(repository, commits)
    run_git(repository, "rm", "--quiet", "broken")
    run_git(repository, "-c", "user.name=Ada", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "repaired")
    bad = run_git(repository, "rev-parse", "HEAD")
    code, answer = bisect(repository, "--build", "test ! -e broken", good=hashes["c0"], bad=bad)
    assert hashes["c3"] in {entry["commit"] for entry in (*answer["suspects"], *answer["culprits"])}
    assert hashes["c3"] in answer["skipped"]
    assert code == (0 if answer["definite"] else 3)


def test_a_benchmark_that_disappears_inside_the_range(repository: Path) -> None:
    commits = line(9, step_at=6)
    for name in ("c3", "c4"):
        commits[name] = Commit(files={"renamed": "yes"})
    for name in ("c5", "c6", "c7", "c8"):
        commits[name] = Commit(level=commits[name].level, files={"renamed": "no"})
    hashes = measured_repository(repository, commits)
    name = '$(test "$(cat renamed 2>/dev/null)" = yes && echo other || echo parse)'
    script = f'printf \'[{{"name": "%s", "unit": "ms", "value": %s}}]\' "{name}" $({RUN})'
    code, answer = bisect(repository, "--benchmark", "parse", good=hashes["c0"], bad=hashes["c8"], run=script)
    assert code == 0
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["c6"]]
    assert all("there is no benchmark 'parse'" in why for why in answer["skipped"].values())


def test_only_commits_that_change_a_path_can_be_the_culprit(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = {f"c{i}": Commit(level=1600 if i >= 4 else 1000, files={"docs": f"{i // 3}"}) for i in range(9)}
    hashes = measured_repository(repository, commits)
    code, answer = bisect(repository, "--paths", "value", good=hashes["c0"], bad=hashes["c8"])
    assert code == 0
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["c4"]]
    capsys.readouterr()
    assert bisect(repository, "--paths", "vlaue", good=hashes["c0"], bad=hashes["c8"])[0] == 2
    assert "no commit between good and bad changes vlaue" in capsys.readouterr().err


def test_dry_run_measures_nothing(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(repository, line(12, step_at=CULPRIT))
    assert bisect(repository, "--dry-run", good=hashes["c0"], bad=hashes["c11"]) == (0, {})
    output = capsys.readouterr().out
    assert "11 candidates" in output
    assert "commit c5" in output
    assert "Nothing was measured" in output
    counted = ("--dry-run", "--metric", "instructions")
    assert bisect(repository, *counted, good=hashes["c0"], bad=hashes["c11"]) == (0, {})
    assert "Expected: about 8 executions; budget" in capsys.readouterr().out
    assert not (tmp_path / "counter").exists()


def test_a_spent_budget_is_a_partial_answer_that_goes_on(repository: Path, tmp_path: Path) -> None:
    hashes = measured_repository(repository, line(12, step_at=CULPRIT))
    state = tmp_path / "state.json"
    ends = {"good": hashes["c0"], "bad": hashes["c11"]}
    code, answer = bisect(repository, "--executions", "8", "--state", str(state), **ends)
    assert code == 3
    assert answer["outcome"] in {"budget_spent", "inconclusive"}
    assert answer["definite"] is False
    before, seconds = state.with_suffix(".log").read_text(), answer["runner_seconds"]
    code, answer = bisect(repository, "--executions", "200", "--resume", str(state), **ends)
    assert state.with_suffix(".log").read_text().startswith(before)
    assert (code, [entry["commit"] for entry in answer["culprits"]]) == (0, [hashes["c5"]])
    assert answer["runner_seconds"] > seconds > 0


def test_spent_time_is_a_partial_answer(repository: Path) -> None:
    hashes = measured_repository(repository, line(12, step_at=CULPRIT))
    code, answer = bisect(repository, "--minutes", "0.0001", good=hashes["c0"], bad=hashes["c11"])
    assert code == 3
    assert any("time budget exhausted" in note["text"] for note in answer["notes"])


BENCH = "import shop\n\nprint(shop.price())\n"
PRICE = "def price():\n    return {}\n\n\ndef unused():\n    return {}\n"


def shop_line(step_at: int) -> dict[str, Commit]:
    """Make c0 … c11; each changes code that no benchmark executes, and one changes `price`."""
    prices = [PRICE.format(16 if number >= step_at else 10, number) for number in range(12)]
    commits = line(12, step_at=step_at)
    return {
        name: replace(commit, files={"bench.py": BENCH, "shop.py": price})
        for (name, commit), price in zip(commits.items(), prices, strict=True)
    }


@pytest.mark.parametrize("options", [(), ("--metric", "instructions", "--profile-seconds", "0")])
@pytest.mark.usefixtures("counting")
def test_what_the_benchmark_executes_is_in_the_prior_and_in_the_answer(
    repository: Path, tmp_path: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    hashes, state = measured_repository(repository, shop_line(CULPRIT)), tmp_path / "state.json"
    ends = {"good": hashes["c0"], "bad": hashes["c11"], "run": f"{sys.executable} bench.py"}
    bisect(repository, *options, "--executions", "4", "--state", str(state), **ends)
    prior = json.loads(state.read_bytes())["search"]["prior"]
    assert prior[hashes["c5"]] > 3 * max(chance for commit, chance in prior.items() if commit != hashes["c5"])
    _, answer = bisect(repository, *options, "--executions", "50", "--resume", str(state), **ends)
    (culprit,) = answer["culprits"]
    assert culprit["commit"] == hashes["c5"]
    assert culprit["executed"] == [{"path": "shop.py", "function": "price"}]
    assert "touches price (shop.py), which the benchmark runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "remark"),
    [
        ("PYTHONPATH=. {python} bench.py", None),
        (
            "{python} -E bench.py",
            "it runs `python -E`, which ignores PYTHONPATH, by which the tracer gets in (leave out -E)",
        ),
        ("node() {{ sh bench.sh; }}; node", None),
        ("cat value", None),
    ],
)
def test_a_prior_without_executed_functions_says_why_and_what_helps(
    repository: Path, tmp_path: Path, command: str, remark: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = shop_line(CULPRIT)
    for name, commit in commits.items():
        script = {"bench.sh": f"{sys.executable} -E bench.py\n", "bench.py": f"import time\n{BENCH}time.sleep(0.2)\n"}
        commits[name] = replace(commit, files={**(commit.files or {}), **script})
    hashes, state = measured_repository(repository, commits), tmp_path / "state.json"
    run = command.format(python=sys.executable)
    bisect(repository, "--executions", "4", "--state", str(state), good=hashes["c0"], bad=hashes["c11"], run=run)
    printed = capsys.readouterr().err
    assert ("the prior does not know" in printed) == (remark is not None)
    assert remark is None or remark in printed
    prior = json.loads(state.read_bytes())["search"]["prior"]
    others = max(chance for commit, chance in prior.items() if commit != hashes["c5"])
    assert (prior[hashes["c5"]] > 3 * others) == ("PYTHONPATH" in command)


@pytest.mark.parametrize("name", ["table.json", "table.py"])
def test_a_culprit_that_no_trace_sees_is_named_all_the_same(repository: Path, name: str) -> None:
    commits = shop_line(0)
    for number, commit in enumerate(commits.values()):
        table = "[16]" if number >= CULPRIT else "[10]"
        price = f"def price():\n    return eval(open('{name}').read())[0] + {number % 2}e-6\n"
        own = {"bench.py": BENCH, "shop.py": price, name: table}
        commits[f"c{number}"] = replace(commit, files=own)
    hashes = measured_repository(repository, commits)
    code, answer = bisect(repository, good=hashes["c0"], bad=hashes["c11"], run=f"{sys.executable} bench.py")
    (culprit,) = answer["culprits"]
    assert (code, culprit["commit"]) == (0, hashes["c5"])
    assert answer["executions"] < 25


@pytest.mark.parametrize(
    "program", ["print(16 if sys.gettrace() is None else 1 / 0)", "import os; os.write(1, b'16'); os._exit(0)"]
)
def test_a_benchmark_that_cannot_be_traced_is_searched_without(
    repository: Path, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = {f"c{number}": Commit(files={"bench.py": f"import sys\n# {number}\n{program}\n"}) for number in range(4)}
    hashes = measured_repository(repository, commits)
    code, answer = bisect(repository, good=hashes["c0"], bad=hashes["c3"], run=f"{sys.executable} bench.py")
    assert (code, answer["outcome"]) == (0, "not_reproduced")
    assert "does not know which functions the benchmark executes" in capsys.readouterr().err


@pytest.mark.parametrize("options", [("--prior", "uniform"), ("--engine", "weighted"), ("--metric", "size:value")])
def test_nothing_is_traced_for_a_search_that_asks_no_trace(
    repository: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = measured_repository(repository, line(4, step_at=2))
    run = 'test -z "$PERF_CULPRIT_TRACE" || exit 1; ' + RUN
    assert bisect(repository, *options, good=hashes["c0"], bad=hashes["c3"], run=run)[0] == 0
    assert "the benchmark executes" not in capsys.readouterr().err


def start(repository: Path, good: str, bad: str, state: Path, run: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "perf_culprit", "bisect", "--repo", str(repository), "--good", good, "--bad", bad]
    return subprocess.Popen(
        [*argv, "--run", run, "--state", str(state)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def results_in(state: Path) -> int:
    return len(json.loads(state.read_bytes())["search"]["results"]) if state.exists() else 0


def test_a_killed_search_loses_at_most_the_running_round(repository: Path, tmp_path: Path, temporary: Path) -> None:
    hashes = measured_repository(repository, line(12, step_at=CULPRIT))
    state = tmp_path / "state.json"
    ends = {"good": hashes["c0"], "bad": hashes["c11"]}
    for kill_after in (1, 2, 4):
        options = ["--resume", str(state)] if state.exists() else []
        argv = [sys.executable, "-m", "perf_culprit", "bisect", "--repo", str(repository), "--good", ends["good"]]
        process = subprocess.Popen(
            [*argv, "--bad", ends["bad"], "--run", RUN, "--state", str(state), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert becomes(lambda: results_in(state) >= kill_after)  # noqa: B023 - it does not outlive its loop
        process.kill()
        process.wait()
    kept = json.loads(state.read_bytes())["search"]["results"]
    assert len(kept) >= 4
    assert worktrees(repository) > 1
    # A child of the killed process may still be running.
    place = next(temporary.glob("culprit-measure-*"))
    orphan = subprocess.Popen(["sleep", "60"], cwd=next(place.glob("0*")))
    code, answer = bisect(repository, "--resume", str(state), **ends)
    assert (code, [entry["commit"] for entry in answer["culprits"]]) == (0, [hashes["c5"]])
    assert json.loads(state.read_bytes())["search"]["results"][: len(kept)] == kept
    assert orphan.wait(timeout=5) == -signal.SIGKILL
    assert worktrees(repository) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_children_and_says_how_to_go_on(
    repository: Path, tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    hashes = measured_repository(repository, line(4, step_at=2))
    pid_file, state = tmp_path / "pid", tmp_path / "state.json"
    run = f'{RUN}; test ! -e "{state}" || {{ sleep 60 & echo $! > "{pid_file}"; wait; }}'
    process = start(repository, hashes["c0"], hashes["c3"], state, run)
    assert becomes(lambda: pid_file.exists() and pid_file.read_text().strip())
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"--resume {state}" in errors.decode()
    pid = int(pid_file.read_text())
    assert not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text()
    assert worktrees(repository) == 1
    assert os.listdir(temporary) == []  # noqa: PTH208 - names only


@pytest.mark.parametrize(
    ("options", "run", "code", "text"),
    [
        pytest.param(["--good", "HEAD", "--bad", "HEAD"], RUN, 2, "same commit", id="good is bad"),
        pytest.param(["--good", "HEAD", "--bad", "HEAD~2"], RUN, 2, "swap good and bad", id="swapped"),
        pytest.param(["--good", "nowhere"], RUN, 2, "git knows no commit 'nowhere'", id="unknown commit"),
        pytest.param(["--build", "echo no gcc; exit 1"], RUN, 3, "the build ended with exit code 1", id="build"),
        pytest.param([], "true", 3, "printed no samples", id="no samples"),
        pytest.param([], "kill -SEGV $$", 3, "ended by SIGSEGV", id="signal"),
        pytest.param(["--timeout", "0.3"], "sleep 60", 3, "took longer than 0.3 s", id="timeout"),
        pytest.param(["--benchmark", "parse"], RUN, 2, "use one of: result (value)", id="benchmark of no name"),
        pytest.param(["--metric", "memory"], RUN, 2, "no benchmark with a metric 'memory'", id="metric of no name"),
        pytest.param(["--resume", "absent.json"], RUN, 2, "absent.json", id="no state"),
        pytest.param(["--resume", "value"], RUN, 3, "not a valid", id="broken state"),
        pytest.param(["--cache", "value"], RUN, 4, "cannot be kept", id="cache that is a file"),
    ],
)
def test_bad_input(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    options: list[str],
    run: str,
    code: int,
    text: str,
) -> None:
    measured_repository(repository, line(3, step_at=2))
    monkeypatch.chdir(repository)
    if "--cache" in options:
        options = [*options, "--build", "true"]
    argv = ["bisect", "--good", "HEAD~2", "--bad", "HEAD", "--run", run, *options]
    assert main(argv) == code
    written = capsys.readouterr().err
    assert "error: " in written
    assert text in written
    assert "\nNext: " in written
    assert worktrees(repository) == 1


def test_of_several_benchmarks_the_one_that_changed_most_is_searched(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = measured_repository(repository, line(3, step_at=2))
    script = """printf '[{"name":"a","unit":"ms","value":7},{"name":"b","unit":"ms","value":%s}]' "$(cat value)\""""
    code, answer = bisect(repository, good=hashes["c0"], bad=hashes["c2"], run=script)
    assert (code, [one["commit"] for one in answer["culprits"]]) == (0, [hashes["c2"]])
    assert answer["benchmark"] == "b"
    assert "the search follows b (value), which changed most of 2 metrics" in capsys.readouterr().err


def test_unrelated_histories(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init_repository(repository)
    hashes = import_commits(repository, {**chain("a", 2), **chain("b", 2)})
    assert bisect(repository, good=hashes["a1"], bad=hashes["b2"])[0] == 2
    assert "no common history" in capsys.readouterr().err


def test_a_shallow_clone_says_so(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(repository, line(5, step_at=3))
    shallow = tmp_path / "shallow"
    run_git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{repository}", str(shallow))
    assert bisect(shallow, good=hashes["c0"], bad=hashes["c4"])[0] == 2
    assert "fetch-depth: 0" in capsys.readouterr().err
    run_git(shallow, "fetch", "--quiet", "--depth=1", "origin", hashes["c0"])
    assert bisect(shallow, good=hashes["c0"], bad=hashes["c4"])[0] == 2
    assert "this is a shallow clone" in capsys.readouterr().err


def test_a_state_of_another_search_is_refused(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = measured_repository(repository, line(5, step_at=3))
    state = tmp_path / "state.json"
    ends = {"good": hashes["c0"], "bad": hashes["c4"]}
    bisect(repository, "--executions", "10", "--state", str(state), **ends)
    assert bisect(repository, "--resume", str(state), good=hashes["c1"], bad=hashes["c4"])[0] == 2
    assert bisect(repository, "--resume", str(state), run="echo 1", **ends)[0] == 2
    written = capsys.readouterr().err
    assert "--good, --bad" in written
    assert "--run" in written


# It counts the lines that it runs: a clock would depend on the machine's other work.
BENCHMARK = """\
import sys

def work():
    total = 0
    for number in range({size}):
        total += number * number

def counted(*_):
    global lines
    lines += 1
    return counted

for sample in range(3):
    lines = 0
    sys.settrace(counted)
    work()
    sys.settrace(None)
    print(lines * (100 + sample))
"""


def test_a_program_with_a_planted_step_in_a_history_with_a_merge(repository: Path) -> None:
    sizes = {f"c{number}": 2_400 if number >= 8 else 1_500 for number in range(12)}
    commits = {name: Commit(files={"bench.py": BENCHMARK.format(size=size)}) for name, size in sizes.items()}
    side = {"side1": Commit(parents=["c2"], files={"bench.py": BENCHMARK.format(size=1_500), "side": "1"})}
    merge = {"merge": Commit(parents=["c11", "side1"], files={"bench.py": BENCHMARK.format(size=2_400)})}
    hashes = measured_repository(repository, {**commits, **side, **merge})
    code, answer = bisect(
        repository, "--executions", "300", good=hashes["c0"], bad=hashes["merge"], run=f"{sys.executable} bench.py"
    )
    named = [entry["commit"] for entry in answer["culprits"]]
    assert hashes["c8"] in named
    assert code == 0
    assert answer["executions"] <= 300


def test_what_was_recorded_is_not_measured_again(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = measured_repository(repository, line(12, step_at=CULPRIT))
    place = init_repository(tmp_path / "history.git", bare=True)
    ends = {"good": hashes["c0"], "bad": hashes["c11"]}
    options = ["--history", str(place), "--record"]
    code, first = bisect(repository, *options, **ends)
    assert (code, [entry["commit"] for entry in first["culprits"]]) == (0, [hashes["c5"]])
    assert "0 stored executions count" in capsys.readouterr().err
    paths = run_git(place, "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    assert len([path for path in paths if path.startswith("runs/default-bisect-")]) == len(first["measured"])
    # With its answer, which the dashboard shows.
    assert len([path for path in paths if path.startswith("bisections/")]) == 1
    code, again = bisect(repository, "--history", str(place), **ends)
    assert (code, [entry["commit"] for entry in again["culprits"]]) == (0, [hashes["c5"]])
    assert again["executions"] < first["executions"] / 2
    # Not all of them: a round of one commit has no value on another day.
    assert re.search(r"[1-9]\d* stored executions count", capsys.readouterr().err)
    assert bisect(repository, "--history", str(place), **ends, run=f"true; {RUN}")[0] == 0
    assert f"0 stored executions count; {len(first['measured'])} runs by other" in capsys.readouterr().err


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{counting_valgrind(tmp_path / 'bin')}:{os.environ['PATH']}")


@pytest.mark.usefixtures("counting")
def test_a_search_by_counts_takes_about_log2_executions(repository: Path) -> None:
    hashes = measured_repository(repository, line(34, step_at=CULPRIT))
    code, answer = bisect(repository, "--metric", "instructions", good=hashes["c0"], bad=hashes["c33"])
    assert code == 0
    (culprit,) = answer["culprits"]
    assert culprit["commit"] == hashes["c5"]
    assert culprit["relative_change"] == pytest.approx(0.6)
    assert (answer["benchmark"], answer["metric"], answer["unit"]) == ("command", "instructions", "instructions")
    assert answer["executions"] <= 12
    assert "--metric instructions" in answer["command"]
    assert "--benchmark" not in answer["command"]


@pytest.mark.slow  # a process per job
@pytest.mark.usefixtures("counting")
def test_counts_run_side_by_side(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("perf_culprit.cli.output.webbrowser.open", shown.append)
    monkeypatch.setattr(sys, "executable", str(served_program().with_name("forking-python")))
    hashes = measured_repository(repository, line(7, step_at=CULPRIT))
    ends = {"good": hashes["c0"], "bad": hashes["c6"]}
    state, plot = repository.parent / "state.json", repository.parent / "plot.svg"
    options = ("--metric", "instructions", "--jobs", "3", "--state", str(state), "--svg", str(plot), "--open")
    code, answer = bisect(repository, *options, **ends)
    assert code == 0
    assert [culprit["commit"] for culprit in answer["culprits"]] == [hashes["c5"]]
    assert "3 jobs; search" in capsys.readouterr().err
    assert hashes["c5"][:7] in plot.read_text()
    assert shown == [plot.as_uri()]
    results = json.loads(state.read_text())["search"]["results"]
    assert sum(len(result["values"]) + len(result["failures"]) for result in results) == answer["executions"]
    assert worktrees(repository) == 1


@pytest.mark.parametrize("metric", [(), ("--metric", "auto")])
def test_times_are_measured_alone(
    repository: Path, metric: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = measured_repository(repository, line(3, step_at=1))
    ends = ["--good", hashes["c0"], "--bad", hashes["c2"]]
    assert main(["bisect", "--repo", str(repository), *ends, "--run", RUN, "--jobs", "2", *metric]) == 2
    assert "--metric instructions" in capsys.readouterr().err


def test_a_configured_direction_makes_a_metric_followable(repository: Path, tmp_path: Path) -> None:
    hashes = measured_repository(repository, line(9, step_at=CULPRIT))
    settings = tmp_path / "config.yml"
    settings.write_text("benchmarks: [{match: parse, direction: higher_is_better}]")
    run = 'echo "{\\"parse\\": {\\"hits\\": {\\"value\\": $(cat value)}}}"'
    ends = {"good": hashes["c0"], "bad": hashes["c8"]}
    code, answer = bisect(repository, "--config", str(settings), **ends, run=run)
    assert code == 0
    assert [(entry["commit"], entry["improvement"]) for entry in answer["culprits"]] == [(hashes["c5"], True)]


WORK = """
int step(int s, int i) {{ return s * 31 + i; }}
int work(int n) {{ int s = 0; for (int i = 0; i < n; i++) s = step(s, i); return s; }}
int main(void) {{ return work({n}) == 7; }}
"""


@pytest.mark.skipif(not (shutil.which("valgrind") and shutil.which("gcc")), reason="needs valgrind and gcc")
def test_the_function_that_costs_the_instructions_is_named(repository: Path) -> None:
    sources = [{"work.c": WORK.format(n=9000 if number < CULPRIT else 12000)} for number in range(7)]
    history = {f"c{number}": Commit(files=files) for number, files in enumerate(sources)}
    hashes = measured_repository(repository, history)
    build = ("--build", "gcc -O0 -o work work.c", "--metric", "instructions")
    code, answer = bisect(repository, *build, good=hashes["c0"], bad=hashes["c6"], run="./work")
    (culprit,) = answer["culprits"]
    assert (code, culprit["commit"]) == (0, hashes["c5"])
    step, work = sorted(answer["diagnosis"]["counted"], key=lambda one: str(one["method"]))
    assert (step["method"], step["cause"], step["path"]) == ("step", "more_calls", ["work", "step"])
    assert (step["baseline"]["calls"], step["target"]["calls"]) == (9000, 12000)
    assert (work["method"], work["cause"]) == ("work", "time_per_call")
    assert step["score"] + work["score"] == pytest.approx(1, abs=0.01)


@pytest.mark.usefixtures("counting")
def test_the_commit_that_made_an_artifact_larger_is_named(repository: Path) -> None:
    hashes = measured_repository(repository, {f"c{number}": Commit(files={"notes": "x"}) for number in range(6, 14)})
    options = ("--build", "mkdir dist && cat value number > dist/app", "--metric", "size:dist/*")
    argv = ["bisect", "--repo", str(repository), "--good", hashes["c6"], "--bad", hashes["c13"], *options]
    out = repository.parent / "answer.json"
    assert main([*argv, "--json", str(out)]) == 0
    answer = json.loads(out.read_text())
    assert [one["commit"] for one in answer["culprits"]] == [hashes["c10"]]
    assert (answer["benchmark"], answer["metric"], answer["unit"]) == ("command", "size:dist/*", "B")
    assert worktrees(repository) == 1


@pytest.mark.usefixtures("counting")
def test_counts_that_do_not_move_are_no_change(repository: Path) -> None:
    hashes = measured_repository(repository, line(9, step_at=99))
    code, answer = bisect(repository, "--metric", "instructions", good=hashes["c0"], bad=hashes["c8"])
    assert (code, answer["outcome"]) == (0, "not_reproduced")
    assert answer["executions"] <= 6
    assert answer["visible_effect"] == pytest.approx(0.005)
    assert any("search without --metric" in note["text"] for note in answer["notes"])


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize(
    ("run", "why"), [(f"{RUN} # refuse", "valgrind cannot run the command"), (RUN, "not installed")]
)
def test_what_cannot_be_counted_is_measured(
    repository: Path, monkeypatch: pytest.MonkeyPatch, run: str, why: str
) -> None:
    if why == "not installed":
        monkeypatch.setattr("perf_culprit.measure.quantities_of_commands.shutil.which", lambda _: None)
    hashes = measured_repository(repository, line(6, step_at=CULPRIT))
    code, answer = bisect(repository, "--metric", "instructions", good=hashes["c0"], bad=hashes["c5"], run=run)
    assert code == 0
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["c5"]]
    assert answer["metric"] == "value"
    assert any(why in note["text"] for note in answer["notes"])


def noisy(counter: Path, value: str) -> str:
    """Return a command whose numbers have a standard deviation of 29%, and are the same in every test."""
    count = f"n=0; test ! -e {counter} || read -r n < {counter}; echo $((n + 1)) > {counter}"
    return f"{count}; echo $(({value} * (1000 + (n * 389 + n * n * 223) % 1001 - 500)))"


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        ("$(cat value)", "instructions", "its time (result) confirms it"),
        ("$(cat value) /* flat */", "value", "counts of instructions name no commit"),
        ("5", "instructions", "times cannot tell the ends apart"),
    ],
)
def test_counts_find_the_commit_and_times_decide(
    repository: Path, tmp_path: Path, value: str, metric: str, text: str
) -> None:
    run = noisy(tmp_path / "counter", value.partition(" /*")[0]) + (" # flat" if "flat" in value else "")
    hashes = measured_repository(repository, line(34, step_at=CULPRIT))
    state = tmp_path / "state.json"
    options = ("--metric", "auto", "--state", str(state))
    code, answer = bisect(repository, *options, good=hashes["c0"], bad=hashes["c33"], run=run)
    assert (code, answer["metric"]) == (0, metric)
    assert [entry["commit"] for entry in answer["culprits"]] == [hashes["c5"]]
    assert any(text in note["text"] for note in answer["notes"])
    for file, counted in ((state, "value"), (state.with_suffix(".counts.json"), "instructions")):
        session = json.loads(file.read_text())
        assert (session["key"]["metric"], session["search"]["commit_range"]["bad"]) == (counted, hashes["c33"])
    measured = sum(len(result["values"]) for result in json.loads(state.read_text())["search"]["results"])
    assert (measured > FEW_EXECUTIONS) is (metric == "value"), "times that decide resume the first ones"


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize(("run", "outcome"), [(RUN, "culprit"), ("echo 1000", "not_reproduced")])
def test_times_of_a_quiet_machine_need_no_counts(repository: Path, run: str, outcome: str) -> None:
    hashes = measured_repository(repository, line(9, step_at=CULPRIT))
    code, answer = bisect(repository, "--metric", "auto", good=hashes["c0"], bad=hashes["c8"], run=run)
    assert (code, answer["outcome"], answer["metric"]) == (0, outcome, "value")


@pytest.mark.usefixtures("counting")
def test_auto_times_a_command_that_waits_by_the_clock(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(repository, line(9, step_at=CULPRIT, high=4000))
    state = repository.parent / "state.json"
    ends, run = {"good": hashes["c0"], "bad": hashes["c8"]}, "read -r v < value; sleep 0.0$((v / 20))"
    code, answer = bisect(repository, "--metric", "auto", "--state", str(state), **ends, run=run)
    assert (code, [one["commit"] for one in answer["culprits"]]) == (0, [hashes["c5"]])
    assert (answer["benchmark"], answer["metric"]) == ("command", "time")
    (line_of_auto,) = (text for text in capsys.readouterr().err.splitlines() if "auto: " in text)
    assert "auto: command (time) first: the command waits" in line_of_auto
    assert "then instructions, counted only if 24 executions do not decide" in line_of_auto
    assert line_of_auto.partition("auto: ")[2] in state.with_suffix(".log").read_text()
    assert "--metric auto" in answer["command"]


@pytest.mark.usefixtures("counting")
def test_auto_says_why_nothing_is_counted(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perf_culprit.measure.quantities_of_commands.shutil.which", lambda _: None)
    hashes = measured_repository(repository, line(9, step_at=CULPRIT))
    assert bisect(repository, "--metric", "auto", good=hashes["c0"], bad=hashes["c8"])[0] == 0
    output = capsys.readouterr().err
    assert (
        "auto: result (value) first: the command prints it; instructions cannot be counted: valgrind is not" in output
    )


@pytest.mark.usefixtures("counting")
def test_git_runs_the_script(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = measured_repository(repository, line(9, step_at=CULPRIT))
    monkeypatch.setenv("PATH", f"{served_program().parent}:{os.environ['PATH']}")
    script, ends = tmp_path / "run.sh", ["--good", hashes["c0"], "--bad", hashes["c8"]]
    argv = ["bisect", "--repo", str(repository), *ends, "--run", RUN, "--git-run", str(script)]
    assert main([*argv, "--metric", "instructions"]) == 0
    lost = subprocess.run([script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert (lost.returncode, lost.stderr) == (255, "perf-culprit is not on PATH\n")
    run_git(repository, "bisect", "start", hashes["c8"], hashes["c0"])
    (repository / ".github").mkdir()
    (repository / ".github" / "perf-culprit.yml").write_text("levels: {warn: 1%, fail: 100%}")
    command = ["git", "-C", str(repository), "bisect", "run", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{hashes['c5']} is the first bad commit" in done.stdout
    assert main([*argv, "--benchmark", "result"]) == 2


@pytest.mark.usefixtures("counting")
def test_git_replays_the_log(repository: Path, tmp_path: Path) -> None:
    hashes = measured_repository(repository, line(9, step_at=CULPRIT))
    log, ends = tmp_path / "bisect.log", {"good": hashes["c0"], "bad": hashes["c8"]}
    assert bisect(repository, "--metric", "instructions", "--log", str(log), **ends)[0] == 0
    assert f"{hashes['c5']} is the first bad commit" in run_git(repository, "bisect", "replay", str(log))
