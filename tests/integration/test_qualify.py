"""`perf-culprit qualify`: what a pull request would cost here, and which slowdown it would show."""

import re
from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from tests.support.fake_github.state import WorkflowRun
from tests.support.measured_repository import COUNTER, RUN, Commit, measured_repository
from tests.support.recipes import workflows
from tests.support.scenarios import Project
from tests.support.workflows.runner import Event

# Two benchmarks by a counter: one of 1% noise, one of about 40%.
NOISY = (
    f"{RUN.replace('; echo $((v *', '; a=$((v *').replace('- 10)))', '- 10)))')}; "
    'b=$((1000 + n * 7919 % 1000)); printf \'[{"name": "quiet", "unit": "ms", "value": %s}, '
    '{"name": "loud", "unit": "ms", "value": %s}]\' "$a" "$b" > "$PERF_CULPRIT_OUTPUT"'
)
# A benchmark at a level in milliseconds, with 1% of noise.
QUIET = (
    f"{RUN.replace('; echo $((v *', '; echo $((v * {} / 1000 *')}"
    ' | sed \'s/.*/[{{"name": "quiet", "unit": "ms", "value": &}}]/\' > "$PERF_CULPRIT_OUTPUT"'
)


def qualify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, *more: str) -> int:
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    measured_repository(tmp_path / "repository", {"c0": Commit()})
    options = ["--repo", str(tmp_path / "repository"), "--run", run, "--environment", COUNTER]
    return main(["qualify", *options, *more])


def test_a_quiet_suite_sees_a_small_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify(tmp_path, monkeypatch, RUN) == 0
    output = capsys.readouterr().out
    assert "One execution takes 1 second." in output
    assert "Unchanged against unchanged: 0 of 20 warned. With +10%: 20 of 20 found." in output
    assert "cannot see" not in output


def test_a_loud_suite_says_what_it_cannot_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify(tmp_path, monkeypatch, NOISY) == 0
    output = capsys.readouterr().out
    assert "those of loud by" in output
    rows = [line.split() for line in output.splitlines() if " rounds " in line and "+" in line]
    assert [row[1] for row in rows] == ["4", "7"]
    typical, noisiest = ([int(row[place][1:-1]) for row in rows] for place in (-2, -1))
    assert max(typical) <= 10
    assert min(noisiest) >= 20


def test_machines_differ_by_more_than_their_executions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / f"{place}.json") for place in ("first", "second", "third")]
    measured_repository(tmp_path / "repository", {"c0": Commit()})
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    for level, file in zip((1000, 1200, 1440), files, strict=True):
        options = ["--repo", str(tmp_path / "repository"), "--run", QUIET.format(level), "--environment", COUNTER]
        assert main(["qualify", *options, "--output", file]) == 0
    capsys.readouterr()
    assert main(["qualify", "--join", *files]) == 0
    told = capsys.readouterr().out
    assert re.fullmatch(r"3 machines differ by 18%, executions of one by 0[.\d]*% \(.* 1 benchmark\)\.\n", told), told
    assert main(["qualify", "--join", files[0]]) == 3
    assert "no benchmark's time is in two files" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["one file"])
@pytest.mark.usefixtures("form")
def test_the_workflow_says_how_much_runners_differ(project: Project) -> None:
    workflow = workflows("docs/how-to/noisy-machine.md")["perf-qualify"]
    # Each runner is a fifth slower than the one before it. A job's home has its number.
    level = 'level=1000; for _ in $(seq "${HOME##*-}"); do level=$((level * 6 / 5)); done'
    project.runner.programs = {
        name: text.replace("read -r level < value", level) for name, text in project.runner.programs.items()
    }
    (*_, measured, _) = workflow["jobs"]["qualify"]["steps"]
    measured["run"] = measured["run"].replace("python bench.py", 'pytest bench --benchmark-json="$PERF_CULPRIT_OUTPUT"')
    run = WorkflowRun(id=next(project.fake.state.ids), head_sha=project.main, event="workflow_dispatch")
    project.fake.state.runs[run.id] = run
    payload = {"repository": {"default_branch": "main"}}
    jobs = project.runner.run(workflow, Event(name=run.event, payload=payload, sha=project.main, run_id=run.id))
    assert not any(job.failed for job in jobs), jobs
    assert [job.name for job in jobs] == ["qualify"] * 4 + ["join"]
    assert re.search(r"^4 machines differ by \d+%, executions of one by \d[.\d]*%", jobs[-1].log, re.MULTILINE), jobs[
        -1
    ].log


def test_too_few_minutes_promise_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert qualify(tmp_path, monkeypatch, RUN, "--minutes", "0.001") == 0
    output = capsys.readouterr().out
    assert ". The first verdict comes after 4, in " in output
    assert "This machine cannot see +10% in 0.001 minutes. What would:" in output
    assert "suspects" not in output
