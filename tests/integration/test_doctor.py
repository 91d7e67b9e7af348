"""`perf-culprit doctor` in jobs that lack something: it names that, changes nothing, and sends valid requests."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.config.settings import Config
from perf_culprit.flows.doctor import examine
from perf_culprit.model.maintenance import NEEDED, Health, Permission, Role, Symptom
from perf_culprit.say.maintenance_text import PERMISSIONS, ROLES, WORDS
from perf_culprit.store.opening import open_git_branch
from tests.support.fake_github.faults import Fault
from tests.support.fake_github.permissions import ALL_PERMISSIONS
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import FORK_ID, PullRequest
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.recipes import BLOCKS, SPLIT
from tests.support.scenarios import LEVEL, open_project
from tests.support.stored_runs import make_run
from tests.support.webhooks import event
from tests.support.workflows.runner import InThisProcess

TOKEN = "token-of-the-job"


@dataclass(kw_only=True, slots=True)
class Ward:
    """A job's checkout and variables; `granted` has its token's permissions."""

    fake: FakeGitHub
    checkout: Path
    commits: Mapping[str, str]
    temp: Path
    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def enter(self, name: str, payload: dict[str, Any], *, ref: str = "refs/heads/main", token: str = TOKEN) -> None:
        payload["repository"]["default_branch"] = "main"
        file = self.temp / "event.json"
        file.write_text(json.dumps(payload))
        facts = {
            "GITHUB_EVENT_PATH": str(file),
            "GITHUB_EVENT_NAME": name,
            "GITHUB_REPOSITORY": self.fake.repository,
            "GITHUB_REF": ref,
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_SERVER_URL": self.fake.url,
            "GITHUB_TOKEN": token,
        }
        for variable, value in facts.items():
            self.monkeypatch.setenv(variable, value)

    def grant(self, *without: str) -> None:
        self.fake.add_token(TOKEN, {name: level for name, level in ALL_PERMISSIONS.items() if name not in without})

    def doctor(self) -> tuple[int, str]:
        code = main(["doctor", "--repo", str(self.checkout)])
        output = self.capture.readouterr()
        state = self.fake.state
        written = (*state.comments, *state.check_runs, *state.issues, *state.dispatches)
        assert not written, "the doctor wrote"
        assert TOKEN not in output.out + output.err
        return code, output.out + output.err

    def checked_out(self, commit: str) -> None:
        run_git(self.checkout, "checkout", "--quiet", "--detach", commit)


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Ward]:
    bare = init_repository(tmp_path / "served.git", bare=True)
    commits = import_commits(bare, {**chain("main", 3), **chain("change", 1, start=["main2"])})
    run_git(bare, "update-ref", "refs/heads/main", commits["main3"])
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    run_git(checkout, "clone", "--quiet", "--no-hardlinks", str(bare), ".")
    monkeypatch.chdir(checkout)
    with FakeGitHub(git_dir=bare) as fake:
        run_git(checkout, "remote", "set-url", "origin", f"{fake.url}/{fake.repository}.git")
        fake.state.pulls[7] = PullRequest(number=7, head_sha=commits["change1"], head_branch="faster")
        opened = Ward(
            fake=fake, checkout=checkout, commits=commits, temp=tmp_path, monkeypatch=monkeypatch, capture=capsys
        )
        opened.grant()
        yield opened
    assert not fake.bad


def push(ward: Ward) -> None:
    ward.checked_out(ward.commits["main3"])
    ward.enter("push", event("push", head_sha=ward.commits["main3"], base_sha=ward.commits["main2"]))


def pull(ward: Ward, *, fork: bool = False) -> None:
    ward.checked_out(ward.commits["change1"])
    owner = "mallory" if fork else "octocat"
    facts = {"head_sha": ward.commits["change1"], "base_sha": ward.commits["main3"], "head_owner": owner}
    ward.enter("pull_request", event("pull_request", **facts), ref="refs/pull/7/merge")


def report(ward: Ward) -> None:
    ward.enter("workflow_run", event("workflow_run", head_sha=ward.commits["change1"]))


def command(ward: Ward) -> None:
    ward.enter("issue_comment", event("issue_comment"))


def schedule(ward: Ward) -> None:
    ward.checked_out(ward.commits["main3"])
    ward.enter("schedule", {"schedule": "23 3 1 * *", "repository": event("push")["repository"]})


JOBS: dict[Role, Callable[[Ward], None]] = {
    Role.RECORD: push,
    Role.PULL_REQUEST: pull,
    Role.REPORT: report,
    Role.COMMAND: command,
    Role.REFERENCE: schedule,
}


@pytest.mark.parametrize("role", JOBS)
def test_a_job_that_has_all_is_well(ward: Ward, role: Role) -> None:
    JOBS[role](ward)
    code, text = ward.doctor()
    assert code == 0, text
    assert all(f"ok  permissions: {permission}: write\n" in text for permission in NEEDED[role]), text


@pytest.mark.parametrize(("role", "missing"), [(role, missing) for role in JOBS for missing in NEEDED[role]])
def test_each_missing_permission_is_named_and_no_other(ward: Ward, role: Role, missing: Permission) -> None:
    # GitHub takes a comment on a pull request by either of these.
    either = (Permission.ISSUES,) if missing is Permission.PULL_REQUESTS else ()
    ward.grant(missing, *either)
    JOBS[role](ward)
    code, text = ward.doctor()
    assert code == 2
    wrong = [line.split()[2] for line in text.splitlines() if line.startswith(" WRONG  permissions")]
    assert set(wrong) == {f"{name}:" for name in {missing, *either} & set(NEEDED[role])}, text
    assert "Add it to the job's permissions" in text


def test_a_configuration_asks_for_more(ward: Ward) -> None:
    more = {Permission.ACTIONS, Permission.ISSUES, Permission.PULL_REQUESTS}
    file = ward.checkout / ".github" / "perf-culprit.yml"
    file.parent.mkdir()
    push(ward)
    ward.grant(*more)
    assert ward.doctor()[0] == 0
    for text, missing in (
        ("issues: {when: fail}", {Permission.ISSUES}),
        ("bisect: {automatic: true, run: ./bench}", more - {Permission.ISSUES}),
    ):
        file.write_text(text)
        code, message = ward.doctor()
        wrong = {line.split()[2].rstrip(":") for line in message.splitlines() if line.startswith(" WRONG  permissions")}
        assert (code, wrong) == (2, missing), message


def test_a_fork_needs_nothing_and_hears_what_it_does_not_get(ward: Ward) -> None:
    ward.fake.state.pulls[7].head_repository_id = FORK_ID
    ward.grant(*ALL_PERMISSIONS)
    pull(ward, fork=True)
    code, text = ward.doctor()
    assert code == 0
    assert "its token may not write" in text
    assert "--split" in text


def test_events_that_lead_nowhere_or_too_far(ward: Ward) -> None:
    push(ward)
    ward.monkeypatch.setenv("GITHUB_EVENT_NAME", "release")
    code, text = ward.doctor()
    assert (code, "the event release: results are judged and recorded nowhere" in text) == (2, True)
    pull(ward)
    ward.monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request_target")
    code, text = ward.doctor()
    assert (code, "UNSAFE  event: pull_request_target" in text) == (2, True)


def test_the_checkout(ward: Ward) -> None:
    bare = ward.fake.git_dir
    assert bare is not None
    run_git(ward.checkout, "fetch", "--quiet", "--depth=1", str(bare), "main")
    run_git(ward.checkout, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic eA==")
    pull(ward)
    ward.checked_out(ward.commits["main1"])
    code, message = ward.doctor()
    assert code == 2
    for text in (
        "WRONG  checkout: the commits before are missing",
        "UNSAFE  checkout: the token lies",
        "is neither the",
    ):
        assert text in message, message
    ward.enter("push", event("push"))
    ward.monkeypatch.chdir(ward.temp)
    assert main(["doctor", "--repo", str(ward.temp)]) == 0
    assert "?  checkout: there is none here" in ward.capture.readouterr().out


def test_a_base_without_a_run_and_what_to_add(ward: Ward) -> None:
    pull(ward)
    assert "holds no run of suite default" in ward.doctor()[1]
    store(ward, "main1")
    _, text = ward.doctor()
    assert "history: 1 runs of 1 commits" in text
    assert f"the base {ward.commits['main2'][:7]} has no run, so against stored runs no check can fail" in text
    store(ward, "main2")
    assert "so against stored runs a check can fail" in ward.doctor()[1]


def store(ward: Ward, name: str) -> None:
    with open_git_branch(git.Remote(url=str(ward.fake.git_dir)), branch="perf-history") as history:
        history.append(make_run(1, commit=ward.commits[name]))


def test_rules_of_the_history_branch(ward: Ward) -> None:
    ward.fake.state.rules["perf-history"] = ["deletion", "pull_request"]
    push(ward)
    code, text = ward.doctor()
    assert code == 2
    assert "branch perf-history: rules (pull_request) refuse the push of a run" in text


@pytest.mark.parametrize(
    ("permission", "status", "message"),
    [("issues", 410, "Issues are disabled"), ("actions", 404, "Not Found")],
)
def test_what_github_does_not_say_is_unknown(ward: Ward, permission: str, status: int, message: str) -> None:
    path = {"issues": "/issues", "actions": ".*/dispatches"}[permission]
    ward.fake.faults.append(Fault(request=f"POST .*{path}", status=status, message=message))
    command(ward)
    diagnosis = examine(environ=os.environ, repository=ward.checkout, config=Config())
    unknown = [seen.kind for seen in diagnosis if seen.health is Health.UNKNOWN]
    assert unknown == [permission]


def test_a_dead_token_and_none(ward: Ward) -> None:
    push(ward)
    ward.monkeypatch.setenv("GITHUB_TOKEN", "expired")
    code, text = ward.doctor()
    assert (code, "the token is not accepted" in text) == (2, True)
    assert "history" not in text
    ward.monkeypatch.delenv("GITHUB_TOKEN")
    code, text = ward.doctor()
    assert (code, "GITHUB_TOKEN: ${{ github.token }}" in text) == (2, True)


def test_outside_of_a_job_it_says_where_to_run(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path) -> None:
    monkeypatch.delenv("GITHUB_EVENT_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    assert main(["doctor"]) == 2
    assert "run it as a step of the job that does not work" in capsys.readouterr().err


@pytest.mark.slow  # measures a real pull request in rounds
def test_the_recipe_in_a_workflow_without_a_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The documented step follows the documented file, which lacks `checks: write` here."""
    (recipe,) = [block for block in BLOCKS if block.document == SPLIT and block.is_steps]
    action = InThisProcess.with_files_in(tmp_path / "temp", monkeypatch, capsys)
    with open_project(tmp_path, action, split=False) as project:
        job = project.files["perf"]["jobs"]["report"]
        job["steps"] += recipe.value
        assert recipe.value[0]["if"] == "failure()"
        job["steps"][-1]["if"] = "always()"
        del job["permissions"]["pull-requests"]
        pull_request = project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL)
        log = project.run_pull(pull_request).log
        assert " WRONG  permissions: pull-requests: write is missing: there is no comment." in log
        assert "ok  permissions: checks: write" in log
        assert "checkout: " in log


