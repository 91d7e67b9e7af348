"""A suite on several machines: measured in parts, joined by the trusted job, judged as one run."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.config.settings import HistoryConfig
from perf_culprit.store.opening import open_history
from perf_culprit.store.protocol import NamedRun
from tests.support.git_repository import run_git
from tests.support.job import claiming
from tests.support.recipes import workflows
from tests.support.scenarios import CRASH, LEVEL, SLOWER, Project, open_project
from tests.support.thread_picture import keep_page
from tests.support.workflows.runner import InThisProcess

RECIPE = "docs/how-to/spread-a-suite.md"
NAMES = ("parse", "render", "scan", "sort", "split", "trim")
BENCH = tuple(f"test_{name}.py" for name in NAMES)
LIST = "ls bench/test_*.py"
RUN = 'pytest ${PERF_CULPRIT_PART-bench} --benchmark-json="$PERF_CULPRIT_OUTPUT"'
PARTS = 3


def opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, split: bool
) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=split) as project:
        project.bench, project.configuration = BENCH, "suite: default\n"
        project.main = project.commit(project.main)
        run_git(project.folder, "update-ref", "refs/heads/main", project.main)
        yield project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    """The split, whose suite three machines measure."""
    for one in opened(tmp_path, monkeypatch, capsys, split=True):
        for name, job in (("perf-command", "command"), ("perf-report", "report")):
            one.files[name]["jobs"][job]["with"] = {"config": "perf.yml"}
        one.files["perf"]["jobs"]["measure"]["with"] |= {"run": RUN, "parts": PARTS, "list": LIST, "rounds": 7}
        yield one


def artifacts(project: Project) -> list[Any]:
    return [one for one in project.fake.state.artifacts.values() if one.name.startswith("perf-culprit-report")]


def measured(project: Project, *, level: int, merged_level: int | None = None, number: int = 7) -> Any:
    pull = project.open_pull(number, base=project.main, level=level, merged_level=merged_level or level)
    return project.run_pull(pull)


def test_parts_are_joined_into_one_report_and_one_stored_run(project: Project) -> None:
    outcome = measured(project, level=SLOWER)
    assert not outcome.failed, outcome.log
    assert len(outcome.jobs) == PARTS
    assert [one.name for one in artifacts(project)] == [f"perf-culprit-report-part-{part}" for part in (1, 2, 3)]
    outcome = project.report(outcome)
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    assert f"🔴 1 of {len(NAMES)} benchmarks got slower" in comment
    for alarming in ("missing", "Proposed change", "different environments"):
        assert alarming not in comment
    outcome = project.report(project.push(LEVEL))
    assert not outcome.failed, outcome.log
    with open_history(HistoryConfig(), project.folder, url=str(project.folder)) as history:
        (stored,) = history.runs("default", [project.main])
    assert isinstance(stored, NamedRun)
    run = stored.run
    assert sorted(benchmark.name for benchmark in run.benchmarks) == sorted(NAMES)
    assert run.part is None
    assert not run.notes


def test_a_missing_part_is_said_and_the_rest_is_judged(project: Project) -> None:
    outcome = measured(project, level=LEVEL)
    held = project.fake.state.artifacts
    del held[next(number for number, one in held.items() if one.name == "perf-culprit-report-part-2")]
    outcome = project.report(outcome)
    (comment,) = project.comments(7)
    assert "is missing: its benchmarks weren't measured" in comment
    assert "of the baseline" not in comment, "nothing is called gone"
    assert "4 benchmarks" in comment
    assert "Measure the missing part again." in comment
    assert "Nothing to do" not in comment
    assert list(project.fake.state.check_runs.values())[-1].conclusion == "neutral", "nobody knows about the rest"
    keep_page("parts.html", project.fake.state.comments.values())


def test_what_named_benchmarks_take_one_machine_measures(project: Project) -> None:
    project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER)
    project.say("/perf-run parse")
    outcome = project.dispatched()
    assert not outcome.failed, outcome.log
    assert [one.name for one in artifacts(project)] == ["perf-culprit-report"]
    (answer,) = project.comments(7)
    assert "1 benchmark got slower" in answer
    asked = [one.path for one in project.fake.requests("GET") if one.path.endswith("/pulls/7")]
    assert len(asked) == 3, "by the command, by the report, and once more before it is published"


@pytest.mark.parametrize(
    ("forgery", "told"),
    [
        ({"part": {"indices": [1], "count": 3}}, "has part 1, as"),
        ({"part": {"indices": [2], "count": 4}}, "its number of parts is `4`"),
        ({"part": {"indices": [2], "count": 3, "division": "another"}}, "its list is"),
        ({"benchmarks": [{"name": name, "samples": [1.0]} for name in NAMES]}, "has `"),
        ({"commit": "f" * 40}, "speaks of another commit"),
        ({"suite": "other"}, "different suites or parts"),
    ],
)
def test_what_is_no_other_part_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, forgery: dict[str, Any], told: str
) -> None:
    state = type(project.fake.state)
    add = state.add_artifact

    def forged(self: Any, **facts: Any) -> Any:
        if facts["name"].endswith("-part-2"):
            data = facts["zip_bytes"]
            division = decode_part(data)
            for file in ("run.json", "baseline.json") if "commit" not in forgery else ("run.json",):
                changed = dict(forgery)
                if "part" in changed:
                    changed["part"] = {"division": division, **changed["part"]}
                data = claiming(data, file=file, **changed)
            facts["zip_bytes"] = data
        return add(self, **facts)

    monkeypatch.setattr(state, "add_artifact", forged)
    outcome = project.report(measured(project, level=SLOWER))
    assert outcome.failed
    assert told in outcome.log
    assert "Next: " in outcome.log or "next" in outcome.log.lower()
    assert not project.comments(7)


def decode_part(data: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return str(json.loads(archive.read("run.json"))["part"]["division"])


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    """The file of the page, as pasted, with a `make` that counts."""
    for one in opened(tmp_path, monkeypatch, capsys, split=False):
        one.files = workflows(RECIPE)
        one.runner.programs = {**one.runner.programs, "make": f"#!/bin/sh\necho built >> {tmp_path}/builds\n"}
        yield one


def test_the_recipe_builds_once_and_judges_all_parts(recipe: Project, tmp_path: Path) -> None:
    outcome = measured(recipe, level=SLOWER)
    assert not outcome.failed, outcome.log
    assert [job.name for job in outcome.jobs] == ["build", "measure", "measure", "measure", "report"]
    assert (tmp_path / "builds").read_text().split() == ["built"] * 2, "base and head, by the build job alone"
    (comment,) = recipe.comments(7)
    assert f"🔴 1 of {len(NAMES)} benchmarks got slower" in comment
    assert "missing" not in comment


def test_a_part_of_the_recipe_that_fails_is_told_first(recipe: Project) -> None:
    measured(recipe, level=CRASH)
    (comment,) = recipe.comments(7)
    heading, _, rest = comment[comment.index("### ") :].partition("\n\n")
    assert heading == "### 🔴 The target failed; 4 benchmarks unchanged within 5%; 2 missing"
    assert "**Not tested:** the target's command ended with exit code 1: the benchmark crashed" in rest
    assert list(recipe.fake.state.check_runs.values())[-1].conclusion == "failure"
