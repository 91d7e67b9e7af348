"""A history that has only other hardware, through the commands: the report states it, and is no first run."""

import json
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.model.reason import BaselineReason
from perf_culprit.model.report import Conclusion, decode_report
from perf_culprit.model.run import Environment, Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.say.report_parts import outputs
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import measured

LEVELS = {"parse": 0.004, "render": 0.02}
AMD, INTEL = "AMD EPYC 7763", "Intel Xeon 8370C"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    folder = init_repository(tmp_path / "served.git", bare=True)
    import_commits(folder, chain("main", 2))
    return folder


def run_file(folder: Path, name: str, *, seed: int, cpu: str | None) -> str:
    """A run file as another machine's `collect --json` wrote it."""
    run: Run = measured(LEVELS, seed=seed)
    path = folder / f"{name}.json"
    environment = Environment(components={"cpu": cpu} if cpu else {})
    path.write_bytes(encode_run(Run(benchmarks=run.benchmarks, environment=environment)))
    return str(path)


def verb(served: Path, name: str, number: int, *arguments: str) -> int:
    commit = run_git(served, "rev-parse", f"main{number}")
    return main([name, *arguments, "--repo", str(served), "--history", str(served), "--commit", commit])


def test_only_foreign_hardware_is_other_hardware_and_no_first_run(
    tmp_path: Path, served: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verb(served, "record", 1, run_file(tmp_path, "stored", seed=1, cpu=AMD)) == 0
    out = tmp_path / "report.json"
    comment = tmp_path / "comment.md"
    target = run_file(tmp_path, "target", seed=2, cpu=INTEL)
    capsys.readouterr()
    assert verb(served, "compare", 2, "--target", target, "--json", str(out), "--markdown", str(comment)) == 0
    terminal = capsys.readouterr().out
    report = decode_report(out.read_bytes(), place="report.json")
    assert report.conclusion is Conclusion.OTHER_HARDWARE
    assert report.notes[0].code is BaselineReason.ONLY_OTHER_HARDWARE
    assert outputs(report)["conclusion"] == "other_hardware"
    for text in (terminal, comment.read_text()):
        assert "Other hardware: nothing to compare with" in text
        assert "First run" not in text
    assert f"Reason: 1 stored run left out: measured on other hardware (cpu: `{AMD}`, this run: `{INTEL}`)" in (
        comment.read_text()
    )


def test_a_stored_run_file_keeps_its_environment(tmp_path: Path, served: Path) -> None:
    assert verb(served, "record", 1, run_file(tmp_path, "stored", seed=1, cpu=AMD)) == 0
    branch = "perf-history"
    (name,) = (
        line
        for line in run_git(served, "ls-tree", "-r", "--name-only", branch).splitlines()
        if line.startswith("runs/")
    )
    stored = json.loads(run_git(served, "show", f"{branch}:{name}"))
    assert stored["environment"] == {"cpu": AMD}


def test_what_a_file_does_not_say_counts_as_the_same_with_a_note(tmp_path: Path, served: Path) -> None:
    assert verb(served, "record", 1, run_file(tmp_path, "stored", seed=1, cpu=AMD)) == 0
    out = tmp_path / "report.json"
    target = run_file(tmp_path, "target", seed=2, cpu=None)
    assert verb(served, "compare", 2, "--target", target, "--json", str(out)) in {0, 1}
    report = decode_report(out.read_bytes(), place="report.json")
    assert report.conclusion is not Conclusion.OTHER_HARDWARE
    assert BaselineReason.UNKNOWN_COMPONENT in {note.code for note in report.notes}


def test_results_are_stored_under_the_commit_that_they_name(
    tmp_path: Path, served: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = run_git(served, "rev-parse", "main1")
    path = tmp_path / "named.json"
    place = ["--repo", str(served), "--history", str(served)]
    path.write_bytes(encode_run(measured(LEVELS, seed=1, commit=named)))
    assert run_git(served, "rev-parse", "HEAD") != named
    assert main(["record", str(path), *place]) == 0
    assert named in capsys.readouterr().out
    path.write_bytes(encode_run(measured(LEVELS, seed=1, commit="f" * 40)))
    assert main(["record", str(path), *place]) == 2
    assert "named.json: names commit ffffffffffff, which is not in" in capsys.readouterr().err
