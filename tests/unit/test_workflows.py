"""Our workflow files and those of the documentation: the permissions of each job and the forbidden ones."""

import math
import re
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from perf_culprit.config.database_url import HISTORY_URL
from tests.support.recipes import BACKFILL, BLOCKS, ONE_FILE, PROJECT, SPLIT, WORKFLOWS, workflows
from tests.support.workflows.expressions import condition, fill

OURS = {path.name: path.read_text(encoding="utf-8") for path in sorted((PROJECT / ".github/workflows").glob("*.yml"))}
ALL = {**OURS, **{block.id: block.text for block in WORKFLOWS}}
REUSABLE = {
    "reusable-measure.yml": "perf",
    "reusable-report.yml": "perf-report",
    "reusable-command.yml": "perf-command",
    "reusable-bisect.yml": "perf-bisect",
}
UNTRUSTED = (
    "reusable-measure.yml",
    "reusable-bisect.yml",
    f"{ONE_FILE}:perf.yml",
    f"{SPLIT}:perf.yml",
    f"{SPLIT}:perf-bisect.yml",
)
TRUSTED = ("report", "command")  # jobs that may write
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def jobs(text: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return document


def steps(text: str) -> Iterator[Mapping[str, Any]]:
    for job in jobs(text).values():
        yield from job.get("steps", ())


@pytest.mark.parametrize("name", ALL)
def test_rights_are_given_to_jobs_only_and_everything_is_pinned(name: str) -> None:
    text = ALL[name]
    assert yaml.safe_load(text)["permissions"] == {}
    for job in jobs(text).values():
        assert "permissions" in job
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


@pytest.mark.parametrize("name", UNTRUSTED)
def test_what_runs_foreign_code_can_only_read_and_has_no_cache(name: str) -> None:
    foreign = {job: about for job, about in jobs(ALL[name]).items() if job not in TRUSTED}
    assert foreign
    for about in foreign.values():
        assert about["permissions"] == {"contents": "read"}
        assert about["cache-mode"] == "none"
    assert "secrets" not in ALL[name].replace("no secrets", "")
    assert "github.token" not in ALL[name]


def test_the_one_file_separates_what_runs_code_from_what_may_write() -> None:
    """The jobs that may write run our action alone: no checkout, no command, nothing of the repository."""
    file = workflows(ONE_FILE)["perf"]["jobs"]
    assert set(file) == {"measure", *TRUSTED}
    for name in TRUSTED:
        (step,) = file[name]["steps"]
        assert set(step) == {"uses", "with"}
        assert step["uses"].startswith("perf-culprit/perf-culprit@")
    assert "issues" not in file["report"]["permissions"]
    for step in file["measure"]["steps"]:
        assert "env" not in step


@pytest.mark.parametrize(
    ("event", "body", "jobs_that_run"),
    [
        ("pull_request", "", ["measure", "report"]),
        ("push", "", ["measure", "report"]),
        ("issue_comment", "/perf-accept all known", ["command"]),
        ("issue_comment", "What about /perf-accept?", []),
    ],
)
def test_each_event_of_the_one_file_has_its_jobs(event: str, body: str, jobs_that_run: list[str]) -> None:
    contexts = {"github": {"event_name": event, "event": {"comment": {"body": body}}}}
    file = workflows(ONE_FILE)["perf"]["jobs"]
    assert [name for name, job in file.items() if condition(job["if"], contexts)] == jobs_that_run


@pytest.mark.parametrize("name", ["reusable-report.yml", "reusable-command.yml"])
def test_what_may_write_checks_out_nothing_foreign(name: str) -> None:
    for step in steps(ALL[name]):
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["repository"] == "${{ job.workflow_repository }}"


@pytest.mark.parametrize("name", REUSABLE)
def test_the_caller_grants_what_the_called_job_needs(name: str) -> None:
    ((job, called),) = jobs(OURS[name]).items()
    calling = workflows(SPLIT)[REUSABLE[name]]["jobs"][job]
    assert calling["permissions"] == called["permissions"]
    assert calling.get("cache-mode") == called.get("cache-mode")
    assert calling["uses"].split("@")[0].endswith(f"/.github/workflows/{name}")


def test_a_backfill_measures_without_a_token_and_stores_without_running_anything() -> None:
    measuring, storing = jobs(OURS["reusable-backfill.yml"]).values()
    assert measuring["permissions"] == {"contents": "read"}
    assert measuring["cache-mode"] == "none"
    assert "github.token" not in str(measuring)
    assert (storing["needs"], storing["if"]) == ("measure", "always()")
    assert storing["permissions"] == {"contents": "write"}
    scripts = [step["run"] for step in storing["steps"] if "run" in step]
    assert [re.findall(r"perf-culprit (\w+) ", script) for script in scripts] == [[], ["import"]]
    (called,) = workflows(BACKFILL)["perf-backfill"]["jobs"].values()
    assert (called["permissions"], called["cache-mode"]) == (storing["permissions"], "none")


def test_a_bisection_reports_in_its_own_last_job() -> None:
    """GitHub may send no workflow_run event for a run that GITHUB_TOKEN has dispatched."""
    measuring, report = workflows(SPLIT)["perf-bisect"]["jobs"].values()
    assert (report["needs"], report["if"]) == ("bisect", "always()")
    assert measuring["permissions"] == {"contents": "read"}
    assert report["permissions"] == jobs(OURS["reusable-report.yml"])["report"]["permissions"]


def test_measuring_ends_before_its_job_does() -> None:
    job = workflows(ONE_FILE)["perf"]["jobs"]["measure"]
    (command,) = [step["run"] for step in job["steps"] if "perf-culprit measure" in step.get("run", "")]
    assert int(re.findall(r"--minutes (\d+)", command)[0]) < job["timeout-minutes"]
    (step,) = [step for step in steps(OURS["reusable-measure.yml"]) if step.get("id") == "measure"]
    assert step["env"]["TIMEOUT_MINUTES"] == "${{ inputs.timeout-minutes }}"
    (amount,) = re.findall(r'--minutes "(.*)"', step["run"])
    for limit in ("1", "5", "60"):
        shown = subprocess.run(
            ["bash", "-c", f"echo {amount}"], env={"TIMEOUT_MINUTES": limit}, capture_output=True, check=True
        )
        assert int(shown.stdout) == math.ceil(0.75 * int(limit))


def test_no_pending_report_is_replaced() -> None:
    (job,) = jobs(OURS["reusable-report.yml"]).values()
    assert job["concurrency"]["queue"] == "max"
    assert job["concurrency"]["cancel-in-progress"] is False


@pytest.mark.parametrize("name", ["reusable-report.yml", "reusable-command.yml"])
def test_what_stores_takes_its_database_as_a_secret(name: str) -> None:
    secrets = set(yaml.safe_load(OURS[name])[True]["workflow_call"]["secrets"])
    assert secrets == {"history-url"} | ({"notify-url"} if name == "reusable-report.yml" else set())
    (own,) = [step for step in steps(OURS[name]) if step.get("uses") == "./.perf-culprit"]
    assert own["env"] == {HISTORY_URL: "${{ secrets.history-url }}"}


def test_a_report_is_written_whatever_the_measurement_came_to() -> None:
    assert jobs(OURS["reusable-report.yml"])["report"]["if"] == "always()"
    (job,) = workflows(SPLIT)["perf-report"]["jobs"].values()
    assert "if" not in job


def test_the_report_opens_in_the_browser() -> None:
    """GitHub shows a single file that is not zipped. The pages of several suites form an archive."""
    (upload,) = [step for step in steps(OURS["reusable-report.yml"]) if "upload-artifact" in step.get("uses", "")]
    for paths, is_archive in (("out/report.html", False), ("out/report-1.html\nout/report-2.html", True)):
        contexts = {"steps": {"report": {"outputs": {"html-path": paths}}}}
        assert fill(upload["with"], contexts)["archive"] is is_archive
    (block,) = [block.value for block in BLOCKS if "html-path" in block.text]
    assert block[1]["with"]["archive"] is False


def test_nothing_is_triggered_by_pull_request_target() -> None:
    """Check all that users get: our workflows, the files of `init`, every YAML block of the documentation."""
    templates = (PROJECT / "bot/perf_culprit/init/templates").rglob("*.yml")
    texts = [*OURS.values(), *(path.read_text(encoding="utf-8") for path in templates), *(one.text for one in BLOCKS)]
    assert len(texts) > 40
    assert [text for text in texts if "pull_request_target" in text] == []
    assert "**Nothing needs `pull_request_target`.**" in (PROJECT / "docs/security.md").read_text(encoding="utf-8")


def test_the_lock_names_what_the_locked_workflows_use() -> None:
    """GitHub refuses to run a locked workflow if the lock lacks one of its actions. Local actions cannot be locked."""
    lock = yaml.safe_load((PROJECT / ".github/workflows/actions.lock").read_text(encoding="utf-8"))
    used = {
        f".github/workflows/{name}": sorted({step["uses"] for step in steps(text) if "uses" in step})
        for name, text in OURS.items()
    }
    local = {name for name, actions in used.items() if "./.perf-culprit" in actions}
    assert lock["workflows"] == {
        name: used[name] for name in used if name not in {*local, ".github/workflows/docs.yml"}
    }
    assert set(lock["dependencies"]) == {action for actions in lock["workflows"].values() for action in actions}
    for action, about in lock["dependencies"].items():
        assert about["commit"] == f"sha1-{action.partition('@')[2]}"
        assert all(f"{action} # {about['ref']}\n" in text for text in OURS.values() if action in text)
        assert (about["owner_id"], isinstance(about["repo_id"], int)) == (44036562, True)


def test_each_linter_is_a_job() -> None:
    text = (PROJECT / "noxfile.py").read_text(encoding="utf-8").partition("\nLINTERS: ")[2].partition("\n}")[0]
    linters = re.findall(r'^    "(\w+)": ', text, flags=re.MULTILINE)
    assert linters
    assert jobs(OURS["ci.yml"])["lint"]["strategy"]["matrix"]["linter"] == linters