def test_every_symptom_has_words() -> None:
    assert {*WORDS, Symptom.ROLE, Symptom.PERMISSION} == set(Symptom)
    assert (set(ROLES), set(PERMISSIONS), set(NEEDED)) == (set(Role), set(Permission), set(Role))


REFUSAL = (
    "Event 'workflow_dispatch' is not allowed to trigger Actions workflows. Workflow file: '.github/workflows/x.yml'."
)


@pytest.mark.parametrize("status", [403, 422])
def test_a_workflow_execution_protection_is_no_missing_permission(ward: Ward, status: int) -> None:
    ward.fake.faults.append(Fault(request="POST .*/dispatches", status=status, message=REFUSAL))
    command(ward)
    code, text = ward.doctor()
    assert code == 2
    (wrong,) = [line for line in text.splitlines() if line.startswith(" WRONG")]
    assert "a workflow execution protection refused it" in wrong
    assert "Settings → Actions → Policies" in wrong
    assert "allow the event `workflow_dispatch`" in wrong
    # What comes after it is examined, too.
    assert "ok  permissions: checks: write" in text


@pytest.mark.parametrize(
    ("refusal", "step"),
    [
        (REFUSAL, "allow the event `workflow_dispatch`"),
        (REFUSAL.replace("workflow_dispatch", "pull_request_target"), "leave pull_request_target out"),
        ("Actor 'octocat' is not allowed to trigger Actions workflows.", "allow the actor `octocat`"),
        ("It is not allowed to trigger Actions workflows", "allow its event and its actor"),
    ],
)
def test_the_refusal_of_a_run_that_did_not_start(capsys: pytest.CaptureFixture[str], refusal: str, step: str) -> None:
    assert main(["doctor", "--refusal", refusal]) == 2
    assert step in capsys.readouterr().out


def test_another_refusal_is_not_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--refusal", "Resource not accessible by integration"]) == 2
    assert "paste the whole line of the run's page" in capsys.readouterr().err
