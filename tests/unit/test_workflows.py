"""The workflow files, ours and those of the documentation: who may what, and what nobody may."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / ".github" / "workflows"
PAGE = (PROJECT / "docs" / "workflows.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^`\.github/workflows/([\w-]+\.yml)`\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHORT, _, LONG = PAGE.partition("## Long form")
PASTED = {
    **{f"short/{name}": text for name, text in BLOCK.findall(SHORT)},
    **{f"long/{name}": text for name, text in BLOCK.findall(LONG)},
}
OURS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yml"))}
REUSABLE = ("measure.yml", "report.yml", "command.yml", "bisect.yml")
UNTRUSTED = ("measure.yml", "bisect.yml", "perf.yml", "perf-bisect.yml")
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
ALL = {**OURS, **PASTED}


def jobs(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return found


def steps(text: str) -> Iterator[Mapping[str, Any]]:
    for job in jobs(text).values():
        yield from job.get("steps", ())


def test_both_forms_are_whole() -> None:
    assert [name for name in PASTED if name.startswith("short/")] == [
        f"short/{name}" for name in ("perf.yml", "perf-report.yml", "perf-command.yml", "perf-bisect.yml")
    ]
    assert {name.partition("/")[2] for name in PASTED if name.startswith("long/")} == {
        name.partition("/")[2] for name in PASTED if name.startswith("short/")
    }


@pytest.mark.parametrize("name", ALL)
def test_rights_are_given_to_jobs_only_and_everything_is_pinned(name: str) -> None:
    text = ALL[name]
    assert yaml.safe_load(text)["permissions"] == {}
    for job in jobs(text).values():
        assert job["permissions"]
        if "uses" in job:
            assert PINNED.fullmatch(job["uses"])
        else:
            assert job["timeout-minutes"]
    for step in steps(text):
        uses = step.get("uses", "")
        assert not uses or uses == "./.perf-culprit" or PINNED.fullmatch(uses), uses
        assert "actions/cache" not in uses
        if uses.startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", ""), "a script takes values from its environment"


@pytest.mark.parametrize("name", [name for name in ALL if name.rpartition("/")[2] in UNTRUSTED])
def test_what_runs_foreign_code_can_only_read(name: str) -> None:
    foreign = {job: about for job, about in jobs(ALL[name]).items() if job != "report"}
    assert foreign
    for about in foreign.values():
        assert about["permissions"] == {"contents": "read"}
    assert "secrets" not in ALL[name].replace("no secrets", "")
    assert "github.token" not in ALL[name]


@pytest.mark.parametrize("name", ["report.yml", "command.yml", "long/perf-report.yml", "long/perf-command.yml"])
def test_what_may_write_checks_out_nothing_foreign(name: str) -> None:
    for step in steps(ALL[name]):
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["repository"] == "${{ job.workflow_repository }}"


@pytest.mark.parametrize("name", REUSABLE)
def test_the_caller_grants_what_the_called_job_needs(name: str) -> None:
    ((job, called),) = jobs(OURS[name]).items()
    caller = {"measure.yml": "perf.yml"}.get(name, f"perf-{name}")
    calling = jobs(PASTED[f"short/{caller}"])[job]
    assert calling["permissions"] == called["permissions"]
    assert calling["uses"].split("@")[0].endswith(f"/.github/workflows/{name}")
    assert jobs(PASTED[f"long/{caller}"])[job]["permissions"] == called["permissions"]


@pytest.mark.parametrize("form", ["short", "long"])
def test_a_bisection_reports_in_its_own_last_job(form: str) -> None:
    """Of a run that GITHUB_TOKEN has dispatched GitHub may send no workflow_run."""
    measuring, report = jobs(PASTED[f"{form}/perf-bisect.yml"]).values()
    assert (report["needs"], report["if"]) == ("bisect", "always()")
    assert measuring["permissions"] == {"contents": "read"}
    assert report["permissions"] == jobs(OURS["report.yml"])["report"]["permissions"]
    for step in report.get("steps", ()):
        assert not step["uses"].startswith("actions/checkout")


@pytest.mark.parametrize("name", ["report.yml", "long/perf-report.yml"])
def test_no_pending_report_is_replaced(name: str) -> None:
    (job,) = jobs(ALL[name]).values()
    assert job["concurrency"]["queue"] == "max"
    assert job["concurrency"]["cancel-in-progress"] is False


@pytest.fixture
def pasted(tmp_path: Path) -> Path:
    """A repository with the documentation's files, as linters want to see it."""
    for form in ("short", "long"):
        folder = tmp_path / form / ".github" / "workflows"
        folder.mkdir(parents=True)
        for name, text in PASTED.items():
            if name.startswith(f"{form}/"):
                (folder / name.partition("/")[2]).write_text(text)
    return tmp_path


def tool(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed (dependency group lint)")
    return found


@pytest.mark.parametrize("form", ["short", "long"])
def test_linters_find_nothing(pasted: Path, form: str) -> None:
    folder = pasted / form
    files = sorted(str(path) for path in (folder / ".github" / "workflows").iterdir())
    zizmor = [tool("zizmor"), "--offline", "--no-progress", "--color", "never", str(folder)]
    schema = [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", *files]
    for command in (zizmor, schema):
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
