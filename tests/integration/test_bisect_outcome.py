"""`perf-culprit bisect --outcome` on real repositories: the commit since which a command fails."""

import json
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.dispatch.local_bisection import FOLDER
from tests.support.measured_repository import Commit, line, measured_repository
from tests.support.processes import LateClock

CHECK = "if [ -f untestable ]; then exit 125; fi; test $(cat value) -lt 1600"


def bisect(repository: Path, *options: str, good: str, bad: str, outcome: str = CHECK) -> tuple[int, dict[str, Any]]:
    out = repository.parent / "answer.json"
    argv = ["bisect", "--repo", str(repository), "--good", good, "--bad", bad, "--outcome", outcome, *options]
    code = main([*argv, "--json", str(out)])
    return code, json.loads(out.read_text()) if out.exists() else {}


def test_the_commit_that_fails_is_named_as_fast_as_by_git(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commits = line(10, step_at=6)
    commits["c3"] = Commit(level=1000, files={"untestable": ""})
    commits["c4"] = Commit(level=1000, files={"untestable": ""})
    hashes = measured_repository(tmp_path / "repository", commits)
    svg, log, resume = tmp_path / "a.svg", tmp_path / "a.log", tmp_path / "state.json"
    options = ("--svg", str(svg), "--log", str(log), "--state", str(resume), "--markdown", str(tmp_path / "a.md"))
    outcome = "test $(cat value) -lt 1600"
    code, answer = bisect(tmp_path / "repository", *options, good=hashes["c0"], bad=hashes["c9"], outcome=outcome)
    (culprit,) = answer["culprits"]
    assert (code, answer["outcome"], culprit["commit"]) == (0, "culprit", hashes["c6"])
    assert culprit["rates"]["failed_before"] == 0
    assert culprit["rates"]["failed_since"] == culprit["rates"]["since"]
    assert (answer["metric"], answer["relative_change"]) == ("failures", None)
    assert answer["executions"] <= 24
    rates = culprit["rates"]
    words = f"fails in 0 of {rates['before']} before, {rates['since']} of {rates['since']} since"
    printed = capsys.readouterr()
    assert f'"commit c6" by Ada, 2023-11-14, raised the rate of failures: {words}' in printed.out
    assert "; fails in 0 of 3 at good, 3 of 3 at bad" in printed.err
    assert f"--outcome '{outcome}' --seed" in printed.out
    assert "perf-culprit accept" not in printed.out
    assert "failures in %" in svg.read_text()
    assert f"git bisect bad {hashes['c6']}" in log.read_text()
    assert words in (tmp_path / "a.md").read_text()
    argv = ["bisect", "--repo", str(tmp_path / "repository"), "--good", hashes["c0"], "--bad", hashes["c9"]]
    assert main([*argv, "--run", outcome, "--resume", str(resume)]) == 2
    assert "written by another search: --outcome differs" in capsys.readouterr().err


def test_what_exits_with_125_and_what_does_not_build_does_not_run(tmp_path: Path) -> None:
    commits = line(8, step_at=5)
    commits["c4"] = Commit(level=1000, files={"untestable": ""})
    hashes = measured_repository(tmp_path / "repository", commits)
    code, answer = bisect(
        tmp_path / "repository", "--build", "test ! -f untestable", good=hashes["c0"], bad=hashes["c3"]
    )
    assert (code, answer["outcome"], answer["rates"]["failed_since"]) == (0, "not_reproduced", 0)
    for options in ((), ("--build", "test ! -f untestable")):
        code, answer = bisect(tmp_path / "repository", *options, good=hashes["c0"], bad=hashes["c7"])
        assert (code, answer["outcome"]) == (3, "unmeasurable")


def test_a_time_out_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LateClock(tmp_path / "late", monkeypatch)
    hashes = measured_repository(tmp_path / "repository", line(2, step_at=1))
    slow = f"if [ $(cat value) -gt 1500 ]; then touch {tmp_path / 'late'}; sleep 600; fi"
    code, answer = bisect(tmp_path / "repository", "--timeout", "60", good=hashes["c0"], bad=hashes["c1"], outcome=slow)
    assert (code, answer["culprits"][0]["commit"]) == (0, hashes["c1"])
    (log,) = (tmp_path / "repository" / ".git" / FOLDER).glob("*.log")
    assert "took longer than 60 s" in log.read_text()


def test_a_command_that_never_fails_changed_no_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(tmp_path / "repository", line(3, step_at=99))
    code, answer = bisect(tmp_path / "repository", good=hashes["c0"], bad=hashes["c2"])
    assert (code, answer["outcome"]) == (0, "not_reproduced")
    printed = capsys.readouterr().out
    assert "No change of the rate of failures" in printed
    assert "The command never failed" in printed
    assert "At most a rise by 5 points would have been missed" in printed


@pytest.mark.parametrize("option", [["--metric", "instructions"], ["--jobs", "2"], ["--record"], ["--engine", "bayes"]])
def test_options_of_numbers_are_refused(tmp_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", "--repo", str(tmp_path), "--good", "a", "--bad", "b", "--outcome", "true", *option]) == 2
    assert f"{option[0]} does not go with --outcome" in capsys.readouterr().err


def test_the_plan_states_both_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = measured_repository(tmp_path / "repository", line(9, step_at=99))
    argv = ["--repo", str(tmp_path / "repository"), "--good", hashes["c0"], "--bad", hashes["c8"], "--outcome", "true"]
    assert main(["bisect", *argv, "--dry-run"]) == 0
    assert "about 16 executions if the command fails never before and always since" in capsys.readouterr().out
